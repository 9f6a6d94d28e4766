package site

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// detailRules is what the detail pages of a source look like, ready for use.
type detailRules struct {
	structured bool // the pages are read by ownPage; the rules below are empty then
	urlIDs     bool // ids are those of URLs

	path        *regexp.Regexp
	id          int // group of path
	regions     region.Containers
	marks       marks
	others      []goquery.Matcher // boxes of other businesses
	page        region.Selectors
	info, hours []int             // in page
	labels      map[string]string // of a label to its field
	fields      map[string]field  // in page
}

// HasDetails reports whether the source describes the pages of its listings.
func (s *Source) HasDetails() bool { return s.detail != nil }

// ParseDetail reads the page of one listing. final is the URL that answered
// (nil = not known), status its HTTP status: 2xx, 404 or 410. The error is a
// *ParseError, or ErrNoDetails; a page that makes no sense is an Outcome. The
// rules follow those of results pages (Source.decide):
//
//  1. the URL is that of another kind of page: Redirected. Another slug with
//     the same id is the same page
//  2. 404 or 410: NoListings with the site's chrome, the business is missing; without it Missing
//  3. the page names another id than its URL: Unrecognised
//  4. a name and an id, on a page with the marks of a detail page or the site's chrome: OK
//  5. the site's chrome: HTMLChanged
//  6. anything else: Unrecognised
//
// A source of structured data whose definition has no such rules reads what the
// page says of the one business whose page it is (ownpage.go). A page
// that has data of none is read as one without a name, and one that lists
// several others where results pages are as Redirected.
func (s *Source) ParseDetail(body []byte, final *url.URL, status int) (*Page, error) {
	if s.detail == nil {
		return nil, fmt.Errorf("read a detail page of %s: %w", s.Name(), ErrNoDetails)
	}
	if final == nil {
		final = s.base
	} else if reason := s.offDetail(final); reason != "" {
		return &Page{Outcome: Redirected, Reason: reason}, nil
	}
	if s.isJSON() {
		return s.jsonDetail(body, final, status)
	}
	if s.detail.structured {
		return s.ownPage(body, final, status)
	}
	if p := s.detailRegions(body, final, status); p != nil {
		return p, nil
	}
	return s.detailWhole(body, final, status)
}

// ParseAny reads a page of which nobody says what it is: a results page, or a listing's own page by its rules, where
// the address is not that of a results page, or the page is read as one in vain, or shows that listing alone.
func (s *Source) ParseAny(body []byte, final *url.URL, status int) (*Page, error) {
	p, err := s.ParsePage(body, final, status)
	if s.detail == nil || final == nil || err == nil && p.Outcome == OK && !shows(p, final) {
		return p, err
	}
	var before Trace
	if s.trace != nil {
		before = *s.trace
	}
	own, ownErr := s.ParseDetail(body, final, status)
	if ownErr == nil && (own.Outcome == OK || err == nil && p.Outcome == Redirected && own.Outcome != Redirected) {
		return own, nil
	}
	if s.trace != nil {
		*s.trace = before
	}
	return p, err
}

// shows reports whether a page shows the listing alone whose own page it is.
func shows(p *Page, final *url.URL) bool {
	return len(p.Listings) == 1 && p.Listings[0].ProfileURL == final.String()
}

// offDetail says why a URL is none of the source's detail pages, or "".
func (s *Source) offDetail(final *url.URL) string {
	if s.detail.structured {
		return s.offOwnPage(final)
	}
	path, reason := s.below(final)
	if reason == "" && !s.isJSON() && s.detail.pathID(path) == "" {
		reason = anotherKind(path)
	}
	return reason
}

// detailRegions reads the page from its regions alone; nil when the whole page
// must be looked at.
func (s *Source) detailRegions(body []byte, final *url.URL, status int) *Page {
	if gone(status) {
		return nil
	}
	w := s.workspace()
	defer s.release(w)
	doc, scripts, ok := w.parser.Parse(view(body), &s.detail.regions)
	if !ok {
		return nil
	}
	p, r := &Page{}, s.readDetail(doc, scripts, s.linksAt(final).within(w.parser.Base()))
	if !r.ok(p, r.marked) {
		return nil
	}
	return p
}

// detailWhole reads the page from the tree of all of it: from the regions
// first, as detailRegions does, then from everywhere.
func (s *Source) detailWhole(body []byte, final *url.URL, status int) (*Page, error) {
	doc, end, err := region.Parse(body)
	if err != nil {
		return nil, s.parseError(final, err)
	}
	if gone(status) {
		return s.detailGone(doc, end, final, status)
	}
	p, scripts, at := &Page{}, region.Scripts(doc), s.linksAt(final).within(region.Base(doc))
	chrome := s.hasChrome(doc)
	if roots := s.detail.regions.Find(doc); len(roots) > 0 {
		regions, undo := region.Graft(roots)
		r := s.readDetail(regions, scripts, at)
		undo()
		if r.ok(p, r.marked || chrome) {
			return p, s.cut(p.Outcome, end, final)
		}
	}
	r := s.readDetail(doc, scripts, at)
	if !r.ok(p, r.marked || chrome) {
		r.decide(p, chrome, len(body) == 0)
	}
	return p, s.cut(p.Outcome, end, final)
}

// detailGone is notThere of a listing's own page.
func (s *Source) detailGone(doc *html.Node, end region.End, final *url.URL, status int) (*Page, error) {
	p, err := s.notThere(doc, end, final, status)
	if p.NotFound {
		p.Reason += ": the site has no such listing"
	}
	return p, err
}

// ok reports whether the page could be read, and sets it if so. sure says that
// the page is the site's.
func (r *detailReader) ok(p *Page, sure bool) bool {
	if !sure || r.Name == "" || r.ID == "" || r.otherID != "" {
		return false
	}
	p.Outcome, p.Reason = OK, "the page of listing "+r.ID
	p.Own, p.Listings = true, []yp.Listing{r.Listing}
	return true
}

// decide names the outcome of a page that could not be read.
func (r *detailReader) decide(p *Page, chrome, empty bool) {
	p.Outcome = Unrecognised
	switch {
	case r.otherID != "":
		p.Reason = fmt.Sprintf("the page is that of listing %s, not of %s", r.otherID, r.ID)
	case empty:
		p.Reason = "empty body"
	case !chrome && !r.marked:
		p.Reason = "not one of the site's pages: it has none of the signs under chrome"
	case r.ID == "":
		p.Outcome, p.Reason = HTMLChanged, "the id of the listing is not on the page"
	case r.marked:
		p.Outcome, p.Reason = HTMLChanged, "the listing's name can't be read"
	default:
		p.Outcome, p.Reason = HTMLChanged, "one of the site's pages, but not a listing's"
	}
}

// pathID returns the id in the path of a detail page, or "".
func (r *detailRules) pathID(path string) string {
	m := r.path.FindStringSubmatch(yp.Clip(path, maxURL))
	if m == nil {
		return ""
	}
	return yp.Identifier(m[r.id])
}

// detailReader reads a detail page.
type detailReader struct {
	yp.Listing
	src     *Source
	at      *pageLinks
	page    cardReader              // the page, as a card
	under   map[string][]*html.Node // what stands under the labels of each field
	ld      yp.Listing              // what the JSON-LD says of the business; the website is its url, whatever that leads to
	marked  bool                    // the page has the marks of a detail page
	otherID string                  // the id that the page names, when it is not the one in its URL
	rules   map[string]field        // of the fields
}

func (r *detailReader) business() business { return business{src: r.src, at: r.at, own: true} }

// readDetail reads all that the tree and the scripts say.
func (s *Source) readDetail(root *html.Node, scripts []string, at *pageLinks) *detailReader {
	d := s.detail
	r := &detailReader{src: s, at: at, page: cardReader{src: s, at: at, card: root, hits: d.page.NewHits()}, rules: d.fields}
	d.page.Find(root, r.page.hits, nil)
	r.marked = d.marks.selectors.In(root)
	r.labelled()
	r.ID = d.pathID(at.page.Path)
	if id := d.fields["id"].identifier(&r.page); r.ID == "" {
		r.ID = id
	} else if id != r.ID && (yp.PlainID(id) != "" || id != "" && yp.PlainID(r.ID) == "") { // "No. 12 a" is no other id than 12
		r.otherID = id
	}
	r.Name = keep(d.fields["name"].first(&r.page), yp.MaxName)
	reader := structured.Reader{Country: s.country, Day: s.day, State: s.readState, PostalCode: s.readPostalCode}
	if b := r.pick(reader.Scripts(scripts)); b != nil {
		r.business().facts(&r.ld, b)
		r.ld.Name, r.ld.WebsiteURL = keep(b.Name, yp.MaxName), b.URL
	}
	if r.Name == "" && r.marked {
		r.Name = r.ld.Name
	}
	r.read()
	for _, href := range r.ld.Social { // from everywhere: each may know some
		r.Social = yp.AppendSocial(r.Social, href)
	}
	fillGroups(&r.Listing, &r.ld, ownGroups&^(yp.GroupPhone.Bit()|yp.GroupWebsite.Bit()))
	if r.Hours == nil || slices.ContainsFunc(r.Hours, allDay) {
		r.shownHours()
	}
	s.trace.begin(s)
	s.trace.own(r)
	return r
}

// read reads all fields but the id and the name.
func (r *detailReader) read() {
	r.contacts()
	r.facts()
	r.rest()
}

// labelled notes what stands under each label of the page's lists of facts.
func (r *detailReader) labelled() {
	r.under = make(map[string][]*html.Node)
	for _, i := range r.src.detail.info {
		for _, facts := range r.page.hits[i] {
			name := ""
			for _, n := range goquery.NewDocumentFromNode(facts).ChildrenFiltered("dt, dd").Nodes {
				if n.Data == "dt" {
					name = r.src.detail.labels[labelText(structured.Text(n))]
				} else if name != "" && len(r.under[name]) < maxTries {
					r.under[name] = append(r.under[name], n)
				}
			}
		}
	}
}

// labelText is the form in which labels are compared.
func labelText(s string) string { return strings.ToLower(strings.Trim(s, " :")) }
