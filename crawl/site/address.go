package site

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// place reads where the business is. Sites write it as street and locality, as
// separate parts, or in one line; "Serving the Austin Area" is a service area
// and no address.
func (c *cardReader) place(l *yp.Listing) {
	f := &c.src.fields
	street := c.part(f.street)
	city, state, zip := yp.SplitLocality(c.part(f.locality))
	if city == "" {
		city = yp.TrimPlace(c.part(f.city))
	}
	if state == "" {
		state = yp.StateCode(yp.TrimPlace(c.part(f.state)))
	}
	if zip == "" {
		zip = yp.PostalCode(c.part(f.postal))
	}
	if street == "" && city == "" && zip == "" {
		line := f.address.first(c)
		if c.src.serviceArea(line) {
			l.ServiceArea = keep(line, maxLine)
			return
		}
		if street, city, state, zip = yp.SplitAddress(line); !numbered(street) {
			street = ""
		}
	}
	if c.src.serviceArea(street) {
		l.ServiceArea = keep(street, maxLine)
		street = ""
	}
	l.Street, l.City = keep(yp.TrimPlace(street), maxLine), keep(city, maxLine)
	l.State, l.PostalCode = strings.Clone(state), strings.Clone(zip)
}

// part returns the first text of a part of the address. Where the card has an address,
// what stands elsewhere in it is no part: a city may be named in a snippet.
func (c *cardReader) part(f field) string {
	for i := range f {
		r := &f[i]
		if r.sel < 0 {
			if s := r.take(c, c.card); s != "" {
				return s
			}
			continue
		}
		found := c.hits[r.sel]
		for _, n := range found[:min(len(found), maxTries)] {
			if s := r.take(c, n); s != "" && c.inAddress(n) {
				return s
			}
		}
	}
	return ""
}

// inAddress reports whether n is in an address of the card, or the card has none with text.
func (c *cardReader) inAddress(n *html.Node) bool {
	some := false
	for _, r := range c.src.fields.address {
		if r.sel < 0 {
			continue
		}
		for _, box := range c.hits[r.sel] {
			if n == box || within(n, box) {
				return true
			}
			some = some || hasText(box)
		}
	}
	return !some
}

func hasText(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && strings.TrimSpace(c.Data) != "" || c.Type == html.ElementNode && hasText(c) {
			return true
		}
	}
	return false
}

func (s *Source) serviceArea(text string) bool {
	for _, p := range s.def.ServiceArea {
		if len(text) >= len(p) && strings.EqualFold(text[:len(p)], p) {
			return true
		}
	}
	return false
}

// numbered reports whether a text that nobody marks as a street may be one: it holds a
// house number. "Downtown" does not; "One Main Plaza" and "Pier Thirty-Nine" do.
func numbered(s string) bool {
	return strings.ContainsAny(s, "0123456789") || numberWord.MatchString(s)
}

// numberWord is a number in words: any at the start of a text, "thirty-nine" anywhere.
var numberWord = regexp.MustCompile(`(?i)^(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|` +
	`(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)(?:[ ,-]|$)|` +
	`\b(?:twen|thir|for|fif|six|seven|eigh|nine)ty-(?:one|two|three|four|five|six|seven|eight|nine)\b`)
