package yp

import "slices"

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Page is a page of a source, of any kind: what the parser makes of it, less what the
// filters leave out, what its line in a log says, and what its commit takes. A results page
// has listings, a page of a state's index cities, a listing's own page its details.
//
// The JSON form is the one in WAL lines.
type Page struct {
	Number   int       `json:"page_number"`    // of the target, from 1
	Raw      int       `json:"raw_count"`      // listings on the page, before the filters
	Accepted int       `json:"accepted_count"` // those in Listings
	Bad      int       `json:"bad_count"`      // cards that could not be read
	Last     bool      `json:"last"`           // no page follows
	NextURL  string    `json:"next_page_url,omitempty"`
	Listings []Listing `json:"listings"` // those that passed the filters

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
	Detail *Detail     `json:"detail,omitempty"` // of a listing's own page
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
	Tier       int     `json:"tier"` // also the priority of its targets
}

// FoundCity is a city of a state's index, and the place of the gazetteer that it was
// matched to.
type FoundCity struct {
	City           // population 0 without coordinates, when the gazetteer has no such place
	Address string `json:"address"` // the source's own slug: its URLs are formed with it
	Shown   string `json:"shown"`   // its name as the index has it
	Matched string `json:"matched"` // "slug", "name" or "none"
}

// Detail is what a listing's own page says beyond its card. Zero values mean
// "the page does not say".
//
// The JSON form is the one in WAL lines, exports and golden files.
type Detail struct {
	ID            string   `json:"id"`                      // the source's id of the listing
	Name          string   `json:"name,omitempty"`          // as the page has it
	Email         string   `json:"email,omitempty"`         // lower case host, no "mailto:"
	Phone         string   `json:"phone,omitempty"`         // as shown
	PhoneE164     string   `json:"phone_e164,omitempty"`    // "+13105550123"
	WebsiteURL    string   `json:"website_url,omitempty"`   // as linked; never an address of the directory itself
	Website       string   `json:"website,omitempty"`       // canonical, see CanonicalWebsite
	Domain        string   `json:"domain,omitempty"`        // registered domain
	Hours         []string `json:"hours,omitzero"`          // schema.org forms: "Mo-Th 11:00-21:30"; closed days are left out: empty, not nil = always closed
	Lat           float64  `json:"lat,omitempty"`           // degrees north; 0 with Lon 0 = unknown
	Lon           float64  `json:"lon,omitempty"`           // degrees east
	Payment       []string `json:"payment,omitempty"`       // "visa", "cash"; lower case, de-duplicated, order kept
	Social        []string `json:"social,omitempty"`        // absolute URLs; placeholders left out
	Services      []string `json:"services,omitempty"`      // as shown
	Languages     []string `json:"languages,omitempty"`     //
	Neighborhoods []string `json:"neighborhoods,omitempty"` //
	AKA           []string `json:"aka,omitempty"`           // other names
	Founded       int      `json:"founded,omitempty"`       // year
	Years         int      `json:"years_in_business,omitempty"`
	About         string   `json:"about,omitempty"` // the business's own words, clipped
}

// Texts returns what the page says as texts, under the names of its JSON; lists are joined with "; ".
func (d *Detail) Texts() map[string]string {
	var all map[string]any
	if data, err := json.Marshal(d); err == nil {
		_ = json.Unmarshal(data, &all) // it was written just now
	}
	texts := make(map[string]string, len(all))
	for name, v := range all {
		switch v := v.(type) {
		case []any:
			parts := make([]string, len(v))
			for i := range v {
				parts[i] = fmt.Sprint(v[i])
			}
			texts[name] = strings.Join(parts, "; ")
		case float64:
			texts[name] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			texts[name] = fmt.Sprint(v)
		}
	}
	return texts
}
