package structured

import (
	"encoding/json"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
)

// Bounds on JSON-LD: pages of 30 businesses carry some 20 KB of it.
const (
	maxScripts = 200
	maxScript  = 1 << 20 // bytes
	maxRoots   = 1000    // values side by side in a script
	maxDepth   = 64      // what is deeper is passed over
)

// addScript reads a JSON-LD script. One that is damaged beyond repair is passed over.
func (g *graph) addScript(script string) {
	for _, root := range jsonValues(script) {
		r := jsonReader{s: root, graph: g}
		r.into(&g.top, "", 0)
	}
}

// jsonValues returns the values of a script, each a text of valid JSON; none when it is
// damaged beyond repair.
func jsonValues(script string) []string {
	switch {
	case len(script) > maxScript:
		return nil
	case json.Valid([]byte(script)):
		return []string{script}
	case !strings.Contains(script, `"`): // it went through an HTML escaper
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

// What pages put into JSON: comments of JavaScript and HTML, the marks that HTML and XML put around a
// script, semicolons, commas before an end. A line that starts with "//" before a mark ends there.
const (
	jsonString = `"(?:[^"\\]|\\.)*"?`
	comments   = `/\*.*?(?:\*/|$)|// *(?:` + marks + `)|//[^\n\r]*`
	marks      = `<!\[CDATA\[|\]\]>|<!--|-->`
)

var (
	// At the very beginning "<!--" only hides the script from ancient browsers.
	jsonStart  = regexp.MustCompile(`(?s)^(?:[\s;\x{feff}]|` + comments + `|` + marks + `)+`)
	jsonJunk   = regexp.MustCompile(`(?s)` + jsonString + `|` + comments + `|<!--.*?(?:-->|$)|` + marks + `|;`)
	lastCommas = regexp.MustCompile(`(?s)(` + jsonString + `)|,(\s*[}\]])`)

	escapes = strings.NewReplacer(`\\`, `\\`, `\'`, `'`)
)

// repair takes out of JSON what is none. What is valid stays as it is.
func repair(script string) string {
	script = jsonStart.ReplaceAllString(script, "")
	script = jsonJunk.ReplaceAllStringFunc(script, func(s string) string {
		if s[0] != '"' {
			return " "
		}
		blank := func(c rune) rune { // line breaks and tabs in a text
			if c < ' ' {
				return ' '
			}
			return c
		}
		return escapes.Replace(strings.Map(blank, s))
	})
	return lastCommas.ReplaceAllString(script, "$1$2")
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
			r.into(it, schemaWord(key), depth)
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
