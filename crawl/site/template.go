package site

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// A template forms URLs: a path and a query in which placeholders stand for
// parts of the place and the page number. A query parameter that holds {page}
// is left out on page 1.
type template struct {
	path  []piece
	query [][]piece // one per parameter, in order
	kind  []string  // path segments; "" matches any (see matches)

	pageSegment int    // of the path, that holds {page}; -1 = none
	pageParam   string // name of the query parameter that holds it; "" = none
}

// piece is a literal or a placeholder.
type piece struct {
	literal string
	name    string // of the placeholder, without braces
}

// placeholders are the names that templates may use.
var placeholders = []string{"city", "city_slug", "city_name_slug", "state", "state_lower", "state_slug", "category", "category_slug", "page"}

// parseTemplate parses a site-relative URL template.
func parseTemplate(s string) (*template, error) {
	if !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") {
		return nil, fmt.Errorf("URL template %q must start with one slash", s)
	}
	if strings.ContainsAny(s, "# \t\n") {
		return nil, fmt.Errorf("URL template %q must hold neither a fragment nor white space", s)
	}
	path, query, _ := strings.Cut(s, "?")
	t := &template{pageSegment: -1}
	var err error
	if t.path, err = parsePieces(path); err != nil {
		return nil, err
	}
	for seg := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if strings.Contains(seg, "{page}") {
			t.pageSegment = len(t.kind)
		}
		if strings.Contains(seg, "{") {
			seg = ""
		}
		t.kind = append(t.kind, seg)
	}
	if query == "" {
		return t, nil
	}
	for param := range strings.SplitSeq(query, "&") {
		p, err := parsePieces(param)
		if err != nil {
			return nil, err
		}
		if t.query = append(t.query, p); holds(p, "page") {
			t.pageParam, _, _ = strings.Cut(param, "=")
		}
	}
	return t, nil
}

func parsePieces(s string) ([]piece, error) {
	var out []piece
	for s != "" {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			open = len(s)
		}
		if i := strings.IndexByte(s[:open], '}'); i >= 0 {
			return nil, fmt.Errorf("%q has a closing brace without an opening one", s)
		}
		if open > 0 {
			out = append(out, piece{literal: s[:open]})
		}
		if s = s[open:]; s == "" {
			break
		}
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return nil, fmt.Errorf("%q has an opening brace without a closing one", s)
		}
		name := s[1:end]
		if err := checkPlaceholder(name); err != nil {
			return nil, err
		}
		out = append(out, piece{name: name})
		s = s[end+1:]
	}
	return out, nil
}

func checkPlaceholder(name string) error {
	for _, p := range placeholders {
		if p == name {
			return nil
		}
	}
	if near, ok := yp.Nearest(name, placeholders); ok {
		return fmt.Errorf("unknown placeholder {%s}: did you mean {%s}?", name, near)
	}
	return fmt.Errorf("unknown placeholder {%s}: want one of {%s}", name, strings.Join(placeholders, "}, {"))
}

// has reports whether the template uses a placeholder.
func (t *template) has(name string) bool {
	if holds(t.path, name) {
		return true
	}
	for _, p := range t.query {
		if holds(p, name) {
			return true
		}
	}
	return false
}

func holds(ps []piece, name string) bool {
	for _, p := range ps {
		if p.name == name {
			return true
		}
	}
	return false
}

// expand forms the URL below base.
func (t *template) expand(base *url.URL, pl yp.Place, page int) string {
	b := make([]byte, 0, 128)
	b = append(b, base.Scheme...)
	b = append(b, "://"...)
	b = append(b, base.Host...)
	b = append(b, strings.TrimSuffix(base.EscapedPath(), "/")...)
	b = appendPieces(b, t.path, pl, page, url.PathEscape)
	sep := byte('?')
	for _, p := range t.query {
		if page <= 1 && holds(p, "page") {
			continue
		}
		b = appendPieces(append(b, sep), p, pl, page, url.QueryEscape)
		sep = '&'
	}
	return string(b)
}

func appendPieces(b []byte, ps []piece, pl yp.Place, page int, escape func(string) string) []byte {
	for _, p := range ps {
		if p.name == "" {
			b = append(b, p.literal...)
			continue
		}
		b = append(b, escape(p.value(pl, page))...)
	}
	return b
}

func (p piece) value(pl yp.Place, page int) string {
	switch p.name {
	case "city":
		return pl.City
	case "city_slug":
		return pl.CitySlug
	case "city_name_slug":
		return yp.Slug(pl.City)
	case "state":
		return pl.State
	case "state_lower":
		return strings.ToLower(pl.State)
	case "state_slug":
		return stateSlug(pl.State)
	case "category":
		return pl.Category
	case "category_slug":
		return pl.CategorySlug
	}
	return strconv.Itoa(max(page, 1))
}

// matches reports whether a path, below the base, is of the template's kind:
// as many segments, the fixed ones equal.
func (t *template) matches(path string) bool {
	i := 0
	for seg := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if i >= len(t.kind) || t.kind[i] != "" && !strings.EqualFold(t.kind[i], seg) || seg == "" && t.kind[i] == "" {
			return false
		}
		i++
	}
	return i == len(t.kind)
}

// stateSlug is a state's name as addresses write it: "new-mexico".
func stateSlug(code string) string {
	if st, ok := yp.LookupState(code); ok {
		return yp.Slug(st.Name)
	}
	return strings.ToLower(code)
}
