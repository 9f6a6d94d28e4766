package yp

import (
	"reflect"
	"testing"
)

func TestScore(t *testing.T) {
	full := Listing{
		ID: "1", Name: "Acme", Phone: "(310) 555-0123", PhoneE164: "+13105550123", Street: "12 Main St", City: "Austin", State: "TX",
		PostalCode: "78701", Website: "https://acme.com", Categories: []string{"Plumbers"}, Rating: 4.5, YearsInBusiness: 3,
		PriceRange: "$$", Snippet: "s", ImageURL: "https://acme.com/a.png", Hours: []string{"Mo 09:00-17:00"},
	}
	for _, test := range []struct {
		name   string
		change func(*Listing)
		want   int
	}{
		{"Full", func(*Listing) {}, 100},
		{"Nothing", func(l *Listing) { *l = Listing{} }, 0},
		{"NameOnly", func(l *Listing) { *l = Listing{ID: "1", Name: "Acme"} }, 10},
		{"PhoneAsShown", func(l *Listing) { l.PhoneE164 = "" }, 90},
		{"NoPhone", func(l *Listing) { l.PhoneE164, l.Phone = "", "" }, 80},
		{"ServiceArea", func(l *Listing) { l.Street, l.ServiceArea = "", "Serving Austin" }, 95},
		{"NoPostalCode", func(l *Listing) { l.PostalCode = "" }, 95},
		{"SharedWebsite", func(l *Listing) { l.Website, l.WebsiteURL = "", "https://facebook.com/acme" }, 100},
		{"NoWebsite", func(l *Listing) { l.Website = "" }, 85},
		{"NoHours", func(l *Listing) { l.Hours = nil }, 95},
		{"NoExtras", func(l *Listing) { l.YearsInBusiness, l.Snippet, l.ImageURL, l.PriceRange = 0, "", "", "" }, 90},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := full
			test.change(&l)
			before := l
			if got := Score(&l); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			if !reflect.DeepEqual(l, before) {
				t.Error("Score changed the listing")
			}
		})
	}
}
