package demo

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// encoding is how a page writes characters outside ASCII.
type encoding uint8

const (
	encodeUTF8    encoding = iota
	encodeNumeric          // as numeric references
	encodeLatin1           // as ISO-8859-1 bytes, references beyond it
)

func (s skin) encoding() encoding {
	switch s {
	case skinEntity:
		return encodeNumeric
	case skin2013:
		return encodeLatin1
	}
	return encodeUTF8
}

func (s skin) charset() string {
	if s == skin2013 {
		return "iso-8859-1"
	}
	return "utf-8"
}

// plain reports whether s stands for itself in any page and in JSON.
func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= utf8.RuneSelf, c == '&', c == '<', c == '>', c == '"', c == '\'', c == '\\':
			return false
		}
	}
	return true
}

// escape makes s fit for text and quoted attributes.
func (e encoding) escape(s string) string {
	if plain(s) {
		return s
	}
	b := make([]byte, 0, len(s)+24)
	for _, r := range s {
		b = e.append(b, r)
	}
	return string(b)
}

func (e encoding) append(b []byte, r rune) []byte {
	switch r {
	case '&':
		return append(b, "&amp;"...)
	case '<':
		return append(b, "&lt;"...)
	case '>':
		return append(b, "&gt;"...)
	case '"':
		return append(b, "&quot;"...)
	case '\'':
		return append(b, "&#39;"...)
	}
	switch {
	case r < utf8.RuneSelf, e == encodeUTF8:
		return utf8.AppendRune(b, r)
	case e == encodeLatin1 && r >= 0xa0 && r < 0x100:
		return append(b, byte(r))
	}
	b = append(b, "&#"...)
	return append(strconv.AppendInt(b, int64(r), 10), ';')
}

// jsonText makes s fit for a JSON string inside a script element.
func jsonText(s string) string {
	if plain(s) {
		return s
	}
	b := make([]byte, 0, len(s)+24)
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == '<':
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[r>>4], "0123456789abcdef"[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// jsonList writes a list of plain strings.
func jsonList(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return `["` + strings.Join(list, `","`) + `"]`
}

// grouped writes n with commas: 1,108.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
