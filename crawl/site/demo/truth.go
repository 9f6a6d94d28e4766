package demo

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// Selection is what a crawl is told to cover.
type Selection struct {
	States           []string // codes; empty = all
	Categories       []string // names or slugs; empty = all of the directory
	Cities           []string // names or slugs; empty = all of the directory
	MaxPages         int      // per target; 0 = by the city's tier, below 0 = all
	MinPopulation    int
	IncludeSponsored bool
	// Planned means that the crawl's cities are those of epoch 0, as a gazetteer
	// tells them, whatever the indexes say: the targets of a city that left are
	// empty, those of one that came are none.
	Planned bool
}

// Truth is what a complete crawl of a selection ends with.
type Truth struct {
	Targets   int          `json:"targets"`       // empty ones included
	Empty     int          `json:"empty_targets"` // targets that say they have no results
	Pages     int          `json:"pages"`         // pages with results; the answer of an empty target is none
	Listings  []yp.Listing `json:"listings"`      // sorted by id, as text; rank is zero
	Companies []Company    `json:"companies"`     // sorted by their first listing

	// The rest is only there when it was asked for: Directory.Changes, Details
	// and Cities compute it.
	Changes *Changes    `json:"changes,omitempty"`
	Details []yp.Detail `json:"details,omitempty"` // sorted by id, as text
	Cities  []City      `json:"cities,omitempty"`  // sorted by slug
}

// Company is a business and the ids of its listings, sorted as text. Its name
// is that of the first one.
type Company struct {
	Name     string   `json:"name"`
	Listings []string `json:"listings"`
}

// truth is Directory.Truth of one epoch.
func (d *edition) truth(base *url.URL, sel Selection) Truth {
	var t Truth
	seen := make(map[key]views)
	for _, target := range d.selected(sel) {
		t.Targets++
		if target.total == 0 {
			t.Empty++
			continue
		}
		pages := min(target.pages(), pageLimit(sel.MaxPages, target.place.Tier))
		t.Pages += pages
		d.see(&target, pages, sel.IncludeSponsored, func(k key, v views) { seen[k] |= v })
	}
	for k, v := range seen {
		b := d.business(k)
		t.Listings = append(t.Listings, b.listing(base, v))
	}
	slices.SortFunc(t.Listings, func(a, b yp.Listing) int { return strings.Compare(a.ID, b.ID) })
	t.Companies = companies(t.Listings)
	return t
}

// see tells which businesses the first pages of a target show, and in what.
func (d *edition) see(t *target, pages int, ads bool, saw func(key, views)) {
	var keys, adKeys []key
	for n := 1; n <= pages; n++ {
		keys = d.page(t, n, keys)
		for _, k := range keys {
			saw(k, t.skin.view())
		}
		if !ads {
			continue
		}
		center, aside := d.ads(t, n, adKeys)
		for _, k := range center {
			saw(k, viewCenterAd)
		}
		for _, k := range aside {
			saw(k, viewAsideAd)
		}
	}
}

func pageLimit(maxPages, tier int) int {
	if maxPages < 0 {
		return maxLocal
	}
	return cmp.Or(maxPages, gazetteer.TierPages(tier))
}

// selected lists the targets of a selection that the directory has.
func (d *edition) selected(sel Selection) []target {
	var targets []target
	cities, places := d.citySlugs(&sel), d.places
	if sel.Planned {
		places = d.first.places
	}
	for _, p := range places {
		if !sel.hasPlace(p, cities) {
			continue
		}
		for i := range trades {
			if sel.hasCategory(i) {
				targets = append(targets, d.searched(p, i))
			}
		}
	}
	return targets
}

// searched is target, empty where the city is no longer in the directory.
func (d *edition) searched(p *place, cat int) target {
	if d.byIndex[p.index] == nil {
		return target{place: p, cat: cat}
	}
	return d.target(p, cat)
}

// citySlugs resolves the cities of a selection in every state of the directory,
// as the gazetteer does; nil = all.
func (d *edition) citySlugs(sel *Selection) map[string]bool {
	if len(sel.Cities) == 0 {
		return nil
	}
	slugs := make(map[string]bool)
	for _, c := range sel.Cities {
		slugs[yp.Slug(c)] = true // "los-angeles-ca", "Los Angeles, CA"
		for state := range d.byState {
			if p, ok := d.gaz.Find(c, state); ok {
				slugs[p.Slug] = true
			}
		}
	}
	return slugs
}

func (sel *Selection) hasPlace(p *place, cities map[string]bool) bool {
	if p.Population < sel.MinPopulation || cities != nil && !cities[p.Slug] && !cities[p.known] {
		return false
	}
	return len(sel.States) == 0 || slices.ContainsFunc(sel.States, func(s string) bool { return strings.EqualFold(s, p.State) })
}

func (sel *Selection) hasCategory(i int) bool {
	return len(sel.Categories) == 0 || slices.ContainsFunc(sel.Categories, func(c string) bool {
		return slugOf(c) == slugOf(trades[i].name)
	})
}

// companies joins listings that share a key. The listings are sorted, so the
// root of every company is its first one.
func companies(listings []yp.Listing) []Company {
	root := make([]int, len(listings))
	owner := make(map[string]int)
	for i := range listings {
		root[i] = i
		for _, k := range yp.CompanyKeys(&listings[i]) {
			if j, ok := owner[k]; ok {
				join(root, i, j)
			} else {
				owner[k] = i
			}
		}
	}
	at := make(map[int]int)
	var out []Company
	for i := range listings {
		r := find(root, i)
		c, ok := at[r]
		if !ok {
			c = len(out)
			at[r] = c
			out = append(out, Company{Name: listings[i].Name})
		}
		out[c].Listings = append(out[c].Listings, listings[i].ID)
	}
	return out
}

// find returns the root of i, halving the path on the way.
func find(root []int, i int) int {
	for root[i] != i {
		root[i] = root[root[i]]
		i = root[i]
	}
	return i
}

func join(root []int, i, j int) {
	i, j = find(root, i), find(root, j)
	root[max(i, j)] = min(i, j)
}
