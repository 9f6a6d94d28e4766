package site

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

var (
	errMissing = errors.New("is missing")
	errNoRule  = errors.New("a rule needs css or attr, such as `{css: a.name, attr: href}`; json also needs attr, unless the source has script or format: json")
)

var sourceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// defaultDelay is the time between requests when a definition names none.
const defaultDelay = 2 * time.Second

// compile checks the definition and makes it ready; faults go to f. It returns
// the base URL.
func (c *compiled) compile(open Opener, f *faults) *url.URL {
	d := c.def
	if d.Name == "" {
		f.lacks("name")
	} else if !sourceName.MatchString(d.Name) {
		f.add("name", fmt.Errorf("name %q: want lower-case letters, digits, - and _", d.Name))
	}
	base := compileBase(d.BaseURL, f)
	var err error
	c.country, err = yp.ParseCountry(d.Country)
	f.add("country", err)
	c.compileCities(open, f)
	f.add("structured.scale", checkScale(d.Structured.Scale))
	c.delay = length("delay", d.Delay, "2s or 500ms", defaultDelay, 0, f)
	c.timeout = length("request_timeout", d.RequestTimeout, "30s", 0, time.Millisecond, f)
	c.detailsEvery = length("detail.every", d.Detail.Every, "30d or 12h", 0, time.Minute, f)
	for key, n := range map[string]int{"page_cap": d.PageCap, "places_per_state": d.PlacesPerState} {
		if n < 0 {
			f.add(key, fmt.Errorf("%d: want 0 (no limit) or more", n))
		}
	}
	for i, form := range d.Structured.Forms {
		if !slices.Contains(structured.Forms, form) {
			f.add(itemPath("structured.forms", i), unknown("form", form, structured.Forms))
		}
	}
	c.compileFormat(f)
	c.compileURLs(f)
	c.regions = regions(d.Regions, "regions", f)
	c.regions.WatchPaging(region.PagingWords{Place: namesPagination, Label: labelLeadsOn})
	c.chrome = c.compileMarks(d.Chrome, "chrome", f)
	c.refused = c.compileMarks(d.Refused, "refused", f)
	c.empty = c.compileMarks(d.Empty, "empty", f)
	c.last = c.compileMarks(d.Last, "last", f)
	if c.chrome.none() {
		f.lacks("chrome")
	}
	selectors(&c.evidence, d.Evidence, "evidence", f)
	c.compileCards(f)
	c.compileFields(f)
	c.compileIndex(f)
	c.compileDetail(f)
	if c.detail != nil && c.detail.path != nil { // after the cards, which may hold such links
		c.profile = c.compileRuleSet(&c.page, d.Fields["profile_url"], "fields.profile_url", f)
	}
	c.compileRules(f)
	c.countNoscript()
	c.checkCountry(f)
	return base
}

// length reads a length of time, such as the examples; a number of days may stand alone. "" is def.
func length(at, text, examples string, def, least time.Duration, f *faults) time.Duration {
	if text == "" {
		return def
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 15) // 89 years
		d = time.Duration(n) * 24 * time.Hour
	}
	if name := at[strings.LastIndexByte(at, '.')+1:]; err != nil || d < 0 {
		f.add(at, fmt.Errorf("%s %q: want a duration such as %s", name, text, examples))
	} else if d < least {
		f.add(at, fmt.Errorf("%s %q: want %s or more", name, text, least))
	}
	return d
}

func compileBase(s string, f *faults) *url.URL {
	u, err := url.Parse(s)
	switch {
	case s == "":
		f.lacks("base_url")
	case err != nil:
		f.add("base_url", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		f.add("base_url", fmt.Errorf("base URL %q: want http:// or https:// and a host", s))
	case u.User != nil: // definitions are stored as they are
		f.add("base_url", fmt.Errorf("base URL %q: leave out the user and password, because definitions are stored", u.Redacted()))
	default:
		return u
	}
	return &url.URL{Scheme: "http", Host: "invalid"}
}

// regions compiles the selectors of the containers that count on a page.
func regions(list []string, at string, f *faults) (out region.Containers) {
	for i, s := range list {
		if err := out.Add(s); err != nil {
			f.add(itemPath(at, i), fmt.Errorf("%q: %w", s, err))
		}
	}
	return out
}

// compileMarks compiles the signs of a page.
func (c *compiled) compileMarks(d markDef, at string, f *faults) (m marks) {
	m.data = c.compileRuleSet(nil, d.JSON, at+".json", f)
	c.noHTML(len(d.Selectors) > 0, at+".selectors", at+".json", f)
	c.noHTML(len(d.Texts) > 0, at+".texts", at+".json", f)
	c.noHTML(len(d.Titles) > 0, at+".titles", at+".json", f)
	selectors(&m.selectors, d.Selectors, at+".selectors", f)
	for _, text := range d.Texts {
		m.texts = append(m.texts, strings.ToLower(text))
	}
	m.titles = d.Titles
	return m
}

// selectors adds selectors to others and returns their numbers.
func selectors(x *region.Selectors, list []string, at string, f *faults) (ids []int) {
	for i, s := range list {
		id, err := x.Add(s)
		if err != nil {
			f.add(itemPath(at, i), err)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

// matchers compiles selectors for goquery, where a whole page is read.
func matchers(list []string, at string, f *faults) (out []goquery.Matcher) {
	for i, s := range list {
		m, err := cascadia.Compile(s)
		if err != nil {
			f.add(itemPath(at, i), fmt.Errorf("selector %q: %w", s, err))
			continue
		}
		out = append(out, m)
	}
	return out
}

func (c *compiled) compileCards(f *faults) {
	d := &c.def.Cards
	c.compileItems(f)
	c.organic, c.organicIn = c.cardSelectors(d.Organic, "cards.organic", f)
	c.compileSponsored(f)
	c.marks = selectors(&c.cards, d.Marks, "cards.sponsored_marks", f)
	for _, text := range d.Marks {
		group, _ := region.Compile(text) // what is wrong with it is told by now
		c.marksOf = append(c.marksOf, group...)
	}
	if !c.def.Next.isNone() {
		c.next = c.compileRuleSet(&c.page, c.def.Next, "next", f)
		for _, d := range c.def.Next {
			c.regions.Watch(d.CSS)
		}
	}
	c.total = c.compileRuleSet(&c.page, c.def.Total, "total", f)
	c.totalIs = make([]*jsondoc.Path, len(c.total))
	for i := range c.total {
		if path := c.total[i].path; path != nil && c.total[i].data {
			if parent, ok := path.Parent(); ok {
				about := parent.Member("relation")
				c.totalIs[i] = &about
			}
		}
	}
	c.shown = c.compileRuleSet(&c.page, c.def.Shown, "shown", f)
	if c.paging != nil {
		c.paging.cursor = c.compileRuleSet(&c.page, c.def.Paging.Cursor, "paging.cursor", f)
	}
	for _, text := range c.page.Texts() {
		if id, err := c.cards.Add(text); err == nil {
			c.inCards = append(c.inCards, id)
		}
	}
}

// countNoscript says what counts in noscript: cards and links. What else is there is said to nobody
// who reads the page.
func (c *compiled) countNoscript() {
	in := slices.Concat(c.organic, c.sponsored)
	for _, r := range slices.Concat(c.next, c.profile) {
		if r.sel >= 0 {
			in = append(in, r.sel)
		}
	}
	c.page.InNoscript(in...)
	c.regions.InNoscript(&c.page)
	c.cardsOpen = c.cards.AllInNoscript()
}

// cardSelectors adds the selectors of cards, and returns with their numbers what they say
// about where such cards stand.
func (c *compiled) cardSelectors(list []string, at string, f *faults) (ids []int, in []region.Selector) {
	for i, s := range list {
		id, err := c.page.Add(s)
		if err != nil {
			f.add(itemPath(at, i), err)
			continue
		}
		ids = append(ids, id)
		group, _ := region.Compile(s)
		for i := range group {
			if outer, ok := group[i].Outer(); ok {
				in = append(in, outer)
			}
		}
	}
	return ids, in
}

// The names of fields that a definition may use: on cards, with one that is split into others, on listings' own pages, and
// under the labels of these.
var (
	fieldNames   = fieldsNamed(yp.FromCard, yp.Defined, "locality")
	detailFields = fieldsNamed(yp.FromOwn, yp.Defined)
	itemFields   = fieldsNamed(yp.FromBoth, yp.Defined, "locality")
	labelFields  = fieldsNamed(yp.FromOwn, yp.Labelled)
)

// fieldsNamed are the fields of some pages that are used so, and others, sorted.
func fieldsNamed(from yp.From, use yp.Use, names ...string) []string {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Is(use) && f.From&from != 0 {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (c *compiled) compileFields(f *faults) {
	fs := &c.fields
	together := map[string]*field{ // which are read before the others, or at once
		"id": &fs.id, "name": &fs.name, "street": &fs.street, "locality": &fs.locality, "city": &fs.city, "state": &fs.state,
		"postal_code": &fs.postal, "address": &fs.address,
	}
	known := fieldNames
	if c.items != nil {
		known = itemFields
	}
	for _, name := range slices.Sorted(maps.Keys(c.def.Fields)) {
		if !slices.Contains(known, name) {
			f.add("fields."+name, unknown("field", name, known))
			continue
		}
		compiled := c.compileRuleSet(&c.cards, c.def.Fields[name], "fields."+name, f)
		if at, ok := together[name]; ok {
			*at = compiled
			continue
		}
		if name == "profile_url" {
			fs.profile = compiled
		}
		if !slices.Contains(fieldNames, name) {
			if fs.own == nil {
				fs.own = map[string]field{}
			}
			fs.own[name] = compiled
			continue
		}
		fs.others = append(fs.others, cardField{name, compiled, setterOf(&yp.ListingFields[yp.ListingFieldAt(name)])})
	}
	for _, name := range []string{"id", "name"} {
		if len(c.def.Fields[name]) == 0 && !c.def.Structured.On {
			f.lacks("fields." + name)
		}
	}
}

// unknown says that a name is none of those there are, and which it may be meant to be.
func unknown(kind, name string, names []string) error {
	if near, ok := yp.Nearest(name, names); ok {
		return fmt.Errorf("unknown %s %q: did you mean %q?", kind, name, near)
	}
	return fmt.Errorf("unknown %s %q: want one of %s", kind, name, strings.Join(names, ", "))
}

func compileMatch(s string, path string, f *faults) *regexp.Regexp {
	if s == "" {
		return nil
	}
	re, err := regexp.Compile(s)
	f.add(path, err)
	return re
}

// compileDetail makes the rules for detail pages ready, if there are any.
func (c *compiled) compileDetail(f *faults) {
	d := &c.def.Detail
	if c.isJSON() {
		c.compileJSONDetail(f)
		return
	}
	if c.compileOwnPages(f) {
		return
	}
	if d.Path == "" {
		if len(d.Fields)+len(d.Labels) > 0 && c.def.Extends == "" {
			f.lacks("detail.path")
		}
		return
	}
	r := &detailRules{marks: c.compileMarks(d.Marks, "detail.marks", f), labels: map[string]string{}}
	var err error
	r.path, r.id, err = pathPattern(d.Path, "id")
	f.add("detail.path", err)
	r.regions = regions(d.Regions, "detail.regions", f)
	r.others = matchers(d.Others, "detail.others", f)
	r.info = selectors(&r.page, d.Info, "detail.info", f)
	r.hours = selectors(&r.page, d.Hours, "detail.hours", f)
	for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
		at := "detail.labels." + name
		if !slices.Contains(labelFields, name) {
			f.add(at, unknown("field", name, labelFields))
		}
		for _, label := range d.Labels[name] {
			if have, again := r.labels[labelText(label)]; again {
				if _, own := f.at[at]; !own {
					at = "detail.labels." + have
				}
				f.add(at, fmt.Errorf("the label %q is listed under both %s and %s: remove one", label, have, name))
			}
			r.labels[labelText(label)] = name
		}
	}
	r.fields = c.compileDetailRules(&r.page, f)
	c.detail = r
}

// compileDetailRules compiles the rules of own pages.
func (c *compiled) compileDetailRules(x *region.Selectors, f *faults) map[string]field {
	d, out := &c.def.Detail, map[string]field{}
	for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
		at := "detail.fields." + name
		if !slices.Contains(detailFields, name) {
			f.add(at, unknown("field", name, detailFields))
			continue
		}
		out[name] = c.compileRuleSet(x, d.Fields[name], at, f)
	}
	if len(d.Fields["name"]) == 0 {
		f.lacks("detail.fields.name")
	}
	return out
}

// compileRules makes the rules for promotion ready.
func (c *compiled) compileRules(f *faults) {
	d, r := &c.def.Rules, &c.rules
	for _, l := range textFields {
		if l.Absent == yp.Refused {
			r.required = append(r.required, l)
		}
	}
	for i, s := range d.Required {
		l, err := textField(s)
		f.add(itemPath("rules.required", i), err)
		if err == nil && !slices.Contains(r.required, l) {
			r.required = append(r.required, l)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Formats)) {
		if _, err := textField(name); err != nil {
			f.add("rules.formats."+name, err)
		}
	}
	for _, l := range textFields {
		def, ok := d.Formats[l.Name]
		if !ok {
			continue
		}
		at := "rules.formats." + l.Name
		out := format{
			field: l, max: def.Max, kind: def.Kind, match: compileMatch(def.Match, at+".match", f),
			not: compileMatch(def.Not, at+".not", f),
		}
		if def.Max < 0 {
			f.add(at+".max", errors.New("max must not be negative"))
		}
		if out.kind != "" && !slices.Contains(formatKinds, out.kind) {
			f.add(at+".kind", unknown("kind", out.kind, formatKinds))
		}
		r.formats = append(r.formats, out)
	}
}
