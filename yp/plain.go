package yp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain returns a text with the digits, blanks, dashes and apostrophes of ASCII in place of others, and without
// what does not show, so that numbers in it can be read. ok is false when its digits are of two scripts: one of
// them is no part of the number, and nobody knows which. Full-width digits are those of ASCII.
func plain(s string) (text string, ok bool) {
	if isASCII(s) {
		return s, true
	}
	dst, zero := make([]byte, 0, len(s)), rune(0)
	for _, r := range s {
		r = plainSign(r)
		if first, is := zeroOf(r); is {
			if zero != 0 && zero != first {
				return "", false
			}
			zero, r = first, '0'+r-first
		}
		if r >= 0 {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return string(dst), true
}

// plainSign returns the sign of ASCII that r is another form of, r itself when it is none, -1 for what does not show.
func plainSign(r rune) rune {
	const wide = '！' - '!' // full-width forms are in the order of ASCII
	switch {
	case r < utf8.RuneSelf:
	case '！' <= r && r <= '～':
		return r - wide
	case unicode.IsSpace(r):
		return ' '
	case unicode.Is(unicode.Pd, r), r == '−', r == '⁃':
		return '-'
	case strings.ContainsRune("‘’‛ʻʼ´′٬", r): // the last one is the Arabic sign between thousands
		return '\''
	case r == '٫': // and that before decimals
		return '.'
	case hidden(r):
		return -1
	}
	return r
}

// zeroOf returns the zero of the script that a decimal digit is of. Those of a script are in a row
// (The Unicode Standard, section 4.6, "Decimal Digits").
func zeroOf(r rune) (zero rune, ok bool) {
	if r < utf8.RuneSelf {
		return '0', '0' <= r && r <= '9'
	}
	if !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	for _, in := range unicode.Nd.R16 {
		if rune(in.Lo) <= r && r <= rune(in.Hi) {
			return r - (r-rune(in.Lo))%10, true
		}
	}
	for _, in := range unicode.Nd.R32 {
		if rune(in.Lo) <= r && r <= rune(in.Hi) {
			return r - (r-rune(in.Lo))%10, true
		}
	}
	return 0, false
}

// digitsAt returns how many digits a text begins with.
func digitsAt(s string) (n int) {
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}
