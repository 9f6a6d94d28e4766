package yp

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Listing is what a source says of one business at one place. It is keyed by
// (source, ID); the source is beside it wherever it is kept. Zero values
// mean "the page does not say". A page of results gives one of each card, a listing's
// own page the one that it is of.
//
// The JSON form is the one in WAL lines, exports and golden files. Every field stands
// once more in ListingFields, which says how it is treated.
type Listing struct {
	ID              string   `json:"id"`                          // the source's own id, e.g. a ypid
	Name            string   `json:"name"`                        // white space folded, control characters removed
	Rank            int      `json:"rank,omitempty"`              // position as shown, from 1
	ProfileURL      string   `json:"profile_url,omitempty"`       // absolute, without query and fragment
	Phone           string   `json:"phone,omitempty"`             // as shown
	PhoneE164       string   `json:"phone_e164,omitempty"`        // "+13105550123"
	Street          string   `json:"street,omitempty"`            //
	City            string   `json:"city,omitempty"`              // the listing's place, not the searched one
	State           string   `json:"state,omitempty"`             // code, "CA"; where it has none, its name
	PostalCode      string   `json:"postal_code,omitempty"`       // "90210" or "90210-1234"; of another country its own: "SW1A 1AA"
	ServiceArea     string   `json:"service_area,omitempty"`      // "Serving the Austin Area": no address
	WebsiteURL      string   `json:"website_url,omitempty"`       // as linked
	Website         string   `json:"website,omitempty"`           // canonical, see CanonicalWebsite
	Domain          string   `json:"domain,omitempty"`            // registered domain, "acme.com"
	Categories      []string `json:"categories,omitempty"`        // as shown, de-duplicated, order kept
	Rating          float64  `json:"rating,omitempty"`            // 0.5 to 5, with two decimals at most; 0 = unrated
	ReviewCount     int      `json:"review_count,omitempty"`      //
	YearsInBusiness int      `json:"years_in_business,omitempty"` //
	PriceRange      string   `json:"price_range,omitempty"`       // "$" to "$$$$"
	Snippet         string   `json:"snippet,omitempty"`           //
	ImageURL        string   `json:"image_url,omitempty"`         // absolute
	Hours           []string `json:"hours,omitzero"`              // schema.org forms: "Mo-Th 11:00-21:30"; closed days are left out: empty, not nil = always closed
	Claimed         *bool    `json:"claimed,omitempty"`           // nil = the page does not say
	Sponsored       bool     `json:"sponsored,omitempty"`         // an ad, not an organic result
	Address         string   `json:"address,omitempty"`           // in one line, where it could not be split surely, see SplitLine
	Email           string   `json:"email,omitempty"`             // lower case host, no "mailto:"
	Lat             float64  `json:"lat,omitempty"`               // degrees north; 0 with Lon 0 = unknown
	Lon             float64  `json:"lon,omitempty"`               // degrees east
	Founded         int      `json:"founded,omitempty"`           // year
	Payment         []string `json:"payment,omitempty"`           // "visa", "cash"; lower case, de-duplicated, order kept
	Social          []string `json:"social,omitempty"`            // absolute URLs; placeholders left out
	Services        []string `json:"services,omitempty"`          // as shown
	Languages       []string `json:"languages,omitempty"`         //
	Neighborhoods   []string `json:"neighborhoods,omitempty"`     //
	AKA             []string `json:"aka,omitempty"`               // other names
	About           string   `json:"about,omitempty"`             // the business's own words, clipped
}

// HasPoint reports whether the page says where on Earth the business is. 0 with 0 is what programs write for
// "unknown".
func (l *Listing) HasPoint() bool {
	return (l.Lat != 0 || l.Lon != 0) && l.Lat >= -90 && l.Lat <= 90 && l.Lon >= -180 && l.Lon <= 180
}

// ListingFields is the table of a listing's fields, in their order. What treats all
// fields alike goes by it: the columns and statements of the store, the lines of logs,
// what counts as a change, which page wins, the fingerprint, the layout alarm, rules, and the
// names that a definition of a source may use. It must not be changed.
//
// What is long and never changes with a recrawl is in a table of its own. Counted is what
// says something else of the business when it is another: neither where exactly a map puts it,
// nor the lists and texts of its own page, which sites sort anew and cut elsewhere.
var ListingFields = [...]ListingField{
	{Name: "id", Column: "listing_id", Absent: Refused, From: FromBoth, Uses: Defined, At: func(l *Listing) any { return &l.ID }},
	{Name: "name", Absent: Refused, From: FromBoth, Uses: Defined | Counted, At: func(l *Listing) any { return &l.Name }},
	{Name: "rank", Table: NoTable, From: FromCard, Uses: Defined, At: func(l *Listing) any { return &l.Rank }},
	{Name: "profile_url", Group: GroupProfile, From: FromCard, Uses: Defined | Watched, At: func(l *Listing) any { return &l.ProfileURL }},
	{Name: "phone", Group: GroupPhone, From: FromBoth, Uses: Defined | Labelled | Counted | Watched, Form: "phone_e164", At: func(l *Listing) any { return &l.Phone }},
	{Name: "phone_e164", Group: GroupPhone, From: FromBoth, At: func(l *Listing) any { return &l.PhoneE164 }},
	{Name: "street", Group: GroupPlace, From: FromCard, Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.Street }},
	{Name: "city", Group: GroupPlace, From: FromCard, Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.City }},
	{Name: "state", Group: GroupPlace, From: FromCard, Uses: Defined | Counted, At: func(l *Listing) any { return &l.State }},
	{Name: "postal_code", Group: GroupPlace, From: FromCard, Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.PostalCode }},
	{Name: "service_area", Group: GroupPlace, From: FromCard, Uses: Counted, At: func(l *Listing) any { return &l.ServiceArea }},
	{Name: "website_url", Group: GroupWebsite, From: FromBoth, At: func(l *Listing) any { return &l.WebsiteURL }},
	{Name: "website", Group: GroupWebsite, From: FromBoth, Uses: Defined | Labelled | Counted | Watched, At: func(l *Listing) any { return &l.Website }},
	{Name: "domain", Group: GroupWebsite, From: FromBoth, At: func(l *Listing) any { return &l.Domain }},
	{Name: "categories", Group: GroupCategories, From: FromCard, Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.Categories }},
	{Name: "rating", Group: GroupRating, From: FromCard, Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.Rating }},
	{Name: "review_count", Group: GroupReviews, From: FromCard, Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.ReviewCount }},
	{Name: "years_in_business", Group: GroupYears, From: FromBoth, Uses: Defined | Labelled | Counted | Watched, At: func(l *Listing) any { return &l.YearsInBusiness }},
	{Name: "price_range", Group: GroupPrice, From: FromCard, Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.PriceRange }},
	{Name: "snippet", Group: GroupSnippet, From: FromCard, Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.Snippet }},
	{Name: "image_url", Group: GroupImage, From: FromCard, Uses: Defined | Watched, At: func(l *Listing) any { return &l.ImageURL }},
	{Name: "hours", Group: GroupHours, From: FromBoth, Uses: Labelled | Counted | Watched | Emptied, At: func(l *Listing) any { return &l.Hours }},
	{Name: "claimed", Group: GroupClaimed, From: FromCard, Uses: Defined | Counted, At: func(l *Listing) any { return &l.Claimed }},
	{Name: "sponsored", Absent: Overrules, From: FromCard, At: func(l *Listing) any { return &l.Sponsored }},
	{Name: "address", Group: GroupPlace, From: FromCard, Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.Address }},
	{Name: "email", Group: GroupEmail, From: FromOwn, Uses: Defined | Labelled | Counted, At: func(l *Listing) any { return &l.Email }},
	{Name: "lat", Group: GroupPoint, From: FromOwn, Uses: Defined, At: func(l *Listing) any { return &l.Lat }},
	{Name: "lon", Group: GroupPoint, From: FromOwn, Uses: Defined, At: func(l *Listing) any { return &l.Lon }},
	{Name: "founded", Group: GroupFounded, From: FromOwn, Uses: Defined | Labelled | Counted, At: func(l *Listing) any { return &l.Founded }},
	{Name: "payment", Table: InTexts, Group: GroupPayment, From: FromOwn, Uses: Defined | Labelled, At: func(l *Listing) any { return &l.Payment }},
	{Name: "social", Table: InTexts, Group: GroupSocial, From: FromOwn, Uses: Defined | Labelled, At: func(l *Listing) any { return &l.Social }},
	{Name: "services", Table: InTexts, Group: GroupServices, From: FromOwn, Uses: Defined | Labelled, At: func(l *Listing) any { return &l.Services }},
	{Name: "languages", Table: InTexts, Group: GroupLanguages, From: FromOwn, Uses: Defined | Labelled, At: func(l *Listing) any { return &l.Languages }},
	{Name: "neighborhoods", Table: InTexts, Group: GroupNeighborhoods, From: FromOwn, Uses: Defined | Labelled, At: func(l *Listing) any { return &l.Neighborhoods }},
	{Name: "aka", Table: InTexts, Group: GroupAKA, From: FromOwn, Uses: Defined | Labelled, At: func(l *Listing) any { return &l.AKA }},
	{Name: "about", Table: InTexts, Group: GroupAbout, From: FromOwn, Uses: Defined | Labelled, At: func(l *Listing) any { return &l.About }},
}

// ListingField is a row of ListingFields.
type ListingField struct {
	Name   string // in JSON, in the database, in rules, in changes and in definitions
	Column string // in the database, where it is not Name
	Table  Table  // that keeps it
	Absent Absent // what becomes of the stored value when a page does not give one
	Group  Group  // fields that belong together; GroupNone = what Absent says, and own pages never give it
	From   From   // pages of which a definition says where on them it is; structured data of any page may give any field
	Uses   Use
	Form   string // the field that has the canonical form: two values with the same one are no change

	// At returns where a listing has the field: a *string, *int, *float64 (a rating, or a coordinate of
	// GroupPoint), *[]string, *bool or **bool (nil = the page does not say).
	At func(*Listing) any
}

// Table says where the database keeps a field.
type Table uint8

// The tables.
const (
	InListings Table = iota // the table listings
	InTexts                 // the table listing_texts: long, and written by own pages nearly always
	NoTable                 // it is not kept
)

// From is a set of kinds of pages.
type From uint8

// The kinds.
const (
	FromCard From = 1 << iota // results pages
	FromOwn                   // listings' own pages
	FromBoth = FromCard | FromOwn
)

// Group is a group of fields that are of one page, and written whole: a street of one page and a city of another would be
// nobody's address. Its number is that of its bit in listings.cards and must stay.
type Group uint8

// The groups.
const (
	GroupNone Group = iota
	GroupProfile
	GroupPhone
	GroupPlace
	GroupWebsite
	GroupCategories
	GroupRating
	GroupReviews
	GroupYears
	GroupPrice
	GroupSnippet
	GroupImage
	GroupHours
	GroupClaimed
	GroupEmail
	GroupPoint
	GroupFounded
	GroupPayment
	GroupSocial
	GroupServices
	GroupLanguages
	GroupNeighborhoods
	GroupAKA
	GroupAbout
)

// Groups is a set of groups.
type Groups int64

// Bit is the set of that group alone; GroupNone is in none.
func (g Group) Bit() Groups {
	if g == GroupNone {
		return 0
	}
	return 1 << (g - 1)
}

// Gives returns the groups in which a listing says anything.
func (l *Listing) Gives() (all Groups) {
	for i := range ListingFields {
		f := &ListingFields[i]
		if bit := f.Group.Bit(); all&bit == 0 && bit != 0 && f.Has(l) {
			all |= bit
		}
	}
	return all
}

// Absent says what becomes of a stored value when a page does not give one.
type Absent uint8

// What may become of it.
const (
	Kept      Absent = iota // it stays: a page may show less than is known
	Refused                 // every page gives it: without it there is no listing
	Overrules               // it goes, and does not come back: what is an ad on some pages alone is none
)

// Use is a set of what a field is used for.
type Use uint8

// The uses.
const (
	Counted  Use = 1 << iota // another value is a change of the listing
	Watched                  // the layout alarm watches it: a page may say it or not
	Defined                  // a definition says where it is on the pages that From names
	Labelled                 // a definition says under which labels of an own page it is
	Emptied                  // of a list: an empty one says something, nil alone says nothing
)

// Is reports whether the field is used so.
func (f *ListingField) Is(u Use) bool { return f.Uses&u != 0 }

// said reports whether a list says something.
func (f *ListingField) said(list []string) bool {
	return len(list) > 0 || list != nil && f.Is(Emptied)
}

// ColumnName returns the field's column in its table.
func (f *ListingField) ColumnName() string { return cmp.Or(f.Column, f.Name) }

// ListingFieldAt returns the place in ListingFields of the field of that name, -1 when
// there is none.
func ListingFieldAt(name string) int {
	return slices.IndexFunc(ListingFields[:], func(f ListingField) bool { return f.Name == name })
}

// Value returns the field as a database keeps it: nil when the page does not say, else a
// string (a list is a JSON array), an int64, a float64 or a bool. A count below one, a
// rating off the scale, and a point that is none on Earth, say nothing.
func (f *ListingField) Value(l *Listing) any {
	switch v := f.At(l).(type) {
	case *string:
		if *v != "" {
			return *v
		}
	case *int:
		if *v > 0 {
			return int64(*v)
		}
	case *float64:
		if f.saysNumber(*v, l) {
			return *v
		}
	case *[]string:
		if f.said(*v) {
			return string(appendList(make([]byte, 0, 128), *v))
		}
	case *bool:
		return *v
	case **bool:
		if *v != nil {
			return **v
		}
	}
	return nil
}

// saysNumber reports whether a rating, or a coordinate of the listing, says something.
func (f *ListingField) saysNumber(v float64, l *Listing) bool {
	if f.Group == GroupPoint {
		return l.HasPoint()
	}
	return v >= 0.5 && v <= 5
}

// Text returns the field as changes tell it: Value as a text, "" for nothing.
func (f *ListingField) Text(l *Listing) string {
	switch v := f.Value(l).(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// Has reports whether the page says anything in the field.
func (f *ListingField) Has(l *Listing) bool {
	switch v := f.At(l).(type) {
	case *string:
		return *v != ""
	case *int:
		return *v > 0
	case *float64:
		return f.saysNumber(*v, l)
	case *[]string:
		return f.said(*v)
	case *bool:
		return *v
	case **bool:
		return *v != nil
	}
	return false
}

// AppendKey appends what tells two values of the field apart, to make a fingerprint of.
func (f *ListingField) AppendKey(b []byte, l *Listing) []byte {
	switch v := f.At(l).(type) {
	case *string:
		b = append(b, *v...)
	case *int:
		b = strconv.AppendInt(b, int64(*v), 10)
	case *float64:
		b = strconv.AppendFloat(b, *v, 'g', -1, 64)
	case *[]string:
		for _, s := range *v {
			b = append(append(b, s...), 1)
		}
		if len(*v) == 0 && f.said(*v) {
			b = append(b, 2)
		}
	case *bool:
		b = strconv.AppendBool(b, *v)
	case **bool:
		if *v != nil {
			b = strconv.AppendBool(b, **v)
		}
	}
	return append(b, 0)
}

// Fill gives a listing the field of another one where it has none of its own.
func (f *ListingField) Fill(l, from *Listing) {
	if !f.Has(l) {
		f.Take(l, from)
	}
}

// Take gives a listing the field of another one.
func (f *ListingField) Take(l, from *Listing) {
	reflect.ValueOf(f.At(l)).Elem().Set(reflect.ValueOf(f.At(from)).Elem())
}

// AppendJSON appends the listing's JSON, the same as encoding/json and EscapeJSON together write
// it, in a third of their time: a crawl writes thirty listings a page to its log. A number that is none is an error.
func (l *Listing) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, '{')
	for i := range ListingFields {
		f := &ListingFields[i]
		at := f.At(l)
		if f.Absent != Refused && f.omitted(at) {
			continue
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.Name...), '"', ':')
		switch v := at.(type) {
		case *string:
			b = AppendJSON(b, *v)
		case *int:
			b = strconv.AppendInt(b, int64(*v), 10)
		case *float64:
			if size := math.Abs(*v); size >= 1e-6 && size < 1e21 { // others have an exponent in JSON
				b = strconv.AppendFloat(b, *v, 'f', -1, 64)
				break
			}
			text, err := json.Marshal(*v)
			if err != nil {
				return nil, err
			}
			b = append(b, text...)
		case *[]string:
			b = appendList(b, *v)
		case *bool:
			b = strconv.AppendBool(b, *v)
		case **bool:
			b = strconv.AppendBool(b, **v)
		}
	}
	return append(b, '}'), nil
}

// appendList appends texts as a JSON array.
func appendList(b []byte, texts []string) []byte {
	if len(texts) == 0 {
		b = append(b, '[')
	}
	for i, s := range texts {
		b = AppendJSON(append(b, "[,"[min(i, 1)]), s)
	}
	return append(b, ']')
}

// omitted reports whether JSON leaves a field out: unlike Has, what is below zero is there.
func (f *ListingField) omitted(at any) bool {
	switch v := at.(type) {
	case *string:
		return *v == ""
	case *int:
		return *v == 0
	case *float64:
		return *v == 0
	case *[]string:
		return !f.said(*v)
	case *bool:
		return !*v
	case **bool:
		return *v == nil
	}
	return false
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

// Score says how complete a listing is, from 0 to 100, for the setting min-score:
//
//	name 10 · phone 20 (10 when it has no E.164 form) · street 15 (service
//	area or an address in one line instead: 10) · city and state 5 · postal code 5 · website 15 ·
//	categories 10 · rating 5 · hours 5 · years in business 3 · snippet 3 ·
//	image 2 · price range 2
//
// What lets one reach the business weighs most; rank and advertising count for
// nothing.
func Score(l *Listing) int {
	score := 0
	for _, part := range [...]struct {
		has    bool
		weight int
	}{
		{l.Name != "", 10},
		{l.PhoneE164 != "", 20},
		{l.PhoneE164 == "" && l.Phone != "", 10},
		{l.Street != "", 15},
		{l.Street == "" && l.ServiceArea+l.Address != "", 10},
		{l.City != "" && l.State != "", 5},
		{l.PostalCode != "", 5},
		{l.Website != "" || l.WebsiteURL != "", 15},
		{len(l.Categories) > 0, 10},
		{l.Rating > 0, 5},
		{l.Hours != nil, 5},
		{l.YearsInBusiness > 0, 3},
		{l.Snippet != "", 3},
		{l.ImageURL != "", 2},
		{l.PriceRange != "", 2},
	} {
		if part.has {
			score += part.weight
		}
	}
	return score
}
