package demo

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// link is a link in a list.
type link struct{ Href, Text, Class string }

// pageNumber reads the page parameter; what is no number counts as page 1.
func pageNumber(q url.Values) int { return max(number(q.Get("page")), 1) }

// findSearch resolves /search?search_terms=…&geo_location_terms=City, ST.
func (d *edition) findSearch(q url.Values) (p *place, cat int, ok bool) {
	where := q.Get("geo_location_terms")
	if i := strings.LastIndexByte(where, ','); i >= 0 {
		p = d.bySlug[yp.CitySlug(strings.TrimSpace(where[:i]), strings.TrimSpace(where[i+1:]))]
	}
	cat, ok = d.cats[yp.CategorySlug(q.Get("search_terms"))]
	return p, cat, ok && p != nil
}

// results is a page of results.
type results struct {
	frame
	CitySlug, Showing string
	Total             int
	Cards, Ads        []*business
	LD                []map[string]any
	Next              string // "" on the last page
}

// resultsPage writes page n of a target, which is not found past the end.
func (d *edition) resultsPage(p *place, cat, n int) (status int, html []byte) {
	t := d.target(p, cat)
	city, what := p.Name+", "+p.State, trades()[cat].Name
	v := results{
		frame: frame{
			Kind: "srp", What: what, City: p.Name, State: p.State, Where: city,
			Title: "Best 30 " + what + " in " + city + " with Reviews", Heading: city + " " + what, Self: "/" + p.Slug + "/" + yp.CategorySlug(what),
		},
		CitySlug: p.Slug, Total: t.total,
		Showing: fmt.Sprintf("Showing %d-%d of %s", (n-1)*perPage+1, min(n*perPage, t.total), yp.Thousands(int64(t.total))),
	}
	if t.total == 0 {
		return http.StatusOK, d.page("no_results", &v)
	}
	if n > t.pages() {
		return d.notFound()
	}
	for i, k := range d.onPage(&t, n) {
		c := d.card(k, (n-1)*perPage+i+1)
		v.Cards = append(v.Cards, c)
		v.LD = append(v.LD, c.ld())
	}
	for _, k := range d.ads(&t, n) {
		v.Ads = append(v.Ads, d.card(k, 0))
	}
	if n < t.pages() {
		v.Next = v.Self + "?page=" + strconv.Itoa(n+1)
	}
	return http.StatusOK, d.page("results", &v)
}

func (d *edition) notFound() (status int, html []byte) {
	return http.StatusNotFound, d.page("not_found", plainFrame("404 Not Found", "error"))
}

// card is a business as a page of results shows it. Which of its fields show is the template's
// business.
func (d *edition) card(k key, rank int) *business {
	b := d.business(k)
	b.Rank, b.Href = rank, b.Path
	if b.LID != b.ID {
		b.Href += "?lid=" + strconv.FormatInt(b.LID, 10)
	}
	return &b
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
