package yp

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// CompanyKeys returns the strong keys of a listing, strongest first. Two
// listings belong to one company when they share any of them:
//
//	web:acme.com/menu                   the canonical website, unless its host is shared by many
//	tel:+13105550123|acme plumbing      phone and name
//	adr:acme plumbing|12 main st|90210  name, street and five-digit postal code
//
// Phone and address alone are no key: two businesses can share both.
func CompanyKeys(l *Listing) []string {
	var buf [384]byte
	var ends [3]int // where each key ends in the text
	b, n := buf[:0], 0
	if w, ok := CanonicalWebsite(l.Website); ok && !w.Shared {
		b = append(append(b, "web:"...), w.URL[len("https://"):]...)
		ends[n], n = len(b), n+1
	}
	if longer, ok := appendPhoneKey(b, l); ok {
		b = longer
		ends[n], n = len(b), n+1
	}
	if longer, ok := appendAddressKey(b, l); ok {
		b = longer
		ends[n], n = len(b), n+1
	}
	return cut(string(b), ends[:n])
}

// cut returns the parts of s that end at ends; they share the memory of s.
func cut(s string, ends []int) []string {
	keys, start := make([]string, len(ends)), 0
	for i, end := range ends {
		keys[i], start = s[start:end], end
	}
	return keys
}

func appendPhoneKey(dst []byte, l *Listing) ([]byte, bool) {
	if l.PhoneE164 == "" {
		return dst, false
	}
	dst = append(append(append(dst, "tel:"...), l.PhoneE164...), '|')
	named := appendName(dst, l.Name)
	return named, len(named) > len(dst)
}

func appendAddressKey(dst []byte, l *Listing) ([]byte, bool) {
	zip, ok := zip5(l.PostalCode)
	if !ok || l.Street == "" {
		return dst, false
	}
	dst = append(dst, "adr:"...)
	named := appendName(dst, l.Name)
	placed := appendStreet(append(named, '|'), l.Street)
	ok = len(named) > len(dst) && len(placed) > len(named)+1
	return append(append(placed, '|'), zip...), ok
}

// zip5 returns the five digits that begin a postal code.
func zip5(s string) (string, bool) {
	if len(s) < 5 || len(s) > 5 && s[5] != '-' && s[5] != ' ' {
		return "", false
	}
	for i := range 5 {
		if s[i] < '0' || s[i] > '9' {
			return "", false
		}
	}
	return s[:5], true
}

// NormalName returns a business name as it is compared: lower case, accents
// folded, "&" as "and", apostrophes and periods dropped, other punctuation and
// white space one space, trailing legal forms (Inc, LLC, Co, Corp, Ltd and
// their long forms) dropped. A name that is only a legal form is kept.
func NormalName(s string) string {
	var buf [96]byte
	return keep(appendName(buf[:0], s), s)
}

// appendName appends NormalName(s) to dst.
func appendName(dst []byte, s string) []byte {
	start := len(dst)
	dst = appendWords(dst, s)
	for {
		space := bytes.LastIndexByte(dst[start:], ' ')
		if space < 0 || !legalForm(dst[start+space+1:]) {
			return dst
		}
		dst = dst[:start+space]
	}
}

// appendStreet appends a street address as it is compared: words as in
// NormalName, with the usual postal abbreviations.
func appendStreet(dst []byte, s string) []byte {
	var buf [96]byte
	words, more := appendWords(buf[:0], s), true
	for more {
		var word []byte
		word, words, more = bytes.Cut(words, []byte{' '})
		if short := postalShort(word); short != "" {
			dst = append(dst, short...)
		} else {
			dst = append(dst, word...)
		}
		if more {
			dst = append(dst, ' ')
		}
	}
	return dst
}

// appendWords appends the words of s to dst: lower case, accents folded, one
// space between them.
func appendWords(dst []byte, s string) []byte {
	s = foldAccents(s)
	start, gap := len(dst), false
	for i, r := range s {
		var word string
		switch c := byte(r); {
		case r >= utf8.RuneSelf:
			if droppedMark(r) {
				continue
			}
			if inWord(r) {
				word = s[i : i+utf8.RuneLen(r)]
			}
		case 'A' <= c && c <= 'Z':
			word = lowerLetters[c-'A' : c-'A'+1]
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			word = s[i : i+1]
		case c == '\'' || c == '.' || c == '`' || c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f:
			continue
		case c == '&':
			word, gap = "and", true
		}
		if word == "" {
			gap = true
			continue
		}
		if gap && len(dst) > start {
			dst = append(dst, ' ')
		}
		dst, gap = append(dst, word...), word == "and"
	}
	return dst
}

const lowerLetters = "abcdefghijklmnopqrstuvwxyz"

// droppedMark reports whether r, outside ASCII, stands inside a word without
// being part of it: apostrophes, okinas and invisible characters.
func droppedMark(r rune) bool {
	return r == '‘' || r == '’' || r == 'ʻ' || r == 'ʼ' || r == '´' || hidden(r)
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// legalForm reports whether word says only what kind of company it is.
func legalForm(word []byte) bool {
	switch string(word) {
	case "inc", "llc", "co", "corp", "ltd", "incorporated", "corporation", "company", "limited", "llp", "pllc":
		return true
	}
	return false
}

// postalShort returns the postal abbreviation of a street word (USPS
// Publication 28, appendix C, the frequent ones), or "".
func postalShort(word []byte) string {
	switch string(word) {
	case "street":
		return "st"
	case "avenue", "av":
		return "ave"
	case "boulevard":
		return "blvd"
	case "road":
		return "rd"
	case "drive":
		return "dr"
	case "lane":
		return "ln"
	case "court":
		return "ct"
	case "place":
		return "pl"
	case "highway":
		return "hwy"
	case "parkway":
		return "pkwy"
	case "suite":
		return "ste"
	case "north":
		return "n"
	case "south":
		return "s"
	case "east":
		return "e"
	case "west":
		return "w"
	}
	return ""
}

// keep returns b as a string: s itself when it is the same, to spare a copy.
func keep(b []byte, s string) string {
	if string(b) == s {
		return s
	}
	return string(b)
}
