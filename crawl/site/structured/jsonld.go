package structured

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
)

// Bounds on JSON-LD: pages of 30 businesses carry some 20 KB of it.
const (
	maxScripts = 200
	maxScript  = 1 << 20 // bytes
	maxRoots   = 1000    // values side by side in a script
	maxDepth   = 64      // what is deeper is passed over
	maxNested  = 10_000  // what is deeper is no JSON for encoding/json, either
)

// addScript reads a JSON-LD script. One that is damaged beyond repair adds nothing.
func (g *graph) addScript(script string) {
	if len(script) > maxScript {
		return
	}
	if !strings.Contains(script, `"`) { // it went through an HTML escaper
		script = html.UnescapeString(script)
	}
	r := jsonReader{s: unwrap(script), graph: &graph{count: g.count}}
	for n := 0; n < maxRoots && (r.peek() == '{' || r.peek() == '['); n++ {
		r.value(&r.graph.top, "", 0)
	}
	if r.peek(); r.bad || r.i < len(r.s) {
		return
	}
	g.count = r.graph.count
	g.top.props = append(g.top.props, r.graph.top.props...)
	for _, it := range r.graph.byID {
		g.register(it)
	}
}

// unwrap takes off what hides a script from old browsers and from XML, and a semicolon behind it.
func unwrap(s string) string {
	for {
		inner := s
		if n := len(s); n > 0 && (strings.IndexByte(" \n\r\t\f;\xef", s[0]) >= 0 || strings.IndexByte(" \n\r\t\f;\xbf", s[n-1]) >= 0) {
			inner = strings.Trim(s, " \n\r\t\f;\ufeff")
		}
		for _, mark := range [...]string{"<!--", "-->", "//<![CDATA[", "//]]>", "/*<![CDATA[*/", "/*]]>*/", "<![CDATA[", "]]>"} {
			inner = without(inner, mark)
		}
		if len(inner) == len(s) {
			return s
		}
		s = inner
	}
}

// without returns a text without a mark at its beginning and at its end. Most have none, and a hostile one has a million.
func without(s, mark string) string {
	if len(s) >= len(mark) && s[0] == mark[0] {
		s = strings.TrimPrefix(s, mark)
	}
	if n, m := len(s), len(mark); n >= m && s[n-1] == mark[m-1] {
		s = strings.TrimSuffix(s, mark)
	}
	return s
}

// A jsonReader turns JSON into items. The decoder of encoding/json takes five times as long to make maps of
// it, which then need sorting out. Comments and a comma before an end are passed over, numbers and escapes that JSON does not know
// are mended, and words that it does not know are null. Anything else is bad, and ends the reading.
type jsonReader struct {
	s     string
	i     int
	graph *graph
	bad   bool
}

func (r *jsonReader) fail() { r.bad, r.i = true, len(r.s) }

// peek returns the byte that comes next, blanks and comments passed over; 0 at the end of the text.
func (r *jsonReader) peek() byte {
	for r.i < len(r.s) {
		switch c := r.s[r.i]; c {
		case ' ', '\n', '\r', '\t':
			r.i++
		case '/', '<':
			n := comment(r.s[r.i:])
			if n == 0 {
				return c
			}
			r.i += n
		default:
			return c
		}
	}
	return 0
}

// comment returns the length of the comment of JavaScript or HTML at the start of s; 0 = there is none.
func comment(s string) int {
	end := ""
	switch {
	case strings.HasPrefix(s, "/*"):
		end = "*/"
	case strings.HasPrefix(s, "//"):
		end = "\n"
	case strings.HasPrefix(s, "<!--"):
		end = "-->"
	default:
		return 0
	}
	if i := strings.Index(s[2:], end); i >= 0 {
		return 2 + i + len(end)
	}
	return len(s)
}

// more reports whether another value or member follows in a list or an object, and passes over the comma before it,
// or over the end.
func (r *jsonReader) more(end byte, first bool) bool {
	c := r.peek()
	if !first && c == ',' {
		r.i++
		c = r.peek()
	} else if !first && c != end {
		r.fail()
	}
	switch {
	case c == 0, r.bad:
		r.fail()
		return false
	case c == end:
		r.i++
		return false
	}
	return true
}

// value adds what comes next to an item as values of a property; nil takes nothing. Lists are flat in
// JSON-LD: a list in a list adds nothing. true, false and null say nothing.
func (r *jsonReader) value(to *item, name string, depth int) {
	if c := r.peek(); c == '[' || c == '{' {
		if r.i++; depth >= maxDepth {
			to = nil
		}
		switch {
		case depth >= maxNested:
			r.fail()
		case c == '{':
			r.object(to, name, depth+1)
		default:
			for first := true; r.more(']', first); first = false {
				r.value(to, name, depth+1)
			}
		}
		return
	}
	if text, says := r.scalar(); says {
		to.add(name, value{text: text})
	}
}

// object reads an object into an item of its own. One that only wraps a value or a list adds that.
func (r *jsonReader) object(to *item, name string, depth int) {
	var it *item
	if to != nil {
		it = r.graph.newItem()
	}
	wrapper := false
	for first := true; r.more('}', first); first = false {
		switch key := r.key(); key {
		case "@value", "@list", "@set":
			wrapper = true
			r.value(to, name, depth)
		case "@context":
			r.value(nil, "", depth)
		case "type", "Type", "TYPE":
			r.value(it, "@type", depth)
		default:
			name, exact := property(schemaWord(key))
			switch {
			case exact:
				it.forget(name)
			case it != nil && (it.has(name) || name == "@type" && it.types != nil || name == "@id" && it.id != ""):
				name = key // the name in its own letters counts
			}
			r.value(it, name, depth)
		}
	}
	if !wrapper && it != nil {
		r.graph.register(it)
		to.add(name, value{item: it})
	}
}

// key reads the name of a member, and the colon behind it.
func (r *jsonReader) key() (name string) {
	if r.peek() == '"' {
		name = r.text()
		if r.peek() == ':' {
			r.i++
			return name
		}
	}
	r.fail()
	return ""
}

// scalar reads a text, a number or a word; a word says nothing.
func (r *jsonReader) scalar() (text string, says bool) {
	if r.peek() == '"' {
		return r.text(), true
	}
	start := r.i
	for r.i < len(r.s) && wordByte(r.s[r.i]) {
		r.i++
	}
	if r.i == start {
		r.fail()
		return "", false
	}
	text = r.s[start:r.i]
	return text, strings.IndexByte("0123456789+-.", text[0]) >= 0
}

func wordByte(c byte) bool {
	return digit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '+' || c == '-' || c == '.'
}

// text reads a string.
func (r *jsonReader) text() string {
	start, escaped := r.i+1, false
	if n := strings.IndexByte(r.s[start:], '"'); n >= 0 && strings.IndexByte(r.s[start:start+n], '\\') < 0 {
		r.i = start + n + 1
		return r.s[start : start+n]
	}
	for r.i = start; r.i < len(r.s) && r.s[r.i] != '"'; r.i++ {
		if r.s[r.i] == '\\' {
			escaped = true
			r.i++
		}
	}
	if r.i >= len(r.s) {
		r.fail()
		return ""
	}
	text := r.s[start:r.i]
	if r.i++; !escaped {
		return text
	}
	var plain string
	if json.Unmarshal([]byte(`"`+text+`"`), &plain) != nil {
		_ = json.Unmarshal([]byte(`"`+escapes.ReplaceAllStringFunc(text, mended)+`"`), &plain)
	}
	return plain
}

// escapes finds escapes, those among them that JSON does not know, and line breaks and the like.
var escapes = regexp.MustCompile(`\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|u|)|[\x00-\x1f]`)

// mended returns what is meant by what escapes has found.
func mended(s string) string {
	switch {
	case s == `\`:
		return ""
	case s == `\u`:
		return "\ufffd"
	case s[0] < ' ':
		return " "
	}
	return s
}

// maxMember bounds the text of which Member reads one.
const maxMember = 16 << 10

// Member returns a member of a JSON object, as attributes of elements hold them: a string or
// a number, of a list the first; "" when there is none or the text is no such object.
func Member(text, name string) string {
	r := jsonReader{s: text}
	if len(text) > maxMember || !strings.Contains(text, name) || r.peek() != '{' {
		return ""
	}
	r.i++
	for first := true; r.more('}', first); first = false {
		if r.key() != name {
			r.value(nil, "", 0)
			continue
		}
		for r.peek() == '[' {
			r.i++
		}
		if text, says := r.scalar(); says {
			return text
		}
		return ""
	}
	return ""
}
