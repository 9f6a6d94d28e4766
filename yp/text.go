package yp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Clean makes text from a page fit to keep: invalid UTF-8 becomes U+FFFD,
// control and format characters (NUL, escape, bidi overrides, zero width) are
// removed, every run of white space becomes one space, and the ends are
// trimmed. Controls from U+0080 to U+009F are the characters that Windows-1252 has in their place, as HTML reads "&#146;":
// pages that misname their charset have them. Text that is clean already comes back as it is, without allocation.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	dst, space := make([]byte, 0, len(s)), false
	for i, r := range s {
		if 0x80 <= r && r < 0xa0 {
			r = meant(r, dst, s[i+2:])
		}
		switch {
		case unicode.IsSpace(r):
			space = true
		case hidden(r):
		default:
			if space && len(dst) > 0 {
				dst = append(dst, ' ')
			}
			space = false
			dst = utf8.AppendRune(dst, r)
		}
	}
	return string(dst)
}

// windows1252 are the characters from 0x80 to 0x9f; 0 = none. 0x85 is missing: U+0085 is a line break of its own.
var windows1252 = [32]rune{
	'€', 0, '‚', 'ƒ', '„', 0, '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

// meant returns what a control from U+0080 on stands for between two texts. The quotation mark within a word is the
// apostrophe, by which such a name is the same as on a page that writes it plainly.
func meant(r rune, before []byte, after string) rune {
	c := windows1252[r-0x80]
	if c == '’' && len(before) > 0 && after != "" && wordEnd(before[len(before)-1]) && wordEnd(after[0]) {
		return '\''
	}
	return cmp.Or(c, r)
}

// wordEnd reports whether a byte is of a letter.
func wordEnd(c byte) bool { return isLetter(c) || c >= 0x80 }

func isClean(s string) bool {
	space := true // the rune before is one, or there is none
	for i := 0; i < len(s); {
		c := s[i]
		if c > ' ' && c < 0x7f || c == ' ' && !space {
			space = c == ' '
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r < utf8.RuneSelf || size == 1 || unicode.IsSpace(r) || hidden(r) {
			return false
		}
		space = false
		i += size
	}
	return !space || s == ""
}

// Clip cuts a text to at most n bytes, at a rune.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return strings.TrimSpace(s[:n])
}

// Printable makes s safe to show on a terminal, on one line: control, format
// and line-separating characters and invalid bytes are shown as Go escapes
// ("\x1b", "\u202e"). Text that is safe already comes back as it is.
func Printable(s string) string {
	var out []byte
	done := 0
	for i := 0; i < len(s); {
		if c := s[i]; ' ' <= c && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if unsafeRune(r, size) {
			out = appendEscape(append(out, s[done:i]...), r, s[i])
			done = i + size
		}
		i += size
	}
	if out == nil {
		return s
	}
	return string(append(out, s[done:]...))
}

func appendEscape(dst []byte, r rune, first byte) []byte {
	switch {
	case r == '\n', r == '\r', r == '\t':
		q := strconv.QuoteRune(r)
		return append(dst, q[1:len(q)-1]...)
	case r < utf8.RuneSelf, r == utf8.RuneError:
		return fmt.Appendf(dst, `\x%02x`, first)
	case r < 0x10000:
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	return fmt.Appendf(dst, `\U%08x`, r)
}

// EscapeJSON writes what Printable would change of a JSON text as the escapes of JSON; encoding/json
// has escaped the controls of ASCII. Text that is safe already comes back as it is. Every line of a
// log passes here: eight characters of ASCII are looked at at once.
func EscapeJSON(text []byte) []byte {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	var out []byte
	done := 0
	for i := 0; i < len(text); {
		if i+8 <= len(text) {
			if v := binary.LittleEndian.Uint64(text[i:]); (v|(v+ones))&tops == 0 { // all below 0x7f
				i += 8
				continue
			}
		}
		if text[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if unsafeRune(r, size) {
			out = appendJSONRune(append(out, text[done:i]...), r)
			done = i + size
		}
		i += size
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}

// AppendJSON appends s as a JSON string, the same as encoding/json (without its escapes of HTML)
// and EscapeJSON together write it.
func AppendJSON(b []byte, s string) []byte {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) { // eight at once: none of them is a control, a quote, a backslash or outside ASCII
			e := s[i : i+8]
			v := uint64(e[0]) | uint64(e[1])<<8 | uint64(e[2])<<16 | uint64(e[3])<<24 | uint64(e[4])<<32 | uint64(e[5])<<40 | uint64(e[6])<<48 | uint64(e[7])<<56
			quote, slash := v^'"'*ones, v^'\\'*ones
			if (v|(v+ones)|(v-' '*ones)|(quote-ones)&^quote|(slash-ones)&^slash)&tops == 0 {
				i += 8
				continue
			}
		}
		c := s[i]
		if ' ' <= c && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c == '"' || c == '\\' || unsafeRune(r, size) {
			b = appendJSONRune(append(b, s[done:i]...), r)
			done = i + size
		}
		i += size
	}
	return append(append(b, s[done:]...), '"')
}

func appendJSONRune(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	for _, unit := range utf16.Encode([]rune{r}) {
		b = fmt.Appendf(b, `\u%04x`, unit)
	}
	return b
}

// unsafeRune tells what a terminal may not get.
func unsafeRune(r rune, size int) bool {
	return r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' || hidden(r)
}

// hidden reports whether r shows nothing by itself but can change how the text
// around it is shown or compared: controls, format characters (bidi, zero
// width, soft hyphen, tags) and the other default ignorables (fillers).
func hidden(r rune) bool {
	switch {
	case r < 0x20:
		return true
	case r < 0x7f:
		return false
	case r < 0xa0:
		return true
	case r < 0x300: // Latin letters: the usual case outside ASCII
		return r == 0xad
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

// foldAccents returns s with every letter taken to its lower case base letter
// ("Cañon" → "canon", "Straße" → "strasse"), combining marks and invalid bytes
// dropped. Compatibility decompositions are used because signs and pages write
// full width and ligature forms of plain letters. ASCII comes back as it is and
// unallocated: that is nearly every name in the country.
func foldAccents(s string) string {
	if isASCII(s) {
		return s
	}
	dst := make([]byte, 0, len(s)+8)
	for _, letter := range strings.ToValidUTF8(s, "") {
		if '가' <= letter && letter <= '힣' { // a syllable of Hangul: the keys in the database have it whole
			dst = utf8.AppendRune(dst, letter)
			continue
		}
		for _, r := range norm.NFKD.String(string(letter)) {
			dst = appendBase(dst, r)
		}
	}
	return string(dst)
}

// appendBase appends r in lower case, or what stands for it when Unicode gives
// it no decomposition.
func appendBase(dst []byte, r rune) []byte {
	if unicode.Is(unicode.Mn, r) {
		return dst
	}
	switch r = unicode.ToLower(r); r {
	case '‘', 'ʻ': // the okina of Hawaiian names, silent in every plain spelling
		return dst
	case 'ß':
		return append(dst, "ss"...)
	case 'æ':
		return append(dst, "ae"...)
	case 'œ':
		return append(dst, "oe"...)
	case 'þ':
		return append(dst, "th"...)
	case 'ø':
		return append(dst, 'o')
	case 'ł':
		return append(dst, 'l')
	case 'đ', 'ð':
		return append(dst, 'd')
	case 'ħ':
		return append(dst, 'h')
	case 'ı':
		return append(dst, 'i')
	}
	return utf8.AppendRune(dst, r)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Slug returns s as directories put it in a path: lower case, accents folded,
// periods dropped, everything else that is no letter or digit a hyphen, no
// hyphen doubled or at an end: "Coeur d'Alene" → "coeur-d-alene".
func Slug(s string) string {
	var buf [64]byte
	b := appendSlug(buf[:0], s)
	if string(b) == s {
		return s
	}
	return string(b)
}

// CitySlug returns the slug of a city with its state: "los-angeles-ca". A
// leading St, Ft or Mt is spelled out, as directories do: "saint-louis-mo".
func CitySlug(city, state string) string {
	slug := Slug(city)
	if len(slug) >= 4 && slug[2] == '-' {
		slug = cmp.Or(spelledOut[slug[:2]], slug[:2]) + slug[2:]
	}
	if slug != "" {
		slug += "-"
	}
	return slug + Slug(state)
}

// CategorySlug returns the slug of a category: "Auto Repair & Service" →
// "auto-repair-service".
func CategorySlug(name string) string { return Slug(name) }

// OneOf returns the slug of a category as that of one such business, so that "plumber" and
// "Plumbers" are told to be the same: "bakeries" → "bakery".
func OneOf(slug string) string {
	for _, end := range []struct{ many, one string }{
		{"ies", "y"},
		{"ches", "ch"},
		{"shes", "sh"},
		{"sses", "ss"},
		{"xes", "x"},
		{"ss", "ss"},
		{"s", ""},
	} {
		if stem, ok := strings.CutSuffix(slug, end.many); ok {
			return stem + end.one
		}
	}
	return slug
}

var spelledOut = map[string]string{"st": "saint", "ft": "fort", "mt": "mount"}

// appendSlug appends Slug(s) to dst.
func appendSlug(dst []byte, s string) []byte {
	s = foldAccents(s)
	start, gap := len(dst), false
	for i := range len(s) {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case c == '.':
			continue
		default:
			gap = true
			continue
		}
		if gap && len(dst) > start {
			dst = append(dst, '-')
		}
		gap = false
		dst = append(dst, c)
	}
	return dst
}

// maxNearest bounds the work of Nearest: nobody mistypes a longer word.
const maxNearest = 64

// Nearest returns the candidate that word was most likely meant to be, for
// "did you mean" hints: the one with the smallest edit distance, letter case
// aside, where a swap of neighbours counts once. Of equals the one with the
// same first letter wins, then the earliest. ok is false when all are further
// than a third of the word (at least one edit) away.
func Nearest(word string, candidates []string) (string, bool) {
	w := []rune(strings.ToLower(word))
	if len(word) > maxNearest*4 || len(w) > maxNearest || len(w) == 0 {
		return "", false
	}
	best, bestCost := "", 2*max(1, len(w)/3)+2
	for _, c := range candidates {
		r := []rune(strings.ToLower(c))
		if len(r) > maxNearest || len(r) == 0 {
			continue
		}
		cost := 2 * editDistance(w, r)
		if r[0] != w[0] {
			cost++
		}
		if cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best, best != ""
}

// editDistance is the optimal string alignment distance of a and b: insertions,
// deletions, replacements and swaps of neighbours.
func editDistance(a, b []rune) int {
	var rows [3][maxNearest + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
