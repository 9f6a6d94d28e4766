package structured

import (
	"cmp"
	"encoding/json"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"

	"ypcrawl/yp"
)

// Bounds on JSON-LD: pages of 30 businesses carry some 20 KB of it.
const (
	maxScripts = 200
	maxScript  = 1 << 20 // bytes; as many are repaired on a page
	maxRoots   = 1000    // values side by side in a script
	maxDepth   = 64      // what is deeper is passed over
)

// addScript reads a JSON-LD script. One that is damaged beyond repair is passed over.
func (g *graph) addScript(script string) {
	for _, root := range g.jsonValues(script) {
		r := jsonReader{s: root, graph: g}
		r.into(&g.top, "", 0)
	}
}

// jsonValues returns the values of a script, each a text of valid JSON; none when it is
// damaged beyond repair.
func (g *graph) jsonValues(script string) []string {
	if len(script) > maxScript {
		return nil
	}
	if validJSON(script) {
		return []string{script}
	}
	if g.repaired += len(script); g.repaired > maxScript {
		return nil
	}
	if !strings.Contains(script, `"`) { // it went through an HTML escaper
		script = html.UnescapeString(script)
	}
	dec := json.NewDecoder(strings.NewReader(repair(script)))
	var values []string
	for len(values) < maxRoots {
		var value json.RawMessage
		if err := dec.Decode(&value); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil
		}
		values = append(values, string(value))
	}
	return values
}

// validJSON reports whether a text is JSON, as encoding/json does in twice the time.
func validJSON(s string) bool {
	rest, ok := cutValue(s, 0)
	return ok && skipBlanks(rest) == ""
}

// cutValue cuts a value of JSON off the start of s.
func cutValue(s string, depth int) (rest string, ok bool) {
	if s = skipBlanks(s); s == "" || depth > maxNested || depth == maxNested && (s[0] == '{' || s[0] == '[') {
		return s, false
	}
	switch c := s[0]; c {
	case '"':
		return cutString(s)
	case '{', '[':
		if rest = skipBlanks(s[1:]); rest != "" && rest[0] == c+2 { // the end of it
			return rest[1:], true
		}
		for {
			if c == '{' {
				if rest, ok = cutString(skipBlanks(rest)); !ok {
					return rest, false
				}
				if rest = skipBlanks(rest); rest == "" || rest[0] != ':' {
					return rest, false
				}
				rest = rest[1:]
			}
			if rest, ok = cutValue(rest, depth+1); !ok {
				return rest, false
			}
			switch rest = skipBlanks(rest); {
			case rest != "" && rest[0] == c+2:
				return rest[1:], true
			case rest == "" || rest[0] != ',':
				return rest, false
			}
			rest = rest[1:]
		}
	}
	n := 0
	for n < len(s) && wordByte(s[n]) {
		n++
	}
	return s[n:], n > 0 && s[0] != '0' && yp.AllDigits(s[:n]) || jsonWord.MatchString(s[:n])
}

// maxNested is as deep as encoding/json reads.
const maxNested = 10_000

func cutString(s string) (rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return s, false
	}
	for i := 1; i < len(s); i++ {
		for i < len(s) && plainByte[s[i]] {
			i++
		}
		switch {
		case i == len(s) || s[i] < ' ':
			return s, false
		case s[i] == '"':
			return s[i+1:], true
		}
		if i++; i == len(s) || strings.IndexByte(`"\/bfnrtu`, s[i]) < 0 || s[i] == 'u' && !hex4(s[i+1:]) {
			return s, false
		}
	}
	return s, false
}

// plainByte holds the bytes that stand for themselves in a text of JSON.
var plainByte = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

func skipBlanks(s string) string {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	return s[i:]
}

// marks are what HTML and XML put around a script.
var marks = [...]string{"<![CDATA[", "]]>", "<!--", "-->"}

// mark returns the length of the mark at the start of s; 0 = there is none.
func mark(s string) int {
	for _, m := range marks {
		if strings.HasPrefix(s, m) {
			return len(m)
		}
	}
	return 0
}

// upTo returns the length of s up to the end of the first end; all of s without one.
func upTo(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// comment returns the length of the comment of JavaScript at the start of s; 0 = there is none. A line that
// starts with "//" before a mark ends there.
func comment(s string) int {
	switch {
	case strings.HasPrefix(s, "/*"):
		return 2 + upTo(s[2:], "*/")
	case !strings.HasPrefix(s, "//"):
		return 0
	}
	blanks := len(s) - len(strings.TrimLeft(s[2:], " "))
	if n := mark(s[blanks:]); n > 0 {
		return blanks + n
	}
	if i := strings.IndexAny(s, "\n\r"); i >= 0 {
		return i
	}
	return len(s)
}

// junk returns the length of what is no JSON at the start of s; 0 = there is none.
func junk(s string) int {
	switch s[0] {
	case ';':
		return 1
	case '/':
		return comment(s)
	case '<':
		if strings.HasPrefix(s, "<!--") {
			return 4 + upTo(s[4:], "-->")
		}
		return mark(s)
	case '-', ']':
		return mark(s)
	}
	return 0
}

// repair makes JSON of what pages take for it: comments, marks and semicolons go, and commas before an end;
// texts and bare words are mended. What is valid stays as it is. It passes over the script once.
func repair(script string) string {
	for { // at the very beginning "<!--" only hides the script from ancient browsers
		script = strings.TrimLeft(script, " \n\r\t\f;\ufeff")
		n := cmp.Or(comment(script), mark(script))
		if n == 0 {
			break
		}
		script = script[n:]
	}
	out := make([]byte, 0, len(script)+len(script)/8)
	var last byte // the last that is no white space
	comma := 0    // where the last comma is
	for i := 0; i < len(script); {
		c := script[i]
		n := junk(script[i:])
		switch {
		case n > 0:
			out = append(out, ' ')
			i += n
			continue
		case c == '"':
			out, n = appendText(out, script[i:])
		case wordByte(c):
			for n = 1; i+n < len(script) && wordByte(script[i+n]); n++ {
			}
			out = appendWord(out, script[i:i+n], last)
		default:
			if n = 1; last == ',' && (c == '}' || c == ']') {
				out[comma] = ' '
			}
			if c == ',' {
				comma = len(out)
			}
			out = append(out, c)
		}
		i += n
		if strings.IndexByte(" \n\r\t", c) < 0 {
			last = c
		}
	}
	return string(out)
}

// appendText appends the text at the start of s, n bytes of it. Its line breaks and tabs become blanks; a
// backslash that starts no escape of JSON goes.
func appendText(out []byte, s string) (longer []byte, n int) {
	out = append(out, '"')
	for n = 1; n < len(s); n++ {
		switch c := s[n]; {
		case c == '"':
			return append(out, c), n + 1
		case c == '\\' && n+1 < len(s):
			switch next := s[n+1]; {
			case strings.IndexByte(`"\/bfnrt`, next) >= 0, next == 'u' && hex4(s[n+2:]):
				out = append(out, c, next)
				n++
			case next == 'u':
				out = append(out, "\ufffd"...)
				n++
			}
		case c < ' ':
			out = append(out, ' ')
		default:
			out = append(out, c)
		}
	}
	return out, n
}

// hex4 reports whether s starts with four hexadecimal digits.
func hex4(s string) bool {
	return len(s) >= 4 && strings.Trim(s[:4], "0123456789abcdefABCDEF") == ""
}

func wordByte(c byte) bool {
	return digit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '+' || c == '-' || c == '.'
}

// jsonWord is a number of JSON, or one of its words.
var jsonWord = regexp.MustCompile(`^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)$`)

// appendWord appends what stands without quotes behind the byte last. As a value, a number that JSON does not
// know becomes a text, and any other word null.
func appendWord(out []byte, word string, last byte) []byte {
	switch {
	case strings.IndexByte(":[,", last) < 0 || jsonWord.MatchString(word):
		return append(out, word...)
	case strings.Trim(word[:1], "0123456789+-.") == "":
		return append(append(append(out, '"'), word...), '"')
	}
	return append(out, "null"...)
}

// A jsonReader turns valid JSON into items. The decoder of encoding/json takes five times as long to make
// maps of it, which then need sorting out; so that package only says what is valid, and
// resolves escapes. Of what is not valid the reader makes something, and comes to an end.
type jsonReader struct {
	s     string
	i     int
	graph *graph
}

// peek returns the byte that the next value, name or end starts with; 0 at the end of the text.
func (r *jsonReader) peek() byte {
	for r.i < len(r.s) {
		switch c := r.s[r.i]; c {
		case ' ', '\n', '\r', '\t', ',', ':':
			r.i++
		default:
			return c
		}
	}
	return 0
}

// more reports whether another member or item follows before the end of an object or a list, and passes over that.
func (r *jsonReader) more() bool {
	switch r.peek() {
	case '}', ']':
		r.i++
		return false
	case 0:
		return false
	}
	return true
}

// into adds what comes next to an item as values of a property. Lists are flat in
// JSON-LD: a list in a list adds nothing. true, false and null say nothing.
func (r *jsonReader) into(it *item, name string, depth int) {
	switch c := r.peek(); {
	case c == '"':
		it.add(name, value{text: r.text()})
	case c == '[' && depth < maxDepth:
		for r.i++; r.more(); {
			r.into(it, name, depth+1)
		}
	case c == '{' && depth < maxDepth:
		r.object(it, name, depth+1)
	case c == '-' || digit(c):
		it.add(name, value{text: r.number()})
	default:
		r.skip()
	}
}

// object reads an object into an item of its own. One that only wraps a value or a list adds that.
func (r *jsonReader) object(to *item, name string, depth int) {
	it, wrapper := r.graph.newItem(), false
	for r.i++; r.more(); {
		switch key := r.text(); key {
		case "@value", "@list", "@set":
			wrapper = true
			r.into(to, name, depth)
		case "@context":
			r.skip()
		case "type":
			r.into(it, "@type", depth)
		default:
			name := schemaWord(key)
			it.forget(name)
			r.into(it, name, depth)
		}
	}
	if !wrapper && it != nil {
		r.graph.register(it)
		to.add(name, value{item: it})
	}
}

// text reads a string.
func (r *jsonReader) text() string {
	r.peek()
	start, escaped := min(r.i+1, len(r.s)), false
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
	text := r.s[start:min(r.i, len(r.s))]
	r.i = min(r.i+1, len(r.s))
	if !escaped {
		return text
	}
	var plain string
	if json.Unmarshal([]byte(`"`+text+`"`), &plain) != nil {
		return ""
	}
	return plain
}

func (r *jsonReader) number() string {
	start := r.i
	r.skip()
	return r.s[start:r.i]
}

// skip passes over a value.
func (r *jsonReader) skip() {
	for depth := 0; ; {
		switch r.peek() {
		case 0:
			return
		case '"':
			r.text()
		case '{', '[':
			r.i++
			depth++
		case '}', ']':
			r.i++
			depth--
		default:
			for r.i < len(r.s) && strings.IndexByte(" \n\r\t,:]}", r.s[r.i]) < 0 {
				r.i++
			}
		}
		if depth == 0 {
			return
		}
	}
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
	for r.i++; r.more(); {
		if r.text() != name {
			r.skip()
			continue
		}
		for r.peek() == '[' {
			r.i++
		}
		switch c := r.peek(); {
		case c == '"':
			return r.text()
		case c == '-' || digit(c):
			return r.number()
		}
		return ""
	}
	return ""
}
