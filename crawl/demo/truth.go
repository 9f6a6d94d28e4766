package demo

import (
	"cmp"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// Selection is what a crawl has to cover.
type Selection struct {
	States           []string // codes; empty = all
	Categories       []string // names or slugs; empty = all of the directory
	Cities           []string // slugs; empty = all of the directory
	MaxPages         int      // per target; 0 = by the city's tier, below 0 = all
	MinPopulation    int
	IncludeSponsored bool
	// Planned means that the crawl's cities are those of epoch 0, as a gazetteer
	// tells them, whatever the indexes say: the targets of a city that left are
	// empty, those of one that came are none.
	Planned bool
	// Searches, where there are any, are the targets, whatever else is said of states, cities,
	// categories and pages; the Pages of each are its limit, 0 = all.
	Searches []Search
}

// Search is a target: a city and a category by their slugs, and how many pages are read of it.
type Search struct {
	City     string `json:"city"`
	Category string `json:"category"`
	Pages    int    `json:"pages"`
}

// Truth is what a complete crawl of a selection ends with.
type Truth struct {
	Targets  int          `json:"targets"`       // empty ones included
	Empty    int          `json:"empty_targets"` // targets that say they have no results
	Pages    int          `json:"pages"`         // pages with results; the answer of an empty target is none
	Listings []yp.Listing `json:"listings"`      // sorted by id, as text; rank is zero

	// The rest is only there when it was asked for: Directory.Changes, Details, Cities and
	// Searches compute it.
	Changes  *Changes     `json:"changes,omitempty"`
	Details  []yp.Listing `json:"details,omitempty"`  // what their own pages say, sorted by id, as text
	Cities   []City       `json:"cities,omitempty"`   // sorted by slug
	Searches []Search     `json:"searches,omitempty"` // sorted by city, then category
}

// Truth computes what a complete crawl of a selection must end with when the
// directory's base URL is base and its epoch stays the present one. A listing
// holds the union of what the crawled pages show of it; it is sponsored only
// when it was never seen as an organic result.
func (d *Directory) Truth(base *url.URL, sel Selection) Truth {
	e := d.now.Load()
	var t Truth
	targets := e.selected(sel)
	for i := range targets {
		t.Targets++
		t.Pages += targets[i].read
		if targets[i].total == 0 {
			t.Empty++
		}
	}
	seen, _, _ := e.read(sel)
	for k, at := range seen {
		b := e.business(k)
		t.Listings = append(t.Listings, b.listing(base, union(at)))
	}
	sort.Slice(t.Listings, func(i, j int) bool { return t.Listings[i].ID < t.Listings[j].ID })
	return t
}

// Details computes what the own pages of the listings of Truth say, sorted by id as text.
func (d *Directory) Details(base *url.URL, sel Selection) []yp.Listing {
	e := d.now.Load()
	all := []yp.Listing{}
	seen, _, _ := e.read(sel)
	for k := range seen {
		b := e.business(k)
		all = append(all, b.detail(base))
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
	return all
}

// Searches lists the targets of a selection, with the pages that have results.
func (d *Directory) Searches(sel Selection) (all []Search) {
	for _, t := range d.now.Load().selected(sel) {
		all = append(all, Search{t.place.Slug, yp.CategorySlug(trades()[t.cat].Name), t.read})
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(strings.Compare(all[i].City, all[j].City), strings.Compare(all[i].Category, all[j].Category)) < 0
	})
	return all
}

// union is what all targets show.
func union(at map[spot]views) (all views) {
	for _, v := range at {
		all |= v
	}
	return all
}

// selected lists the targets of a selection that the directory has.
func (d *edition) selected(sel Selection) []target {
	var targets []target
	places, limits := d.places, map[Search]int{}
	if sel.Planned {
		places = d.first.places
	}
	if len(sel.Searches) > 0 { // any place of any epoch
		places = slices.Concat(d.first.places, d.spares)
	}
	for _, s := range sel.Searches {
		limits[Search{City: s.City, Category: s.Category}] = cmp.Or(s.Pages, -1)
	}
	for _, p := range places {
		for i := range trades() {
			limit, wanted := sel.MaxPages, sel.hasPlace(p) && sel.hasCategory(i)
			if len(sel.Searches) > 0 {
				limit, wanted = limits[Search{City: p.Slug, Category: yp.CategorySlug(trades()[i].Name)}]
			}
			if !wanted {
				continue
			}
			t := target{place: p, cat: i}
			if d.byIndex[p.index] != nil { // else a city that left, or did not come yet
				t = d.target(p, i)
			}
			if t.read = t.pages(); limit >= 0 {
				t.read = min(t.read, cmp.Or(limit, gazetteer.TierPages(p.Tier)))
			}
			targets = append(targets, t)
		}
	}
	return targets
}

func (sel *Selection) hasPlace(p *place) bool {
	if p.Population < sel.MinPopulation || len(sel.Cities) > 0 && !slices.Contains(sel.Cities, p.Slug) {
		return false
	}
	return len(sel.States) == 0 || slices.ContainsFunc(sel.States, func(s string) bool { return strings.EqualFold(s, p.State) })
}

func (sel *Selection) hasCategory(i int) bool {
	return len(sel.Categories) == 0 || slices.ContainsFunc(sel.Categories, func(c string) bool {
		return yp.CategorySlug(c) == yp.CategorySlug(trades()[i].Name)
	})
}

// detail returns what a crawl keeps of b's own page.
func (b *business) detail(base *url.URL) yp.Listing {
	pr := b.profile()
	l := b.listing(base, viewOrganic)
	det := yp.Listing{
		ID: l.ID, Name: l.Name, Email: pr.Email, Phone: pr.phone, WebsiteURL: l.WebsiteURL, Website: l.Website, Domain: l.Domain,
		Hours: openDays(pr.Opens, ""), Payment: pr.Payment, Services: pr.Services, Languages: pr.Languages, Neighborhoods: pr.Hoods, AKA: pr.AKA,
		YearsInBusiness: b.Years, About: l.Snippet,
	}
	if e164, ok := yp.CanonicalPhone(pr.phone); ok {
		det.PhoneE164 = e164
	}
	if !slices.Contains(pr.Social, placeholder) {
		det.Social = pr.Social
	}
	if b.Years > 0 {
		det.Founded = thisYear - b.Years
	}
	if b.Address.Street != "" {
		det.Lat, _ = strconv.ParseFloat(pr.lat, 64) // as they are printed
		det.Lon, _ = strconv.ParseFloat(pr.lon, 64)
	}
	return det
}

// openDays returns hours as a crawl keeps them: days without hours, which own pages show as closed, are left out, but for
// results pages, whose JSON-LD has these days alone, which is all day by the words of schema.org.
func openDays(hours []string, allDay string) (kept []string) {
	for _, h := range hours {
		if strings.Contains(h, " ") {
			kept = append(kept, h)
		} else if allDay != "" {
			kept = append(kept, h+allDay)
		}
	}
	return kept
}

// views says in which kinds of markup a listing was seen, one bit each: what a
// crawl knows of it is the union of what they show.
type views uint8

// ownWords begins a snippet that the business wrote itself; crawls leave it out.
const ownWords = "From Business: "

const (
	viewOrganic views = 1 << iota
	viewAd
)

// listing returns what a crawl stores of b after seeing it in the given views.
func (b *business) listing(base *url.URL, seen views) yp.Listing {
	l := yp.Listing{
		ID: strconv.FormatInt(b.ID, 10), Name: yp.Plain(yp.Clean(b.Name)), Phone: b.Phone,
		ProfileURL: absolute(base, b.Path), Sponsored: seen&viewOrganic == 0,
	}
	if e164, ok := yp.CanonicalPhone(b.Phone); ok {
		l.PhoneE164 = e164
	}
	a := &b.Address
	l.ServiceArea = yp.Clean(a.Area)
	if seen&viewOrganic != 0 || a.Street != "" { // ads show only whole addresses and service areas
		l.Street, l.City, l.State, l.PostalCode = yp.Clean(a.Street), a.City, a.State, a.Zip
	}
	if w, ok := yp.CanonicalWebsite(b.Website); ok && !strings.HasPrefix(b.Website, "/") { // no link back into the directory
		l.WebsiteURL, l.Website, l.Domain = b.Website, w.URL, w.Domain
	}
	l.Categories = b.Labels
	if seen&viewOrganic != 0 {
		l.Rating, l.ReviewCount = float64(b.Stars)/2, b.Reviews
		l.YearsInBusiness = b.Years
		l.Snippet = strings.TrimPrefix(b.Snippet, ownWords)
		if b.Image != "" {
			l.ImageURL = absolute(base, b.Image)
		}
		l.PriceRange = b.Price
		l.Hours = openDays(b.Hours, " 00:00-24:00")
		if b.Claim != "" {
			yes := b.Claim == "mip_claimed"
			l.Claimed = &yes
		}
	}
	return l
}

func absolute(base *url.URL, ref string) string {
	u, err := base.Parse(ref)
	if err != nil {
		return ref
	}
	return u.String()
}
