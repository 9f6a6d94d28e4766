package yp

import (
	"net/url"
	"testing"
)

// The inputs are those of an ordinary card: each function runs for every one
// of the thirty on a page.

func BenchmarkCanonicalPhone(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		CanonicalPhone("(310) 555-0123")
	}
}

func BenchmarkCanonicalWebsite(b *testing.B) {
	for _, bench := range []struct{ name, in string }{
		{"Plain", "http://www.acmeplumbing.com/"},
		{"Tracking", "https://www.acmeplumbing.com/locations/austin/?utm_source=yp&utm_medium=cpc&id=4"},
		{"Canonical", "https://acmeplumbing.com/menu"},
		{"Shared", "https://www.facebook.com/acmeplumbing"},
		{"IDN", "http://www.münchen-grill.com/"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				CanonicalWebsite(bench.in)
			}
		})
	}
}

func BenchmarkCanonicalURL(b *testing.B) {
	base, err := url.Parse("https://www.yellowpages.com/los-angeles-ca/plumbers?page=2")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		CanonicalURL(base, "/los-angeles-ca/mip/acme-plumbing-12345678?lid=1001")
	}
}

func BenchmarkCompanyKeys(b *testing.B) {
	l := &Listing{
		Name: "Acme Plumbing & Heating, Inc.", Website: "https://acmeplumbing.com", PhoneE164: "+13105550123",
		Street: "1200 North Main Street", PostalCode: "90210-1234",
	}
	b.ReportAllocs()
	for b.Loop() {
		CompanyKeys(l)
	}
}

func BenchmarkNormalName(b *testing.B) {
	for _, bench := range []struct{ name, in string }{
		{"ASCII", "Acme Plumbing & Heating, Inc."},
		{"Accents", "Café Olé Señor Juan's"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NormalName(bench.in)
			}
		})
	}
}

func BenchmarkClean(b *testing.B) {
	for _, bench := range []struct{ name, in string }{
		{"Clean", "Acme Plumbing & Heating of Los Angeles, Inc."},
		{"CleanAccents", "Café Olé Señor Juan’s Bakery"},
		{"Spaces", "\n      Acme Plumbing  & Heating\u00a0of Los Angeles\n    "},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Clean(bench.in)
			}
		})
	}
}

func BenchmarkPrintable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Printable("Acme Plumbing & Heating of Los Angeles, Inc.")
	}
}

func BenchmarkCitySlug(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		CitySlug("St. Louis Park", "MN")
	}
}

func BenchmarkNearest(b *testing.B) {
	var names []string
	for _, st := range States() {
		names = append(names, st.Name)
	}
	b.ReportAllocs()
	for b.Loop() {
		Nearest("Califronia", names)
	}
}
