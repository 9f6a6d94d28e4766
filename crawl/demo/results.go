package demo

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// request is a page of results asked for: a target, a page, and how links to
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
		return escape(r.self)
	}
	return r.sorted() + "page=" + strconv.Itoa(page)
}

// sorted writes the address up to the next parameter.
func (r *request) sorted() string {
	if r.search {
		return escape(r.self) + "&amp;"
	}
	return r.self + "?"
}

// pageNumber reads the page parameter; what is no number counts as page 1.
func pageNumber(q url.Values) int { return max(number(q.Get("page")), 1) }

// findResults resolves /{city}-{st}/{category}.
func (d *edition) findResults(path string, q url.Values) (request, bool) {
	city, cat, _ := strings.Cut(path[1:], "/")
	p := d.bySlug[city]
	i, ok := d.cats[cat]
	if !ok || p == nil {
		return request{}, false
	}
	return request{target: d.target(p, i), page: pageNumber(q), self: path}, true
}

// findSearch resolves /search?search_terms=…&geo_location_terms=City, ST.
func (d *edition) findSearch(q url.Values) (request, bool) {
	what, where := q.Get("search_terms"), q.Get("geo_location_terms")
	slug := yp.Slug(where)
	if i := strings.LastIndexByte(where, ','); i >= 0 {
		slug = yp.CitySlug(strings.TrimSpace(where[:i]), strings.TrimSpace(where[i+1:]))
	}
	i, ok := d.cats[yp.CategorySlug(what)]
	p := d.byKnown[slug]
	if !ok || p == nil {
		return request{}, false
	}
	self := "/search?search_terms=" + url.QueryEscape(what) + "&geo_location_terms=" + url.QueryEscape(where)
	return request{target: d.target(p, i), page: pageNumber(q), self: self, search: true}, true
}

// resultsPage writes a page of results. Past the end some targets show their
// last page again, the others are not found.
func (d *edition) resultsPage(r *request) (status int, charset string, html []byte) {
	t := &r.target
	charset = t.skin.charset()
	if t.total == 0 {
		return http.StatusOK, charset, d.page("no_results", r.frame())
	}
	if r.page > t.pages() {
		if !t.repeats {
			return d.notFound()
		}
		r.page = t.pages()
	}
	v := r.frame()
	r.paginate(v)
	var cards, lds bytes.Buffer
	cards.Grow(perPage * 5 << 10)
	for i, k := range d.onPage(t, r.page) {
		b := d.business(k)
		card := b.card(t.skin)
		b.rank(card, (r.page-1)*perPage+i+1, r.page)
		d.render(&cards, t.skin.card(), card)
		if i > 0 {
			lds.WriteByte(',')
		}
		d.render(&lds, "jsonld", card)
	}
	v["cards"] = cards.String()
	center, aside := d.ads(t, r.page)
	v["center_ads"], v["aside_ads"] = d.adCards("ad_center", center, t.skin), d.adCards("ad_aside", aside, t.skin)
	if t.skin == skinModern || t.skin == skinEntity { // after a script that is about something else
		v["ld_list"] = `<script type="application/ld+json">{"@context":"http://schema.org","@type":"BreadcrumbList","itemListElement":[]}</script><script type="application/ld+json">[` +
			lds.String() + `]</script>`
	}
	return http.StatusOK, charset, d.page("results", v)
}

func (d *edition) adCards(template string, keys []key, sk skin) string {
	var all bytes.Buffer
	for _, k := range keys {
		b := d.business(k)
		v := b.card(sk)
		if !b.adLinks() {
			v["href"] = ""
		}
		v["one_line"] = sk.escape(b.address.oneLine())
		d.render(&all, template, v)
	}
	return all.String()
}

func (d *edition) notFound() (status int, charset string, html []byte) {
	return http.StatusNotFound, "utf-8", d.page("not_found", plainFrame("404 Not Found", "error"))
}

// plainFrame sets the values of a page that is about no target.
func plainFrame(title, kind string) values {
	return values{"charset": "utf-8", "title": title, "kind": kind, "heading": title, "self": "/"}
}

// frame sets the values around the cards.
func (r *request) frame() values {
	t := &r.target
	what, city, state := t.skin.escape(trades[t.cat].name), t.skin.escape(t.place.Name), t.place.State
	return values{
		"charset": t.skin.charset(), "kind": "srp", "what": what, "city": city, "state": state, "where": city + ", " + state,
		"title": "Best 30 " + what + " in " + city + ", " + state + " with Reviews", "heading": city + ", " + state + " " + what,
		"self": r.link(1), "sort": r.sorted(), "city_slug": t.place.Slug, "state_slug": strings.ToLower(state),
	}
}

// paginate sets the count and the links to other pages.
func (r *request) paginate(v values) {
	t := &r.target
	total := yp.Thousands(int64(t.total))
	if t.dice.pct(tagEnd) < 30 {
		total = strconv.Itoa(t.total)
	}
	showing := "showing"
	if t.skin == skin2013 {
		showing = "showing_p"
	}
	v[showing] = fmt.Sprintf("Showing %d-%d of %s", (r.page-1)*perPage+1, min(r.page*perPage, t.total), total)
	v["total"] = strconv.Itoa(t.total)
	if t.pages() == 1 {
		return
	}
	first := max(1, r.page-2)
	for n := first; n <= min(first+4, t.pages()); n++ {
		if n == r.page {
			v["pager"] += fmt.Sprintf(`<li><span class="disabled">%d</span></li>`, n)
			continue
		}
		v["pager"] += fmt.Sprintf(`<li><a href="%s" data-page="%d">%d</a></li>`, r.link(n), n, n)
	}
	switch {
	case r.page < t.pages():
		v["next"], v["next_page"] = r.link(r.page+1), strconv.Itoa(r.page+1)
	case t.dice.pct(tagEnd+1) < 50:
		v["last"] = "1"
	}
}

// card sets the values of a business's card, its ad and its JSON-LD, which
// never says more of the address than the card does. Which of them show is the
// template's business.
func (b *business) card(sk skin) values {
	id, lid := strconv.FormatInt(b.id, 10), strconv.FormatInt(b.lid, 10)
	a := &b.address
	v := values{
		"id": id, "lid": lid, "href": b.path, "name": sk.escape(b.name), "phone": b.phone, "website": sk.escape(b.website),
		"street": sk.escape(a.street), "city": sk.escape(a.city), "state": a.state, "zip": a.zip, "area": sk.escape(a.area), "locality": sk.escape(a.locality()),
		"price": b.price, "snippet": sk.escape(b.snippet), "years_yp": strconv.Itoa(1 + b.dice.pick(tagYears+200, 20)),
		"ld_name": quoted(b.name), "ld_url": b.path, "ld_street": quoted(a.street), "ld_city": quoted(a.city), "ld_hours": jsonList(b.hours),
	}
	if b.lid != b.id {
		v["href"] += "?lid=" + lid
	}
	for _, label := range b.labels {
		v["cats"] += `<a href="/search?c=` + yp.CategorySlug(label) + `" data-analytics="srp">` + sk.escape(label) + `</a>`
	}
	switch b.claimed {
	case claimYes:
		v["claimed"] = "mip_claimed"
	case claimNo:
		v["claimed"] = "mip_unclaimed"
	case claimUnsaid:
	}
	if b.years > 0 {
		v["years"] = strconv.Itoa(b.years)
	}
	switch { // site-relative images load late, from data-src
	case b.image == "":
		v["noimage"] = "1"
	case strings.HasPrefix(b.image, "/") && !strings.HasPrefix(b.image, "//"):
		v["lazy"] = b.image
	default:
		v["image"] = b.image
	}
	if sk == skinEntity {
		v["ld_url"] = "https://www.yellowpages.com" + b.path
	}
	if len(b.hours) == 1 && b.dice.pct(tagHours+200) < 50 {
		v["ld_hours"] = quoted(b.hours[0])
	}
	b.setRating(v)
	return v
}

// setRating sets the values of the ratings, the directory's own and others.
func (b *business) setRating(v values) {
	if b.stars == 0 {
		return
	}
	v["stars"], v["reviews"], v["ld_rating"] = halves[b.stars], strconv.Itoa(b.reviews), rating(b.stars)
	if b.trade.pricey && b.dice.pct(tagTripAdvisor) < 50 {
		v["ta"], v["ta_count"] = "4.5", strconv.Itoa(100+b.dice.pick(tagTripAdvisor+100, 900))
	}
	if b.dice.pct(tagTripAdvisor+200) < 40 {
		v["bbb"] = "A+"
	}
}

// rating writes half stars as a number: 7 is 3.5.
func rating(stars int) string { return strconv.FormatFloat(float64(stars)/2, 'f', -1, 64) }

// rank sets what depends on where an organic card stands.
func (b *business) rank(v values, rank, page int) {
	d := b.dice
	v["rank"], v["gap"] = strconv.Itoa(rank), ". "
	if d.pct(tagOpen+1) < 20 {
		v["gap"] = ".&nbsp;"
	}
	v["tier"] = d.word(tagOpen+2, []string{"free", "free", "sub", "paid"})
	if d.pct(tagOpen+10+page) < 60 {
		v["open"], v["open_class"] = "open now", "open"
		if d.pct(tagOpen+1000+page) < 40 {
			v["open"], v["open_class"] = "closed now", "closed"
		}
	}
}

// adLinks reports whether the business's ads link to its profile: those of
// some nationwide advertisers do not.
func (b *business) adLinks() bool { return b.home != nil || b.dice.pct(tagDetail+50) < 60 }
