package site

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"

	"ypcrawl/crawl/site/jsondoc"
)

// What pages are written in, as a definition's format names it.
const (
	formatHTML = "html"
	formatJSON = "json"
)

// script says where the JSON of a page of HTML is.
type script struct {
	selector cascadia.Selector // of the script; nil = see form
	form     *regexp.Regexp    // what is before the JSON in the page
}

var (
	errNoPath  = errors.New("want a path in the JSON, such as `{json: contact.phone}`, or a header of the answer: JSON has no elements")
	errNoJSON  = errors.New("json needs attr here: without attr, it is a path in pages of JSON, which need format: json or script")
	errTwoData = errors.New("a rule may have only one of css, attr, json and header, but json and attr together are allowed")
	errItems   = errors.New("is a path in JSON: add format: json, or script")
)

// isJSON reports whether pages are JSON alone.
func (c *compiled) isJSON() bool { return c.def.Format == formatJSON }

// compileFormat reads what pages are written in, which decides what rules may say.
func (c *compiled) compileFormat(f *faults) {
	d := &c.def.Script
	if formats := []string{formatHTML, formatJSON}; c.def.Format != "" && !slices.Contains(formats, c.def.Format) {
		f.add("format", unknown("format", c.def.Format, formats))
	}
	c.compilePaging(f)
	switch {
	case d.CSS == "" && d.After == "":
		return
	case c.isJSON():
		f.add("script", errors.New("is for JSON in an HTML page: remove format: json, or the script"))
	case d.CSS != "" && d.After != "":
		f.add("script", errors.New("want either a selector, or the text before the JSON (after)"))
	}
	c.script = &script{form: scriptForm(d.After)}
	if d.CSS == "" {
		return
	}
	selector, err := cascadia.Compile(d.CSS)
	if err != nil {
		f.add("script", fmt.Errorf("selector %q: %w", d.CSS, err))
	}
	c.script.selector = selector
}

// noHTML refuses a key that speaks of elements where pages are JSON.
func (c *compiled) noHTML(given bool, at, instead string, f *faults) {
	if given && c.isJSON() {
		f.add(at, fmt.Errorf("JSON pages have no elements: use %s", instead))
	}
}

// compileItems reads where the listings of a page are: cards of HTML, items of JSON, or both.
func (c *compiled) compileItems(f *faults) {
	d := c.def
	c.noHTML(len(d.Cards.Organic) > 0, "cards.organic", "cards.items", f)
	c.noHTML(len(d.Cards.Marks) > 0, "cards.sponsored_marks", "cards.sponsored, such as `{json: isAd}`", f)
	c.noHTML(len(d.Regions) > 0, "regions", "cards.items", f)
	c.noHTML(len(d.Evidence) > 0, "evidence", "chrome.json", f)
	c.noHTML(d.Structured.On, "structured", "fields", f)
	data := c.isJSON() || c.script != nil
	switch {
	case d.Cards.Items != "" && !data:
		f.add("cards.items", errItems)
	case d.Cards.Items != "":
		path, err := jsondoc.Compile(d.Cards.Items)
		f.add("cards.items", err)
		path = path.List() // of an answer that is a list itself: #
		c.items = &path
	case data:
		f.lacks("cards.items")
	case len(d.Cards.Organic) == 0 && !d.Structured.On:
		f.lacks("cards.organic")
	}
}

// compileSponsored reads what tells ads: selectors of cards, and rules of items.
func (c *compiled) compileSponsored(f *faults) {
	var css []string
	var data ruleSet
	for i, d := range c.def.Cards.Sponsored {
		switch {
		case d.JSON != "" || c.isJSON():
			data = append(data, d)
		case d.CSS == "" || !d.alone:
			f.add(f.item("cards.sponsored", i), errors.New("want a selector, or for JSON a path such as `{json: isAd}`"))
		default:
			css = append(css, d.CSS)
		}
	}
	c.sponsored, c.sponsoredIn = c.cardSelectors(css, "cards.sponsored", f)
	c.ads = c.compileRuleSet(nil, data, "cards.sponsored", f)
}

// checkData says what is wrong with a rule that reads no element: a path in JSON, or a header.
func (c *compiled) checkData(d *ruleDef, at string) error {
	switch {
	case d.CSS != "" || d.Attr != "" || d.Own || d.Head != "" && d.JSON != "":
		return errTwoData
	case d.JSON != "" && !c.isJSON() && c.script == nil:
		return errNoJSON
	case d.Head == "":
		return nil
	case strings.HasPrefix(at, "fields.") || strings.HasPrefix(at, "detail.fields.") || at == "cards.sponsored":
		return errors.New("header: only total, next, paging.cursor and signs may read a header, because it says nothing about a single listing")
	case strings.ContainsFunc(d.Head, func(r rune) bool { return r != '-' && (r > 'z' || !letter(byte(r)) && !digit(byte(r))) }):
		return fmt.Errorf("header %q: want the name of a header, such as X-WP-Total", d.Head)
	}
	c.readsHeader = true
	c.headersRead = append(c.headersRead, http.CanonicalHeaderKey(d.Head))
	return nil
}

// Headers returns of the header of an answer what the definition's rules read, nil = nothing.
func (s *Source) Headers(h http.Header) http.Header {
	var out http.Header
	for _, name := range s.headersRead {
		if values := h.Values(name); len(values) > 0 {
			if out == nil {
				out = http.Header{}
			}
			out[name] = values
		}
	}
	return out
}
