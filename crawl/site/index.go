package site

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// maxCities bounds the cities of an index page. Texas, with the most places of
// all states, has some 1,900.
const maxCities = 5000

// maxSlug bounds a city's slug, in bytes.
const maxSlug = 100

// maxListed bounds the links that may be cities' and of which it is asked where they stand: on a deep page of 10 MB
// all of them would take minutes.
const maxListed = 2 * maxCities

// stateIndex is how a source lists its cities.
type stateIndex struct {
	pages  []*template       // the unlettered page, then one per letter
	cities []goquery.Matcher // links to cities
	frame  marks
	json   *jsonIndex        // of a source whose answers are JSON; what is of links is empty then
	city   *regexp.Regexp    // of a path; its group is the slug
	slug   int               // number of that group
	not    *regexp.Regexp    // of paths that look like cities' and are not; nil = none
	paths  map[string]string // of all its pages, without slashes at the ends, to their states; someState = to several
	whole  bool              // it is one index of all states
	inPath int               // number of the group of city that is the city's state; below 1 = none
	state  stateRule         // says the city's state
}

// someState is the state of a path that the indexes of several states have: their queries differ.
const someState = "\x00"

// addPaths adds the paths of the pages of a state's index.
func (x *stateIndex) addPaths(root *Source, state string) {
	for _, t := range x.pages {
		r := t.request(root, root.values(yp.Place{State: state}, Position{Page: 1}))
		u, err := url.Parse(r.URL)
		if err != nil {
			continue
		}
		path := indexPath(u.Path)
		if other, taken := x.paths[path]; taken && other != state {
			x.paths[path] = someState
			continue
		}
		x.paths[path] = state
	}
}

// leadsTo reports whether a path is that of a page of a state's index.
func (x *stateIndex) leadsTo(path, state string) bool {
	of, ok := x.paths[indexPath(path)]
	return ok && (of == state || of == someState)
}

// stateRule says where a link to a city has the city's state: in it, else in the nearest element around it.
type stateRule struct {
	css   goquery.Matcher // nil = the link itself
	attr  string          // "" = the text
	match *regexp.Regexp
	given bool
}

func compileStateRule(d ruleDef, f *faults) (r stateRule) {
	r.given = d.CSS != "" || d.Attr != ""
	if d.JSON != "" || len(d.Steps) > 0 || d.All || d.Own || d.Scale != 0 {
		f.add("index.state", errors.New("only css, attr and match are allowed in an index of links"))
	}
	if d.CSS != "" {
		if all := matchers([]string{d.CSS}, "index.state", f); len(all) == 1 {
			r.css = all[0]
		}
	}
	r.attr, r.match = strings.ToLower(d.Attr), compileMatch(d.Match, "index.state", f)
	return r
}

// read returns the text that says the state of the city that a link leads to.
func (r *stateRule) read(a *goquery.Selection) string {
	at := a
	if r.css != nil {
		if at = a.FindMatcher(r.css).First(); at.Length() == 0 {
			at = a.ClosestMatcher(r.css)
		}
	}
	if at.Length() == 0 {
		return ""
	}
	text := at.AttrOr(r.attr, "")
	if r.attr == "" {
		text = string(region.AppendText(nil, at.Get(0), maxText))
	}
	text = yp.Clean(text)
	if r.match != nil {
		m := r.match.FindStringSubmatch(text)
		if m == nil {
			return ""
		}
		text = yp.Clean(m[len(m)-1])
	}
	return text
}

// WholeIndex reports whether the source has one index of all its states: its pages are those of the state "".
func (s *Source) WholeIndex() bool { return s.states != nil && s.states.whole }

// indexOf returns the code of the state whose index is meant.
func (s *Source) indexOf(state string) (code string, ok bool) {
	if s.states == nil || s.states.whole {
		return "", s.states != nil && state == ""
	}
	st, ok := s.stateSet.Lookup(state)
	return st.Code, ok
}

// HasIndex reports whether the source has state indexes.
func (s *Source) HasIndex() bool { return s.states != nil }

// ParseIndex reads a page of a state's index. final is the URL that answered
// (nil = not known), status its HTTP status: 2xx, 404 or 410. The error is a
// *ParseError, or ErrNoIndex; a page that makes no sense is an Outcome.
//
// The rules are those of results pages (Source.decide): "no cities" is said only
// of a page that has the site's chrome and the index's own frame, such as the
// row of letters, or that the site says it does not have.
func (s *Source) ParseIndex(body []byte, final *url.URL, status int, state string) (*Page, error) {
	code, ok := s.indexOf(state)
	if !ok {
		return nil, fmt.Errorf("read the index of %q at %s: %w", state, s.Name(), ErrNoIndex)
	}
	r := indexReader{src: s, state: code, seen: map[string]bool{}}
	if final == nil {
		final = s.base
	} else {
		path, reason := s.below(final)
		if reason == "" && !s.states.leadsTo(path, code) {
			reason = anotherKind(path)
		}
		if reason != "" {
			return &Page{Outcome: Redirected, Reason: reason}, nil
		}
	}
	if s.states.json != nil {
		return s.readIndex(body, final, status, code)
	}
	doc, end, err := region.Parse(body)
	if err != nil {
		return nil, s.parseError(final, err)
	}
	if gone(status) {
		return s.notThere(doc, end, final, status)
	}
	r.at = s.linksAt(final).within(region.Base(doc))
	r.read(goquery.NewDocumentFromNode(doc).Selection)
	x := &Page{Page: yp.Page{Cities: r.cities}}
	r.decide(x, doc, len(body) == 0)
	return x, s.cut(x.Outcome, end, final)
}

// indexPath is the form in which the paths of index pages are compared.
func indexPath(path string) string { return strings.ToLower(strings.Trim(path, "/")) }

// indexReader gathers the cities of an index page.
type indexReader struct {
	src       *Source
	state     string
	at        *pageLinks
	cities    []yp.FoundCity
	seen      map[string]bool
	other     int      // links to cities of other states
	listed    int      // links of which it was asked where they stand
	more      int      // cities beyond the bounds
	stateless int      // links to cities whose state can't be read
	pages     []string // queries and paths of the state's other index pages that the page links to
}

// read looks at every link of the page, but for those in a template, which shows nothing.
func (r *indexReader) read(page *goquery.Selection) {
	page.Find("template").Remove()
	openNoscripts(page)
	for _, a := range page.Find("a[href]").EachIter() {
		r.link(a)
	}
}

// openNoscripts opens each noscript that holds links, also one within another.
func openNoscripts(s *goquery.Selection) {
	for _, n := range s.Find("noscript").EachIter() {
		if region.NoscriptLinks(n.Get(0)) {
			openNoscripts(n)
		}
	}
}

func (r *indexReader) link(a *goquery.Selection) {
	href := a.AttrOr("href", "")
	if len(href) > maxURL {
		return
	}
	to, _, reason := r.src.resolve(r.at, href)
	if reason != "" {
		return
	}
	u := to.URL()
	path, reason := r.src.below(u)
	if reason != "" {
		return
	}
	if state, ok := r.src.states.paths[indexPath(path)]; ok { // another page of an index
		if mark := u.Path + "?" + u.RawQuery; (state == r.state || state == someState) && len(r.pages) < 2 && !slices.Contains(r.pages, mark) {
			r.pages = append(r.pages, mark)
		}
		return
	}
	r.city(a, path)
}

// city keeps a link if it leads to a city of the state, and is where the index lists its cities: links in what
// frames the page are no list of cities.
func (r *indexReader) city(a *goquery.Selection, path string) {
	x := r.src.states
	if r.src.country != yp.DefaultCountry || x.whole {
		r.ownCity(a, path)
		return
	}
	m := x.city.FindStringSubmatch(strings.ToLower(path))
	if m == nil || len(m[x.slug]) > maxSlug || x.not != nil && x.not.MatchString(strings.ToLower(path)) {
		return
	}
	slug := strings.Clone(m[x.slug])
	dash := strings.LastIndexByte(slug, '-')
	st, isState := yp.LookupState(slug[dash+1:])
	if dash <= 0 || !isState || len(slug) != dash+3 || r.seen[slug] { // "about-us"
		return
	}
	if r.listed++; r.listed > maxListed {
		r.more++
		return
	}
	switch {
	case !slices.ContainsFunc(x.cities, a.IsMatcher) || a.ClosestMatcher(framing).Length() > 0:
	case st.Code != r.state:
		r.other++
	case len(r.cities) >= maxCities:
		r.more++
	default:
		r.seen[slug] = true
		r.cities = append(r.cities, yp.FoundCity{City: yp.City{State: r.state}, Address: slug, Shown: r.name(a, slug)})
	}
}

// ownCity is city for a source outside of the USA, or one whose index is of all states: its slugs are of any form.
func (r *indexReader) ownCity(a *goquery.Selection, path string) {
	x := r.src.states
	m := x.city.FindStringSubmatch(path)
	if m == nil {
		m = x.city.FindStringSubmatch(strings.ToLower(path))
	}
	if m == nil || m[x.slug] == "" || len(m[x.slug]) > maxSlug {
		return
	}
	if x.not != nil && (x.not.MatchString(path) || x.not.MatchString(strings.ToLower(path))) {
		return
	}
	slug, state, ok := strings.Clone(m[x.slug]), r.state, true
	if r.listed++; r.listed > maxListed*wholeShare(x.whole) {
		r.more++
		return
	}
	if !slices.ContainsFunc(x.cities, a.IsMatcher) || a.ClosestMatcher(framing).Length() > 0 {
		return
	}
	if x.inPath > 0 || x.state.given {
		state, ok = r.stateOf(a, m)
	}
	if key := state + "\x00" + slug; !r.seen[key] && ok {
		name := r.ownName(a, slug)
		switch {
		case !x.whole && state != r.state:
			r.other++
		case len(r.cities) >= maxCities*wholeShare(x.whole):
			r.more++
		default:
			r.seen[key] = true
			r.cities = append(r.cities, yp.FoundCity{City: yp.City{State: state}, Address: slug, Shown: name})
		}
	} else if !ok {
		r.stateless++
	}
}

// wholeShare is how many times as many cities an index of all states may have.
func wholeShare(whole bool) int {
	if whole {
		return 10
	}
	return 1
}

// stateOf returns the code of a city's state, by the path of its link or by index.state. ok is false where that is not a state of the
// source; one whose states are not known has those that its index says.
func (r *indexReader) stateOf(a *goquery.Selection, m []string) (code string, ok bool) {
	x, text := r.src.states, ""
	if x.state.given {
		text = x.state.read(a)
	} else {
		text = yp.Clean(m[x.inPath])
	}
	if st, known := r.src.stateSet.Lookup(text); known {
		return st.Code, true
	}
	return keep(text, maxLine), len(r.src.stateSet.All()) == 0 && text != "" && utf8.RuneCountInString(text) <= yp.MaxState
}

// ownName is name for a source outside of the USA.
func (r *indexReader) ownName(a *goquery.Selection, slug string) string {
	if text := yp.TrimPlace(yp.Clean(string(region.AppendText(nil, a.Get(0), maxText)))); strings.ContainsFunc(text, unicode.IsLetter) {
		return keep(text, maxLine)
	}
	return inWords(slug)
}

// inWords makes a name of a slug.
func inWords(slug string) string {
	words := strings.Split(slug, "-")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// name returns the city's name: the text of its link without the state, or
// else what the slug says.
func (r *indexReader) name(a *goquery.Selection, slug string) string {
	text := yp.Clean(string(region.AppendText(nil, a.Get(0), maxText)))
	if city, state, _ := yp.SplitLocality(text, r.src.country); state == r.state {
		text = city
	}
	if text = yp.TrimPlace(text); strings.ContainsFunc(text, unicode.IsLetter) {
		return keep(text, maxLine)
	}
	return inWords(strings.TrimSuffix(slug, "-"+strings.ToLower(r.state)))
}

// decide names the outcome, in the order of Source.decide.
func (r *indexReader) decide(x *Page, doc *html.Node, empty bool) {
	chrome := r.src.hasChrome(doc)
	switch {
	case len(x.Cities) > 0:
		x.Outcome, x.Reason = OK, yp.Plural(len(x.Cities), "city")
		if r.more > 0 {
			x.Reason += fmt.Sprintf("; %d more left out", r.more)
		}
		if r.stateless > 0 {
			x.Reason += fmt.Sprintf("; %d left out, because their state is not one of the source's", r.stateless)
		}
	case empty:
		x.Outcome, x.Reason = Unrecognised, "empty body"
	case !chrome:
		x.Outcome, x.Reason = Unrecognised, "not one of the site's pages: it has none of the signs under chrome"
	case r.stateless > 0:
		x.Outcome, x.Reason = HTMLChanged, fmt.Sprintf("the states of the %s listed can't be read", yp.Plural(r.stateless, "city"))
	case r.other > 0:
		x.Outcome, x.Reason = HTMLChanged, fmt.Sprintf("the page lists no cities of %s, but %d of other states", r.state, r.other)
	case r.framed(doc):
		x.Outcome, x.Reason = NoListings, "the index lists no cities here"
	default:
		x.Outcome, x.Reason = HTMLChanged, "one of the site's pages, but with neither cities nor the signs of an index (index.frame)"
	}
}

// framed reports whether the page has the frame of the state's index: links to
// two others of its pages, as the row of letters has, or what the definition
// names.
func (r *indexReader) framed(doc *html.Node) bool {
	f := &r.src.states.frame
	return len(r.pages) >= 2 || f.selectors.In(doc) || f.inTitle(titleOf(doc)) != "" || f.inText(nil, doc) != ""
}
