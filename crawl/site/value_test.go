package site

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestLocality(t *testing.T) {
	t.Parallel()
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
		city, state, zip := locality(in)
		if got := [3]string{city, state, zip}; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][4]string{
		"12 Elm St, Springfield, IL 62701":        {"12 Elm St", "Springfield", "IL", "62701"},
		"12 Elm St, Ste 4, Springfield, IL 62701": {"12 Elm St, Ste 4", "Springfield", "IL", "62701"},
		"12 Elm St, Springfield IL 62701":         {"12 Elm St", "Springfield", "IL", "62701"},
		"12 Elm St, Springfield, IL":              {"12 Elm St", "Springfield", "IL", ""},
		"Springfield, IL":                         {"", "Springfield", "IL", ""},
		"By appointment only":                     {"By appointment only", "", "", ""},
		"":                                        {"", "", "", ""},
	} {
		street, city, state, zip := oneLine(in)
		if got := [4]string{street, city, state, zip}; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	t.Run("FirstInt", func(t *testing.T) {
		t.Parallel()
		for in, want := range map[string]int{
			"(12)": 12, "1,108": 1108, "Showing 1,108 of": 1108, "25 Years": 25, "": 0, "none": 0, "1,10": 1, "12,3456": 12,
			"99999999999999999999": 0, "1,234,567": 1234567,
		} {
			if got, _ := firstInt(in); got != want {
				t.Errorf("%q: got %d, want %d", in, got, want)
			}
		}
	})
	t.Run("Rating", func(t *testing.T) {
		t.Parallel()
		for in, want := range map[string]float64{
			"result-rating four half ": 4.5, "result-rating five": 5, "result-rating half": 0.5, "result-rating": 0, "": 0, "4.5": 4.5,
			"4.4": 4.5, "6": 0, "-1": 0, "NaN": 0, "Inf": 0, "five five": 0, "0": 0,
		} {
			if got := rating(in); got != want {
				t.Errorf("%q: got %v, want %v", in, got, want)
			}
		}
	})
	t.Run("PriceRange", func(t *testing.T) {
		t.Parallel()
		for in, want := range map[string]string{"$": "$", "$$$$": "$$$$", "$$$$$": "", "cheap": "", "": "", "$x": ""} {
			if got := priceRange(in); got != want {
				t.Errorf("%q: got %q, want %q", in, got, want)
			}
		}
	})
	t.Run("Phones", func(t *testing.T) {
		t.Parallel()
		for in, want := range map[string]bool{
			"call (217) 555-0100 now": true, "217-555-0100": true, "217.555.0100": true, "2175550100": false, "1217-555-0100": false,
			"217-555-01001": false, "in 2019-11-2020": false, "": false,
		} {
			if got := phoneForm.MatchString(in); got != want {
				t.Errorf("%q: got %t, want %t", in, got, want)
			}
		}
	})
	t.Run("Identifier", func(t *testing.T) {
		t.Parallel()
		for in, ok := range map[string]bool{"123": true, "a-b_c.d:1": true, "": false, "a b": false, "é": false, strings.Repeat("1", maxID+1): false} {
			if got := identifier(in) != ""; got != ok {
				t.Errorf("%q: got %t, want %t", in, got, ok)
			}
		}
	})
	t.Run("Absolute", func(t *testing.T) {
		t.Parallel()
		for in, want := range map[string]bool{"http://a.b": true, "HTTPS://a.b": true, "//a.b": true, "/a": false, "a.com": false, "mailto:a@b.c": false, "http:a": false} {
			if got := absolute(in); got != want {
				t.Errorf("%q: got %t, want %t", in, got, want)
			}
		}
	})
}

func TestBusinesses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   int
	}{
		"array":             {`[{"@type":"LocalBusiness"},{"@type":"LocalBusiness"}]`, 2},
		"object":            {` {"@type":"LocalBusiness"} `, 1},
		"schema.org prefix": {`{"@type":["x","http://schema.org/LocalBusiness"]}`, 1},
		"subtype":           {`{"@type":"Plumber","url":"/a","telephone":"1"}`, 1},
		"graph":             {`{"@graph":[{"@type":"LocalBusiness"}]}`, 1},
		"item list":         {`{"@type":"ItemList","itemListElement":[{"@type":"ListItem","item":{"@type":"LocalBusiness"}}]}`, 1},
		"other things":      {`[{"@type":"WebSite","url":"/"},1,null,"x",[]]`, 0},
		"no type":           {`{"url":"/a","telephone":"1"}`, 0},
		"truncated":         {`[{"@type":"LocalBusiness"},{"@type":"Loc`, 0},
		"trailing":          {`{"@type":"LocalBusiness"} x`, 0},
		"empty":             {``, 0},
		"deep":              {strings.Repeat("[", 100_000), 0},
		"deep and balanced": {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), 0},
		"odd values":        {`{"@type":"LocalBusiness","address":"12 Main","openingHours":{"a":[{}]},"aggregateRating":[1],"url":{"x":1}}`, 1},
		"missing colon":     {`{"@type" "LocalBusiness"}`, 0},
		"stray comma":       {`{"@type":"LocalBusiness",}`, 0},
		"half a string":     {`{"@type":"LocalBusiness\"}`, 0},
		"escaped type":      {`{"@type":"Local\u0042usiness"}`, 1},
		"escaped slashes":   {`{"@type":"http:\/\/schema.org\/LocalBusiness"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := businesses([]string{"{bad", c.script}); len(got) != c.want {
				t.Errorf("got %d, want %d", len(got), c.want)
			}
		})
	}
}

// FuzzJSONText compares what is read of a JSON object's member with what
// encoding/json reads.
func FuzzJSONText(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `{"a":1.5,"b":[{}]}`, `{"a":"\u00e9\ud83d\ude00\"\\\/"}`, `{"b":null,"a":["x","y"]}`, `[`, `{"a"`, `{"\u0061":"x"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := member(s, "a")
		businesses([]string{s})
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(s), &want) != nil || strings.Count(s, `a`)+strings.Count(s, `\u`) != 1 {
			return
		}
		var text string
		raw, ok := want["a"]
		if !ok || json.Unmarshal(raw, &text) != nil || strings.ContainsAny(text, "\n\r\t\f\b\ufffd") {
			return
		}
		if got != text {
			t.Errorf("%q: got %q, want %q", s, got, text)
		}
	})
}
