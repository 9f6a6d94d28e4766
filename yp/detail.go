package yp

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
	Hours         []string `json:"hours,omitempty"`         // schema.org forms: "Mo-Th 11:00-21:30"; "Su" alone = closed or unknown
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
