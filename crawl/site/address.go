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
	city, state, zip := locality(c.part(f.locality))
	if city == "" {
		city = trimPlace(c.part(f.city))
	}
	if state == "" {
		state = stateCode(trimPlace(c.part(f.state)))
	}
	if zip == "" {
		zip = postalCode(c.part(f.postal))
	}
	if street == "" && city == "" && zip == "" {
		line := f.address.first(c)
		if c.src.serviceArea(line) {
			l.ServiceArea = keep(line, maxLine)
			return
		}
		if street, city, state, zip = oneLine(line); !numbered(street) {
			street = ""
		}
	}
	if c.src.serviceArea(street) {
		l.ServiceArea = keep(street, maxLine)
		street = ""
	}
	l.Street, l.City = keep(trimPlace(street), maxLine), keep(city, maxLine)
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

// trimPlace drops the comma that older markup leaves behind a part.
func trimPlace(s string) string { return strings.Trim(s, ", ") }

// locality splits "City, ST 12345": the ZIP code, or it and the state, may be
// missing. What does not look like a state or a ZIP code stays with the city.
func locality(s string) (city, state, zip string) {
	s = trimPlace(s)
	if i := strings.LastIndexByte(s, ' '); postalCode(s[i+1:]) != "" {
		s, zip = trimPlace(s[:max(i, 0)]), postalCode(s[i+1:])
	}
	if i := strings.LastIndexByte(s, ','); i >= 0 {
		if code := stateCode(strings.TrimSpace(s[i+1:])); code != "" {
			return trimPlace(s[:i]), code, zip
		}
	}
	if i := strings.LastIndexByte(s, ' '); i > 0 && len(s)-i == 3 && s[i+1:] == strings.ToUpper(s[i+1:]) {
		if code := stateCode(s[i+1:]); code != "" {
			return trimPlace(s[:i]), code, zip
		}
	}
	return s, "", zip
}

// oneLine splits "street, City, ST 12345" from the right. Without a state or
// a ZIP code at its end it is no address that can be split, and counts as the
// street.
func oneLine(s string) (street, city, state, zip string) {
	s = trimPlace(s)
	rest, state, zip := locality(s)
	if state == "" && zip == "" {
		return s, "", "", ""
	}
	i := strings.LastIndexByte(rest, ',')
	if i < 0 {
		return "", rest, state, zip
	}
	return trimPlace(rest[:i]), trimPlace(rest[i+1:]), state, zip
}

// stateCode returns the two letters of a state. Territories and provinces,
// which the gazetteer does not know, count when they look like a code.
func stateCode(s string) string {
	if s == "" || len(s) > 30 {
		return ""
	}
	if st, ok := yp.LookupState(s); ok {
		return st.Code
	}
	if len(s) == 2 && 'A' <= s[0] && s[0] <= 'Z' && 'A' <= s[1] && s[1] <= 'Z' {
		return s
	}
	return ""
}

// postalCode returns a ZIP or ZIP+4 code, or "".
func postalCode(s string) string {
	s = trimPlace(s)
	if len(s) < 5 || !digits(s[:5]) {
		return ""
	}
	switch {
	case len(s) == 5:
		return s
	case len(s) == 10 && s[5] == '-' && digits(s[6:]):
		return s
	case s[5:] == "-":
		return s[:5]
	}
	return ""
}

func digits(s string) bool {
	for i := range len(s) {
		if !digit(s[i]) {
			return false
		}
	}
	return true
}
