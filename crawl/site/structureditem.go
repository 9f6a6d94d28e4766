package site

import (
	"html"
	"slices"
	"strings"
)

// Bounds on structured data: pages of 30 businesses carry some 300 items and
// 2,000 values.
const (
	maxItems   = 20_000 // things on a page
	maxValues  = 40     // values of one property
	maxNesting = 32     // of things in things
	maxScripts = 200
)

// An item is one thing that a page describes, in whichever form: a JSON-LD
// object, an element with itemscope, an hCard. Property names are those of
// schema.org, without its prefix.
type item struct {
	types []string
	id    string // @id or itemid, as written
	data  string // an id that an attribute of the element gives
	props map[string][]value
}

// value is a text, or another item; an item may carry its element's text too.
type value struct {
	text string
	item *item
}

// graph holds the items of a page in one form.
type graph struct {
	top   []value // in the order of the page
	byID  map[string]*item
	count int
}

// newItem returns room for one more item, or nil when there are too many.
func (g *graph) newItem() *item {
	if g.count >= maxItems {
		return nil
	}
	g.count++
	return &item{props: map[string][]value{}}
}

// register makes an item known by its id. Of two with one id that which says
// more counts.
func (g *graph) register(it *item) {
	if it.id == "" || len(it.props) == 0 {
		return
	}
	if g.byID == nil {
		g.byID = map[string]*item{}
	}
	if have := g.byID[it.id]; have == nil || len(have.props) < len(it.props) {
		g.byID[it.id] = it
	}
}

// resolve follows a reference: an item that is nothing but an @id, or a text
// that is the @id of an item.
func (g *graph) resolve(v value) value {
	id := strings.TrimSpace(v.text)
	if v.item != nil {
		if len(v.item.props) > 0 {
			return v
		}
		id = v.item.id
	}
	if at := g.byID[id]; at != nil && id != "" {
		return value{text: v.text, item: at}
	}
	return v
}

func (it *item) add(name string, v value) {
	if have := it.props[name]; len(have) < maxValues {
		it.props[name] = append(have, v)
	}
}

// is reports whether the item has one of the types.
func (it *item) is(types ...string) bool {
	for _, t := range it.types {
		if slices.Contains(types, t) {
			return true
		}
	}
	return false
}

// values returns the values of the first of the properties that has any,
// references followed.
func (g *graph) values(it *item, names ...string) []value {
	for _, name := range names {
		vs := it.props[name]
		if len(vs) == 0 {
			continue
		}
		out := make([]value, len(vs))
		for i, v := range vs {
			out[i] = g.resolve(v)
		}
		return out
	}
	return nil
}

// texts returns the texts of the named properties, clean, in the order of the
// names. An item counts as the text that it is called by.
func (g *graph) texts(it *item, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, v := range it.props[name] {
			if s := g.textOf(v); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// text returns the first of the texts, or "".
func (g *graph) text(it *item, names ...string) string {
	for _, name := range names {
		for _, v := range it.props[name] {
			if s := g.textOf(v); s != "" {
				return s
			}
		}
	}
	return ""
}

// textOf returns what a value reads as.
func (g *graph) textOf(v value) string {
	if v.item == nil {
		return plainText(v.text)
	}
	v = g.resolve(v)
	for _, name := range [...]string{"name", "value", "url", "contentUrl"} {
		for _, in := range v.item.props[name] {
			if s := plainText(in.text); s != "" {
				return s
			}
		}
	}
	return plainText(v.text)
}

// plainText makes a value fit to keep. Texts in JSON-LD often went through an
// HTML escaper first.
func plainText(s string) string {
	s = part(s)
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	return part(html.UnescapeString(s))
}

// schemaWord drops the prefix of schema.org from a type or a property, and
// from a value of one of its enumerations: "https://schema.org/Monday".
func schemaWord(s string) string {
	s = strings.TrimSpace(s)
	for _, prefix := range [...]string{"https://schema.org/", "http://schema.org/", "https://www.schema.org/", "http://www.schema.org/", "schema:"} {
		if len(s) > len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
			return strings.Trim(s[len(prefix):], "/")
		}
	}
	return s
}
