package site

import (
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/yp"
)

// values returns the texts that a rule finds in an item, or in the whole JSON of a page, or in the header of the
// answer, as they are written; of a list of texts the first. They are good until the next call.
func (r *rule) values(c *cardReader) []string {
	found := c.values[:0]
	defer func() { c.values = found[:0] }()
	if r.header != "" {
		for _, value := range c.src.header.Values(r.header) {
			found = append(found, linkOf(r.header, value))
		}
		return found[:min(len(found), maxTries)]
	}
	for v := range r.path.In(c.item) {
		if s := firstText(v, maxNestedLists); s != "" {
			found = append(found, s)
		}
		if len(found) == maxTries {
			break
		}
	}
	return found
}

// linkOf returns of a value of the header Link the address of the next page (RFC 8288), "" = it names none; of any other
// header the value.
func linkOf(name, value string) string {
	if name != "Link" {
		return value
	}
	for value != "" {
		var address, params string
		var ok bool
		if _, value, ok = strings.Cut(value, "<"); !ok {
			return ""
		}
		if address, value, ok = strings.Cut(value, ">"); !ok {
			return ""
		}
		params, value = cutQuoted(value, ',')
		if relNext(params) {
			return address
		}
	}
	return ""
}

// cutQuoted cuts a text at the first byte that is in no quotes.
func cutQuoted(s string, at byte) (before, rest string) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == at && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// relNext reports whether the parameters of a link say rel="next".
func relNext(params string) bool {
	for params != "" {
		var param string
		param, params = cutQuoted(params, ';')
		key, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(key), "rel") {
			continue
		}
		for rel := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(rel, "next") {
				return true
			}
		}
		return false // of several the first counts
	}
	return false
}

// holds reports whether the value of a rule is there and says something: neither null nor false. Where the rule has a
// regular expression or steps, its text decides.
func (r *rule) holds(c *cardReader) bool {
	if r.header != "" || r.match != nil || r.steps != nil {
		for _, text := range r.values(c) {
			if r.read(text) != "" {
				return true
			}
		}
		return false
	}
	for v := range r.path.In(c.item) {
		if says(v) {
			return true
		}
	}
	return false
}

// says reports whether a value is neither null nor false.
func says(v jsondoc.Value) bool {
	switch v.Kind() {
	case jsondoc.None, jsondoc.Null:
		return false
	case jsondoc.Bool:
		return v.Text() == "true"
	}
	return true
}

// held returns the first of the rules that holds, as people know it, with what it found; "" = none does.
func (f field) held(c *cardReader) string {
	for i := range f {
		r := &f[i]
		if !r.holds(c) {
			continue
		}
		text := ""
		if values := r.values(c); len(values) > 0 {
			text = yp.Printable(yp.Clip(yp.Clean(values[0]), maxExcerpt))
		}
		return r.label() + quoted(text)
	}
	return ""
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return " " + `"` + text + `"`
}

// label is the rule as people know it: the path, or the name of the header.
func (r *rule) label() string {
	if r.header != "" {
		return r.header
	}
	return r.text
}

// raws returns the texts that a rule finds, as they are written: of elements, of items or of the header. They are good
// until the next call.
func (r *rule) raws(c *cardReader) []string {
	if r.data {
		return r.values(c)
	}
	found := c.values[:0]
	for _, n := range r.nodes(c) {
		found = append(found, r.raw(c, n))
	}
	c.values = found[:0]
	return found
}

// inItem makes the card reader read an item of JSON: it has no elements.
func (c *cardReader) inItem(item jsondoc.Value) {
	c.item, c.card = item, (*html.Node)(nil)
}
