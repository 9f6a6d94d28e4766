package yp

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
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
// streets stand in them as keyName and appendStreet have them. The rules are
// held to the labelled set in store/testdata.
func CompanyKeys(l *Listing) []string {
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
	if zip, ok := zip5(l.PostalCode); ok {
		if street := appendStreet(nil, l.Street); len(street) > 0 {
			keys = append(keys, "adr:"+name+"|"+string(street)+"|"+zip)
		}
	}
	return keys
}

// firstZIP is the smallest ZIP code there is (Holtsville, NY): what is below it is no
// place but a filled field.
const firstZIP = "00501"

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

// droppedMark reports whether r, outside ASCII, stands inside a word without
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

// keyName is a business name as it stands in a key: NormalName without "the" at its ends,
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
	"national": "natl", "management": "mgmt", "department": "dept", "manufacturing": "mfg", "doctor": "dr", "shoppe": "shop", "theatre": "theater",
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

// Strengths of links: how sure it is that two listings are one business.
const (
	strengthTel        = 0.98 // the phone and the name: wrong only for namesakes behind one switchboard
	strengthAdr        = 0.96 // the name at one address: wrong for namesakes of one building ("Notary Public")
	strengthWeb        = 0.92 // the site alone: agents and tenants may link the site of their brand or landlord
	strengthRemembered = 0.5  // a key that they shared once, and share no more
)

// LinkStrength returns how sure it is, from 0 to 1, that two listings are one
// business when they share keys of these kinds. Keys count as independent witnesses:
// of two kinds, both would have to be wrong. The strengths are put by judgement, in the
// order in which the kinds err on the labelled set in store/testdata (three wrong pairs:
// too few to measure by). They are there to compare companies with, and no frequencies.
func LinkStrength(kinds ...KeyKind) float64 {
	doubt := 1.0
	for _, kind := range kinds {
		switch kind {
		case KeyTel:
			doubt *= 1 - strengthTel
		case KeyAdr:
			doubt *= 1 - strengthAdr
		case KeyWeb:
			doubt *= 1 - strengthWeb
		}
	}
	return 1 - doubt
}

// Confidence returns how sure it is, from 0 to 1, that all listings of a company are
// one business: the strength of the weakest link that they need to hang together
// (the least edge of the maximum spanning tree). keys are those that each listing
// gives. One listing alone has 1; what no link holds together any more is held by memory alone, 0.5.
// Neither the order of listings nor that of keys matters.
func Confidence(keys [][]string) float64 {
	if len(keys) <= 1 {
		return 1
	}
	f := NewForest(len(keys))
	for _, kinds := range linkKinds() {
		owner := map[string]int{}
		for i := range keys {
			for _, k := range together(keys[i], kinds) {
				if first, ok := owner[k]; ok {
					f.Join(first, i)
				} else {
					owner[k] = i
				}
			}
		}
		if f.trees == 1 {
			return LinkStrength(kinds...)
		}
	}
	return strengthRemembered
}

// linkKinds lists the sets of kinds that two listings may share, strongest first.
func linkKinds() [][]KeyKind {
	all := [][]KeyKind{
		{KeyWeb, KeyTel, KeyAdr}, {KeyTel, KeyAdr}, {KeyWeb, KeyTel}, {KeyWeb, KeyAdr}, {KeyTel}, {KeyAdr}, {KeyWeb},
	}
	slices.SortStableFunc(all, func(a, b []KeyKind) int { return cmp.Compare(LinkStrength(b...), LinkStrength(a...)) })
	return all
}

// together returns every combination of one key of each kind.
func together(keys []string, kinds []KeyKind) []string {
	out := []string{""}
	for _, kind := range kinds {
		var longer []string
		for _, k := range keys {
			if KindOf(k) != kind {
				continue
			}
			for _, before := range out {
				longer = append(longer, before+k+"\n")
			}
		}
		out = longer
	}
	return out
}

// Forest tells which of n things hang together.
type Forest struct {
	root  []int
	trees int
}

// NewForest returns n things of which none hang together.
func NewForest(n int) *Forest {
	f := &Forest{root: make([]int, n), trees: n}
	for i := range f.root {
		f.root[i] = i
	}
	return f
}

// Root returns the first of the things that hang together with i.
func (f *Forest) Root(i int) int {
	for f.root[i] != i {
		f.root[i] = f.root[f.root[i]]
		i = f.root[i]
	}
	return i
}

// Join lets i and j hang together.
func (f *Forest) Join(i, j int) {
	if i, j = f.Root(i), f.Root(j); i != j {
		f.root[max(i, j)] = min(i, j)
		f.trees--
	}
}
