package yp

// Listing is what a source says of one business at one place. It is keyed by
// (source, ID); the source stands beside it wherever it is kept. Zero values
// mean "the page does not say".
//
// The JSON form is the one in WAL lines, exports and golden files.
type Listing struct {
	ID              string   `json:"id"`                          // the source's own id, e.g. a ypid
	Name            string   `json:"name"`                        // white space folded, control characters removed
	Rank            int      `json:"rank,omitempty"`              // position as shown, from 1
	ProfileURL      string   `json:"profile_url,omitempty"`       // absolute, without query and fragment
	Phone           string   `json:"phone,omitempty"`             // as shown
	PhoneE164       string   `json:"phone_e164,omitempty"`        // "+13105550123"
	Street          string   `json:"street,omitempty"`            //
	City            string   `json:"city,omitempty"`              // the listing's place, not the searched one
	State           string   `json:"state,omitempty"`             // two letters
	PostalCode      string   `json:"postal_code,omitempty"`       // "90210" or "90210-1234"
	ServiceArea     string   `json:"service_area,omitempty"`      // "Serving the Austin Area": no address
	WebsiteURL      string   `json:"website_url,omitempty"`       // as linked
	Website         string   `json:"website,omitempty"`           // canonical, see CanonicalWebsite
	Domain          string   `json:"domain,omitempty"`            // registered domain, "acme.com"
	Categories      []string `json:"categories,omitempty"`        // as shown, de-duplicated, order kept
	Rating          float64  `json:"rating,omitempty"`            // 0.5 to 5 in halves; 0 = unrated
	ReviewCount     int      `json:"review_count,omitempty"`      //
	YearsInBusiness int      `json:"years_in_business,omitempty"` //
	PriceRange      string   `json:"price_range,omitempty"`       // "$" to "$$$$"
	Snippet         string   `json:"snippet,omitempty"`           //
	ImageURL        string   `json:"image_url,omitempty"`         // absolute
	Hours           []string `json:"hours,omitempty"`             // schema.org forms: "Mo-Th 11:00-21:30"
	Claimed         *bool    `json:"claimed,omitempty"`           // nil = the page does not say
	Sponsored       bool     `json:"sponsored,omitempty"`         // an ad, not an organic result
}

// Place is where a target searches and for what: everything a source needs to
// form the target's URLs.
type Place struct {
	City         string `json:"city"`          // "Los Angeles"
	CitySlug     string `json:"city_slug"`     // "los-angeles-ca"
	State        string `json:"state"`         // "CA"
	Category     string `json:"category"`      // "Plumbers"
	CategorySlug string `json:"category_slug"` // "plumbers"
}
