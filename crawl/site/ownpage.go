package site

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// Where a source of structured data reads the id of a listing's own page.
const (
	idsOfPage = "page" // from what the page says, else from its URL: as on a results page
	idsOfURL  = "url"  // from its URL, whatever the page says besides
)

var errIDs = errors.New("ids: want page or url; remove it if detail.path is set, or if the source is not structured")

// compileOwnPages lets a source of structured data that says nothing of its
// listings' own pages read those as it reads results pages. It returns false
// when the definition describes detail pages itself.
func (c *compiled) compileOwnPages(f *faults) bool {
	d := &c.def.Detail
	own := c.def.Structured.On && d.Path == "" && len(d.Fields)+len(d.Labels) == 0
	switch ids := d.IDs; {
	case ids != "" && (!own || ids != idsOfPage && ids != idsOfURL):
		f.add("detail.ids", errIDs)
	case own:
		c.detail = &detailRules{structured: true, urlIDs: ids == idsOfURL}
	}
	return own
}

// ownPage reads a listing's own page from its structured data. Nothing is taken
// for the listing's that the page does not plainly say of it: the rest of such
// a page is the directory's, or its neighbours'.
func (s *Source) ownPage(body []byte, final *url.URL, status int) (*Page, error) {
	doc, end, err := region.Parse(body)
	if err != nil {
		return nil, s.parseError(final, err)
	}
	if gone(status) {
		return s.detailGone(doc, end, final, status)
	}
	s.trace.begin(s)
	p, chrome := &Page{}, s.hasChrome(doc)
	at := s.linksAt(final).within(region.Base(doc))
	o := &ownPageReader{businessReader: businessReader{src: s, at: at, doc: doc, ownPage: true}}
	o.key, _ = o.ownKey(at.self.Text)
	page := goquery.NewDocumentFromNode(doc).Selection
	o.title = pageTitle(page)
	o.read(region.Scripts(doc))
	ours := o.ours()
	r := o.detail(ours, page)
	r.marked = o.linked
	if !r.ok(p, r.marked || chrome) {
		r.decide(p, chrome, len(body) == 0)
		if chrome && o.isList() {
			p.Outcome, p.Reason = Redirected, "redirected to a list of listings"
		}
	}
	return p, s.cut(p.Outcome, end, final)
}

// ownPageReader reads what a listing's own page says of it.
type ownPageReader struct {
	businessReader
	key    string   // of this page
	title  string   // what the page is about, for people
	linked bool     // a business says that this is its page
	others []string // keys of businesses with pages of their own
}

// pageTitle is the page's heading, or the title it is shared by.
func pageTitle(page *goquery.Selection) string {
	for _, heading := range page.Find("h1").EachIter() {
		if text := structured.Text(heading.Get(0)); text != "" {
			return keep(text, yp.MaxName)
		}
	}
	share := page.Find(`meta[property="og:title"][content]:not([content=""])`).AttrOr("content", "")
	share, _, _ = strings.Cut(share, " | ") // behind it stands the directory's name
	return keep(yp.Clean(share), yp.MaxName)
}

// ours returns the sightings that are of this page's listing, see ofPage.
func (o *ownPageReader) ours() (ours []sighting) {
	ours, o.linked = ofPage(o.found, func(s sighting) int {
		switch {
		case s.key == "":
			return linkOut
		case o.same(s):
			return linkHere
		default:
			o.others = append(o.others, s.key)
		}
		return linkElsewhere
	}, func(s sighting) string { return s.l.Name }, o.title)
	return ours
}

// isList reports whether the page is plainly one of results, to which sites lead
// from listings that are gone: it lists several others, its URL is formed as
// those of results pages are, and not as those of the listings it has. In doubt
// it is not, so that a new layout is never taken for a redirect.
func (o *ownPageReader) isList() bool {
	path, _ := o.src.below(o.at.page)
	if len(o.others) < 2 || !o.src.target.matches(path) || trailingID(o.key, "") != "" {
		return false
	}
	folder := o.key[:strings.LastIndexByte(o.key, '/')+1]
	return !slices.ContainsFunc(o.others, func(key string) bool {
		return strings.HasPrefix(key, folder) && !strings.Contains(key[len(folder):], "/")
	})
}

// same reports whether a business's own page is this one: by its address, or by
// the id in it. Another slug with the same id is the same page.
func (o *ownPageReader) same(s sighting) bool {
	id := trailingID(s.key, s.l.PostalCode)
	return s.key == o.key || id != "" && id == trailingID(o.key, s.l.PostalCode)
}

// detail makes one listing of all that was said of it.
func (o *ownPageReader) detail(ours []sighting, page *goquery.Selection) *detailReader {
	r := &detailReader{src: o.src, at: o.at}
	all := sighting{key: o.key}
	for i := range ours {
		s := &ours[i]
		fillListing(&all.l, &s.l)
		if !o.src.detail.urlIDs {
			all.ident = cmp.Or(all.ident, s.ident)
		}
	}
	all.l.ID = strings.Clone(all.idOf())
	if len(ours) == 0 { // without a name, which decide tells
		r.Listing = yp.Listing{ID: all.l.ID}
		return r
	}
	all.l.Name = cmp.Or(all.l.Name, o.title)
	if r.Listing = ownFields(&all.l); r.Email == "" {
		r.Email = o.onlyEmail(page)
	}
	return r
}

// onlyEmail returns the mail address that the page links to, outside the parts
// that frame it, if there is just one: of two, one may be anybody's.
func (o *ownPageReader) onlyEmail(page *goquery.Selection) string {
	found := ""
	links := page.Find(plainEmails).FilterFunction(func(_ int, s *goquery.Selection) bool {
		return s.ClosestMatcher(offListing).Length() == 0
	})
	for _, v := range emailLinks(links) {
		email := o.src.email(yp.Clean(v))
		if email != "" && found != "" && email != found {
			return ""
		}
		found = cmp.Or(found, email)
	}
	return found
}

// offOwnPage says why a URL can't be that of a listing's own page, or "".
func (s *Source) offOwnPage(final *url.URL) string {
	path, reason := s.below(final)
	r := businessReader{src: s, at: s.linksAt(final), ownPage: true}
	if key, _ := r.ownKey(r.at.self.Text); reason == "" && key == "" {
		reason = fmt.Sprintf("redirected to another kind of page: %s", yp.Printable(yp.Clip(path, 200)))
	}
	return reason
}
