package wal

import (
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Runs that need no escape are copied
// whole. Beside what JSON asks for, everything that acts on a terminal or ends
// a line somewhere is escaped (DEL, the C1 controls, bidi and zero-width
// characters, U+2028), so that `cat` and `tail -f` of a log are safe.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if i += safeBytes(s[i:]); i == len(s) {
			break
		}
		c := s[i]
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(s[i:]); plain(r, size) {
				i += size
				continue
			}
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, r)
		i += size
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// safeBytes counts the bytes at the start of s that need no escape and no
// decoding: printable ASCII without the quote and the backslash. It looks at
// eight at a time; in each word the lowest byte that is marked is a true hit.
func safeBytes(s string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		quote, slash, del := x^ones*'"', x^ones*'\\', x^ones*0x7f
		low := (x - ones*' ') | (quote - ones) | (slash - ones) | (del - ones) | x
		if low &= tops; low != 0 {
			return i + bits.TrailingZeros64(low)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// plain reports whether a rune beyond ASCII may stand in a log as it is. An
// invalid byte (RuneError of size 1) may not.
func plain(r rune, size int) bool {
	switch {
	case r < 0xa0: // C1 controls
		return false
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff:
		return false
	case r == 0x61c: // Arabic letter mark
		return false
	}
	return r != utf8.RuneError || size > 1
}

func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', hexDigits[r>>12&0xf], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
}
