package site

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"ypcrawl/yp"
)

var (
	errMissing = errors.New("is missing")
	errNoRule  = errors.New("a rule needs css or attr")
)

// compile checks the definition and makes it ready; faults go to f. It returns
// the base URL.
func (c *compiled) compile(f *faults) *url.URL {
	d := c.def
	if !sourceName.MatchString(d.Name.text) {
		f.add(d.Name.line, "name", fmt.Errorf("name %q: want lower-case letters, digits, - and _", d.Name.text))
	}
	base := compileBase(d.BaseURL, f)
	c.delay = compileDelay(d.Delay, f)
	if d.PageCap < 0 || d.PlacesPerState < 0 {
		f.add(0, "page_cap", errors.New("page_cap and places_per_state must not be negative"))
	}
	c.compileURLs(f)
	for _, r := range d.Regions {
		if err := c.regions.add(r.text); err != nil {
			f.add(r.line, "regions", fmt.Errorf("%q: %w", r.text, err))
		}
	}
	c.chrome = compileMarks(d.Chrome, "chrome", f)
	c.empty = compileMarks(d.Empty, "empty", f)
	if len(d.Chrome.Selectors)+len(d.Chrome.Texts)+len(d.Chrome.Titles) == 0 {
		f.add(0, "chrome", errMissing)
	}
	c.evidence = matchers(d.Evidence, "evidence", f)
	c.compileCards(f)
	c.compileFields(f)
	c.compileIndex(f)
	c.compileDetail(f)
	c.compileRules(f)
	return base
}

func compileBase(s scalar, f *faults) *url.URL {
	u, err := url.Parse(s.text)
	switch {
	case s.text == "":
		f.add(s.line, "base_url", errMissing)
	case err != nil:
		f.add(s.line, "base_url", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		f.add(s.line, "base_url", fmt.Errorf("base URL %q: want http:// or https:// and a host", s.text))
	case u.User != nil: // definitions are stored as they are
		f.add(s.line, "base_url", fmt.Errorf("base URL %q: leave user and password out, they would be stored", u.Redacted()))
	default:
		return u
	}
	return &url.URL{Scheme: "http", Host: "invalid"}
}

// defaultDelay is the time between requests when a definition names none.
const defaultDelay = 2 * time.Second

func compileDelay(s scalar, f *faults) time.Duration {
	if s.text == "" {
		return defaultDelay
	}
	d, err := time.ParseDuration(s.text)
	if err != nil || d < 0 {
		f.add(s.line, "delay", fmt.Errorf("delay %q: want a duration such as 2s or 500ms", s.text))
	}
	return d
}

func (c *compiled) compileURLs(f *faults) {
	var err error
	if c.def.URLs.Target.text == "" {
		f.add(c.def.URLs.Target.line, "urls.target", errMissing)
	} else if c.target, err = parseTemplate(c.def.URLs.Target.text); err != nil {
		f.add(c.def.URLs.Target.line, "urls.target", err)
	} else if !c.target.has("page") {
		f.add(c.def.URLs.Target.line, "urls.target", errors.New("must hold {page}"))
	}
	if c.def.URLs.Search.text == "" {
		return
	}
	if c.search, err = parseTemplate(c.def.URLs.Search.text); err != nil {
		f.add(c.def.URLs.Search.line, "urls.search", err)
	}
}

func compileMarks(m markDef, at string, f *faults) marks {
	return marks{matchers(m.Selectors, at+".selectors", f), lower(m.Texts), m.Titles}
}

func lower(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, strings.ToLower(s))
	}
	return out
}

// matchers compiles selectors of which the first match on a page is enough.
func matchers(list []scalar, at string, f *faults) []goquery.Matcher {
	var out []goquery.Matcher
	for _, s := range list {
		m, err := cascadia.Compile(s.text)
		if err != nil {
			f.add(s.line, at, fmt.Errorf("selector %q: %w", s.text, err))
			continue
		}
		out = append(out, goquery.SingleMatcher(m))
	}
	return out
}

func (c *compiled) compileCards(f *faults) {
	d := &c.def.Cards
	if len(d.Organic) == 0 && !c.def.Structured.On {
		f.add(0, "cards.organic", errMissing)
	}
	c.organic = selectors(c.page, d.Organic, "cards.organic", f)
	c.sponsored = selectors(c.page, d.Sponsored, "cards.sponsored", f)
	c.marks = selectors(c.cards, d.Marks, "cards.sponsored_marks", f)
	c.compileContainers()
	c.next = rules(c.page, c.def.Next, "next", f)
	c.total = rules(c.page, c.def.Total, "total", f)
	c.shown = rules(c.page, c.def.Shown, "shown", f)
	for _, text := range slices.Sorted(maps.Keys(c.page.ids)) {
		if g, err := compileSelector(text); err == nil {
			c.inCards = append(c.inCards, c.cards.add(text, g))
		}
	}
}

// compileContainers notes what the selectors of cards say about where they stand, and
// which say too little to tell a card from what is in it.
func (c *compiled) compileContainers() {
	c.tagOnly = map[int]bool{}
	for _, q := range c.page.queries {
		organic, sponsored := slices.Contains(c.organic, q.out), slices.Contains(c.sponsored, q.out)
		links, plain := q.sel.(chain)
		switch {
		case !organic && !sponsored:
		case !plain:
			mark, _ := demand(selectorText(q.sel.(cascadia.Sel)))
			c.tagOnly[q.out] = mark == 't' || mark == 0
		case len(links) == 1:
			c.tagOnly[q.out] = len(links[0].classes) == 0 && links[0].id == ""
		case sponsored:
			c.sponsoredIn = append(c.sponsoredIn, links[:len(links)-1])
		default:
			c.organicIn = append(c.organicIn, links[:len(links)-1])
		}
	}
}

// selectors adds selectors to an index and returns their numbers.
func selectors(x *index, list []scalar, at string, f *faults) []int {
	var out []int
	for _, s := range list {
		g, err := compileSelector(s.text)
		if err != nil {
			f.add(s.line, at, err)
			continue
		}
		out = append(out, x.add(s.text, g))
	}
	return out
}

// rules compiles the rules of a field into an index.
func rules(x *index, list []ruleDef, at string, f *faults) field {
	var out field
	for _, d := range list {
		r, err := compileRule(x, d)
		if err != nil {
			f.add(d.line, at, err)
			continue
		}
		out = append(out, r)
	}
	return out
}

func compileRule(x *index, d ruleDef) (rule, error) {
	r := rule{sel: -1, attr: strings.ToLower(d.Attr.text), json: d.JSON.text, own: d.Own}
	if d.CSS.text == "" && d.Attr.text == "" || d.JSON.text != "" && d.Attr.text == "" {
		return r, errNoRule
	}
	if d.Match.text != "" {
		re, err := regexp.Compile(d.Match.text)
		if err != nil {
			return r, fmt.Errorf("match: %w", err)
		}
		r.match = re
	}
	if d.CSS.text == "" {
		return r, nil
	}
	g, err := compileSelector(d.CSS.text)
	if err != nil {
		return r, err
	}
	r.sel = x.add(d.CSS.text, g)
	return r, nil
}

// fieldNames are the names that a definition may use: those of yp.ListingFields that say
// so, and the two that are split into others.
var fieldNames = func() []string {
	names := []string{"address", "locality"}
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Is(yp.Defined) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}()

// together are the fields that are read before the others, or at once.
func (fs *fields) together() map[string]*field {
	return map[string]*field{
		"id": &fs.id, "name": &fs.name, "street": &fs.street, "locality": &fs.locality, "city": &fs.city, "state": &fs.state,
		"postal_code": &fs.postal, "address": &fs.address,
	}
}

func (c *compiled) compileFields(f *faults) {
	together := c.fields.together()
	for _, name := range slices.Sorted(maps.Keys(c.def.Fields)) {
		if !slices.Contains(fieldNames, name) {
			f.add(f.lineOf("fields."+name), "fields."+name, unknown(name, fieldNames))
			continue
		}
		compiled := rules(c.cards, c.def.Fields[name], "fields."+name, f)
		if at, ok := together[name]; ok {
			*at = compiled
			continue
		}
		c.fields.others = append(c.fields.others, cardField{compiled, setterOf(&yp.ListingFields[yp.ListingFieldAt(name)])})
	}
	for _, name := range []string{"id", "name"} {
		if len(c.def.Fields[name]) == 0 && !c.def.Structured.On {
			f.add(f.lineOf("fields"), "fields."+name, errMissing)
		}
	}
}

func unknown(name string, names []string) error {
	if near, ok := yp.Nearest(name, names); ok {
		return fmt.Errorf("unknown field %q: did you mean %q?", name, near)
	}
	return fmt.Errorf("unknown field %q: want one of %s", name, strings.Join(names, ", "))
}

// lineOf returns the line of a field, or 0.
func (f *faults) lineOf(path string) int {
	for line, p := range f.fields {
		if p == path {
			return line
		}
	}
	return 0
}
