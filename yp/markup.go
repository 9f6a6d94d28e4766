package yp

import (
	"html"
	"strings"
)

// Plain returns a clean text without what was left of its markup: tags of HTML ("<b>", "<br>") and entities ("&#39;",
// "&amp;amp;") that a site wrote into a text once more than it should. A tag that parts lines is a blank. "A < B", "5 <6" and
// "AT&T" stay as they are, and so does a text that comes without any of it, without allocation.
func Plain(s string) string {
	const rounds = 3 // escaped twice, and tags in that
	for range rounds {
		if strings.IndexByte(s, '&') < 0 && strings.IndexByte(s, '<') < 0 {
			return s
		}
		t := FromHTML(s)
		if t == s {
			return s
		}
		s = Clean(t)
	}
	return s
}

// FromHTML returns the text that markup stands for, taken once: without its tags, and with its entities replaced.
func FromHTML(s string) string { return unescape(withoutTags(s)) }

// maxEntity is the longest name of an entity, in bytes, with its marks.
const maxEntity = 34

// unescape replaces the entities that end with a semicolon: without it, "&copy" may be a part of a text.
func unescape(s string) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '&' {
			continue
		}
		end := strings.IndexByte(s[i:min(len(s), i+maxEntity)], ';')
		if end < 2 || strings.Trim(s[i+1:i+end], entityBytes) != "" {
			continue
		}
		entity := s[i : i+end+1]
		if text := html.UnescapeString(entity); text != entity {
			out.WriteString(s[done:i])
			out.WriteString(text)
			done, i = i+len(entity), i+end
		}
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

const entityBytes = "#0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// withoutTags takes tags of HTML out of a text, and comments.
func withoutTags(s string) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if s[i] != '<' {
			i++
			continue
		}
		n, blank := tagAt(s[i:])
		if n == 0 {
			i++
			continue
		}
		out.WriteString(s[done:i])
		if blank {
			out.WriteByte(' ')
		}
		i += n
		done = i
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// maxTag bounds the length of a tag, in bytes.
const maxTag = 1000

// tagAt returns the length of the tag at the start of s, 0 = there is none, and whether it parts what is around it. Only
// elements that are in texts count, and only with attributes that have values: "<joe@acme.com>", "<b and c>" are none.
func tagAt(s string) (n int, blank bool) {
	if strings.HasPrefix(s, "<!--") {
		if end := strings.Index(s[4:min(len(s), 4+maxTag)], "-->"); end >= 0 {
			return 4 + end + 3, false
		}
		return 0, false
	}
	end := strings.IndexByte(s[:min(len(s), maxTag)], '>')
	if end < 2 || strings.IndexByte(s[1:end], '<') >= 0 {
		return 0, false
	}
	inner := strings.TrimPrefix(s[1:end], "/")
	name := inner
	if i := strings.IndexAny(inner, " /\t"); i >= 0 {
		name = inner[:i]
	}
	if rest := strings.Trim(inner[len(name):], " /\t"); rest != "" && strings.IndexByte(rest, '=') < 0 {
		return 0, false
	}
	inline, known := textElements(name)
	if !known {
		return 0, false
	}
	return end + 1, !inline
}

// textElements says whether an element is in texts, and within a line.
func textElements(name string) (inline, known bool) {
	switch strings.ToLower(name) {
	case "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "em", "font", "i", "ins", "kbd",
		"mark", "nobr", "q", "s", "small",
		"span", "strike", "strong", "sub", "sup", "time", "tt", "u", "wbr":
		return true, true
	case "address", "article", "blockquote", "br", "button", "center", "dd", "div", "dl", "dt", "figure", "footer", "h1",
		"h2", "h3", "h4", "h5", "h6", "header",
		"hr", "img", "label", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul":
		return false, true
	}
	return false, false
}
