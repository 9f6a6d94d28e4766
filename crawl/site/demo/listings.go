package demo

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// request is a listing page asked for: a target, a page, and how links to
// other pages are written.
type request struct {
	target target
	page   int
	self   string // path and query without the page
	search bool
}

// link writes the address of a page, entity-encoded.
func (r *request) link(page int) string {
	if page == 1 {
		return encodeUTF8.escape(r.self)
	}
	return r.sorted() + "page=" + strconv.Itoa(page)
}

// sorted writes the address up to the next parameter.
func (r *request) sorted() string {
	if r.search {
		return encodeUTF8.escape(r.self) + "&amp;"
	}
	return r.self + "?"
}

// pageNumber reads the page parameter; what is no number counts as page 1.
func pageNumber(q url.Values) int { return max(number(q.Get("page")), 1) }

// findListings resolves /{city}-{st}/{category}.
func (d *edition) findListings(path string, q url.Values) (request, bool) {
	city, cat, ok := strings.Cut(path[1:], "/")
	p, i := d.bySlug[city], 0
	if ok {
		i, ok = d.cats[cat]
	}
	if !ok || p == nil {
		return request{}, false
	}
	return request{target: d.target(p, i), page: pageNumber(q), self: path}, true
}

// findSearch resolves /search?search_terms=…&geo_location_terms=City, ST.
func (d *edition) findSearch(q url.Values) (request, bool) {
	what, where := q.Get("search_terms"), q.Get("geo_location_terms")
	i, ok := d.cats[slugOf(what)]
	p := d.byKnown[placeSlug(where)]
	if !ok || p == nil {
		return request{}, false
	}
	self := "/search?search_terms=" + url.QueryEscape(what) + "&geo_location_terms=" + url.QueryEscape(where)
	return request{target: d.target(p, i), page: pageNumber(q), self: self, search: true}, true
}

// serveListings answers with a page of results. Past the end some targets show
// their last page again, the others are not found.
func (d *edition) serveListings(s *scratch, r *request) (status int) {
	t := &r.target
	if t.total == 0 {
		d.writeNoResults(s.page, d.frame(r), t.skin)
		return http.StatusOK
	}
	if r.page > t.pages() {
		if !t.repeats {
			d.writeNotFound(s.page)
			return http.StatusNotFound
		}
		r.page = t.pages()
	}
	d.writeResults(s, r)
	return http.StatusOK
}

// frame sets the values around the cards.
func (d *edition) frame(r *request) *values {
	t, e := &r.target, r.target.skin.encoding()
	v := &values{}
	s := &v.s
	s[fCharset] = t.skin.charset()
	s[fKind] = "srp"
	s[fWhat] = e.escape(trades[t.cat].name)
	s[fCity] = e.escape(t.place.Name)
	s[fState] = t.place.State
	s[fWhere] = s[fCity] + ", " + s[fState]
	s[fTitle] = "Best 30 " + s[fWhat] + " in " + s[fWhere] + " with Reviews"
	s[fHeading] = s[fCity] + ", " + s[fState] + " " + s[fWhat]
	s[fSelf], s[fSort] = r.link(1), r.sorted()
	s[fCitySlug], s[fStateSlug] = t.place.Slug, strings.ToLower(t.place.State)
	return v
}

// paginate sets the count and the links to other pages.
func (v *values) paginate(r *request) {
	t, s := &r.target, &v.s
	first := (r.page-1)*perPage + 1
	last := min(r.page*perPage, t.total)
	total := grouped(t.total)
	if t.dice.pct(tagEnd) < 30 {
		total = strconv.Itoa(t.total)
	}
	showing := "Showing " + strconv.Itoa(first) + "-" + strconv.Itoa(last) + " of " + total
	if t.skin == skin2013 {
		s[fShowingP] = showing
	} else {
		s[fShowing] = showing
	}
	s[fTotal] = strconv.Itoa(t.total)
	if t.pages() == 1 {
		return
	}
	s[fPager] = pager(r)
	switch {
	case r.page < t.pages():
		s[fNext], s[fNextPage] = r.link(r.page+1), strconv.Itoa(r.page+1)
	case t.dice.pct(tagEnd+1) < 50:
		s[fLast] = "1"
	}
}

func pager(r *request) string {
	var b strings.Builder
	first := max(1, r.page-2)
	for n := first; n <= min(first+4, r.target.pages()); n++ {
		label := strconv.Itoa(n)
		if n == r.page {
			b.WriteString(`<li><span class="disabled">` + label + `</span></li>`)
			continue
		}
		b.WriteString(`<li><a href="` + r.link(n) + `" data-page="` + label + `">` + label + `</a></li>`)
	}
	return b.String()
}

// writeResults writes a page that has cards.
func (d *edition) writeResults(s *scratch, r *request) {
	t, p := &r.target, s.page
	s.keys = d.page(t, r.page, s.keys)
	center, aside := d.ads(t, r.page, s.ads)
	s.ads = center[:0]
	s.biz = s.biz[:0]
	for _, k := range s.keys {
		s.biz = append(s.biz, d.business(k))
	}
	v := d.frame(r)
	v.paginate(r)
	d.tpl["shell_top"].write(p, v)
	d.tpl["results_top"].write(p, v)
	p.raw(`<div class="search-results center-ads">`)
	d.writeAds(p, "ad_center", center, t.skin.encoding())
	p.raw(`</div><div class="search-results organic">`)
	d.writeCards(p, s.biz, r)
	p.raw(`</div>`)
	d.tpl["results_bottom"].write(p, v)
	p.raw(`<aside id="main-aside" class="main-aside"><section class="featured-listings"><h2>Featured</h2>`)
	d.writeAds(p, "ad_aside", aside, t.skin.encoding())
	p.raw(`</section></aside></div></div>`)
	d.writeLD(p, s.biz, t.skin)
	d.tpl["shell_bottom"].write(p, v)
}

func (d *edition) writeCards(p *page, list []business, r *request) {
	t := &r.target
	for i := range list {
		var v values
		v.fillCard(&list[i], (r.page-1)*perPage+i+1, r.page, t.skin.encoding())
		d.cards[t.skin].write(p, &v)
	}
}

func (d *edition) writeAds(p *page, name string, keys []key, e encoding) {
	for _, k := range keys {
		b := d.business(k)
		var v values
		v.fillAd(&b, e)
		d.tpl[name].write(p, &v)
	}
}

// writeLD writes the array of businesses that modern pages carry, after a
// script that is about something else.
func (d *edition) writeLD(p *page, list []business, sk skin) {
	if sk != skinModern && sk != skinEntity {
		return
	}
	p.raw(`<script type="application/ld+json">{"@context":"http://schema.org","@type":"BreadcrumbList","itemListElement":[]}</script><script type="application/ld+json">[`)
	for i := range list {
		if i > 0 {
			p.raw(",")
		}
		var v values
		v.fillAddress(&list[i].address, encodeUTF8)
		v.fillReputation(&list[i])
		v.fillLD(&list[i], sk)
		v.s[fPhone] = list[i].phone
		d.lds.write(p, &v)
	}
	p.raw(`]</script>`)
}

func (d *edition) writeNoResults(p *page, v *values, sk skin) {
	v.s[fCharset] = sk.charset()
	d.tpl["shell_top"].write(p, v)
	d.tpl["no_results"].write(p, v)
	d.tpl["shell_bottom"].write(p, v)
}

func (d *edition) writeNotFound(p *page) {
	v := plainFrame("404 Not Found", "error")
	d.tpl["shell_top"].write(p, v)
	d.tpl["not_found"].write(p, v)
	d.tpl["shell_bottom"].write(p, v)
}

// plainFrame sets the frame of a page that is about no target.
func plainFrame(title, kind string) *values {
	v := &values{}
	v.s[fCharset], v.s[fTitle], v.s[fKind], v.s[fHeading], v.s[fSelf] = "utf-8", title, kind, title, "/"
	return v
}
