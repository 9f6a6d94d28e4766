package yp

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from a page fit to keep: invalid UTF-8 becomes U+FFFD,
// control and format characters (NUL, escape, bidi overrides, zero width) are
// removed, every run of white space becomes one space, and the ends are
// trimmed. Text that is clean already comes back as it is, without allocation.
func Clean(s string) string {
	n := cleanPrefix(s)
	if n == len(s) {
		return s
	}
	dst := append(make([]byte, 0, len(s)), s[:n]...)
	space := false
	for _, r := range s[n:] {
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

// cleanPrefix returns the length of the longest prefix of s that Clean keeps
// as it is. It never ends in a space, so that Clean can go on from there.
func cleanPrefix(s string) int {
	end := 0 // just after the last rune that is no space
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c > ' ' && c < 0x7f:
			i++
			end = i
		case c == ' ' && i > 0 && i == end:
			i++
		default:
			size := cleanRune(s[i:])
			if size == 0 {
				return end
			}
			i += size
			end = i
		}
	}
	return end
}

// cleanRune returns the size of the first rune of s when it lies outside ASCII
// and Clean keeps it, else 0.
func cleanRune(s string) int {
	r, size := utf8.DecodeRuneInString(s)
	if r < utf8.RuneSelf || size == 1 || unicode.IsSpace(r) || hidden(r) {
		return 0
	}
	return size
}

// Printable makes s safe to show on a terminal, on one line: control, format
// and line-separating characters and invalid bytes are shown as Go escapes
// ("\x1b", "\u202e"). Text that is safe already comes back as it is.
func Printable(s string) string {
	n := printablePrefix(s)
	if n == len(s) {
		return s
	}
	dst := append(make([]byte, 0, len(s)+16), s[:n]...)
	for i := n; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = fmt.Appendf(dst, `\x%02x`, s[i])
		case shown(r):
			dst = append(dst, s[i:i+size]...)
		default:
			dst = appendEscape(dst, r)
		}
		i += size
	}
	return string(dst)
}

func printablePrefix(s string) int {
	for i := 0; i < len(s); {
		if c := s[i]; ' ' <= c && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if (r == utf8.RuneError && size == 1) || !shown(r) {
			return i
		}
		i += size
	}
	return len(s)
}

// shown reports whether a terminal may get r as it is.
func shown(r rune) bool {
	if r < 0x7f {
		return r >= ' '
	}
	return r != '\u2028' && r != '\u2029' && !hidden(r)
}

func appendEscape(dst []byte, r rune) []byte {
	switch {
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < 0x80:
		return fmt.Appendf(dst, `\x%02x`, r)
	case r < 0x10000:
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	return fmt.Appendf(dst, `\U%08x`, r)
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
