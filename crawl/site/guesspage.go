package site

import (
	"net/url"
	"strconv"
	"strings"
)

// urlTemplates forms the templates of a URL that names a city and a category.
// next is the page's next link, or nil: it tells how the site writes a page
// number. search is "" unless pages are numbered in the path; the first has no
// number then, and the search template writes it.
func (p *urlParts) urlTemplates(next *url.URL) (target, search string, paged bool) {
	path, query := p.pathForm(), p.queryForm("")
	if next == nil {
		return path + joinQuery(query, "page={page}"), "", false
	}
	q := split(next)
	if q == nil {
		return path + joinQuery(query, "page={page}"), "", false
	}
	if end := p.pathPage(q); end != "" {
		return strings.TrimSuffix(path, "/") + "/" + end + joinQuery(query, ""), path + joinQuery(query, ""), true
	}
	if key := p.queryPage(q); key != "" {
		return path + joinQuery(p.queryForm(key), url.QueryEscape(key)+"={page}"), "", true
	}
	return path + joinQuery(query, "page={page}"), "", false
}

// pathForm writes the template of the path.
func (p *urlParts) pathForm() string {
	var b strings.Builder
	for i := range p.parts[:p.segments] {
		u := &p.parts[i]
		b.WriteByte('/')
		if u.form != "" {
			b.WriteString(u.form)
		} else {
			b.WriteString(url.PathEscape(u.text))
		}
		b.WriteString(u.end)
	}
	if p.slash {
		b.WriteByte('/')
	}
	return b.String()
}

// queryForm writes the template of the query, without one of its parameters.
func (p *urlParts) queryForm(without string) string {
	var out []string
	for i := p.segments; i < len(p.parts); i++ {
		u := &p.parts[i]
		if u.key == without {
			continue
		}
		val := url.QueryEscape(u.text)
		if u.form != "" {
			val = braces.Replace(url.QueryEscape(u.form))
		}
		out = append(out, url.QueryEscape(u.key)+"="+val)
	}
	return strings.Join(out, "&")
}

// braces takes back the escapes of those of placeholders.
var braces = strings.NewReplacer("%7B", "{", "%7D", "}")

// joinQuery puts parameters behind a question mark, if there are any.
func joinQuery(query, more string) string {
	switch {
	case query == "" && more == "":
		return ""
	case query == "" || more == "":
		return "?" + query + more
	}
	return "?" + query + "&" + more
}

// pathPage returns what a next link adds to the path: "page/{page}" for
// "/page/2", "{page}" for "/2", "page-{page}" for "/page-2"; else "".
func (p *urlParts) pathPage(next *urlParts) string {
	extra := next.segments - p.segments
	if extra < 1 || extra > 2 {
		return ""
	}
	for i := range p.segments {
		if p.parts[i].text != next.parts[i].text || p.parts[i].end != next.parts[i].end {
			return ""
		}
	}
	last := next.parts[next.segments-1]
	word, number := last.text, ""
	if word, number = strings.TrimRight(word, "0123456789"), last.text[len(strings.TrimRight(word, "0123456789")):]; number != "2" {
		return ""
	}
	end := url.PathEscape(word) + "{page}" + last.end
	if extra == 2 {
		end = url.PathEscape(next.parts[next.segments-2].text) + "/" + end
	}
	if next.slash {
		end += "/"
	}
	return end
}

// queryPage returns the parameter in which a next link counts pages from 1, or
// "": one that counts listings, "start=30", writes no page number.
func (p *urlParts) queryPage(next *urlParts) string {
	if p.segments != next.segments {
		return ""
	}
	for i := next.segments; i < len(next.parts); i++ {
		u := next.parts[i]
		n, err := strconv.Atoi(u.text)
		if err != nil {
			continue
		}
		have := 1
		for j := p.segments; j < len(p.parts); j++ {
			if p.parts[j].key == u.key {
				have, err = strconv.Atoi(p.parts[j].text)
			}
		}
		if err == nil && n == have+1 {
			return u.key
		}
	}
	return ""
}
