package yp

import (
	"slices"
	"strings"
	"testing"
)

func TestPostalCodeIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, country, want string }{
		{"MA 021341234", "US", "02134-1234"},
		{"00901", "PR", "00901"},
		{"80331", "DE", "80331"},
		{"01067", "DE", "01067"},
		{"D-80331", "DE", "80331"},
		{"DE-80331", "DE", "80331"},
		{"PLZ: 80331", "DE", "80331"},
		{"８０３３１", "DE", "80331"},
		{"80331-1234", "DE", ""},
		{"80331 München", "DE", "80331"},
		{"D-80331 München, Deutschland", "DE", "80331"},
		{"München 80331", "DE", ""},
		{"Perth WA 6000", "AU", "6000"},
		{"1067", "DE", ""},
		{"803311", "DE", ""},
		{"00000", "DE", ""},
		{"A-80331", "DE", ""},
		{"1010", "AT", "1010"},
		{"A-1010", "AT", "1010"},
		{"2000", "AU", "2000"},
		{"NSW 2000", "AU", "2000"},
		{"0800", "AU", "0800"},
		{"WA 6000", "AU", "6000"},
		{"PO Box 2000", "AU", ""},
		{"12345", "AU", ""},
		{"SW1A 1AA", "GB", "SW1A 1AA"},
		{"sw1a1aa", "GB", "SW1A 1AA"},
		{"London SW1A 1AA", "GB", "SW1A 1AA"},
		{"M1 1AE, Manchester", "GB", "M1 1AE"},
		{"Postcode: B33 8TH", "GB", "B33 8TH"},
		{"10 Downing Street SW1A 2AA", "GB", ""},
		{"London", "GB", ""},
		{"SW1A", "GB", ""},
		{"80331", "GB", ""},
		{"K1A 0B1", "CA", "K1A 0B1"},
		{"ON K1A-0B1", "CA", "K1A 0B1"},
		{"k1a0b1", "CA", "K1A 0B1"},
		{"90210", "CA", ""},
		{"1012 AB", "NL", "1012 AB"},
		{"1012AB Amsterdam", "NL", "1012 AB"},
		{"1012 De Boer", "NL", ""},
		{"D02 AF30", "IE", "D02 AF30"},
		{"D6WXK53", "IE", "D6W XK53"},
		{"111 22", "SE", "111 22"},
		{"SE-11122", "SE", "111 22"},
		{"00-950", "PL", "00-950"},
		{"00950", "PL", "00-950"},
		{"1000-205", "PT", "1000-205"},
		{"〒100-0001", "JP", "100-0001"},
		{"1000001", "JP", "100-0001"},
		{"01310-100", "BR", "01310-100"},
		{"CEP 01310100", "BR", "01310-100"},
		{"110 001", "IN", "110001"},
		{"C1425ABC", "AR", "C1425ABC"},
		{"1425", "AR", "1425"},
		{"LV-1010", "LV", "LV-1010"},
		{"1010", "LV", ""},
		{"JE2 3AB", "JE", "JE2 3AB"},
		{"12345", "HK", ""},
		{"12345", "XX", ""},
		{"12345", "", ""},
		{"", "DE", ""},
		{strings.Repeat("80331 ", 100), "DE", ""},
	} {
		if got := PostalCodeIn(c.in, c.country); got != c.want {
			t.Errorf("%q in %s: got %q, want %q", c.in, c.country, got, c.want)
		}
	}
}

// TestPostalForms: each country of the table is one, and is there once.
func TestPostalForms(t *testing.T) {
	t.Parallel()
	var seen []string
	for line := range strings.Lines(postalCodes) {
		list, forms, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok && line != "\n" {
			t.Errorf("no form: %q", line)
		}
		for _, c := range strings.Fields(list) {
			if !slices.Contains(countries, c) || slices.Contains(seen, c) || slices.Contains(zipCountries, c) {
				t.Errorf("%s is no country, or stands there twice", c)
			}
			if postalForms(c) != forms {
				t.Errorf("%s has forms %q, want %q", c, postalForms(c), forms)
			}
			seen = append(seen, c)
		}
	}
	if len(seen) < 160 {
		t.Errorf("%d countries", len(seen))
	}
}

func FuzzPostalCodeIn(f *testing.F) {
	for _, s := range []string{"80331", "D-80331", "London SW1A 1AA", "K1A-0B1", "1012 AB Amsterdam", "D6W XK53", "-", "\xff", "〒１００"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, country := range countries {
			got := PostalCodeIn(s, country)
			if again := PostalCodeIn(got, country); again != got {
				t.Errorf("%q in %s: got %q, then %q", s, country, got, again)
			}
		}
	})
}
