package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// scriptForm finds a text before JSON, however its blanks are.
func scriptForm(after string) *regexp.Regexp {
	var parts []string
	for word := range strings.FieldsSeq(after) {
		parts = append(parts, regexp.QuoteMeta(word))
	}
	return regexp.MustCompile(strings.Join(parts, `\s*`) + `\s*`)
}

// dataOf returns the JSON that a page of HTML holds in a script; the zero Value, and why, where there is none.
func (s *Source) dataOf(doc *html.Node) (data jsondoc.Value, why string) {
	if s.script == nil {
		return data, ""
	}
	if s.script.selector != nil {
		n := s.script.selector.MatchFirst(doc)
		if n == nil || n.FirstChild == nil {
			return data, "the page has no script " + s.def.Script.CSS
		}
		return firstJSON(n.FirstChild.Data)
	}
	why = fmt.Sprintf("the page has no script with %q", s.def.Script.After)
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "script" || n.FirstChild == nil {
			continue
		}
		text := n.FirstChild.Data
		if at := s.script.form.FindStringIndex(text); at != nil {
			if data, why = firstJSON(text[at[1]:]); why == "" {
				return data, ""
			}
		}
	}
	return data, why
}

// jsonParse is before a text that a script makes JSON of.
const jsonParse = "JSON.parse("

// firstJSON reads the JSON with which a text begins, or that it hands to JSON.parse as a text. What follows it is the script's.
func firstJSON(text string) (data jsondoc.Value, why string) {
	text = strings.TrimSpace(text)
	if literal, ok := strings.CutPrefix(text, jsonParse); ok {
		if text, ok = literalOf(strings.TrimSpace(literal)); !ok {
			return data, "the JSON of the script can't be read: JSON.parse( must be followed by a text"
		}
	}
	var first json.RawMessage
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&first); err != nil {
		return data, "the JSON of the script can't be read: " + err.Error()
	}
	data, err := jsondoc.Parse(first)
	if err != nil {
		return data, "the JSON of the script can't be read: " + err.Error()
	}
	return data, ""
}

// literalOf decodes the text between quotes with which a script goes on, as JavaScript reads it.
func literalOf(script string) (text string, ok bool) {
	if script == "" || script[0] != '"' && script[0] != '\'' && script[0] != '`' {
		return "", false
	}
	quote := script[0]
	out := []byte{'"'}
	for i := 1; i < len(script); i++ {
		c := script[i]
		switch {
		case c == quote:
			v, err := jsondoc.Parse(append(out, '"'))
			return v.Text(), err == nil
		case c == '\\' && i+1 < len(script):
			i++
			out = appendEscape(out, script[i:])
			if script[i] == 'x' {
				i += 2
			}
		case c == '"':
			out = append(out, '\\', '"')
		case c < ' ':
			out = append(out, fmt.Sprintf(`\u%04x`, c)...)
		default:
			out = append(out, c)
		}
	}
	return "", false
}

// appendEscape appends what stands behind a backslash of JavaScript as JSON writes it.
func appendEscape(out []byte, rest string) []byte {
	switch c := rest[0]; {
	case strings.IndexByte(`"\/bfnrtu`, c) >= 0:
		return append(out, '\\', c)
	case c == 'x' && len(rest) > 2:
		return append(append(out, `\u00`...), rest[1:3]...)
	case c == '\n':
		return out
	default:
		return append(out, c)
	}
}

// readScript reads the items of a page's script: they are its listings, or say more of those that cards show.
func (s *Source) readScript(p *Page, w *workspace, scripts []string) {
	if s.script == nil {
		return
	}
	c := w.card
	c.inItem(w.data)
	if len(s.organic) == 0 {
		s.readItems(p, &c)
		s.fillFromJSONLD(p.Listings, scripts, w.card.at)
		return
	}
	var of Page
	s.readItems(&of, &c)
	s.joinItems(p, &of)
	s.fillFromJSONLD(p.Listings, scripts, w.card.at)
}

// joinItems gives cards what they lack and the items of the script have: joined by id, else by the address of the own page, where
// it is that of one card and of one item.
func (s *Source) joinItems(p, of *Page) {
	byID, byPath, cards := map[string]int{}, ownPaths(of.Listings), ownPaths(p.Listings)
	for i := range of.Listings {
		byID[of.Listings[i].ID] = i
	}
	joined := map[int]bool{}
	for i := range p.Listings {
		l := &p.Listings[i]
		at, ok := byID[l.ID]
		if path := urlPath(l.ProfileURL); !ok && path != "" && cards[path] == i {
			at, ok = byPath[path]
			ok = ok && at >= 0
		}
		if ok {
			joined[at] = true
			from := of.Listings[at]
			fillListing(l, &from)
			if l.ProfileURL == "" {
				l.ProfileURL = from.ProfileURL
			}
		}
	}
	p.Unjoined = len(of.Listings) - len(joined)
}

// ownPaths returns which of the listings has an own page at a path; -1 = several have, as where the query tells them apart.
func ownPaths(listings []yp.Listing) map[string]int {
	paths := map[string]int{}
	for i := range listings {
		path := urlPath(listings[i].ProfileURL)
		if _, again := paths[path]; again {
			paths[path] = -1
		} else if path != "" {
			paths[path] = i
		}
	}
	return paths
}

// jsonInHTML reports whether a body that should be HTML is JSON.
func jsonInHTML(body []byte) bool {
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return false
	}
	_, err := jsondoc.Parse(trimmed)
	return err == nil
}

// refusedOn returns the page for one of HTML that says by the definition's signs that it is an error: nil = it does not.
func (s *Source) refusedOn(doc *html.Node, w *workspace) *Page {
	sign := s.refused.on(doc, w.cards)
	if c := w.card; sign == "" {
		c.inItem(w.data)
		sign = s.refused.data.held(&c)
	}
	if sign == "" {
		return nil
	}
	p := &Page{Outcome: Failed, Reason: "the page reports an error: " + sign}
	if throttles(w.data, sign+" "+strings.ToLower(yp.Clip(string(region.AppendText(nil, doc, maxText)), maxText))) {
		p.Outcome, p.Reason = Throttled, "the site reports too many requests: "+sign
	}
	return p
}
