package yp

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldAccents returns s with every letter outside ASCII taken to its lower
// case base letter ("Cañon" → "Canon", "Straße" → "Strasse"), combining marks
// and invalid bytes dropped. ASCII stays as it is, so an ASCII string comes
// back unchanged and unallocated: that is nearly every name in the country.
func foldAccents(s string) string {
	if isASCII(s) {
		return s
	}
	dst := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			dst = append(dst, s[i])
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || size > 1 {
			dst = appendFolded(dst, r, s[i:i+size])
		}
		i += size
	}
	return string(dst)
}

// appendFolded appends the folded form of r, whose UTF-8 text is enc.
// Compatibility decompositions are used because signs and pages write full
// width and ligature forms of plain letters.
func appendFolded(dst []byte, r rune, enc string) []byte {
	decomposed := norm.NFKD.PropertiesString(enc).Decomposition()
	if decomposed == nil {
		return appendBase(dst, r)
	}
	for len(decomposed) > 0 {
		d, size := utf8.DecodeRune(decomposed)
		dst = appendBase(dst, d)
		decomposed = decomposed[size:]
	}
	return dst
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
