package yp

import (
	"slices"
	"strings"
)

// Page is a page of a source, of any kind: what the parser makes of it, less what the
// filters leave out, what its line in a log says, and what its commit takes. A results page
// has listings, a page of a state's index cities, a listing's own page that listing.
//
// The JSON form is the one in WAL lines.
type Page struct {
	Number   int       `json:"page_number"`    // of the target, from 1
	Raw      int       `json:"raw_count"`      // listings on the page, before the filters
	Accepted int       `json:"accepted_count"` // those in Listings
	Bad      int       `json:"bad_count"`      // cards that could not be read
	Last     bool      `json:"last"`           // no page follows
	NextURL  string    `json:"next_page_url,omitempty"`
	Listings []Listing `json:"listings"`      // those that passed the filters
	Own      bool      `json:"own,omitempty"` // it is the own page of the one listing

	Organic   int         `json:"organic_count,omitempty"` // cards in the place of organic listings, the unreadable among them
	Ads       []string    `json:"ads,omitempty"`           // ids of listings that it shows as ads alone
	Shown     []string    `json:"shown,omitempty"`         // ids of its organic listings in their order, where some are not in Listings
	Seen      int         `json:"seen_count,omitempty"`    // distinct ids of organic listings that the crawl of the target has shown so far
	Ending    Ending      `json:"ending,omitempty"`        // of the last page: how the crawl came to its end
	EndText   string      `json:"end_text,omitempty"`      // and why, for people
	SiteTotal int         `json:"site_total,omitempty"`    // listings that the site says it has for the target; 0 = it does not say
	Others    []string    `json:"others,omitempty"`        // ids of listings that were there and are not kept: filtered out, or ads
	Rejected  []Rejection `json:"rejected,omitempty"`      // staged, not promoted: they break a rule of the source

	Path   string      `json:"path,omitempty"`   // of a page of an index: its address, without the host
	Cities []FoundCity `json:"cities,omitempty"` // of a page of an index
	Plan   *SearchPlan `json:"plan,omitempty"`   // of the last page of an index: what is planned for the cities that it has shown
}

// PositionMark begins a NextURL that is no address but the position of the next page in a list without links, as the parser
// writes it.
const PositionMark = "@"

// IsPosition reports whether what leads to a page is such a position, not an address.
func IsPosition(next string) bool { return strings.HasPrefix(next, PositionMark) }

// OwnListing returns the listing whose own page it is, nil when it is no such page.
func (p *Page) OwnListing() *Listing {
	if !p.Own || len(p.Listings) != 1 {
		return nil
	}
	return &p.Listings[0]
}

// OrganicIDs returns the ids of the organic listings that the page shows, in their order.
func (p *Page) OrganicIDs() []string {
	if len(p.Shown) > 0 {
		return p.Shown
	}
	ids := make([]string, len(p.Listings))
	for i := range p.Listings {
		ids[i] = p.Listings[i].ID
	}
	return slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(p.Ads, id) })
}

// SearchPlan says which searches are planned for cities.
type SearchPlan struct {
	Categories    []Category `json:"categories"`
	TierPages     [4]int     `json:"tier_pages"`            // pages of each tier, by its number; 0 = all
	Explicit      bool       `json:"explicit,omitempty"`    // the operator named the pages: searches planned before take them too
	MaxTargets    int        `json:"max_targets,omitempty"` // at most so many; 0 = all
	States        []string   `json:"states,omitempty"`      // of an index of all states: those whose cities are meant; none = all
	MinPopulation int        `json:"min_population,omitempty"`
}

// Category is what to search for.
type Category struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// Rejection is a listing as it was seen that may not be promoted, with every
// reason why: "id: \"abc\" does not match ^\\d+$".
type Rejection struct {
	Listing Listing  `json:"listing"`
	Reasons []string `json:"reasons,omitempty"`
}

// City is a place that targets are planned for.
type City struct {
	Slug       string  `json:"slug"` // "los-angeles-ca"
	Name       string  `json:"name"` // "Los Angeles"
	State      string  `json:"state"`
	Population int     `json:"population,omitempty"`
	Lat        float64 `json:"lat,omitempty"` // both 0 = not known
	Lon        float64 `json:"lon,omitempty"`
	Tier       int     `json:"tier"`              // also the priority of its targets
	Country    string  `json:"country,omitempty"` // ISO 3166; "" = DefaultCountry
}

// Tier returns the tier of the i-th (from 0) of n places by population: 1 for the top 10 %, 2 for the next 40 %, 3 for the rest.
func Tier(i, n int) int {
	switch {
	case 10*i < n:
		return 1
	case 2*i < n:
		return 2
	}
	return 3
}

// FoundCity is a city of a state's index, and the place of the gazetteer that it was
// matched to.
type FoundCity struct {
	City           // population 0 without coordinates, when the gazetteer has no such place
	Address string `json:"address"` // the source's own slug: its URLs are formed with it
	Shown   string `json:"shown"`   // its name as the index has it
	Matched string `json:"matched"` // "slug", "name" or "none"
}
