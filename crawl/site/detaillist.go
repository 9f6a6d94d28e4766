package site

import (
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// lists reads what is a list: from under the page's labels first, then by the
// rules of the field, then from the JSON-LD.
func (r *detailReader) lists() {
	f := &r.src.detail.fields
	r.Services = r.list("services", f.services, byComma, r.more.Services)
	r.Languages = r.list("languages", f.languages, byComma, r.more.Languages)
	r.Neighborhoods = r.list("neighborhoods", f.neighborhoods, byPlace, nil)
	r.AKA = r.list("aka", f.aka, byElement, nil)
	r.Payment = lowered(r.list("payment", f.payment, byComma, r.more.Payment))
	r.socialLinks(f.social)
}

// socialLinks takes links from everywhere: each source may know some.
func (r *detailReader) socialLinks(f field) {
	take := func(href string) bool {
		r.Social = yp.AppendSocial(r.Social, href)
		return false
	}
	r.linksUnder("social", take)
	f.each(&r.page, take)
	for _, href := range r.more.Social {
		take(href)
	}
}

// list reads the items under a field's labels, else by its rules, else those of the
// JSON-LD.
func (r *detailReader) list(name string, f field, how splitting, ld []string) []string {
	var l itemList
	l.gatherAll(r.under[name], how)
	for i := range f {
		if rule := &f[i]; len(l.items) == 0 && rule.sel >= 0 && rule.attr == "" && rule.match == nil {
			l.gatherAll(r.page.hits[rule.sel], how)
		}
	}
	if len(l.items) == 0 {
		for _, s := range f.all(&r.page, maxFacts) {
			l.split(s, how)
		}
	}
	if len(l.items) == 0 {
		return splitAll(ld, how)
	}
	return l.items
}

// gatherAll reads the items below each of the nodes.
func (l *itemList) gatherAll(nodes []*html.Node, how splitting) {
	for _, n := range nodes {
		l.gather(n, how)
		l.flush(how)
	}
}

// lowered returns the items in lower case, each once.
func lowered(items []string) []string {
	var out []string
	for _, s := range items {
		if s = strings.ToLower(s); !contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// splitting says what parts the items of a list.
type splitting uint8

const (
	byElement splitting = iota // blocks, line breaks and semicolons: names hold commas
	byComma                    // links and spans too, and commas
	byPlace                    // the same, but "Mesa, AZ" is one place
)

// itemList gathers the items of a list.
type itemList struct {
	items []string
	text  []byte // of the item being read
}

// gather reads the items below n.
func (l *itemList) gather(n *html.Node, how splitting) {
	for c := n.FirstChild; c != nil && len(l.items) < maxFacts; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			l.text = append(l.text, c.Data[:min(len(c.Data), maxText)]...)
			if len(l.text) > 4*maxText {
				return
			}
		case c.Type != html.ElementNode || skippedText(c.Data):
		case breaks(c.Data) || how != byElement && (c.Data == "a" || c.Data == "span"):
			l.flush(how)
			l.gather(c, how)
			l.flush(how)
		default:
			l.gather(c, how)
		}
	}
}

func skippedText(name string) bool {
	return name == "script" || name == "style" || name == "noscript" || name == "template"
}

// flush ends the item being read.
func (l *itemList) flush(how splitting) {
	if len(l.text) > 0 {
		l.split(yp.Clean(clip(string(l.text), maxText)), how)
		l.text = l.text[:0]
	}
}

// split adds the items of a text.
func (l *itemList) split(s string, how splitting) {
	start, depth := 0, 0
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth = max(0, depth-1)
		case c == ';' || c == '|' || c == '•' || c == '·' || c == ',' && how != byElement && depth == 0:
			l.add(s[start:i], how)
			start = i + len(string(c))
		}
	}
	l.add(s[start:], how)
}

// splitAll returns the items of several texts.
func splitAll(texts []string, how splitting) []string {
	var l itemList
	for _, s := range texts {
		l.split(s, how)
	}
	return l.items
}

func (l *itemList) add(s string, how splitting) {
	s = strings.Trim(s, " ,-–•·*")
	if n := len(l.items); how == byPlace && n > 0 && len(s) == 2 && yp.StateCode(s) == s && !strings.Contains(l.items[n-1], ", ") {
		l.items[n-1] += ", " + s
		return
	}
	if s = keep(s, maxLine); s != "" && len(l.items) < maxFacts && !contains(l.items, s) {
		l.items = append(l.items, s)
	}
}
