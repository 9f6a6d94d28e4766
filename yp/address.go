package yp

import (
	"slices"
	"strings"
)

// TrimPlace drops the comma that older markup leaves behind a part.
func TrimPlace(s string) string { return strings.Trim(s, ", ") }

// SplitLocality splits the line of an address that names the city, as a country (ISO 3166, "US") writes it, see localities. In the USA
// that is "City, ST 12345": the ZIP code, or it and the state, may be missing, and the country may follow; what does not
// look like a state or a ZIP code stays with the city. Elsewhere too: a line of another form, or of a country whose form is not known, is all
// city.
func SplitLocality(s, country string) (city, state, zip string) {
	s = TrimPlace(s)
	if !usesZIP(country) {
		if l := localitiesByCountry()[country]; l != nil {
			if p, ok := l.split(s); ok {
				return p.city, p.state, p.code
			}
		}
		return s, "", ""
	}
	return splitUSA(s)
}

// splitUSA splits "City, ST 12345", perhaps with the country behind it.
func splitUSA(s string) (city, state, zip string) {
	if bare := withoutUSA(s); bare != s {
		if city, state, zip = splitLocality(bare); zip != "" || knownState(state) {
			return city, state, zip
		}
	}
	return splitLocality(s)
}

// splitLocality splits a text that names no country. Nine digits without their hyphen are a ZIP code behind a state, or alone: behind
// other words they may be any number.
func splitLocality(s string) (city, state, zip string) {
	rest, zip := cutZIP(s)
	city, state = cutState(rest)
	if len(zip) > 5 && rest != "" && !knownState(state) && !hyphenated(s) {
		return s, "", ""
	}
	return city, state, zip
}

// hyphenated reports whether a hyphen is before the last four digits of a text.
func hyphenated(s string) bool {
	s, _ = plain(s)
	return strings.HasSuffix(strings.TrimRight(s[:max(0, len(s)-4)], " "), "-")
}

// cutState takes a state from the end of a text: behind a comma, or two capital letters behind a blank.
func cutState(s string) (city, state string) {
	if i := strings.LastIndexByte(s, ','); i >= 0 {
		if code := StateCode(strings.TrimSpace(s[i+1:])); code != "" {
			return TrimPlace(s[:i]), code
		}
	}
	if i := strings.LastIndexByte(s, ' '); i > 0 && len(s)-i == 3 && s[i+1:] == strings.ToUpper(s[i+1:]) {
		if code := StateCode(s[i+1:]); code != "" {
			return TrimPlace(s[:i]), code
		}
	}
	return s, ""
}

// cutZIP takes a ZIP code from the end of a text: its last word, or more of them ("02134 - 1234").
func cutZIP(s string) (rest, zip string) {
	var starts [3]int // of the last words, the last one first
	n, end := 0, len(s)
	for ; n < len(starts) && end > 0; n++ {
		end = strings.LastIndexByte(s[:end], ' ')
		starts[n] = end + 1
	}
	for ; n > 0; n-- {
		if zip = zipDigits(s[starts[n-1]:]); zip != "" {
			return TrimPlace(s[:starts[n-1]]), zip
		}
	}
	return s, ""
}

// countryNames end addresses of the USA that are written in one line.
var countryNames = [...]string{"United States of America", "United States", "U.S.A.", "USA", "U.S.", "US", "Canada"}

// WithoutCountry returns an address on a page of a country without the name of the country at its end.
func WithoutCountry(s, country string) string {
	if l := localitiesByCountry()[country]; l != nil {
		return l.withoutCountry(s)
	}
	return withoutUSA(s)
}

func withoutUSA(s string) string {
	s = TrimPlace(s)
	for _, c := range countryNames {
		rest := len(s) - len(c)
		if rest > 1 && strings.EqualFold(s[rest:], c) && (s[rest-1] == ' ' || s[rest-1] == ',') {
			return TrimPlace(s[:rest])
		}
	}
	return s
}

// SplitAddress splits an address in the USA, "street, City, ST 12345", from the right. Without a state or
// a ZIP code at its end it is no address that can be split, and counts as the
// street.
func SplitAddress(s string) (street, city, state, zip string) {
	s = TrimPlace(s)
	rest, state, zip := splitUSA(s)
	if state == "" && zip == "" {
		return s, "", "", ""
	}
	i := strings.LastIndexByte(rest, ',')
	if i < 0 {
		return "", rest, state, zip
	}
	return TrimPlace(rest[:i]), TrimPlace(rest[i+1:]), state, zip
}

// SplitLine splits an address that a source in a country writes in one line, from the right. ok is false where it
// can't be done surely. In the USA that is for a state that there is not, for a city with digits, and for a line without state and
// ZIP code that is not plainly a street. Elsewhere the line that names the city has to be behind the last comma, see localities; in
// Britain and Ireland, where a county may be behind the city, behind a street with a number.
func SplitLine(s, country string) (street, city, state, zip string, ok bool) {
	if !usesZIP(country) {
		l := localitiesByCountry()[country]
		if l == nil {
			return "", "", "", "", false
		}
		street, p, ok := l.splitLine(s)
		if !ok {
			return "", "", "", "", false
		}
		return street, p.city, p.state, p.code, true
	}
	street, city, state, zip = SplitAddress(s)
	switch {
	case state == "" && zip == "":
		ok = isStreet(street)
	default:
		ok = !strings.ContainsAny(city, "0123456789") && (state == "" || knownState(state))
	}
	if !ok {
		return "", "", "", "", false
	}
	return street, city, state, zip, true
}

// StateCode returns the two letters of a state. Territories and provinces,
// which the gazetteer does not know, count when they look like a code.
func StateCode(s string) string {
	if s == "" || len(s) > 30 {
		return ""
	}
	if st, ok := LookupState(s); ok {
		return st.Code
	}
	if len(s) == 2 && 'A' <= s[0] && s[0] <= 'Z' && 'A' <= s[1] && s[1] <= 'Z' {
		return s
	}
	return ""
}

// territories have codes of the US Postal Service beside the states and DC (Publication 28, appendix B), and provinces
// those of Canada Post.
var territories = strings.Fields("AS GU MP PR VI FM MH PW AA AE AP AB BC MB NB NL NS NT NU ON PE QC SK YT")

// knownState reports whether there is such a state, territory or province.
func knownState(code string) bool {
	if _, ok := LookupState(code); ok {
		return true
	}
	return slices.Contains(territories, code)
}

// PostalCode returns a ZIP code, "02134", or a ZIP+4 code, "02134-1234", or "". It may be written without its hyphen, behind a
// state or its label, and before the country: "021341234", "MA 02134", "Zip: 02134", "02134 USA".
func PostalCode(s string) string {
	s, ok := plain(TrimPlace(s))
	if !ok || len(s) > maxZIP {
		return ""
	}
	if zip := zipDigits(s); zip != "" {
		return zip
	}
	before, zip := cutZIP(withoutUSA(s))
	if zip == "" {
		if before, zip = cutGluedZIP(s); zip == "" {
			return ""
		}
	}
	label := strings.ToLower(strings.Trim(before, " .:,"))
	if _, state := cutState(before); label == "" && before == "" || zipLabels[label] || knownState(before) ||
		state != "" && knownState(state) {
		return zip
	}
	return ""
}

// maxZIP is the longest text that a ZIP code is looked for in.
const maxZIP = 100

// zipLabels are before a ZIP code.
var zipLabels = map[string]bool{
	"zip": true, "zip code": true, "zipcode": true, "postal code": true, "postcode": true,
	"us": true, "usa": true,
}

// cutGluedZIP takes a ZIP code from the end of a text where no blank is before it: "MA02134", "US-02134".
func cutGluedZIP(s string) (before, zip string) {
	s = withoutUSA(s)
	at := strings.IndexAny(s, "0123456789")
	if at < 0 {
		return s, ""
	}
	before = strings.TrimRight(s[:at], " .:,-")
	if before == "" && at > 0 || strings.HasSuffix(s[:at], " -") { // "-02134" is a part of something else
		return s, ""
	}
	return before, zipDigits(s[at:])
}

// zipDigits returns a ZIP code of which a text holds nothing but the digits, and perhaps a hyphen or a blank.
func zipDigits(s string) string {
	s, ok := plain(s)
	if !ok || len(s) < 5 || digitsAt(s[:5]) < 5 {
		return ""
	}
	more := s[5:]
	switch {
	case more == "", more == "-":
		return s[:5]
	case len(more) == 5 && more[0] == '-' && AllDigits(more[1:]):
		return s
	}
	plus := strings.TrimLeft(more, " -")
	if len(plus) != 4 || !AllDigits(plus) || len(more)-len(plus) > 3 || strings.Count(more, "-") > 1 {
		return ""
	}
	return s[:5] + "-" + plus
}

// AllDigits reports whether a text holds nothing but digits; an empty one does.
func AllDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
