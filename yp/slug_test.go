package yp

import (
	"regexp"
	"testing"
)

func TestCitySlug(t *testing.T) {
	for _, test := range []struct{ city, state, want string }{
		{"Los Angeles", "CA", "los-angeles-ca"},
		{"St. Louis", "MO", "saint-louis-mo"},
		{"Ft. Worth", "TX", "fort-worth-tx"},
		{"Mt. Vernon", "NY", "mount-vernon-ny"},
		{"Washington", "DC", "washington-dc"},
		{"Coeur d'Alene", "ID", "coeur-d-alene-id"},
		{"O'Fallon", "IL", "o-fallon-il"},
		{"Cañon City", "CO", "canon-city-co"},
		{"Kapa‘a", "HI", "kapaa-hi"},
		{"Mtn View", "CA", "mtn-view-ca"},
		{"Port St. Lucie", "FL", "port-st-lucie-fl"},
		{"  Los   Angeles  ", " CA ", "los-angeles-ca"},
		{"", "CA", "ca"},
	} {
		t.Run(test.city, func(t *testing.T) {
			if got := CitySlug(test.city, test.state); got != test.want {
				t.Errorf("CitySlug(%q, %q) = %q, want %q", test.city, test.state, got, test.want)
			}
		})
	}
}

func TestCategorySlug(t *testing.T) {
	for in, want := range map[string]string{
		"Plumbers":                     "plumbers",
		"Auto Repair & Service":        "auto-repair-service",
		"24-Hour Locksmiths":           "24-hour-locksmiths",
		"-- A.B.C. --":                 "abc",
		"日本":                           "",
		"Attorneys (Criminal Defense)": "attorneys-criminal-defense",
		"a\x00b\xff":                   "a-b",
	} {
		if got := CategorySlug(in); got != want {
			t.Errorf("CategorySlug(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzSlug(f *testing.F) {
	textSeeds(f)
	form := regexp.MustCompile(`^([a-z0-9]+(-[a-z0-9]+)*)?$`)
	f.Fuzz(func(t *testing.T, s string) {
		slug := Slug(s)
		if !form.MatchString(slug) || Slug(slug) != slug {
			t.Errorf("Slug(%q) = %q, then %q", s, slug, Slug(slug))
		}
		if city := CitySlug(s, "CA"); !form.MatchString(city) {
			t.Errorf("CitySlug(%q) = %q", s, city)
		}
	})
}
