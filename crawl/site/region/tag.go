package region

import (
	"strings"

	"golang.org/x/net/html"
)

// tag is the start tag that the scanner read last.
type tag struct {
	name        string // lower case
	el          element
	attrs       []attr // first of each key, in order
	id, class   string // as written
	typ         string // the type attribute, as written
	selfClosing bool
	hasEntity   bool // id, class or type holds an entity: not to be trusted as written
}

// attr is an attribute as written, its key in lower case.
type attr struct{ key, val string }

// maxAttrs bounds the attributes of a tag: more are odd, and would make the
// search for duplicates slow.
const maxAttrs = 48

// startTag reads a start tag. It admits no more than the forms that pages in
// good order have: name, white space, attributes without a value or with a
// quoted or a plain one, and "/>".
func (c *scanner) startTag() bool {
	t := &c.tag
	t.attrs, t.id, t.class, t.typ, t.selfClosing, t.hasEntity = t.attrs[:0], "", "", "", false, false
	if !c.has("<") || !c.tagName() {
		return false
	}
	for {
		switch c.skipSpace(); {
		case c.has(">"):
			c.i++
			return true
		case c.has("/>"):
			c.i += 2
			t.selfClosing = true
			return true
		case !c.attribute():
			return false
		}
	}
}

func (c *scanner) tagName() bool {
	c.i++
	c.tag.name = c.word()
	if c.tag.name == "" || !letter(c.tag.name[0]) || !c.ended() {
		return false
	}
	if c.inSVG() {
		return true // told apart by element
	}
	var ok bool
	c.tag.el, ok = lookup(c.tag.name)
	return ok
}

// attribute reads one attribute.
func (c *scanner) attribute() bool {
	key, val := c.word(), ""
	if key == "" || !c.ended() && !c.has("=") {
		return false
	}
	if c.skipSpace(); c.has("=") {
		c.i++
		c.skipSpace()
		var ok bool
		if val, ok = c.attrValue(); !ok {
			return false
		}
	}
	return c.tag.add(key, val)
}

// word reads a name, in lower case.
func (c *scanner) word() string {
	s, i, upper := c.s[c.i:], 0, false
	for i < len(s) && nameByte[s[i]] {
		upper = upper || 'A' <= s[i] && s[i] <= 'Z'
		i++
	}
	if c.i += i; upper {
		return strings.ToLower(s[:i])
	}
	return s[:i]
}

// nameByte holds the bytes of plain names.
var nameByte = func() (t [256]bool) {
	for _, b := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:.@" {
		t[b] = true
	}
	return t
}()

// ended reports whether a name or a value has its end here.
func (c *scanner) ended() bool {
	return c.i < len(c.s) && (space(c.s[c.i]) || c.s[c.i] == '>' || c.s[c.i] == '/')
}

func (c *scanner) attrValue() (string, bool) {
	if c.i >= len(c.s) {
		return "", false
	}
	quote := c.s[c.i]
	if quote != '"' && quote != '\'' {
		return c.plainValue()
	}
	c.i++
	j := strings.IndexByte(c.s[c.i:], quote)
	if j < 0 {
		return "", false
	}
	val := c.s[c.i : c.i+j]
	c.i += j + 1
	return val, c.ended()
}

// plainValue reads a value without quotes. One that ends in a slash is odd:
// "<br class=x/>".
func (c *scanner) plainValue() (string, bool) {
	start := c.i
	for c.i < len(c.s) && !space(c.s[c.i]) && c.s[c.i] != '>' {
		switch c.s[c.i] {
		case '"', '\'', '<', '=', '`':
			return "", false
		}
		c.i++
	}
	val := c.s[start:c.i]
	return val, val != "" && c.i < len(c.s) && val[len(val)-1] != '/'
}

// add keeps an attribute, unless its key was there before.
func (t *tag) add(key, val string) bool {
	for i := range t.attrs {
		if t.attrs[i].key == key {
			return true
		}
	}
	switch key {
	case "id":
		t.id = val
	case "class":
		t.class = val
	case "type":
		t.typ = val
	}
	if (key == "id" || key == "class" || key == "type") && strings.IndexByte(val, '&') >= 0 {
		t.hasEntity = true
	}
	t.attrs = append(t.attrs, attr{key, val})
	return len(t.attrs) <= maxAttrs
}

// attrText returns what the parser makes of an attribute's value as written.
func attrText(val string) string {
	val = newlines(val)
	if strings.IndexByte(val, '&') < 0 {
		return val
	}
	b := make([]byte, 0, len(val))
	for rest := val; ; {
		before, after, more := strings.Cut(rest, "&")
		if b = append(b, before...); !more {
			return string(b)
		}
		text, n, plain := reference(after)
		if !plain {
			break
		}
		b, rest = append(b, text), after[n:]
	}
	// The tokenizer itself is asked only here: it takes a buffer of 4 kB.
	quote := `"`
	if strings.Contains(val, quote) {
		quote = `'`
	}
	z := html.NewTokenizer(strings.NewReader("<a b=" + quote + val + quote + ">"))
	z.Next()
	z.TagName()
	_, text, _ := z.TagAttr()
	return string(text)
}

// reference returns what "&" means before rest, and how many bytes of that belong to it.
// plain is false for all but four names, and nothing at all, as before "=" or a blank:
// "?a=1&b=2".
func reference(rest string) (text byte, n int, plain bool) {
	for n < len(rest) && (letter(rest[n]) || '0' <= rest[n] && rest[n] <= '9') {
		n++
	}
	if n < len(rest) && rest[n] == ';' {
		switch rest[:n] {
		case "amp":
			return '&', n + 1, true
		case "quot":
			return '"', n + 1, true
		case "lt":
			return '<', n + 1, true
		case "gt":
			return '>', n + 1, true
		}
		return 0, 0, false
	}
	none := n == 0 && (rest == "" || rest[0] != '#') || n < len(rest) && rest[n] == '='
	return '&', 0, none
}
