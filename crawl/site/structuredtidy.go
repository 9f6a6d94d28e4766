package site

import (
	"errors"
	"strings"
)

var errLDBounds = errors.New("JSON-LD is beyond its bounds")

// maxTokens bounds the members and items of one script, so that a decoded one
// takes some megabytes at most.
const maxTokens = 50_000

// A tidier writes JSON anew without what pages put into it: comments of
// JavaScript and HTML, CDATA marks, commas before an end, line breaks and
// tabs inside texts, a byte order mark, semicolons.
type tidier struct {
	in     string
	out    []byte
	begun  bool // something but white space was copied
	depth  int
	tokens int
	comma  int // where the last comma stands in out if nothing followed it; else -1
}

// tidyJSON returns the text as JSON, as far as it can be told. ok is false
// when it nests or counts beyond the bounds.
func tidyJSON(s string) (text []byte, ok bool) {
	t := tidier{in: strings.TrimPrefix(s, "\ufeff"), out: make([]byte, 0, len(s)), comma: -1}
	for i := 0; i < len(t.in); {
		n := t.junk(i)
		if n == 0 {
			n = t.take(i)
		}
		if i += n; t.depth > maxDepth || t.tokens > maxTokens {
			return nil, false
		}
	}
	return t.out, true
}

// marksAround are what HTML and XML put around a script.
var marksAround = [...]string{"<![CDATA[", "]]>", "<!--", "-->"}

// junk returns how many bytes at i are no JSON.
func (t *tidier) junk(i int) int {
	rest := t.in[i:]
	switch t.in[i] {
	case '/':
		return comment(rest)
	case '<', ']', '-':
		if strings.HasPrefix(rest, "<!--") && t.begun {
			return htmlComment(rest)
		}
		for _, mark := range marksAround {
			if strings.HasPrefix(rest, mark) {
				return len(mark)
			}
		}
	case ';':
		return 1
	}
	return 0
}

// comment returns the length of the comment that s starts with. A line that
// starts with "//" before a mark, as in "//<![CDATA[", ends before it.
func comment(s string) int {
	if strings.HasPrefix(s, "/*") {
		if end := strings.Index(s[2:], "*/"); end >= 0 {
			return end + 4
		}
		return len(s)
	}
	if !strings.HasPrefix(s, "//") {
		return 0
	}
	if rest := strings.TrimLeft(s[2:], " "); hasMark(rest) {
		return len(s) - len(rest)
	}
	if end := strings.IndexAny(s, "\n\r"); end >= 0 {
		return end
	}
	return len(s)
}

// htmlComment returns the length of the comment that s starts with. At the
// very beginning the mark only hides the script from ancient browsers.
func htmlComment(s string) int {
	if end := strings.Index(s, "-->"); end >= 0 {
		return end + len("-->")
	}
	return len(s)
}

func hasMark(s string) bool {
	for _, mark := range marksAround {
		if strings.HasPrefix(s, mark) {
			return true
		}
	}
	return false
}

// take copies what is JSON at i, and returns how long it is.
func (t *tidier) take(i int) int {
	c := t.in[i]
	switch c {
	case ' ', '\n', '\r', '\t':
		t.out = append(t.out, ' ')
		return 1
	case ',':
		t.tokens++
		t.comma = len(t.out)
		t.out = append(t.out, c)
		return 1
	case '{', '[':
		t.depth++
		t.tokens++
	case '}', ']':
		t.depth--
		if t.comma >= 0 {
			t.out[t.comma] = ' ' // a comma before the end
		}
	}
	t.comma, t.begun = -1, true
	if c == '"' {
		return t.text(i)
	}
	t.out = append(t.out, c)
	return 1
}

// text copies the string that begins at i. Controls, which JSON does not allow
// there, become spaces; an escaped apostrophe needs no escape.
func (t *tidier) text(i int) int {
	t.out = append(t.out, '"')
	for j := i + 1; j < len(t.in); j++ {
		c := t.in[j]
		switch {
		case c == '"':
			t.out = append(t.out, c)
			return j + 1 - i
		case c == '\\' && j+1 < len(t.in):
			if j++; t.in[j] != '\'' {
				t.out = append(t.out, c)
			}
			c = t.in[j]
		case c < ' ':
			c = ' '
		}
		t.out = append(t.out, c)
	}
	return len(t.in) - i
}
