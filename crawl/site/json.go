package site

import (
	"strings"

	"ypcrawl/crawl/site/jsondoc"
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

// member returns what stands at the rule's path in the text of an attribute: a string, a number as it is written, true or
// false, of a list the first; "" when there is nothing or the text is no JSON.
func (r *rule) member(c *cardReader, text string) string {
	if r.json != "" && (r.path == nil || !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[")) {
		return structured.Member(text, r.json)
	}
	if text == "" || len(text) > maxAttrJSON {
		return ""
	}
	if c.json.text != text {
		doc, _ := jsondoc.Parse([]byte(text))
		c.json = attrJSON{text, doc}
	}
	for v := range r.path.In(c.json.doc) {
		if s := firstText(v, maxNestedLists); s != "" {
			return s
		}
	}
	return ""
}

// firstText returns what a value says, or the first of those in a list that does.
func firstText(v jsondoc.Value, levels int) string {
	if v.Kind() != jsondoc.Array || levels == 0 {
		return v.Text()
	}
	for item := range v.Items() {
		if s := firstText(item, levels-1); s != "" {
			return s
		}
	}
	return ""
}
