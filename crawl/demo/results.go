package demo

import (
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

// link is a link in a list, or to page N.
type link struct {
	Href, Text, Class string
	N                 int
}

func (r *request) link(page int) string {
	if page == 1 {
		return r.self
	}
	return r.sorted() + "page=" + strconv.Itoa(page)
}

// sorted is the address up to the next parameter.
func (r *request) sorted() string {
	if r.search {
		return r.self + "&"
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
	p := d.bySlug[slug]
	if !ok || p == nil {
		return request{}, false
	}
	self := "/search?search_terms=" + url.QueryEscape(what) + "&geo_location_terms=" + url.QueryEscape(where)
	return request{target: d.target(p, i), page: pageNumber(q), self: self, search: true}, true
}

// results is a page of results.
type results struct {
	frame
	CitySlug, Sort, Showing string
	Total                   int
	Cards, Center, Aside    []*business
	LD                      []map[string]any
	Pager                   []link
	Next                    *link
	Last                    bool // the end is marked
}

// resultsPage writes a page of results. Past the end some targets show their
// last page again, the others are not found.
func (d *edition) resultsPage(r *request) (status int, html []byte) {
	t := &r.target
	city, what := t.place.Name+", "+t.place.State, trades()[t.cat].Name
	v := results{
		frame: frame{
			Kind: "srp", What: what, City: t.place.Name, State: t.place.State, Where: city,
			Title: "Best 30 " + what + " in " + city + " with Reviews", Heading: city + " " + what, Self: r.link(1),
		},
		CitySlug: t.place.Slug, Sort: r.sorted(), Total: t.total,
	}
	if t.total == 0 {
		return http.StatusOK, d.page("no_results", &v)
	}
	if r.page > t.pages() {
		if !t.repeats {
			return d.notFound()
		}
		r.page = t.pages()
	}
	for i, k := range d.onPage(t, r.page) {
		c := d.card(k, (r.page-1)*perPage+i+1, false)
		v.Cards = append(v.Cards, c)
		v.LD = append(v.LD, c.ld())
	}
	center, aside := d.ads(t, r.page)
	for _, k := range center {
		v.Center = append(v.Center, d.card(k, 0, true))
	}
	for _, k := range aside {
		v.Aside = append(v.Aside, d.card(k, 0, true))
	}
	r.paginate(&v)
	return http.StatusOK, d.page("results", &v)
}

func (d *edition) notFound() (status int, html []byte) {
	return http.StatusNotFound, d.page("not_found", plainFrame("404 Not Found", "error"))
}

// paginate sets the count and the links to other pages.
func (r *request) paginate(v *results) {
	t := &r.target
	total := yp.Thousands(int64(t.total))
	if t.dice.pct(tagEnd) < 30 {
		total = strconv.Itoa(t.total)
	}
	v.Showing = fmt.Sprintf("Showing %d-%d of %s", (r.page-1)*perPage+1, min(r.page*perPage, t.total), total)
	if t.pages() == 1 {
		return
	}
	first := max(1, r.page-2)
	for n := first; n <= min(first+4, t.pages()); n++ {
		x := link{N: n}
		if n != r.page {
			x.Href = r.link(n)
		}
		v.Pager = append(v.Pager, x)
	}
	if r.page < t.pages() {
		v.Next = &link{Href: r.link(r.page + 1), N: r.page + 1}
	}
	v.Last = t.dice.pct(tagEnd+1) < 50
}

// card is a business as a page of results shows it. Which of its fields show is the template's
// business.
func (d *edition) card(k key, rank int, ad bool) *business {
	b := d.business(k)
	b.Rank = rank
	switch {
	case ad && !b.adLinks():
	case b.LID != b.ID:
		b.Href = b.Path + "?lid=" + strconv.FormatInt(b.LID, 10)
	default:
		b.Href = b.Path
	}
	return &b
}

// Lazy reports whether the image loads late, from data-src: those of the site itself.
func (b *business) Lazy() bool {
	return strings.HasPrefix(b.Image, "/") && !strings.HasPrefix(b.Image, "//")
}

// halves names the rating classes from half a star to five.
var halves = [...]string{"", "half", "one", "one half", "two", "two half", "three", "three half", "four", "four half", "five"}

// Halves are the classes of the rating.
func (b *business) Halves() string { return halves[b.Stars] }

// ld is the business's JSON-LD on a results page, which never says more of the address than the
// card does.
func (b *business) ld() map[string]any {
	v := map[string]any{"@context": "http://schema.org", "@type": "LocalBusiness", "name": b.Name, "url": b.Path}
	b.ldFields(v)
	if len(b.Hours) == 1 && b.dice.pct(tagHours+200) < 50 {
		v["openingHours"] = b.Hours[0]
	}
	return v
}

// ldFields sets what the JSON-LD of a card and of the business's own page have in common.
func (b *business) ldFields(v map[string]any) {
	set := func(in map[string]any, name, value string) {
		if value != "" {
			in[name] = value
		}
	}
	set(v, "telephone", b.Phone)
	if b.Address.City != "" {
		a := map[string]any{"@type": "PostalAddress", "addressLocality": b.Address.City, "addressCountry": "US"}
		set(a, "streetAddress", b.Address.Street)
		set(a, "addressRegion", b.Address.State)
		set(a, "postalCode", b.Address.Zip)
		v["address"] = a
	}
	if b.Hours != nil {
		v["openingHours"] = b.Hours
	}
	if b.Stars > 0 {
		v["aggregateRating"] = map[string]any{"@type": "AggregateRating", "ratingValue": float64(b.Stars) / 2, "reviewCount": b.Reviews}
	}
}

// adLinks reports whether the business's ads link to its profile: those of
// some nationwide advertisers do not.
func (b *business) adLinks() bool { return b.home != nil || b.dice.pct(tagDetail+50) < 60 }
