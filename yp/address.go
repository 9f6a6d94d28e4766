package yp

import "strings"

// TrimPlace drops the comma that older markup leaves behind a part.
func TrimPlace(s string) string { return strings.Trim(s, ", ") }

// SplitLocality splits "City, ST 12345": the ZIP code, or it and the state, may be
// missing. What does not look like a state or a ZIP code stays with the city.
func SplitLocality(s string) (city, state, zip string) {
	s = TrimPlace(s)
	if i := strings.LastIndexByte(s, ' '); PostalCode(s[i+1:]) != "" {
		s, zip = TrimPlace(s[:max(i, 0)]), PostalCode(s[i+1:])
	}
	if i := strings.LastIndexByte(s, ','); i >= 0 {
		if code := StateCode(strings.TrimSpace(s[i+1:])); code != "" {
			return TrimPlace(s[:i]), code, zip
		}
	}
	if i := strings.LastIndexByte(s, ' '); i > 0 && len(s)-i == 3 && s[i+1:] == strings.ToUpper(s[i+1:]) {
		if code := StateCode(s[i+1:]); code != "" {
			return TrimPlace(s[:i]), code, zip
		}
	}
	return s, "", zip
}

// SplitAddress splits "street, City, ST 12345" from the right. Without a state or
// a ZIP code at its end it is no address that can be split, and counts as the
// street.
func SplitAddress(s string) (street, city, state, zip string) {
	s = TrimPlace(s)
	rest, state, zip := SplitLocality(s)
	if state == "" && zip == "" {
		return s, "", "", ""
	}
	i := strings.LastIndexByte(rest, ',')
	if i < 0 {
		return "", rest, state, zip
	}
	return TrimPlace(rest[:i]), TrimPlace(rest[i+1:]), state, zip
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

// PostalCode returns a ZIP or ZIP+4 code, or "".
func PostalCode(s string) string {
	s = TrimPlace(s)
	if len(s) < 5 || !AllDigits(s[:5]) {
		return ""
	}
	switch {
	case len(s) == 5:
		return s
	case len(s) == 10 && s[5] == '-' && AllDigits(s[6:]):
		return s
	case s[5:] == "-":
		return s[:5]
	}
	return ""
}

// AllDigits reports whether a text holds nothing but digits; an empty one does.
func AllDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
