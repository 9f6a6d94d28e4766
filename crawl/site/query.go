package site

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// Difference is a value in the address of a page that is another one than was asked for.
type Difference struct {
	Name  string // of the placeholder: city_slug
	Value string // in normal form: arlington-va
}

// Differences compares the address that answered with the place and the category that were asked for: city, state
// and category, where the address has them, in normal form. Nothing else counts: not the host, the page, or other
// parameters. An address that is none of the source's results pages differs in nothing.
func (s *Source) Differences(final *url.URL, asked yp.Place) (out []Difference) {
	t := s.target
	path := s.belowBase(final)
	if !t.matches(path) || s.search != nil && s.search.matches(path) {
		t = s.search
	}
	if t == nil || !t.matches(path) {
		return nil
	}
	want := s.valuesOf(asked)
	for name, value := range t.values(path, final.Query()) {
		if value != want[name] && value != "" {
			out = append(out, Difference{name, value})
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// valuesOf returns the values of a place's placeholders in normal form.
func (c *compiled) valuesOf(p yp.Place) map[string]string {
	values := map[string]string{
		"city": p.City, "city_slug": p.CitySlug, "city_name_slug": p.City, "state": p.State, "state_lower": p.State,
		"state_slug": c.stateSet.Slug(p.State),
		"category":   p.Category, "category_slug": p.CategorySlug,
	}
	for name, value := range values {
		values[name] = normalValue(name, value, c.stateSet)
	}
	return values
}

// normalValue is a value as yp.Slug writes it, with st, ft and mt at its start as saint, fort and mount; of a state the
// code, however it is written.
func normalValue(name, s string, states *yp.StateSet) string {
	slug := strings.Trim(yp.CitySlug(s, ""), "-")
	if !strings.HasPrefix(name, "state") {
		return slug
	}
	if st, ok := states.Lookup(strings.ReplaceAll(s, "-", " ")); ok {
		return strings.ToLower(st.Code)
	}
	return slug
}

// valueForm takes the values of placeholders out of a part of an address.
type valueForm struct {
	form  *regexp.Regexp
	names []string
}

// compares reports whether the values of a placeholder are compared: those of a position, of a secret and of a column of the
// cities file are not.
func compares(name string) bool {
	return slices.Contains(placeholders, name) && name != "page" && name != "offset" && name != "cursor"
}

// formOf compiles a part of a template, decoded; ok is false when it has no placeholder that is compared.
func formOf(part string) (f valueForm, ok bool) {
	form, at := "", 0
	for _, m := range anyPlaceholder.FindAllStringSubmatchIndex(part, -1) {
		form += regexp.QuoteMeta(part[at:m[0]])
		switch name := part[m[2]:m[3]]; {
		case name == "page":
			form += `\d*`
		case !compares(name):
			form += `.*?`
		default:
			form += `(.+?)`
			f.names = append(f.names, name)
		}
		at = m[1]
	}
	form += regexp.QuoteMeta(part[at:])
	f.form = regexp.MustCompile(`(?is)^` + form + `$`)
	return f, len(f.names) > 0
}

// take adds the values of a part of an address, in normal form.
func (f *valueForm) take(part string, states *yp.StateSet, into map[string]string) {
	m := f.form.FindStringSubmatch(part)
	for i, name := range f.names {
		if m != nil {
			into[name] = normalValue(name, m[i+1], states)
		}
	}
}

// forms compiles the parts of a template that hold values: segments of its path by their number, parameters by their name.
func (t *template) forms() (segments map[int]valueForm, params map[string]valueForm) {
	segments, params = map[int]valueForm{}, map[string]valueForm{}
	for i, seg := range strings.Split(strings.Trim(t.path, "/"), "/") {
		if decoded, err := url.PathUnescape(seg); err == nil {
			seg = decoded
		}
		if f, ok := formOf(seg); ok {
			segments[i] = f
		}
	}
	for _, param := range t.query {
		name, value, _ := strings.Cut(param, "=")
		if decoded, err := url.QueryUnescape(value); err == nil {
			value = decoded
		}
		if f, ok := formOf(value); ok {
			params[name] = f
		}
	}
	return segments, params
}

// values returns the values of the placeholders in an address that the template matches.
func (t *template) values(path string, query url.Values) map[string]string {
	out := map[string]string{}
	for i, seg := range strings.Split(strings.Trim(path, "/"), "/") {
		if f, ok := t.segmentForms[i]; ok {
			f.take(seg, t.states, out)
		}
	}
	for name, f := range t.paramForms {
		f.take(query.Get(name), t.states, out)
	}
	return out
}
