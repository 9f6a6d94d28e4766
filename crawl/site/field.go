package site

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// A rule takes a text out of a card: the text, the own text, or an attribute
// of the elements that a selector finds (of the card itself when there is no
// selector), or what is at a path in an attribute that holds JSON; or out of an item of JSON, or of the header of the
// answer. A regular expression may pick a part of it, and steps make another text of that.
type rule struct {
	sel  int // number in the index; -1 = the card itself
	attr string
	json string        // the path in an attribute, where it is one name
	path *jsondoc.Path // any other path, and one of a number
	text string        // the path as it is written

	data   bool   // it reads no element: an item, or the header
	header string // canonical name of the one that is read

	own   bool
	match *regexp.Regexp
	steps []step
	every bool    // of a list in JSON each element counts, not the first alone
	scale float64 // where ratings end that name no scale
	count bool    // what it yields is read as a count

	address bool // what the attribute holds is kept as an address, as it is written
	link    bool // the attribute is one that holds addresses
}

// addressFields are the fields, and lists of links, that hold addresses.
var addressFields = []string{"next", "profile_url", "website", "image_url", "social"}

// A field is a list of rules: the first that yields something wins.
type field []rule

// maxText bounds a text, in bytes, before it is cleaned.
const maxText = 4096

// maxTries bounds how many of a rule's elements are looked at for a text.
const maxTries = 8

// nodes returns the elements of a rule that are looked at for a text.
func (r *rule) nodes(c *cardReader) []*html.Node {
	if r.data || c.card == nil {
		return nil
	}
	if r.sel < 0 {
		c.self[0] = c.card
		return c.self[:]
	}
	found := c.hits[r.sel]
	return found[:min(len(found), maxTries)]
}

// each calls f with the texts that the field's rules yield, clean, until it returns
// true.
func (f field) each(c *cardReader, stop func(string) bool) bool {
	for i := range f {
		if f[i].data {
			for _, text := range f[i].values(c) {
				if s := f[i].read(text); s != "" && stop(s) {
					return true
				}
			}
			continue
		}
		for _, n := range f[i].nodes(c) {
			if s := f[i].take(c, n); s != "" && stop(s) {
				return true
			}
		}
	}
	return false
}

// first returns the first text that the field's rules yield, clean; else "".
func (f field) first(c *cardReader) (text string) {
	f.each(c, func(s string) bool {
		text = s
		return true
	})
	return text
}

// all returns the texts of every element that the first fruitful rule finds,
// clean, each once, at most limit.
func (f field) all(c *cardReader, limit int) []string {
	for i := range f {
		r := &f[i]
		if r.every && r.path != nil {
			if out := r.listed(c, limit); out != nil {
				return out
			}
			continue
		}
		if r.data {
			if s := f[i : i+1].first(c); s != "" {
				return []string{s}
			}
			continue
		}
		if r.sel < 0 {
			continue
		}
		var out []string
		for _, n := range c.hits[r.sel] {
			if s := r.take(c, n); s != "" && len(out) < limit && !slices.Contains(out, s) {
				if out == nil {
					out = make([]string, 0, min(limit, len(c.hits[r.sel])))
				}
				out = append(out, s)
			}
		}
		if out != nil {
			return out
		}
	}
	return nil
}

// identifier returns the first id that the field's rules yield, see yp.Identifier; else "".
func (f field) identifier(c *cardReader) string {
	for i := range f {
		for _, text := range f[i].raws(c) {
			if id := f[i].asID(text); id != "" {
				return id
			}
		}
	}
	return ""
}

// asID reads a text that the rule has found as an id, from which nothing is cut or dropped. Where a regular
// expression picks it, one that doesn't know the text as written may know it clean. The text
// of an element that is longer than maxText is not read to its end, so it is none.
func (r *rule) asID(s string) string {
	if r.steps != nil {
		return yp.Identifier(r.stepped(s))
	}
	if r.link {
		s = weburl.Tidy(s)
	}
	if r.match == nil {
		if r.attr == "" && !r.data && len(s) >= maxText {
			return ""
		}
		return yp.Identifier(s)
	}
	folded := yp.Fold(s[:min(len(s), maxText)])
	if id := yp.Identifier(r.pick(folded)); id != "" {
		return id
	}
	return yp.Identifier(r.pick(yp.Clean(folded)))
}

// take reads the rule's text from n.
func (r *rule) take(c *cardReader, n *html.Node) string { return r.read(r.raw(c, n)) }

// read makes the rule's text of one that is as it is written.
func (r *rule) read(s string) string {
	if r.steps != nil {
		return r.tidy(r.stepped(s))
	}
	if r.address {
		if s = weburl.Tidy(s); r.match != nil && len(s) > 2*weburl.MaxLen { // a part of an address is another one
			return ""
		}
	} else {
		s = r.clean(s)
	}
	return r.pick(s)
}

// raw returns what n has for the rule, as it is written.
func (r *rule) raw(c *cardReader, n *html.Node) string {
	switch {
	case r.json != "", r.path != nil:
		return r.member(c, region.Attr(n, r.attr))
	case r.attr != "":
		return region.Attr(n, r.attr)
	case r.own:
		return c.ownText(n)
	}
	return c.text(n)
}

// pick returns the part of a text that the rule's regular expression takes, all without one.
func (r *rule) pick(s string) string {
	return pick(r.match, s, r.count)
}

// pick returns the part of a text that the last group of a regular expression takes, all without one.
func pick(match *regexp.Regexp, s string, count bool) string {
	if match == nil || s == "" {
		return s
	}
	m := match.FindStringSubmatchIndex(s)
	if m == nil || m[len(m)-1] < 0 {
		return ""
	}
	from, to := m[len(m)-2], m[len(m)-1]
	part := s[from:to]
	if count {
		part = yp.WholeCount(s[:from], part, s[to:])
	}
	return strings.TrimSpace(part)
}

// clean makes a text fit to keep. A line break in an attribute that holds an address is no blank.
func (r *rule) clean(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	clean := yp.Clean(s)
	switch {
	case r.link && clean != s:
		return yp.Clean(weburl.Tidy(s))
	case r.link: // in an address, nothing is a tag or an entity any more
		return clean
	}
	return yp.Plain(clean)
}

// unseen reports whether the card hides n from people, or what n is in. What hides the whole card shows it on a click: it
// doesn't count, nor do hidden parts of a page that is no card.
func (c *cardReader) unseen(n *html.Node) bool {
	if c.card == nil || c.card.Type != html.ElementNode {
		return false
	}
	for ; n != nil && n != c.card; n = n.Parent {
		if region.Hidden(n) {
			return true
		}
	}
	return false
}

// text returns the text of n and all below it, as it reads: a line break or
// the edge of a block is a space; scripts, styles and what a card hides do not count.
func (c *cardReader) text(n *html.Node) string {
	if c.unseen(n) {
		return ""
	}
	if t := n.FirstChild; t != nil && t.NextSibling == nil && t.Type == html.TextNode && !region.Protected(n) {
		return t.Data
	}
	if c.buf = c.buf[:0]; c.card != nil && c.card.Type == html.ElementNode {
		c.buf = region.AppendShown(c.buf, n, maxText)
	} else {
		c.buf = region.AppendText(c.buf, n, maxText)
	}
	return string(c.buf)
}

func (c *cardReader) ownText(n *html.Node) string {
	c.buf = c.buf[:0]
	if c.unseen(n) {
		return ""
	}
	for t := n.FirstChild; t != nil && len(c.buf) < maxText; t = t.NextSibling {
		if t.Type == html.TextNode {
			c.buf = append(c.buf, t.Data[:min(len(t.Data), maxText)]...)
		}
	}
	return string(c.buf)
}
