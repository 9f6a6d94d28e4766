package region

import (
	"encoding/hex"
	"strings"

	"golang.org/x/net/html"
)

// Hidden reports whether an element says of itself that a browser shows neither it nor what it holds: by the attribute
// hidden, or by the display or visibility of its style attribute. What style sheets and scripts do is not known.
func Hidden(n *html.Node) bool {
	for i := range n.Attr {
		switch n.Attr[i].Key {
		case "hidden":
			return true
		case "style":
			if hides(n.Attr[i].Val) {
				return true
			}
		}
	}
	return false
}

// HiddenAround reports whether n, or an element around n, is Hidden.
func HiddenAround(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && Hidden(n) {
			return true
		}
	}
	return false
}

// hides reports whether the declarations of a style attribute hide the element: of two for one property the last
// counts, unless the first is important.
func hides(style string) bool {
	if style = strings.ToLower(style); !strings.Contains(style, "none") && !strings.Contains(style, "hidden") {
		return false
	}
	var display, visibility declared
	for declaration := range strings.SplitSeq(style, ";") {
		property, value, _ := strings.Cut(declaration, ":")
		switch strings.TrimSpace(property) {
		case "display":
			display.set(value)
		case "visibility":
			visibility.set(value)
		}
	}
	return display.value == "none" || visibility.value == "hidden"
}

// declared is what a style says of a property.
type declared struct {
	value     string
	important bool
}

func (d *declared) set(value string) {
	value, mark, _ := strings.Cut(value, "!")
	important := strings.TrimSpace(mark) == "important"
	if value = strings.TrimSpace(value); value != "" && (important || !d.important) {
		d.value, d.important = value, important
	}
}

// maxProtected is the longest attribute that holds a hidden text, in bytes.
const maxProtected = 1024

// Protected reports whether an element stands for a text with an "@" that the CDN Cloudflare has hidden, see
// AppendText.
func Protected(n *html.Node) bool {
	_, ok := protected(n)
	return ok
}

// protected returns the text that an element hides: the attribute data-cfemail has its bytes in hex, each XORed with the first.
func protected(n *html.Node) (text []byte, ok bool) {
	for i := range n.Attr {
		if a := &n.Attr[i]; a.Key == "data-cfemail" {
			return decode(a.Val)
		}
	}
	return nil, false
}

func decode(s string) (text []byte, ok bool) {
	if len(s) < 4 || len(s) > maxProtected {
		return nil, false
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, false
	}
	for i := range b[1:] {
		b[i+1] ^= b[0]
	}
	return b[1:], true
}
