package yp

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// CompanyKeys returns the strong keys of a listing, strongest first. Two
// listings belong to one company when they share any of them:
//
//	web:acme.com/menu                   the canonical website, see webKey
//	tel:+13105550123|acme plumbing      phone and the stem of the name, see nameStem
//	adr:acme plumbing|12 main st|90210  name, street without unit, and five-digit postal code
//
// Phone and address alone are no key: two businesses can share both. Names and
// streets stand in them as appendKeyName and appendStreet have them. The rules are
// held to the labelled set in store/testdata.
func CompanyKeys(l *Listing) []string {
	var buf [384]byte
	var named [96]byte
	var ends [3]int // where each key ends in the text
	b, n := buf[:0], 0
	name := appendKeyName(named[:0], l.Name)
	if longer, ok := appendWebKey(b, l); ok {
		b = longer
		ends[n], n = len(b), n+1
	}
	if longer, ok := appendPhoneKey(b, l, name); ok {
		b = longer
		ends[n], n = len(b), n+1
	}
	if longer, ok := appendAddressKey(b, l, name); ok {
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

func appendWebKey(dst []byte, l *Listing) ([]byte, bool) {
	w, ok := CanonicalWebsite(l.Website)
	if !ok || w.Shared {
		return dst, false
	}
	site, ok := webKey(&w)
	return append(append(dst, "web:"...), site...), ok
}

func appendPhoneKey(dst []byte, l *Listing, name []byte) ([]byte, bool) {
	if l.PhoneE164 == "" || len(name) == 0 || oneDigit(l.PhoneE164) {
		return dst, false
	}
	dst = append(append(append(dst, "tel:"...), l.PhoneE164...), '|')
	return append(dst, nameStem(name)...), true
}

// oneDigit reports whether a number in E.164 repeats one digit: (555) 555-5555 is what
// people type where a number is asked for and they have none.
func oneDigit(e164 string) bool {
	if len(e164) != len("+13105550123") {
		return false
	}
	for i := 3; i < len(e164); i++ {
		if e164[i] != e164[2] {
			return false
		}
	}
	return true
}

func appendAddressKey(dst []byte, l *Listing, name []byte) ([]byte, bool) {
	zip, ok := zip5(l.PostalCode)
	if !ok || len(name) == 0 || l.Street == "" {
		return dst, false
	}
	dst = append(append(append(dst, "adr:"...), name...), '|')
	placed := appendStreet(dst, l.Street)
	return append(append(placed, '|'), zip...), len(placed) > len(dst)
}

// firstZIP is the smallest ZIP code there is (Holtsville, NY): what is below it is no
// place but a filled field.
const firstZIP = "00501"

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
	return s[:5], s[:5] >= firstZIP
}

// NormalName returns a business name as it is compared: lower case, accents
// folded, "&" as "and", apostrophes and periods dropped, other punctuation and
// white space one space, trailing legal forms (Inc, LLC, Co, Corp, Ltd, PC, PA and
// others, see legalForm) dropped. A name that is only a legal form is kept.
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
	case "inc", "llc", "co", "corp", "ltd", "incorporated", "corporation", "company", "limited",
		"llp", "pllc", "lp", "lllp", "plc", "pc", "pa", "psc":
		return true
	}
	return false
}

// keep returns b as a string: s itself when it is the same, to spare a copy.
func keep(b []byte, s string) string {
	if string(b) == s {
		return s
	}
	return string(b)
}
