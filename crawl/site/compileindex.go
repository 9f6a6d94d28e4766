package site

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// compileIndex makes the state indexes ready, if urls.state_index names any.
func (c *compiled) compileIndex(f *faults) {
	at, d := &c.def.URLs.StateIndex, &c.def.Index
	if at.URL == "" {
		return
	}
	x := &stateIndex{frame: c.compileMarks(d.Frame, "index.frame", f)}
	var err error
	if x.pages, x.whole, err = c.indexPages(at, d.Letters, f); err == nil && x.whole && c.country == yp.DefaultCountry && c.cities == nil {
		err = errors.New("must hold {state} or {state_lower}")
	}
	if err != nil {
		f.add("urls.state_index", err)
		return
	}
	if c.isJSON() || c.script != nil && d.Items != "" {
		c.compileJSONIndex(x, f)
	} else {
		c.compileLinkIndex(x, f)
	}
	x.paths = make(map[string]string, 64)
	root := &Source{compiled: c, base: &url.URL{Scheme: "http", Host: "x"}}
	states := c.stateSet.Codes()
	if x.whole {
		states = []string{""}
	}
	for _, state := range states {
		x.addPaths(root, state)
	}
	c.states = x
}

// compileLinkIndex makes an index ready whose pages link to the cities.
func (c *compiled) compileLinkIndex(x *stateIndex, f *faults) {
	d := &c.def.Index
	for at, given := range map[string]bool{"index.items": d.Items != "", "index.city": len(d.City) > 0, "index.slug": len(d.Slug) > 0} {
		if given {
			f.add(at, errItems)
		}
	}
	if len(d.Cities) == 0 {
		f.lacks("index.cities")
	}
	x.cities = matchers(d.Cities, "index.cities", f)
	var err error
	x.city, x.slug, err = pathPattern(d.Path, "city")
	f.add("index.path", err)
	if x.city != nil {
		x.inPath = x.city.SubexpIndex("state")
	}
	x.not = compileMatch(d.Not, "index.not", f)
	x.state = compileStateRule(d.State, f)
}

// indexPlaceholders are what the URL of an index may hold: it knows no city.
var indexPlaceholders = []string{"state", "state_lower", "state_slug", "letter"}

// indexPages makes a template of each page of an index: the unlettered one, from which the parameter or the member of the
// body with {letter} is left out, and one per letter. An index with {letter} in its path has no unlettered page. whole says
// that no page is of one state. What is wrong with the request goes to f.
func (c *compiled) indexPages(d *requestDef, letters string, f *faults) (pages []*template, whole bool, err error) {
	for i := range len(letters) { // each must be able to stand in a URL as it is
		if c := letters[i]; !letter(c) && !digit(c) || strings.IndexByte(letters[:i], c) >= 0 {
			return nil, false, fmt.Errorf("index.letters %q: want letters and digits without repeats", letters)
		}
	}
	t := c.compileRequest(d, "urls.state_index", indexPlaceholders, f)
	if t == nil {
		return nil, false, nil
	}
	if !strings.Contains(t.path, "{letter}") {
		pages = append(pages, t.lettered(""))
	}
	if t.has("letter") {
		for _, letter := range letters {
			pages = append(pages, t.lettered(string(letter)))
		}
	}
	if len(pages) == 0 {
		return nil, false, errors.New("has {letter} in its path, but index.letters is empty: list the letters there")
	}
	return pages, !slices.ContainsFunc([]string{"state", "state_lower", "state_slug"}, t.has), nil
}

// pathPattern compiles a regular expression of paths, and finds the group that
// counts: the one of the given name, or the only one.
func pathPattern(text, group string) (re *regexp.Regexp, n int, err error) {
	if text == "" {
		return nil, 0, errMissing
	}
	if re, err = regexp.Compile(text); err != nil {
		return nil, 0, err
	}
	if n = re.SubexpIndex(group); n > 0 {
		return re, n, nil
	}
	if re.NumSubexp() != 1 {
		return nil, 0, fmt.Errorf("%q: want one group, or one named %s", text, group)
	}
	return re, 1, nil
}
