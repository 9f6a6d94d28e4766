package site

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/yp"
)

// ofCountry is a source of a country with a file of cities; "" = without one.
func ofCountry(t testing.TB, more, cities string) (*Source, error) {
	t.Helper()
	text := "name: x\nbase_url: https://x.example\nurls: {target: '/{state_slug}/{city_slug}/{category_slug}?page={page}'}\nchrome: {selectors: [nav]}\n" +
		"cards: {organic: [.card]}\nfields: {id: {attr: data-id}, name: h2, state: .state, postal_code: .zip, city: .city}\n" + more + "\n"
	return ParseWith("x.yaml", []byte(text), func(name string) ([]byte, error) {
		if name != "de.csv" {
			return nil, errors.New("no such file")
		}
		return []byte(cities), nil
	})
}

// finderDef asks for shops by where a city is, which its file says.
const finderDef = `name: x
base_url: https://x.example
country: DE
categories: [Klempner]
cities: de.csv
urls: {target: {url: '/near?page={page}', body: {at: ["{lat}", "{lon}"]}}, search: '/search?city={city}&page={page}'}
chrome: {selectors: [nav]}
cards: {organic: [.card]}
fields: {id: {attr: data-id}, name: h2}
`

func TestCities(t *testing.T) {
	t.Parallel()
	s, err := ofCountry(t, "country: DE\ncategories: [Klempner]\ncities: de.csv",
		"\ufeffstate,city,slug,population,lat,lon,plz\r\nBayern,München,muenchen,1512491,48.137,11.575,80331\nSN,\"Halle, Saale\",,,,,\n"+
			"Hessen,Frankfurt,frankfurt,,,,60311\nBrandenburg,Frankfurt,frankfurt,57015,,,15230\n")
	noError(t, err)
	noError(t, s.Usable())
	want := []yp.City{
		{Slug: "muenchen", Name: "München", State: "BY", Population: 1512491, Lat: 48.137, Lon: 11.575, Tier: 1, Country: "DE"},
		{Slug: "frankfurt", Name: "Frankfurt", State: "BB", Population: 57015, Tier: 2, Country: "DE"},
		{Slug: "halle-saale", Name: "Halle, Saale", State: "SN", Tier: 3, Country: "DE"},
		{Slug: "frankfurt", Name: "Frankfurt", State: "HE", Tier: 3, Country: "DE"},
	}
	if diff := cmp.Diff(want, s.Cities()); diff != "" {
		t.Error(diff)
	}
	for slug, value := range map[string]string{"BY/muenchen": "80331", "HE/frankfurt": "60311", "BB/frankfurt": "15230", "SN/halle-saale": "", "SN/muenchen": ""} {
		state, city, _ := strings.Cut(slug, "/")
		if got := s.CityValue(yp.Place{State: state, CitySlug: city}, "plz"); got != value {
			t.Errorf("plz of %s = %q, want %q", slug, got, value)
		}
	}
	if got := strings.Join(s.CityColumns(), " "); got != "slug population lat lon plz" {
		t.Errorf("columns %s", got)
	}
	if got := strings.Join(s.States().Codes(), " "); got != "BB BY HE SN" {
		t.Errorf("states %s", got)
	}
	if got := s.TargetRequest(yp.Place{State: "BY", CitySlug: "muenchen", CategorySlug: "klempner"}, Position{Page: 1}).URL; got != "https://x.example/bayern/muenchen/klempner" {
		t.Errorf("asks for %s", got)
	}
	t.Run("NotInFile", func(t *testing.T) { // any more: what the file says of a city is not left empty
		s, err := ParseWith("x.yaml", []byte(finderDef), func(string) ([]byte, error) {
			return []byte("state,city,lat,lon\nBY,Passau,48.5,13.4\nBY,Hof,,\n"), nil
		})
		noError(t, err)
		for slug, want := range map[string]error{"passau": nil, "hof": nil, "bamberg": ErrNotInFile} {
			r := s.TargetRequest(yp.Place{State: "BY", CitySlug: slug, City: slug}, Position{Page: 1})
			if !errors.Is(r.Err(), want) {
				t.Errorf("%s: %v, want %v", slug, r.Err(), want)
			}
			if r, _ := s.SearchRequest(yp.Place{State: "BY", CitySlug: slug, City: slug}, Position{Page: 1}); r.Err() != nil {
				t.Errorf("%s: %v, of a request without columns", slug, r.Err())
			}
		}
	})
	t.Run("States", func(t *testing.T) {
		s, err := ofCountry(t, "country: DE\ncategories: [Klempner]\nstates: {BAY: Bayern, BW: Baden-Württemberg}", "")
		noError(t, err)
		want := []yp.City{{Slug: "bayern", Name: "Bayern", State: "BAY", Tier: 1, Country: "DE"}, {Slug: "baden-wurttemberg", Name: "Baden-Württemberg", State: "BW", Tier: 1, Country: "DE"}}
		if diff := cmp.Diff(want, s.Cities()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("NoStates", func(t *testing.T) {
		s, err := ofCountry(t, "country: GB\ncategories: [Plumbers]\ncities: de.csv", "state,city\n,London\n,Leeds\n")
		noError(t, err)
		if codes := s.States().Codes(); len(codes) != 1 || codes[0] != "" {
			t.Errorf("states %q", codes)
		}
	})
}

// TestCitiesRefused: what is wrong with a file is told with its line, and nothing of the file.
func TestCitiesRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, want string }{
		"empty":              {"", "the file is empty: its first line must name the columns, such as state,city,population"},
		"no city":            {"state,city\n", "the file names no city"},
		"no column":          {"city,population\nSECRET,1\n", "line 1 of the file: the columns state and city are required, such as state,city,population"},
		"no name":            {"root:SECRET:0\n", "line 1 of the file: column 1: its name may hold only lower-case letters, digits and _"},
		"column twice":       {"state,city,a,a\n", "line 1 of the file: column 4 has the same name as another column"},
		"placeholder":        {"state,city,city_slug\n", "line 1 of the file: column 3 has the name of the placeholder {city_slug}"},
		"later placeholder":  {"state,city,offset\n", "line 1 of the file: column 3 has the name of the placeholder {offset}"},
		"short line":         {"state,city\nBY,A\nSECRET\n", "line 3 of the file: has 1 columns, but the first line has 2"},
		"quotes":             {"state,city\nBY,\"SECRET\n", "line 2 of the file: extraneous or missing \" in quoted-field"},
		"no slug":            {"state,city\nBY,東京\n", "line 2 of the file: want a slug of up to 100 bytes: none can be made from the name"},
		"population":         {"state,city,population\nBY,A,SECRET\n", "line 2 of the file: population: want only digits"},
		"decimal comma":      {"state,city,lat,lon\nBY,A,\"48,1\",11\n", "line 2 of the file: lat and lon: want both, in degrees such as 48.137 and 11.575, or neither"},
		"lat alone":          {"state,city,lat,lon\nBY,A,48.1,\n", "line 2 of the file: lat and lon: want both, in degrees such as 48.137 and 11.575, or neither"},
		"not UTF-8":          {"state,city\nBY,M\xfcnchen\n", "line 2 of the file: column 2 is not UTF-8, or holds a control character"},
		"twice":              {"state,city\nBY,Aach\n\nBayern,aach\n", "line 4 of the file: the same state and slug as in line 2"},
		"more than 10 MB":    {"state,city\n" + strings.Repeat("BY,SECRET\n", 1<<20+1), "the file is larger than 10 MB"},
		"name of no letters": {"state,city\nBY,\n", "line 2 of the file: want a city name of up to 300 bytes, and a state of up to 80 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ofCountry(t, "country: DE\ncategories: [a]\ncities: de.csv", c.file)
			if err == nil || err.Error() != "x.yaml:9:9: cities: "+c.want {
				t.Errorf("got  %v\nwant x.yaml:9:9: cities: %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "SECRET") {
				t.Error("the error quotes the file")
			}
		})
	}
	_, err := ofCountry(t, "cities: de.csv\nstates: {BY: Bayern}\ncountry: DE", "state,city\nBayern,Aach\nSN,Aue\n")
	if err == nil || err.Error() != "x.yaml:7:9: cities: line 3 of the file: its state is not listed under states" {
		t.Errorf("got %v", err)
	}
	if _, err := Parse("x.yaml", []byte("cities: de.csv")); !errors.Is(err, errNoCities) {
		t.Errorf("without the file: %v", err)
	}
}

// TestUsable: what a crawl could not go by is told with its line.
func TestUsable(t *testing.T) {
	t.Parallel()
	const postal = "\ncities: de.csv\ncategories: [a]\nrules: {formats: {postal_code: '"
	for name, c := range map[string]struct{ more, want string }{
		"USA":                      {"", ""},
		"no places":                {"country: DE\ncategories: [a]", "x.yaml:7:10: country: ypcrawl does not know the places of DE: name a file under cities, or list states, or describe an index of cities under urls.state_index"},
		"no categories":            {"country: DE\nstates: {BY: Bayern}", "x.yaml:7:10: country: categories is missing: the default ones are in English, and the country is DE"},
		"ZIP code in Australia":    {"country: AU" + postal + `^\d{5}(?:-\d{4})?$'}}`, `x.yaml:10:32: rules.formats.postal_code: ^\d{5}(?:-\d{4})?$ can't match a postal code of AU; these look like #### (# is a digit, @ a letter)`},
		"four digits in Australia": {"country: AU" + postal + `^\d{4}$'}}`, ""},
		"some of them":             {"country: AU" + postal + `^20[0-4]7$'}}`, ""},
		"a part":                   {"country: AU" + postal + `\d\d'}}`, ""},
		"ZIP code in Britain":      {"country: GB" + postal + `^\d{5}'}}`, `x.yaml:10:32: rules.formats.postal_code: ^\d{5} can't match a postal code of GB; these look like @# #@@ or @## #@@ or @@# #@@ or @@## #@@ or @#@ #@@ or @@#@ #@@ (# is a digit, @ a letter)`},
		"postcodes":                {"country: GB" + postal + `^(?i)[a-z]{1,2}\d[a-z\d]?\b \d[a-z]{2}$'}}`, ""},
		"one postcode":             {"country: GB" + postal + `^SW1A 1AA$'}}`, ""},
		"not a state of these":     {"country: DE\nstates: {BY: Bayern}\ncategories: [a]\nrules: {formats: {state: '^[a-z]+$'}}", "x.yaml:10:26: rules.formats.state: ^[a-z]+$ matches none of the source's states, such as BY"},
		"kind state":               {"country: JP\ncategories: [a]\nurls: {target: '/{page}', state_index: /cities}\nindex: {cities: [a], path: '^/(.+)$'}\nrules: {formats: {state: {kind: state}}}", "x.yaml:11:26: rules.formats.state: nothing can match kind: state, because ypcrawl does not know the states of JP: list them under states"},
		"index of unknown states":  {"country: JP\ncategories: [a]\nurls: {target: '/{page}', state_index: '/{state}'}\nindex: {cities: [a], path: '^/(.+)$'}", "x.yaml:9:40: urls.state_index: ypcrawl does not know the states of JP: list them under states"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := c.more
			if strings.Contains(text, "urls:") { // of its own
				text = "extends: yellowpages\nname: x\n#\n#\n#\n#\n" + text
				s, err := ParseWith("x.yaml", []byte(text), nil)
				noError(t, err)
				is(t, s.Usable(), c.want)
				return
			}
			s, err := ofCountry(t, text, "state,city\n,A\n")
			noError(t, err)
			is(t, s.Usable(), c.want)
		})
	}
}

func is(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got, _, _ = strings.Cut(err.Error(), "\n")
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCountryValues: states and postal codes are those of the source's country.
func TestCountryValues(t *testing.T) {
	t.Parallel()
	read := func(more, html string) yp.Listing {
		s, err := ofCountry(t, more, "state,city\nBY,Aach\n")
		noError(t, err)
		p, err := s.ParsePage([]byte("<html><body><nav></nav><div class=card data-id=1><h2>A</h2>"+html+"</div></body></html>"), nil, 200)
		noError(t, err)
		if len(p.Listings) != 1 {
			t.Fatalf("%d listings: %s", len(p.Listings), p.Reason)
		}
		return p.Listings[0]
	}
	for _, c := range []struct{ more, html, state, code string }{
		{"country: AU", "<i class=state>WA</i><i class=zip>6000</i>", "WA", "6000"},
		{"country: AU", "<i class=state>Victoria</i>", "VIC", ""},
		{"country: DE", "<i class=state>Bavaria</i><i class=zip>D-80331</i>", "BY", "80331"},
		{"country: DE\ncities: de.csv", "<i class=state>Bayern</i>", "BY", ""},
		{"country: DE\nstates: {BAY: Bayern}", "<i class=state>bayern</i>", "BAY", ""},
		{"country: DE", "<i class=state>Oberfranken</i>", "Oberfranken", ""},
		{"country: DE", "<i class=zip>8033</i>", "", ""},
		{"country: DE\nrules: {formats: {postal_code: '^\\d{4}$'}}", "<i class=zip>8033</i>", "", "8033"},
		{"", "<i class=state>Bayern</i><i class=zip>6000</i>", "", ""},
		{"", "<i class=state>Texas</i><i class=zip>78701</i>", "TX", "78701"},
	} {
		l := read(c.more, "<i class=city>A</i>"+c.html)
		if l.State != c.state || l.PostalCode != c.code {
			t.Errorf("%s: %s: state %q, postal code %q; want %q, %q", c.more, c.html, l.State, l.PostalCode, c.state, c.code)
		}
	}
}

// TestWholeIndex: one page lists the cities of all states.
func TestWholeIndex(t *testing.T) {
	t.Parallel()
	parse := func(index, html string) *Page {
		s, err := ParseWith("x.yaml", []byte("name: x\nbase_url: https://x.example\nurls: {target: '/{city_slug}?page={page}', state_index: /orte}\n"+
			"chrome: {selectors: [nav]}\ncards: {organic: [.card]}\nfields: {id: {attr: data-id}, name: h2}\ncountry: DE\ncategories: [a]\n"+index+"\n"), nil)
		noError(t, err)
		noError(t, s.Usable())
		p, err := s.ParseIndex([]byte("<html><body><nav></nav><main>"+html+"</main></body></html>"), urlOf(t, "https://x.example/orte"), 200, "")
		noError(t, err)
		return p
	}
	want := []yp.FoundCity{
		{City: yp.City{State: "BY"}, Address: "München", Shown: "München"}, {City: yp.City{State: "SN"}, Address: "aue", Shown: "Aue"},
	}
	for index, html := range map[string]string{
		"index: {cities: [main a], path: '^/(?P<state>[^/]+)/(?P<city>[^/]+)$'}":                `<a href="/bayern/M%C3%BCnchen">München</a><a href="/Sachsen/aue">Aue</a><a href="/x/y">Y</a>`,
		"index: {cities: [main a], path: '^/ort/(.+)$', state: {css: ul, attr: data-state}}":    `<ul data-state=BY><li><a href="/ort/München">München</a></ul><ul data-state="SN"><a href=/ort/aue>Aue</a></ul><a href=/ort/b>B</a>`,
		"index: {cities: [main a], path: '^/ort/(.+)$', state: {css: i, match: '\\((.+)\\)'}}":  `<a href="/ort/München">München<i hidden>(Bayern)</i></a><a href=/ort/aue>Aue<i>(SN)</i></a>`,
		"index: {cities: [main a], path: '^/ort/(.+)$', state: {attr: data-land, match: '.+'}}": `<a data-land=by href="/ort/München">München</a><a data-land=sachsen href=/ort/aue>Aue</a>`,
	} {
		p := parse(index, html)
		for i := range p.Cities {
			p.Cities[i].Shown, _, _ = strings.Cut(p.Cities[i].Shown, "(")
		}
		if diff := cmp.Diff(want, p.Cities); p.Outcome != OK || diff != "" {
			t.Errorf("%s: %v %s\n%s", index, p.Outcome, p.Reason, diff)
		}
	}
	if p := parse("index: {cities: [main a], path: '^/ort/(.+)$', state: {attr: data-land}}", `<a href="/ort/a">A</a>`); p.Outcome != HTMLChanged {
		t.Errorf("without a state: %v %s", p.Outcome, p.Reason)
	}
}
