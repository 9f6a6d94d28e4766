package directories

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// Business is one of a directory's, as the directory itself knows it.
type Business struct {
	N          int // number in the directory, from 1
	City       *City
	Categories []string // names
	Name       string
	Street     string
	Postal     string
	Phone      Phone
	Site       string // address of its website, "" = it has none
	Rating     int    // in tenths of a star, 0 = nobody rated it
	Reviews    int
	Lat, Lon   float64

	born, gone int // the epochs from and before which it is listed; gone 0 = for ever
}

// Phone is a number of a country.
type Phone struct{ Code, Area, Line string } // 1, 217, 2340017

// E164 is the form of a number that machines read.
func (p Phone) E164() string { return "+" + p.Code + p.Area + p.Line }

// city and category are what lists are made of.
type (
	// City is where a directory has lists.
	City struct {
		Name, Slug string
		State      string // code, or the name where the country has none
		Lat, Lon   float64
		area       string // of its phones
		postal     func(n int) string
		line       func(n int, moved bool) string // of a phone; moved: it has another one now
	}
	category struct{ name, slug string }
)

// names are of all forms that businesses have; the number of the business follows.
var names = []string{
	"Müller & Söhne", "O’Brien’s Plumbing", "Crème Brûlée Café", "“A1” Heating", "AT&T Repair Co.", "Ñandú Rooter", "Łódź Electric",
	"Smith, Jones + Co", "24/7 Dentists", "100% Drains",
}

// streets are streets of some countries.
var streets = map[string][]string{
	"US": {"Main St", "N 4th St", "County Road 12", "Martin Luther King Jr Blvd", "O'Fallon Ave"},
	"DE": {"Hauptstr.", "Königsallee", "Straße des 17. Juni"},
	"AU": {"Barrack Street", "Hay St", "Unit 3, The Esplanade"},
	"GB": {"High Street", "The Headrow", "St James's Sq."},
}

// street is where the n-th business is.
func street(country string, n int) string {
	name := streets[country][n%len(streets[country])]
	if country == "DE" {
		return fmt.Sprintf("%s %d", name, 10+n)
	}
	return fmt.Sprintf("%d %s", 10+n, name)
}

// make makes the n-th business of a directory.
func (d *Directory) make(n int, city *City, category string) *Business {
	b := &Business{
		N: n, City: city, Categories: []string{category}, Name: fmt.Sprintf("%s %d", names[n%len(names)], n), Postal: city.postal(n),
		Street:  street(d.Country, n),
		Phone:   Phone{countryCode[d.Country], city.area, city.line(n, false)},
		Reviews: n % 9, Lat: city.Lat + float64(n)/1000, Lon: city.Lon - float64(n)/1000,
	}
	if b.Lat, b.Lon = round(b.Lat), round(b.Lon); b.Reviews > 0 {
		b.Rating = 10 + n%41
	}
	if n%4 != 0 {
		b.Site = fmt.Sprintf("https://www.shop%d.example/start", n)
	}
	if n%7 == 3 {
		b.gone = 1
	}
	return b
}

var countryCode = map[string]string{"US": "1", "DE": "49", "AU": "61", "GB": "44"}

// round leaves four digits behind the point.
func round(f float64) float64 {
	var out float64
	_, _ = fmt.Sscanf(fmt.Sprintf("%.4f", f), "%g", &out)
	return out
}

// in is the business as it is in an epoch: some have another phone from the first on.
func (b *Business) in(epoch int) *Business {
	now := *b
	if b.N%5 == 2 && epoch > 0 {
		now.Phone.Line = b.City.line(b.N, true)
	}
	return &now
}

// listing is what each directory says of a business, before what is its own.
func (b *Business) listing(id, phone string) yp.Listing {
	l := yp.Listing{
		ID: id, Name: b.Name, Phone: phone, PhoneE164: b.Phone.E164(), Street: b.Street, City: b.City.Name, State: b.City.State, PostalCode: b.Postal,
	}
	if b.Site != "" {
		l.WebsiteURL = b.Site
		l.Website = strings.Replace(b.Site, "www.", "", 1)
		u, _ := url.Parse(l.Website)
		l.Domain = u.Host
	}
	return l
}

// rated adds rating and reviews.
func (b *Business) rated(l yp.Listing) yp.Listing {
	l.Rating, l.ReviewCount = float64(b.Rating)/10, b.Reviews
	return l
}

// at adds where it is.
func (b *Business) at(l yp.Listing) yp.Listing {
	l.Lat, l.Lon = b.Lat, b.Lon
	return l
}

// usPhone writes a number in one of the forms that sites of the USA mix.
func (b *Business) usPhone() string {
	p := b.Phone
	a, c := p.Line[:3], p.Line[3:]
	return []string{"(" + p.Area + ") " + a + "-" + c, p.Area + "-" + a + "-" + c, p.Area + "." + a + "." + c, "+1 " + p.Area + " " + a + " " + c}[b.N%4]
}

// line makes the numbers of a city's phones: the n-th begins as the first text says, and as the other one when it has moved.
func line(begins, moved string) func(n int, other bool) string {
	return func(n int, other bool) string {
		return fmt.Sprintf("%s%04d", map[bool]string{false: begins, true: moved}[other], n)
	}
}

// zip makes ZIP codes that begin so.
func zip(begins string) func(n int) string {
	return func(n int) string { return fmt.Sprintf("%s%02d", begins, 1+n%9) }
}

// illinois are cities of the USA.
func illinois() []*City {
	return []*City{
		{
			Name: "Springfield", Slug: "springfield-il", State: "IL", Lat: 39.7, Lon: -89.6, area: "217", line: line("234", "345"),
			postal: zip("627"),
		},
		{
			Name: "Peoria", Slug: "peoria-il", State: "IL", Lat: 40.7, Lon: -89.5, area: "309", line: line("234", "345"),
			postal: func(n int) string { return fmt.Sprintf("616%02d-%04d", 1+n%9, n) },
		},
	}
}

// trades are the categories that the directories of the USA have.
func trades() []category {
	return []category{{"Plumbers", "plumbers"}, {"Electricians", "electricians"}, {"Dentists", "dentists"}}
}

// shown is a list of a directory in an epoch.
func shown(all []*Business, epoch int) (out []*Business) {
	for _, b := range all {
		if b.born <= epoch && (b.gone == 0 || epoch < b.gone) {
			out = append(out, b.in(epoch))
		}
	}
	return slices.Clip(out)
}
