package yp

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CompanyKeys returns the strong keys of a listing of a source in a country (ISO 3166), strongest first. Two
// listings belong to one company when they share any of them:
//
//	web:acme.com/menu                   the canonical website, see webKey
//	tel:+13105550123|acme plumbing      phone and the stem of the name, see nameStem
//	adr:acme plumbing|12 main st|90210  name, street without unit, and five-digit postal code
//	adr:acme|1 high st|GB SW1A 1AA      in another country than the USA: with its code, and the postal code whole
//
// Phone and address alone are no key: two businesses can share both. Names and
// streets are in them as keyName and appendStreet have them. The rules are
// held to the labelled set in store/testdata.
func CompanyKeys(l *Listing, country string) []string {
	keys := make([]string, 0, 3)
	if w, ok := CanonicalWebsite(l.Website); ok && !w.Shared {
		if site, ok := webKey(&w); ok {
			keys = append(keys, "web:"+site)
		}
	}
	name := keyName(l.Name)
	if name == "" {
		return keys
	}
	// (555) 555-5555 is what people type where a number is asked for and they have none.
	if n := l.PhoneE164; len(n) > 2 && strings.Count(n[2:], n[2:3]) < len(n)-2 {
		keys = append(keys, "tel:"+n+"|"+nameStem(name))
	}
	if zip, ok := postalKey(l.PostalCode, country); ok {
		if street := appendStreet(nil, l.Street); len(street) > 0 {
			keys = append(keys, "adr:"+name+"|"+string(street)+"|"+zip)
		}
	}
	return keys
}

// firstZIP is the smallest ZIP code there is (Holtsville, NY): what is below it is no
// place but a filled field.
const firstZIP = "00501"

// postalKey is a postal code as it is in a key: two countries may have the same.
func postalKey(s, country string) (string, bool) {
	if country == DefaultCountry {
		return zip5(s)
	}
	return country + " " + s, s != "" && strings.Trim(s, "0- ") != ""
}

// zip5 returns the five digits that begin a postal code.
func zip5(s string) (string, bool) {
	if len(s) < 5 || len(s) > 5 && s[5] != '-' && s[5] != ' ' {
		return "", false
	}
	if strings.Trim(s[:5], "0123456789") != "" {
		return "", false
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
			if unicode.In(r, unicode.Letter, unicode.Number, unicode.Mark) {
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

// droppedMark reports whether r, outside ASCII, is inside a word without
// being part of it: apostrophes, okinas and invisible characters.
func droppedMark(r rune) bool {
	return r == '‘' || r == '’' || r == 'ʻ' || r == 'ʼ' || r == '´' || hidden(r)
}

// legalForm reports whether word says only what kind of company it is.
func legalForm(word []byte) bool {
	return slices.Contains(legalForms[:], string(word))
}

var legalForms = [...]string{
	"inc", "llc", "co", "corp", "ltd", "incorporated", "corporation", "company", "limited",
	"llp", "pllc", "lp", "lllp", "plc", "pc", "pa", "psc",
}

// keep returns b as a string: s itself when it is the same, to spare a copy.
func keep(b []byte, s string) string {
	if string(b) == s {
		return s
	}
	return string(b)
}

// keyName is a business name as it is in a key: NormalName without "the" at its ends,
// with words that signs and directories shorten in one form.
func keyName(s string) string {
	words := strings.Split(strings.TrimSuffix(strings.TrimPrefix(NormalName(s), "the "), " the"), " ")
	for i, w := range words {
		words[i] = cmp.Or(nameShorts[w], w)
	}
	return strings.Join(words, " ")
}

// nameShorts has the one form of words that names of businesses shorten.
var nameShorts = map[string]string{
	"saint": "st", "mount": "mt", "fort": "ft", "brothers": "bros", "center": "ctr", "centre": "ctr", "cntr": "ctr",
	"service": "svc", "services": "svc", "svcs": "svc", "serv": "svc",
	"associates": "assoc", "associate": "assoc", "assocs": "assoc", "assn": "assoc", "association": "assoc", "international": "intl",
	"national": "natl", "management": "mgmt", "department": "dept", "manufacturing": "mfg", "doctor": "dr",
	"shoppe": "shop", "theatre": "theater",
}

// nameStem returns what a business seldom leaves out of its name, of a key name: the
// first two words behind those that only say whose office it is. "Hernandez Roofing"
// and "Hernandez Roofing & Siding" with one phone are one business; of two lawyers who
// share one, each is behind a "Law Office of".
func nameStem(name string) string {
	words := strings.Split(name, " ")
	for len(words) > 1 && slices.Contains(leadWords[:], words[0]) {
		words = words[1:]
	}
	return strings.Join(words[:min(2, len(words))], " ")
}

var leadWords = [...]string{"dr", "law", "office", "offices", "of", "firm", "the", "and", "a"}

// KeyKind is what a strong key is made of.
type KeyKind string

// The kinds, strongest key first.
const (
	KeyWeb KeyKind = "web"
	KeyTel KeyKind = "tel"
	KeyAdr KeyKind = "adr"
)

// KindOf returns the kind of a key of CompanyKeys.
func KindOf(key string) KeyKind {
	kind, _, _ := strings.Cut(key, ":")
	return KeyKind(kind)
}
