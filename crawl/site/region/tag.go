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
	*t = tag{attrs: t.attrs[:0]}
	if !c.has("<") || !c.tagName() {
		return false
	}
	for c.i < len(c.s) {
		c.skipSpace()
		if c.i >= len(c.s) {
			return false
		}
		switch c.s[c.i] {
		case '>':
			c.i++
			return true
		case '/':
			t.selfClosing = c.has("/>")
			c.i += 2
			return t.selfClosing
		}
		if !c.attribute() {
			return false
		}
	}
	return false
}

func (c *scanner) tagName() bool {
	start := c.i + 1
	i, upper := start, false
	for i < len(c.s) && (letter(c.s[i]) || '0' <= c.s[i] && c.s[i] <= '9' || c.s[i] == '-') {
		upper = upper || c.s[i] < 'a' && c.s[i] >= 'A'
		i++
	}
	if i == start || i >= len(c.s) || !letter(c.s[start]) || !space(c.s[i]) && c.s[i] != '/' && c.s[i] != '>' {
		return false
	}
	c.tag.name, c.i = c.s[start:i], i
	if upper {
		c.tag.name = strings.ToLower(c.tag.name)
	}
	if c.inSVG() {
		return true // told apart by foreign
	}
	var ok bool
	c.tag.el, ok = lookup(c.tag.name)
	return ok
}

// attribute reads one attribute.
func (c *scanner) attribute() bool {
	key, ok := c.attrKey()
	if !ok {
		return false
	}
	val := ""
	c.skipSpace()
	if c.i < len(c.s) && c.s[c.i] == '=' {
		c.i++
		c.skipSpace()
		if val, ok = c.attrValue(); !ok {
			return false
		}
	}
	return c.tag.add(key, val)
}

func (c *scanner) attrKey() (string, bool) {
	start, upper := c.i, false
	i := start
	for i < len(c.s) && keyByte[c.s[i]] {
		upper = upper || c.s[i] < 'a' && c.s[i] >= 'A' && c.s[i] <= 'Z'
		i++
	}
	if i == start || i >= len(c.s) || !space(c.s[i]) && c.s[i] != '=' && c.s[i] != '/' && c.s[i] != '>' {
		return "", false
	}
	c.i = i
	if upper {
		return strings.ToLower(c.s[start:i]), true
	}
	return c.s[start:i], true
}

// keyByte holds the bytes of plain attribute names.
var keyByte = func() (t [256]bool) {
	for _, b := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:.@" {
		t[b] = true
	}
	return t
}()

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
	return val, c.i < len(c.s) && (space(c.s[c.i]) || c.s[c.i] == '/' || c.s[c.i] == '>')
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

// attrText returns what the parser makes of an attribute's value as written. The
// tokenizer itself is asked only where not all is plain to see: it takes a buffer of 4 kB.
func attrText(val string) string {
	val = newlines(val)
	if strings.IndexByte(val, '&') < 0 {
		return val
	}
	for i := range len(val) {
		if val[i] == '&' && !plainReference(val[i+1:]) {
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
	}
	return plainReferences.Replace(val)
}

var plainReferences = strings.NewReplacer("&amp;", "&", "&quot;", `"`, "&lt;", "<", "&gt;", ">")

// plainReference reports whether "&", with rest behind it, is one of plainReferences or
// none at all, as before "=" or a blank: "?a=1&b=2".
func plainReference(rest string) bool {
	i := 0
	for i < len(rest) && (letter(rest[i]) || '0' <= rest[i] && rest[i] <= '9') {
		i++
	}
	if i == len(rest) {
		return i == 0
	}
	switch rest[i] {
	case ';':
		name := rest[:i]
		return name == "amp" || name == "quot" || name == "lt" || name == "gt"
	case '=':
		return true
	}
	return i == 0 && rest[i] != '#'
}
