package site

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// Page is what a page says, and what is to be made of it.
type Page struct {
	// What it says, before the filters: Listings has organic and sponsored ones, each id
	// once, in the order of the page; Raw counts the cards, with those that are repeated or
	// bad; NextURL is absolute, on the source's host, "" = last page, or NextHost.
	yp.Page

	Outcome Outcome
	Reason  string // why, for people
	LeftOut int    // cards, or businesses, beyond the first 1,000
	// BehindEmpty is the position that a page without listings names by its cursor, "" = none: see readBehindEmpty.
	BehindEmpty string
	// Unjoined counts the items of the page's script that belong to none of its cards: they are not stored.
	Unjoined int
	Missing  int // organic cards that the page counts and does not have; they are part of Bad
	// Announced is how many organic cards the page says that it shows; 0 = none is missing.
	// A site may count its ads along.
	Announced int
	Cards     int // as Raw, which filters change
	// Unread says why cards could not be read; the sum is Bad. UnreadCards are the first of them.
	Unread      UnreadCounts
	UnreadCards []UnreadCard
	NextHost    string // host of a next link that leads to another host, and is not followed
	Partial     bool   // it has errors beside its listings, of which it may lack some
	NotFound    bool   // NoListings because the site answered 404: the slug may be wrong
	Paging      Paging // where the definition's rules find no next link
	RangeEnd    int    // number of the last listing on it, as the page says: 30 of "1-30 of 93"; 0 = it does not say
	ByOffset    bool   // RangeEnd is by how many listings stood before, in a list without links: the page does not say it
	LastMark    string // what says that no page follows, of the definition's last: "" = nothing
	Whole       bool   // its end tags are there
	// Nothing is, of a page of results with organic listings, in which signs of the definition's empty it says that
	// nothing was found, whatever its total says, each to be read behind "the page": see SaysBoth.
	Nothing []string
	Via     string // "region" or "whole": how much of the page was parsed; "structured": listings are from structured data

	zero    bool   // the page says explicitly that there are 0 listings
	lost    int    // businesses with a link and without a card; they are part of Bad
	refused string // the next link of the definition, where it can not be followed: its label and why
	atEnd   bool   // by its own count the page shows the last listing
}

// ParsePage reads a results page. final is the URL that answered (after
// redirects; nil = not known, links resolve against the base URL), status its HTTP status: 2xx, 404 or 410. The
// error is a *ParseError; a page that makes no sense is no error but an Outcome. One whose cards are mostly
// unreadable is HTMLChanged; what could be read is there all the same.
func (s *Source) ParsePage(body []byte, final *url.URL, status int) (*Page, error) {
	p, err := s.parsePage(body, final, status)
	if err == nil && p.Outcome == OK && p.mostlyUnread() {
		p.Outcome, p.Reason = HTMLChanged, p.unreadReason()
	}
	return p, err
}

func (s *Source) parsePage(body []byte, final *url.URL, status int) (*Page, error) {
	if final == nil {
		final = s.base
	} else if reason := s.redirected(final); reason != "" {
		return &Page{Outcome: Redirected, Reason: reason}, nil
	}
	if s.isJSON() {
		return s.parseJSON(body, final, status)
	}
	if s.def.Structured.On && s.script == nil {
		return s.parseStructured(body, final, status)
	}
	if gone(status) || s.script != nil || !s.refused.none() {
		return s.parseWhole(body, final, status)
	}
	if p, more := s.parseRegions(body, final); p != nil {
		if p.Whole = true; more {
			s.findNext(p, body, final)
		}
		return p, nil
	}
	return s.parseWhole(body, final, status)
}

// redirected says why a URL is none of the source's results pages, or "".
func (s *Source) redirected(final *url.URL) string {
	path, reason := s.below(final)
	if reason == "" && !s.target.matches(path) && (s.search == nil || !s.search.matches(path)) {
		reason = anotherKind(path)
	}
	return reason
}

func anotherKind(path string) string {
	return fmt.Sprintf("redirected to another kind of page: %s", yp.Printable(yp.Clip(path, 200)))
}

// workspace is what one parse needs and the next can use again.
type workspace struct {
	parser   region.Parser
	pageHits region.Hits
	card     cardReader
	cards    []card        // of the page read last
	data     jsondoc.Value // its JSON, where the definition names a script
	said     []byte
	signs    region.Hits // of the selectors of empty
}

func (s *Source) workspace() *workspace {
	if w, ok := s.work.Get().(*workspace); ok {
		return w
	}
	return &workspace{pageHits: s.page.NewHits(), card: cardReader{hits: s.cards.NewHits()}, signs: s.empty.selectors.NewHits()}
}

func (s *Source) release(w *workspace) {
	w.pageHits.Reset()
	w.card.hits.Reset()
	w.signs.Reset()
	w.card.card, w.cards, w.card.json = nil, nil, attrJSON{}
	w.data, w.card.item = jsondoc.Value{}, jsondoc.Value{}
	s.work.Put(w)
}

// parseRegions reads the page from its regions alone; nil when the page must be
// parsed whole: its tags are not in good order, or the regions hold no listing. moreNext
// says that the next link may be outside of the regions, or hang on what does.
func (s *Source) parseRegions(body []byte, final *url.URL) (p *Page, moreNext bool) {
	w := s.workspace()
	defer s.release(w)
	doc, scripts, ok := w.parser.Parse(view(body), &s.regions)
	if !ok {
		return nil, false
	}
	p = s.extract(w, doc, scripts, s.linksAt(final).within(w.parser.Base()), true)
	if onlyAds(p.Listings) || w.card.shut {
		return nil, false
	}
	p.Via = "region"
	p.Nothing = s.nothing(p, w, doc, slices.Collect(doc.ChildNodes()), w.parser.Title())
	unsettled := func(r rule) bool { return r.sel >= 0 && len(w.pageHits[r.sel]) > 0 } // by what is around the regions, it may be one
	moreNext = w.parser.Outside() || p.LeftOut > 0 || slices.ContainsFunc(s.next, unsettled) || !s.last.none()
	s.readPaging(p, doc, w.card.at, w.cards)
	return p, !p.atEnd && p.NextURL == "" && p.NextHost == "" && (moreNext || w.parser.Paging())
}

// readText says what was read of a page: "1 listing in 3 cards, 2 unreadable".
func readText(p *Page, part string) string {
	text := yp.Plural(len(p.Listings), "listing") + " in " + yp.Plural(p.Raw, part)
	if p.Bad > 0 {
		text += fmt.Sprintf(", %d unreadable", p.Bad)
	}
	return text
}

// onlyAds reports whether no listing is organic: then what the page says counts.
func onlyAds(listings []yp.Listing) bool {
	for i := range listings {
		if !listings[i].Sponsored {
			return false
		}
	}
	return true
}

// view returns the body as a string without a copy: a copy of every page would
// be four fifths of what a parse allocates. The string is gone before ParsePage
// returns the body to its owner: all that is kept of a page is copied out
// (TestPagesOutliveBody), and the workspace reads no old text.
func view(body []byte) string { return unsafe.String(unsafe.SliceData(body), len(body)) }

// parseWhole reads the page from the tree of all of it. Where the regions are does not
// count here: a tag too many may have closed them before their last card.
func (s *Source) parseWhole(body []byte, final *url.URL, status int) (*Page, error) {
	doc, end, err := region.Parse(body)
	if err != nil {
		return nil, s.parseError(final, err)
	}
	if gone(status) {
		p, err := s.notThere(doc, end, final, status)
		p.Via = "whole"
		return p, err
	}
	w := s.workspace()
	defer s.release(w)
	scripts, roots := region.Scripts(doc), s.regions.Find(doc)
	at := s.linksAt(final).within(region.Base(doc))
	var why string
	w.data, why = s.dataOf(doc)
	p := s.extract(w, doc, scripts, at, false)
	p.Via, p.Whole = "whole", end == region.EndClosed
	s.readEnd(p, w, doc, at)
	if failed := s.refusedOn(doc, w); failed != nil {
		return failed, nil
	}
	if onlyAds(p.Listings) {
		s.decide(p, &evidence{
			doc: doc, roots: roots, cards: w.cards, scripts: scripts, empty: len(body) == 0, json: jsonInHTML(body), data: w.data,
		})
		if why != "" && p.Outcome == HTMLChanged {
			p.Reason = why
		}
	} else {
		p.Nothing = s.nothing(p, w, doc, roots, titleOf(doc))
	}
	return p, s.cut(p.Outcome, end, final)
}

func (s *Source) parseError(final *url.URL, err error) error {
	return &ParseError{Source: s.Name(), URL: final.Redacted(), Err: err}
}

// cut returns an error when a page of the site did not come to its end: what is
// missing may be the rest of the listings, or the marks that the outcome hangs on.
// HTML lets a page leave its last tags out, so a page that has no tag of html or body
// at all may; so may all pages of a source whose definition says so. A page
// that is none of the site's may be a message of a few words and is judged by what it
// is. Pages that were read from their regions have come to their end.
func (s *Source) cut(o Outcome, end region.End, final *url.URL) error {
	switch {
	case o == Unrecognised || o == Redirected || o == Missing:
		return nil
	case end == region.EndBroken:
		return s.parseError(final, fmt.Errorf("%w: it ends in the middle of a tag, comment or script", ErrCut))
	case end == region.EndOpen && !s.def.NoEndTags:
		return s.parseError(final, fmt.Errorf("%w: it has neither </body> nor </html>", ErrCut))
	}
	return nil
}

// extract reads cards, total and next link from a tree. ordered says that the page's tags
// are in good order.
func (s *Source) extract(w *workspace, doc *html.Node, scripts []string, at *pageLinks, ordered bool) *Page {
	w.card.src, w.card.at, w.card.parts, w.card.shut = s, at, ordered, false
	p := &Page{}
	s.readCards(p, w, doc, scripts, ordered)
	s.readScript(p, w, scripts)
	around := cardReader{src: s, at: at, hits: w.pageHits, card: doc, item: w.data}
	p.SiteTotal, p.zero = s.readTotal(&around)
	if len(p.Listings) == 0 {
		s.readNext(p, w.pageHits, doc, w.data, at)
		return p
	}
	p.Outcome, p.Reason = OK, readText(p, "card")
	if p.Unjoined > 0 {
		p.Reason += fmt.Sprintf("; %s of its script on no card", yp.Plural(p.Unjoined, "item"))
	}
	shown, last := readRange(s.shown.first(&around), p.SiteTotal)
	p.RangeEnd, p.atEnd = last, p.SiteTotal > 0 && p.SiteTotal == max(last, p.Organic)
	s.readNext(p, w.pageHits, doc, w.data, at)
	if shown > p.Organic+p.LeftOut {
		p.Missing, p.Announced = shown-p.Organic-p.LeftOut, shown-p.LeftOut
		missing := max(p.Missing-p.lost, 0)
		ads := min(missing, p.Raw-p.Organic)
		p.unread(PerhapsAds, ads, nil)
		p.unread(NotShown, missing-ads, nil)
		p.Reason += fmt.Sprintf("; the page counts %s more than it shows", yp.Plural(p.Missing, "listing"))
	}
	return p
}

// readTotal reads the site's count of listings. zero tells "0" from nothing; one that the page hides
// is there for a script to fill in.
func (s *Source) readTotal(page *cardReader) (n int, zero bool) {
	for i := range s.total {
		r := &s.total[i]
		if r.data {
			if n, zero, ok := r.total(page, s.totalIs[i]); ok {
				return n, zero
			}
			continue
		}
		for _, at := range r.nodes(page) {
			text := r.take(page, at)
			if text == "" {
				continue
			}
			n, ok := total(text)
			if zero = ok && n == 0; zero && region.HiddenAround(at) {
				continue
			}
			return n, zero
		}
	}
	return 0, false
}

// total reads the site's count of listings out of JSON or the header; ok is false when the rule finds nothing. about is where
// JSON says beside it whether there are more: {"value": 10000, "relation": "gte"} of Elasticsearch is no total.
func (r *rule) total(page *cardReader, about *jsondoc.Path) (n int, zero, ok bool) {
	for _, text := range r.values(page) {
		if text = r.read(text); text == "" {
			continue
		}
		if about != nil && strings.EqualFold(about.First(page.item).Text(), "gte") {
			return 0, false, true
		}
		n, ok = total(text)
		return n, ok && n == 0, true
	}
	return 0, false, false
}

// readRange reads how many listings a page says that it shows, as "1-30" or
// "1,081 - 1,108", and the number of the last; all is how many there are, 0 =
// unknown. 0 = it does not say.
func readRange(s string, all int) (shown, last int) {
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		from, to, ok = strings.Cut(s, "–")
	}
	first, isFirst := total(from)
	last, isLast := total(to)
	if all > 0 {
		last = min(last, all)
	}
	if !ok || !isFirst || !isLast || first < 1 || last < first || last-first >= region.MaxHits {
		return 0, 0
	}
	return last - first + 1, last
}

// readEnd reads what a page without a next link says of what follows it.
func (s *Source) readEnd(p *Page, w *workspace, doc *html.Node, at *pageLinks) {
	if s.readPaging(p, doc, at, w.cards); p.NextURL == "" && p.NextHost == "" {
		c := cardReader{src: s, at: at, hits: w.pageHits, card: doc, item: w.data}
		p.LastMark = cmp.Or(s.last.on(doc, w.cards), s.last.data.held(&c))
		s.readPosition(p, &c)
	}
}

// findNext looks for the next link outside the regions, where the page does not say that
// it is the last; without one, for what the page says of its end.
func (s *Source) findNext(p *Page, body []byte, final *url.URL) {
	doc, _, err := region.Parse(body)
	if err != nil {
		return
	}
	w := s.workspace()
	defer s.release(w)
	w.cards, _ = s.cardsOf(doc, w.pageHits, false)
	w.pageHits.Reset()
	s.page.Find(doc, w.pageHits, nil)
	at := s.linksAt(final).within(region.Base(doc))
	s.readNext(p, w.pageHits, doc, w.data, at)
	s.readEnd(p, w, doc, at)
}

// readNext reads the next link. One in the pagination may lead anywhere on the host; any
// other one only to a later page of the same list, and only where the page does not say
// that it is the last: "next" may be an article, a photo or another list.
func (s *Source) readNext(p *Page, found region.Hits, doc *html.Node, data jsondoc.Value, at *pageLinks) {
	page := cardReader{src: s, at: at, hits: found, card: doc, item: data}
	for i := range s.next {
		r := &s.next[i]
		if r.data {
			if s.nextByData(p, r, &page); p.NextURL != "" {
				return
			}
			continue
		}
		for _, n := range r.nodes(&page) {
			ref := r.take(&page, n)
			if ref == "" || disabled(n) {
				continue
			}
			next, host, reason := s.nextURL(at, ref)
			paging := inPagination(n)
			if p.refused == "" && host == "" && next == "" {
				p.refused = refused(n, ref, reason)
			}
			if next != "" && (paging || !p.atEnd && s.later(at.page, next)) {
				p.NextURL, p.NextHost = next, ""
				return
			}
			if p.NextHost == "" && (paging || !p.atEnd) {
				p.NextHost = host
			}
		}
	}
}

// nextByData reads the next link out of JSON or the header of the answer.
func (s *Source) nextByData(p *Page, r *rule, c *cardReader) {
	for _, text := range r.values(c) {
		ref := r.read(text)
		if ref == "" {
			continue
		}
		next, host, reason := s.nextURL(c.at, ref)
		if p.NextURL, p.NextHost = next, cmp.Or(p.NextHost, host); next != "" {
			p.NextHost = ""
			return
		}
		if reason != "" && reason != samePageReason && host == "" {
			p.refused = cmp.Or(p.refused, fmt.Sprintf("%q: %s", yp.Printable(yp.Clip(ref, maxLabel)), reason))
		}
	}
}

// refused says what a next link of the definition's is that can't be followed, "" where it leads to this very page.
func refused(n *html.Node, ref, reason string) string {
	switch {
	case strings.HasPrefix(weburl.Tidy(ref), "#"):
		reason = "a script"
	case reason == "" || reason == samePageReason:
		return ""
	}
	return unfollowed(n, reason)
}

func inPagination(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && isPagination(n) {
			return true
		}
	}
	return false
}

// later reports whether next is a later page of the list at final, or of its search.
func (s *Source) later(final *url.URL, next string) bool {
	u, err := url.Parse(next)
	if err != nil {
		return false
	}
	from, at := s.listPage(final)
	list, to := s.listPage(u)
	same := strings.EqualFold(list, from) || s.search != nil && s.search.matches(s.belowBase(u))
	if final == s.base { // the page's own address is not known
		same = same || s.target.matches(s.belowBase(u))
	}
	return same && to > at
}

// listPage returns the path of a list, without the page if that is in it, and the
// number of the page.
func (s *Source) listPage(u *url.URL) (list string, page int) {
	list = strings.Trim(s.belowBase(u), "/")
	t := s.target
	if s.search != nil && s.search.matches(list) {
		t = s.search
	}
	segments := strings.Split(list, "/")
	if i := t.pageSegment; i >= 0 && i < len(segments) {
		segments[i], page = t.cutPage(segments[i])
		list = strings.Join(segments, "/")
	}
	if t.pageParam != "" {
		page, _ = yp.FirstInt(u.Query().Get(t.pageParam))
	}
	return list, max(page, 1)
}

// namesPage reports whether the address of a list says which page it is.
func (s *Source) namesPage(u *url.URL) bool {
	t := s.target
	if s.search != nil && s.search.matches(s.belowBase(u)) {
		t = s.search
	}
	if t.pageParam != "" {
		_, ok := yp.FirstInt(u.Query().Get(t.pageParam))
		return ok
	}
	return t.pageSegment >= 0
}

// gone reports whether a status says that there is no such page.
func gone(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }

// total reads a number of listings, see yp.Count. One that only says about how many there are is none: it proves nothing.
func total(s string) (n int, ok bool) {
	if n, exact, ok := yp.Count(s); ok && exact {
		return n, true
	}
	return 0, false
}
