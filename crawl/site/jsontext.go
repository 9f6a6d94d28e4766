package site

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonText reads JSON from front to back, with nothing built that is not asked
// for: pages carry tens of kilobytes of which a few hundred bytes matter. Once
// something is wrong, bad is set and every read comes back empty.
type jsonText struct {
	s     string
	i     int
	depth int
	bad   bool
}

// maxDepth bounds the nesting of JSON.
const maxDepth = 64

// peek skips white space and returns the next byte; 0 at the end or after a
// fault.
func (j *jsonText) peek() byte {
	for !j.bad && j.i < len(j.s) {
		switch c := j.s[j.i]; c {
		case ' ', '\n', '\t', '\r':
			j.i++
		default:
			return c
		}
	}
	return 0
}

// open enters an object or a list, '{' or '['.
func (j *jsonText) open(mark byte) bool {
	if j.peek() != mark || j.depth >= maxDepth {
		j.bad = true
		return false
	}
	j.i++
	j.depth++
	return true
}

// more reports whether another member or item follows, and goes to it; end is
// '}' or ']'. first is true for the first call.
func (j *jsonText) more(end byte, first bool) bool {
	c := j.peek()
	switch {
	case c == end:
		j.i++
		j.depth--
		return false
	case first && c != 0:
		return true
	case c == ',':
		j.i++
		if j.peek() != end {
			return true
		}
	}
	j.bad = true
	return false
}

// key reads the name of a member and the colon behind it.
func (j *jsonText) key() string {
	k := j.text()
	if j.peek() != ':' {
		j.bad = true
		return ""
	}
	j.i++
	return k
}

// text reads a string.
func (j *jsonText) text() string {
	if j.peek() != '"' {
		j.bad = true
		return ""
	}
	start := j.i + 1
	for i := start; ; {
		n := strings.IndexByte(j.s[i:], '"')
		if n < 0 {
			j.bad = true
			return ""
		}
		i += n
		if j.s[i-1] != '\\' || !escaped(j.s[start:i]) {
			j.i = i + 1
			return unescapeJSON(j.s[start:i])
		}
		i++
	}
}

// escaped reports whether an odd number of backslashes ends s.
func escaped(s string) bool {
	n := 0
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// bare reads a number, true, false or null.
func (j *jsonText) bare() string {
	j.peek()
	start := j.i
	for j.i < len(j.s) && (digit(j.s[j.i]) || letter(j.s[j.i]) || strings.IndexByte("+-.", j.s[j.i]) >= 0) {
		j.i++
	}
	if j.i == start {
		j.bad = true
	}
	return j.s[start:j.i]
}

// skip passes over a value.
func (j *jsonText) skip() {
	switch j.peek() {
	case '"':
		j.text()
	case '{':
		j.open('{')
		for first := true; j.more('}', first); first = false {
			j.key()
			j.skip()
		}
	case '[':
		j.open('[')
		for first := true; j.more(']', first); first = false {
			j.skip()
		}
	default:
		j.bare()
	}
}

// word reads a string or a number; of a list it takes the first, of anything
// else nothing.
func (j *jsonText) word() string {
	var w string
	j.words(func(s string) {
		if w == "" {
			w = s
		}
	})
	return w
}

// words calls f with a string or a number, or with each one of a list.
func (j *jsonText) words(f func(string)) {
	switch c := j.peek(); {
	case c == '"':
		f(j.text())
	case c == '-' || digit(c):
		f(j.bare())
	case c == '[':
		j.open('[')
		for first := true; j.more(']', first); first = false {
			j.words(f)
		}
	default:
		j.skip()
	}
}

// objects calls f at an object, or at each object of a list; f must read it.
func (j *jsonText) objects(f func()) {
	switch j.peek() {
	case '{':
		f()
	case '[':
		j.open('[')
		for first := true; j.more(']', first); first = false {
			j.objects(f)
		}
	default:
		j.skip()
	}
}

// unescapeJSON resolves the escapes of a string's content.
func unescapeJSON(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for ; i >= 0 && i+1 < len(s); i = strings.IndexByte(s, '\\') {
		b = append(b, s[:i]...)
		if s[i+1] != 'u' {
			b, s = append(b, plainEscape(s[i+1])), s[i+2:]
			continue
		}
		r, n := unicodeEscape(s[i:])
		b, s = utf8.AppendRune(b, r), s[i+n:]
	}
	return string(append(b, s...))
}

func plainEscape(c byte) byte {
	switch c {
	case 'n', 'r', 't', 'f', 'b':
		return ' '
	}
	return c
}

// unicodeEscape reads \uXXXX, or two of them that make one rune.
func unicodeEscape(s string) (r rune, n int) {
	r, ok := hex4(s)
	if !ok {
		return utf8.RuneError, min(2, len(s))
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

// hex4 reads the number of a \uXXXX at the start of s.
func hex4(s string) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for i := 2; i < 6; i++ {
		switch c := s[i]; {
		case digit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// member returns a member of the JSON object s: a string or a number; "" when
// there is none or s is no such object.
func member(s, name string) string {
	if s == "" || len(s) > maxJSONAttr {
		return ""
	}
	j := jsonText{s: s}
	if !j.open('{') {
		return ""
	}
	for first := true; j.more('}', first); first = false {
		if j.key() == name {
			return j.word()
		}
		j.skip()
	}
	return ""
}

// maxJSONAttr bounds an attribute that is read as JSON.
const maxJSONAttr = 16 << 10
