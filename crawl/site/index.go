package site

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

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
	city   *regexp.Regexp    // of a path; its group is the slug
	slug   int               // number of that group
	not    *regexp.Regexp    // of paths that look like cities' and are not; nil = none
	paths  map[string]string // of all its pages, without slashes at the ends, to their states
}

// anyState stands for the state of a path that those of several states share: what they differ in is the query or the body.
const anyState = "*"

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
	st, ok := yp.LookupState(state)
	if s.states == nil || !ok {
		return nil, fmt.Errorf("read the index of %q at %s: %w", state, s.Name(), ErrNoIndex)
	}
	r := indexReader{src: s, state: st.Code, seen: map[string]bool{}}
	if final == nil {
		final = s.base
	} else {
		path, reason := s.below(final)
		if of := s.states.paths[indexPath(path)]; reason == "" && of != st.Code && of != anyState {
			reason = anotherKind(path)
		}
		if reason != "" {
			return &Page{Outcome: Redirected, Reason: reason}, nil
		}
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
	src    *Source
	state  string
	at     *pageLinks
	cities []yp.FoundCity
	seen   map[string]bool
	other  int      // links to cities of other states
	listed int      // links of which it was asked where they stand
	more   int      // cities beyond the bounds
	pages  []string // queries and paths of the state's other index pages that the page links to
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
		if mark := u.Path + "?" + u.RawQuery; state == r.state && len(r.pages) < 2 && !slices.Contains(r.pages, mark) {
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

// name returns the city's name: the text of its link without the state, or
// else what the slug says.
func (r *indexReader) name(a *goquery.Selection, slug string) string {
	text := yp.Clean(string(region.AppendText(nil, a.Get(0), maxText)))
	if city, state, _ := yp.SplitLocality(text); state == r.state {
		text = city
	}
	if text = yp.TrimPlace(text); strings.ContainsFunc(text, unicode.IsLetter) {
		return keep(text, maxLine)
	}
	words := strings.Split(strings.TrimSuffix(slug, "-"+strings.ToLower(r.state)), "-")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// decide names the outcome, in the order of Source.decide.
func (r *indexReader) decide(x *Page, doc *html.Node, empty bool) {
	chrome := r.src.hasChrome(doc)
	switch {
	case len(x.Cities) > 0:
		x.Outcome, x.Reason = OK, yp.Plural(len(x.Cities), "city")
		if r.more > 0 {
			x.Reason += fmt.Sprintf("; %d more are left out", r.more)
		}
	case empty:
		x.Outcome, x.Reason = Unrecognised, "empty body"
	case !chrome:
		x.Outcome, x.Reason = Unrecognised, "not a page of the site: it has nothing that the definition lists under chrome"
	case r.other > 0:
		x.Outcome, x.Reason = HTMLChanged, fmt.Sprintf("the page lists no city of %s, but %d of other states", r.state, r.other)
	case r.framed(doc):
		x.Outcome, x.Reason = NoListings, "the index lists no city here"
	default:
		x.Outcome, x.Reason = HTMLChanged, "a page of the site with neither cities nor the frame of an index"
	}
}

// framed reports whether the page has the frame of the state's index: links to
// two others of its pages, as the row of letters has, or what the definition
// names.
func (r *indexReader) framed(doc *html.Node) bool {
	f := &r.src.states.frame
	return len(r.pages) >= 2 || f.selectors.In(doc) || f.inTitle(titleOf(doc)) != "" || f.inText(nil, doc) != ""
}
