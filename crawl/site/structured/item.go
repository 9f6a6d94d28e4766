package structured

import (
	"html"
	"iter"
	"regexp"
	"slices"
	"strings"

	node "golang.org/x/net/html"

	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// Bounds on structured data: pages of 30 businesses carry some 300 items and
// 2,000 values.
const (
	maxItems   = 20_000 // things on a page
	maxValues  = 2_000  // of one item
	maxMerged  = 200    // of a business that takes those of another
	maxNesting = 32     // of things in things
	maxText    = 4096   // bytes
)

// An item is one thing that a page describes, in whichever form: a JSON-LD
// object or an element with itemscope. Property names are those of
// schema.org, without its prefix.
type item struct {
	types []string
	id    string // @id or itemid, as written
	data  string // an id that an attribute of the element gives
	props []prop // in the order of the page

	element *node.Node // of microdata
}

// prop is one value of a property.
type prop struct {
	name string
	value
}

// value is a text, or another item; an item may carry its element's text too.
type value struct {
	text string
	item *item
}

// properties returns those of the item, if it is one.
func (v value) properties() []prop {
	if v.item == nil {
		return nil
	}
	return v.item.props
}

// graph holds the items of a page in one form.
type graph struct {
	top   item // its values are the items that belong to no other
	byID  map[string]*item
	count int

	noscript bool // what is in noscript is part of it
}

// newItem returns room for one more item, or nil when there are too many.
func (g *graph) newItem() *item {
	if g.count >= maxItems {
		return nil
	}
	g.count++
	return &item{props: make([]prop, 0, 8)}
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

// add adds a value of a property. No item takes none: there may be too many.
func (it *item) add(name string, v value) {
	switch {
	case it == nil:
	case name == "@id":
		it.id = v.text
	case name == "@type":
		for w := range strings.FieldsSeq(v.text) {
			it.types = append(it.types, schemaWord(w))
		}
	case name == "" && v.item == nil: // a text that is in no item
	case len(it.props) < maxValues || name == "":
		it.props = append(it.props, prop{name, v})
	}
}

// forget drops the values of a property that stands twice in an object: the last counts. In a long one both count.
func (it *item) forget(name string) {
	if it != nil && name != "" && len(it.props) <= 100 && it.has(name) {
		it.props = slices.DeleteFunc(it.props, func(p prop) bool { return p.name == name })
	}
}

// is reports whether the item has one of the types.
func (it *item) is(types ...string) bool {
	return slices.ContainsFunc(it.types, func(t string) bool { return slices.Contains(types, t) })
}

// has reports whether the item has a value of one of the properties.
func (it *item) has(names ...string) bool {
	return slices.ContainsFunc(it.props, func(p prop) bool { return slices.Contains(names, p.name) })
}

// values returns the values of the first of the properties that has any,
// references followed.
func (g *graph) values(it *item, names ...string) (out []value) {
	for _, name := range names {
		for _, p := range it.props {
			if p.name == name {
				out = append(out, g.resolve(p.value))
			}
		}
		if out != nil {
			break
		}
	}
	return out
}

// each returns the texts of the named properties, clean, in the order of the
// names. An item counts as the text that it is called by.
func (g *graph) each(it *item, names ...string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range names {
			for _, p := range it.props {
				if p.name != name {
					continue
				}
				if s := g.textOf(p.value); s != "" && !yield(s) {
					return
				}
			}
		}
	}
}

// texts returns all of them.
func (g *graph) texts(it *item, names ...string) []string {
	return slices.Collect(g.each(it, names...))
}

// text returns the first of them, or "".
func (g *graph) text(it *item, names ...string) string {
	for s := range g.each(it, names...) {
		return s
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
		for _, p := range v.item.props {
			if p.name != name {
				continue
			}
			if s := plainText(p.text); s != "" {
				return s
			}
		}
	}
	return plainText(v.text)
}

// addresses returns the web addresses that the named properties hold, in the order of the names, as a
// browser would read them: yp.Clean would make others of some. An item counts as its own address.
func (g *graph) addresses(it *item, names ...string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range names {
			for _, p := range it.props {
				if p.name != name {
					continue
				}
				if s := g.addressIn(p.value); s != "" && !yield(s) {
					return
				}
			}
		}
	}
}

// address returns the first of them, or "".
func (g *graph) address(it *item, names ...string) string {
	for s := range g.addresses(it, names...) {
		return s
	}
	return ""
}

func (g *graph) addressIn(v value) string {
	if v.item != nil {
		v = g.resolve(v)
		for _, name := range [...]string{"url", "contentUrl", "value"} {
			for _, p := range v.item.props {
				if s := addressText(p.text); p.name == name && s != "" {
					return s
				}
			}
		}
	}
	return addressText(v.text)
}

// reference is a character reference with its end. One without may be a parameter: "?id=1&copy=2".
var reference = regexp.MustCompile(`&#?[0-9A-Za-z]+;`)

// addressText reads an address as it is written, but for what an HTML escaper has done to it. One that is too
// long is none: a part of it would be another one.
func addressText(s string) string {
	if s = weburl.Tidy(s); len(s) > maxText {
		return ""
	}
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	return reference.ReplaceAllStringFunc(s, html.UnescapeString)
}

// plainText makes a value fit to keep. Texts in JSON-LD often went through an
// HTML escaper first, and have tags in them.
func plainText(s string) string { return yp.Plain(clean(s)) }

func clean(s string) string { return yp.Clean(yp.Clip(s, maxText)) }

// schemaPrefix is how the names of schema.org may begin.
var schemaPrefix = regexp.MustCompile(`(?i)^(?:(?:(?:https?:)?//)?(?:www\.)?schema\.org/|schema:)`)

// schemaWord drops the prefix of schema.org from a type or a property, and
// from a value of one of its enumerations: "https://schema.org/Monday".
func schemaWord(s string) string {
	s = strings.TrimSpace(s)
	if !strings.ContainsAny(s, ":/") {
		return s
	}
	if n := len(schemaPrefix.FindString(s)); 0 < n && n < len(s) {
		return strings.Trim(s[n:], "/")
	}
	return s
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
