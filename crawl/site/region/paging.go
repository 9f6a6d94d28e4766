package region

import (
	"strings"

	"golang.org/x/net/html"
)

// PagingWords tell what may lead from a page of a list to another one.
type PagingWords struct {
	Place func(attr string) bool  // a class, id or label of what holds the links to pages
	Label func(label string) bool // what a control says that leads on
}

// maxLabel bounds the content of a link or a button, in bytes, that is read as its label.
const maxLabel = 400

// WatchPaging has Parser.Paging tell whether anything outside of the containers may lead to another page.
func (r *Containers) WatchPaging(words PagingWords) { r.paging = words }

// pages reports whether a tag outside of the containers bears a name or a label of a pagination.
func (r *Containers) pages(t *tag) bool {
	if r.paging.Place == nil {
		return false
	}
	for i := range t.attrs {
		switch a := &t.attrs[i]; a.key {
		case "class", "id":
			if r.paging.Place(a.val) {
				return true
			}
		case "aria-label":
			if text := html.UnescapeString(a.val); r.paging.Place(text) || r.paging.Label(text) {
				return true
			}
		case "title", "value", "alt":
			if r.paging.Label(html.UnescapeString(a.val)) {
				return true
			}
		case "rel":
			if t.name == "a" && strings.Contains(strings.ToLower(html.UnescapeString(a.val)), "next") {
				return true
			}
		}
	}
	return false
}

// hidesLinks reports whether the content of a noscript may hold links.
func (r *Containers) hidesLinks(content string) bool {
	return r.paging.Place != nil && (strings.Contains(content, "<a") || strings.Contains(content, "<A") || strings.Contains(content, "<form"))
}

// label reads what the element outside of the containers says that has just ended, where it is a control.
func (c *scanner) label() {
	if c.paging || c.labelAt == 0 || c.control != len(c.open) {
		return
	}
	end := strings.LastIndex(c.s[:c.i], "</")
	if end < c.labelAt || end-c.labelAt > maxLabel {
		return
	}
	c.paging = c.in.paging.Label(textIn(c.s[c.labelAt:end]))
	c.labelAt = 0
}

// isControl reports whether a tag begins a control with a content: a link, a button, or what acts as one.
func isControl(t *tag) bool {
	if t.name == "a" || t.name == "button" {
		return true
	}
	for i := range t.attrs {
		if a := &t.attrs[i]; a.key == "onclick" || a.key == "role" && (a.val == "button" || a.val == "link") {
			return true
		}
	}
	return false
}

// textIn returns the text of a piece of HTML without its tags.
func textIn(s string) string {
	if strings.IndexByte(s, '<') >= 0 {
		var b strings.Builder
		for s != "" {
			text, rest, _ := strings.Cut(s, "<")
			b.WriteString(text)
			b.WriteByte(' ')
			_, s, _ = strings.Cut(rest, ">")
		}
		s = b.String()
	}
	return html.UnescapeString(s)
}
