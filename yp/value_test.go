package yp

import (
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
		"":                            {"", "", ""},
		", ":                          {"", "", ""},
	} {
		city, state, zip := SplitLocality(in)
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
			"4.4": 4.5, "6": 0, "-1": 0, "NaN": 0, "Inf": 0, "five five": 0, "0": 0,
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
	t.Run("Identifier", func(t *testing.T) {
		for in, ok := range map[string]bool{"123": true, "a-b_c.d:1": true, "": false, "a b": false, "é": false, strings.Repeat("1", MaxID+1): false} {
			if got := Identifier(in) != ""; got != ok {
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
