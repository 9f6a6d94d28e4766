package site

import (
	"iter"
	"slices"
	"strings"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
)

// maxAttrJSON bounds the attribute in which a path is followed, in bytes.
const maxAttrJSON = 64 << 10

// maxNestedLists bounds how deep lists are nested of which the first text counts.
const maxNestedLists = 8

// attrJSON is the JSON of an attribute. Several fields of a card may be in it.
type attrJSON struct {
	text string
	doc  jsondoc.Value // zero when the text is no JSON
}

// member returns what is at the rule's path in the text of an attribute: a string, a number as it is written, true or
// false, of a list the first; "" when there is nothing or the text is no JSON.
func (r *rule) member(c *cardReader, text string) string {
	if r.json != "" && (r.path == nil || !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[")) {
		return structured.Member(text, r.json)
	}
	for v := range c.valuesIn(text, r.path) {
		if s := firstText(v, maxNestedLists); s != "" {
			return s
		}
	}
	return ""
}

// valuesIn returns the values at a path in the JSON of an attribute, none where it is no JSON.
func (c *cardReader) valuesIn(text string, path *jsondoc.Path) iter.Seq[jsondoc.Value] {
	if len(text) > maxAttrJSON {
		text = ""
	}
	if c.json.text != text {
		doc, _ := jsondoc.Parse([]byte(text))
		c.json = attrJSON{text, doc}
	}
	return path.In(c.json.doc)
}

// firstText returns what a value says, or the first of those in a list that does.
func firstText(v jsondoc.Value, levels int) (text string) {
	eachText(v, levels, func(s string) bool {
		text = s
		return s == ""
	})
	return text
}

// eachText calls more with what a value says, or with what each of those in a list does, until that returns false.
func eachText(v jsondoc.Value, levels int, more func(string) bool) bool {
	if v.Kind() != jsondoc.Array || levels == 0 {
		return more(v.Text())
	}
	for item := range v.Items() {
		if !eachText(item, levels-1, more) {
			return false
		}
	}
	return true
}

// listed returns the texts of all values at the rule's path, clean, each once, at most limit.
func (r *rule) listed(c *cardReader, limit int) (out []string) {
	take := func(s string) bool {
		if s = r.read(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
		return len(out) < limit
	}
	if r.data {
		for v := range r.path.In(c.item) {
			if !eachText(v, maxNestedLists, take) {
				break
			}
		}
		return out
	}
	for _, n := range r.nodes(c) {
		for v := range c.valuesIn(region.Attr(n, r.attr), r.path) {
			if !eachText(v, maxNestedLists, take) {
				return out
			}
		}
	}
	return out
}
