package yp

import (
	"regexp"
	"strings"
	"testing"
)

func TestSplitLocality(t *testing.T) {
	for in, want := range map[string][3]string{
		"Springfield, IL 62701":       {"Springfield", "IL", "62701"},
		"Springfield, IL 62701-1234":  {"Springfield", "IL", "62701-1234"},
		"Springfield, IL":             {"Springfield", "IL", ""},
		"Springfield":                 {"Springfield", "", ""},
		"Springfield,":                {"Springfield", "", ""},
		"Springfield, Illinois 62701": {"Springfield", "IL", "62701"},
		"Springfield IL 62701":        {"Springfield", "IL", "62701"},
		"Springfield, 62701":          {"Springfield", "", "62701"},
		"Springfield, IL 62701-":      {"Springfield", "IL", "62701"},
		"62701":                       {"", "", "62701"},
		"San Juan, PR 00901":          {"San Juan", "PR", "00901"},
		"Washington, DC, 20001":       {"Washington", "DC", "20001"},
		"Indiana, PA 15701":           {"Indiana", "PA", "15701"},
		"Truth or Consequences, NM":   {"Truth or Consequences", "NM", ""},
		"Boston, MA 021341234":        {"Boston", "MA", "02134-1234"},
		"Boston, MA 02134 1234":       {"Boston", "MA", "02134-1234"},
		"Boston, MA 02134 - 1234":     {"Boston", "MA", "02134-1234"},
		"Boston, MA 02134‑1234":       {"Boston", "MA", "02134-1234"},
		"Boston, MA 02134–1234":       {"Boston", "MA", "02134-1234"},
		"Boston, MA ０２１３４":            {"Boston", "MA", "02134"},
		"Boston, MA 02134 USA":        {"Boston", "MA", "02134"},
		"Boston, MA 02134, US":        {"Boston", "MA", "02134"},
		"Boston, MA, United States":   {"Boston", "MA", ""},
		"Boston, MA 0213412345":       {"Boston, MA 0213412345", "", ""},
		"Boston, MA 021341":           {"Boston, MA 021341", "", ""},
		"80331 München":               {"80331 München", "", ""},
		"Lot 021341234":               {"Lot 021341234", "", ""},
		"Lot 02134 1234":              {"Lot 02134 1234", "", ""},
		"Parcel, 021341234":           {"Parcel, 021341234", "", ""},
		"Boston, ZZ 021341234":        {"Boston, ZZ 021341234", "", ""},
		"021341234":                   {"", "", "02134-1234"},
		"Boston, 02134-1234":          {"Boston", "", "02134-1234"},
		"Springfield, -62701":         {"Springfield, -62701", "", ""},
		"":                            {"", "", ""},
		", ":                          {"", "", ""},
	} {
		city, state, zip := SplitLocality(in, "US")
		if got := [3]string{city, state, zip}; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestSplitAddress(t *testing.T) {
	for in, want := range map[string][4]string{
		"12 Elm St, Springfield, IL 62701":        {"12 Elm St", "Springfield", "IL", "62701"},
		"12 Elm St, Ste 4, Springfield, IL 62701": {"12 Elm St, Ste 4", "Springfield", "IL", "62701"},
		"12 Elm St, Springfield IL 62701":         {"12 Elm St", "Springfield", "IL", "62701"},
		"12 Elm St, Springfield, IL":              {"12 Elm St", "Springfield", "IL", ""},
		"Springfield, IL":                         {"", "Springfield", "IL", ""},
		"By appointment only":                     {"By appointment only", "", "", ""},
		"":                                        {"", "", "", ""},
	} {
		street, city, state, zip := SplitAddress(in)
		if got := [4]string{street, city, state, zip}; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestPostalCode(t *testing.T) {
	for in, want := range map[string]string{
		"02134": "02134", "02134-1234": "02134-1234", "02134-": "02134", "021341234": "02134-1234", "02134 1234": "02134-1234", "02134 - 1234": "02134-1234",
		"02134\u20111234": "02134-1234", "02134\u20131234": "02134-1234", "02134\u22121234": "02134-1234", "０２１３４": "02134", "０２１３４－１２３４": "02134-1234", "٠٢١٣٤": "02134",
		"MA 02134": "02134", "MA, 02134": "02134", "ma 02134-1234": "02134-1234", "Massachusetts 02134": "02134", "Boston, MA 02134": "02134", "MA02134": "02134", "PR 00901": "00901",
		"02134 USA": "02134", "02134, US": "02134", "02134-1234 United States": "02134-1234", "MA 02134 USA": "02134", "US-02134": "02134", "Zip: 02134": "02134", "ZIP Code 02134": "02134",
		", 02134,": "02134", "MA\u00a002134": "02134",
		"": "", "2134": "", "021341": "", "0213412": "", "02134123": "", "0213412345": "", "02134-123": "", "02134-12345": "", "02134--1234": "", "02134 12": "", "BP 12345": "", "P.O. Box 12345": "", "Box 12345": "",
		"Suite 12345": "", "12345 Main St": "", "0213４١": "", "D-80331": "", "SW1A 2AA": "", "ZZ 02134": "", "02134 02135": "", "a": "", "MA": "", "12-345": "", "123-45-6789": "", "(02134)": "",
		"-02134": "", "- 02134": "", "−02134": "", "–02134": "", ", -02134": "", "+02134": "", ".02134": "", ":02134": "", "12-02134": "", "1 02134": "", "Lot 021341234": "", "MA -02134": "", "MA-02134": "02134", "USA 02134": "02134", "MA 021341234": "02134-1234",
	} {
		if got := PostalCode(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestSplitLine: a line is split where that is sure.
func TestSplitLine(t *testing.T) {
	for in, want := range map[string]string{
		"12 Elm St, Springfield, IL 62701": "12 Elm St|Springfield|IL|62701", "12 Elm St, Ste 4, Springfield, IL 62701-1234, USA": "12 Elm St, Ste 4|Springfield|IL|62701-1234",
		"12 Elm St, Springfield IL 62701": "12 Elm St|Springfield|IL|62701", "Weight House, Reno, NV": "Weight House|Reno|NV|", "Springfield, IL": "|Springfield|IL|", "1 Calle Sol, San Juan, PR 00901": "1 Calle Sol|San Juan|PR|00901",
		"12 Elm St": "12 Elm St|||", "12 N. Elm Street NW, Suite 4": "12 N. Elm Street NW, Suite 4|||", "12 Broadway": "12 Broadway|||", "Corner of Main and Fifth": "Corner of Main and Fifth|||",
		"Hauptstr. 5, 80331 München": "", "Hauptstr. 5 80331 München": "", "Hauptstr. 5": "", "Hauptstr. 5, 80331 München, DE": "", "80331 München": "", "Marktplatz, 80331 München": "", "1010 Wien": "",
		"Via Roma 5, 00184 Roma RM": "", "Via Roma 5, 20121 Milano MI": "", "12 rue de la Paix, 75002 Paris": "", "12 rue de la Paix 75002 Paris": "", "Calle Mayor 5, 28013 Madrid": "", "5 Main Rd, Sydney NSW 2000": "",
		"10 Downing Street, London SW1A 2AA": "", "12 Elm St, Springfield": "", "123 Main St Springfield IL 62701": "", "Hauptstr. 5 80331": "", "12 Elm St, Springfield, ZZ 62701": "", "By appointment only": "", "": "",
		"12 Elm St, Springfield, IL 0213412345": "", "Lot 021341234": "", "12 Elm St, Lot 021341234": "12 Elm St, Lot 021341234|||", "Springfield, Lot 021341234": "", "Parcel 02134 1234": "", "12 Elm St, Springfield, IL 627011234": "12 Elm St|Springfield|IL|62701-1234",
	} {
		street, city, state, zip, ok := SplitLine(in, "US")
		got := strings.Join([]string{street, city, state, zip}, "|")
		if ok != (want != "") || ok && got != want || !ok && got != "|||" {
			t.Errorf("%q: got %q, %t, want %q", in, got, ok, want)
		}
	}
}

func FuzzSplitLine(f *testing.F) {
	for _, s := range []string{"12 Elm St, Springfield, IL 62701", "Hauptstr. 5, 80331 München", "Boston, MA 02134 - 1234 USA", "٠٢١٣٤", "MA02134", "corner ", "\xff 02134", ", , ,", "1 st"} {
		f.Add(s)
	}
	zip := regexp.MustCompile(`^(\d{5}(-\d{4})?)?$`)
	f.Fuzz(func(t *testing.T, s string) {
		street, city, state, code, ok := SplitLine(s, "US")
		if !ok && street+city+state+code != "" || ok && street+city+state+code == "" || !zip.MatchString(code) {
			t.Errorf("SplitLine(%q) = %q, %q, %q, %q, %t", s, street, city, state, code, ok)
		}
		if code = PostalCode(s); !zip.MatchString(code) || PostalCode(code) != code {
			t.Errorf("PostalCode(%q) = %q", s, code)
		}
	})
}

func TestValues(t *testing.T) {
	t.Run("FirstInt", func(t *testing.T) {
		for in, want := range map[string]int{
			"(12)": 12, "1,108": 1108, "Showing 1,108 of": 1108, "25 Years": 25, "": 0, "none": 0, "1,10": 1, "12,3456": 12,
			"99999999999999999999": 0, "1,234,567": 1234567,
		} {
			if got, _ := FirstInt(in); got != want {
				t.Errorf("%q: got %d, want %d", in, got, want)
			}
		}
	})
	t.Run("Rating", func(t *testing.T) {
		for in, want := range map[string]float64{
			"result-rating four half ": 4.5, "result-rating five": 5, "result-rating half": 0.5, "result-rating": 0, "": 0, "4.5": 4.5,
			"4.4": 4.4, "6": 0, "-1": 0, "NaN": 0, "Inf": 0, "five five": 0, "0": 0,
		} {
			if got := Rating(in); got != want {
				t.Errorf("%q: got %v, want %v", in, got, want)
			}
		}
	})
	t.Run("PriceRange", func(t *testing.T) {
		for in, want := range map[string]string{"$": "$", "$$$$": "$$$$", "$$$$$": "", "cheap": "", "": "", "$x": ""} {
			if got := PriceRange(in); got != want {
				t.Errorf("%q: got %q, want %q", in, got, want)
			}
		}
	})
	t.Run("PlainID", func(t *testing.T) {
		for in, ok := range map[string]bool{"123": true, "a-b_c.d:1": true, "": false, "a b": false, "é": false, strings.Repeat("1", MaxID+1): false} {
			if got := PlainID(in) != ""; got != ok {
				t.Errorf("%q: got %t, want %t", in, got, ok)
			}
		}
	})
	t.Run("Absolute", func(t *testing.T) {
		for in, want := range map[string]bool{"http://a.b": true, "HTTPS://a.b": true, "//a.b": true, "/a": false, "a.com": false, "mailto:a@b.c": false, "http:a": false} {
			if got := AbsoluteURL(in); got != want {
				t.Errorf("%q: got %t, want %t", in, got, want)
			}
		}
	})
}
