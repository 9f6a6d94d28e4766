package site

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const smallDef = `name: small
base_url: https://dir.example.com/us
urls:
  target: /c/{category_slug}/{page}/{city_slug}?p={page}&s=1
chrome:
  selectors: [".c"]
cards:
  organic: [".card"]
fields:
  id: {attr: data-id}
  name: h2
`

func TestParseDefinition(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"unknown key":             {"urls:", "delai: 2s\nurls:", `my.yaml:3:1: delai: unknown key "delai": did you mean "delay"?`},
		"unknown listing field":   {"  name: h2", "  name: h2\n  phon: .p", `my.yaml:12:9: fields.phon: unknown field "phon": did you mean "phone"?`},
		"unknown key in a rule":   {"{attr: data-id}", "{atr: data-id}", `my.yaml:10:8: fields.id.atr: unknown key "atr": did you mean "attr"?`},
		"bad selector":            {"h2\n", "'h2..n['\n", `my.yaml:11:9: fields.name: selector "h2..n["`},
		"bad region":              {"cards:", "regions: ['a b']\ncards:", `my.yaml:7:11: regions[0]: "a b": a region may hold only`},
		"bad match":               {"{attr: data-id}", "{attr: data-id, match: '('}", `my.yaml:10:7: fields.id: match: error parsing regexp`},
		"rule of nothing":         {"{attr: data-id}", "{own_text: true}", "my.yaml:10:7: fields.id: a rule needs css or attr, such as `{css: a.name, attr: href}`"},
		"unknown placeholder":     {"{city_slug}?", "{citi_slug}?", `my.yaml:4:11: urls.target: unknown placeholder {citi_slug}: did you mean {city_slug}?`},
		"unclosed placeholder":    {"{city_slug}?", "{city_slug?", `my.yaml:4:11: urls.target: `},
		"absolute template":       {"/c/{cat", "https://x/{cat", `my.yaml:4:11: urls.target: URL template`},
		"no page in template":     {"{page}/{city_slug}?p={page}&s=1", "{city_slug}", "my.yaml:4:11: urls.target: must hold {page}, such as /{city_slug}/{category_slug}?page={page}"},
		"bad base URL":            {"https://dir.example.com/us", "dir.example.com", `my.yaml:2:11: base_url: base URL "dir.example.com"`},
		"password in base URL":    {"https://dir.example.com/us", "https://me:secret@dir.example.com", `my.yaml:2:11: base_url: base URL "https://me:xxxxx@dir.example.com": leave out the user and password`},
		"bad delay":               {"urls:", "delay: soon\nurls:", `my.yaml:3:8: delay: delay "soon"`},
		"no time for a request":   {"urls:", "request_timeout: 0s\nurls:", `my.yaml:3:18: request_timeout: request_timeout "0s": want 1ms or more`},
		"details without end":     {"urls:", "detail: {every: 10s}\nurls:", `my.yaml:3:17: detail.every: every "10s": want 1m0s or more`},
		"details in words":        {"urls:", "detail: {every: monthly}\nurls:", `my.yaml:3:17: detail.every: every "monthly": want a duration such as 30d or 12h`},
		"bad type":                {"urls:", "page_cap: many\nurls:", "my.yaml:3: unexpected str `many`: want another type of value"},
		"missing name field":      {"  name: h2\n", "", "my.yaml: fields.name is missing"},
		"country in words":        {"urls:", "country: Germany\nurls:", `my.yaml:3:10: country: unknown country "Germany": did you mean "DE"?`},
		"country in small":        {"urls:", "country: no\nurls:", `my.yaml:3:10: country: unknown country "no": did you mean "NO"?`},
		"no country":              {"urls:", "country: ZZ\nurls:", `my.yaml:3:10: country: unknown country "ZZ": want the two capital letters of ISO 3166, such as US, CA or DE`},
		"scale of a name":         {"  name: h2", "  name: {css: h2, scale: 10}", `my.yaml:11:9: fields.name: scale: only the rules of the field rating may have it`},
		"scale below nothing":     {"  name: h2", "  name: h2\n  rating: {css: i, scale: -10}", `my.yaml:12:11: fields.rating: scale -10: want the best rating that the site gives, such as 10`},
		"scale of the data":       {"cards:", "structured: {scale: 0.5}\ncards:", `my.yaml:7:21: structured.scale: scale 0.5: want the best rating that the site gives, such as 10`},
		"negative page cap":       {"urls:", "page_cap: -1\nurls:", `my.yaml:3:11: page_cap: -1: want 0 (no limit) or more`},
		"bad format":              {"cards:", "rules: {formats: {id: {match: '('}}}\ncards:", `my.yaml:7:31: rules.formats.id.match: error parsing regexp`},
		"a key twice":             {"name: small", "name: small\nname: other", `my.yaml:2: mapping key "name" already defined at line 1`},
		"a colon in a value":      {"name: h2", "name: h2: x", "my.yaml:11: mapping values are not allowed in this context"},
		"an id without quotes":    {`[".card"]`, "\n    - #card", "my.yaml:9:6: cards.organic[0]: is empty: # begins a comment, so put quotes around a value that begins with #"},
		"a css id without quotes": {"{attr: data-id}", "\n    css: #id\n    attr: data-id", "fields.id.css: is empty: # begins a comment"},
		"two documents":           {"name: small", "---\nname: small\n---\nname: y\n---", `my.yaml`},
		"bad name":                {"name: small", "name: Small One", `my.yaml:1:7: name: name "Small One"`},
		"extends nothing":         {"name: small", "extends: nosuch\nname: small", `my.yaml:1:10: extends: no such built-in source: "nosuch"`},
		"empty":                   {smallDef, "", "my.yaml: name; base_url; urls.target; chrome; cards.organic; fields.id; fields.name are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(smallDef, c.old, c.new, 1)
			if text == smallDef {
				t.Fatal("the case changes nothing")
			}
			_, err := Parse("my.yaml", []byte(text))
			var de *DefinitionError
			if !errors.As(err, &de) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	t.Run("AllFaultsAtOnce", func(t *testing.T) {
		_, err := Parse("my.yaml", []byte(strings.NewReplacer("h2", "'['", "[\".card\"]", "['<']").Replace(smallDef)))
		if err == nil || strings.Count(err.Error(), "my.yaml:") != 2 {
			t.Errorf("got %v, want two faults", err)
		}
	})
}

// TestSectionsOfADefinition: what is wrong in the sections of a definition is told with its place.
func TestSectionsOfADefinition(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"detail, unknown field":         {"detail:\n  fields:\n    emial: a", `x.yaml:6:12: detail.fields.emial: unknown field "emial": did you mean "email"?`},
		"detail, unknown label":         {"detail:\n  labels:\n    servises: [a]", `x.yaml:6:15: detail.labels.servises: unknown field "servises": did you mean "services"?`},
		"detail, label twice":           {"detail:\n  labels:\n    aka: [Email]", `x.yaml:6:10: detail.labels.aka: the label "email" is listed under both aka and email: remove one`},
		"detail, bad path":              {"detail:\n  path: '('", `x.yaml:5:9: detail.path: error parsing regexp`},
		"detail, path, no group":        {"detail:\n  path: mip", `x.yaml:5:9: detail.path: "mip": want one group, or one named id`},
		"detail, bad rule":              {"detail:\n  fields:\n    email: {own_text: true}", `x.yaml:6:12: detail.fields.email: a rule needs css or attr`},
		"index, unknown placeholder":    {"urls: {state_index: '/s/{city}'}", `x.yaml:4:21: urls.state_index: unknown placeholder {city}: want one of {state}, {state_lower}, {state_slug}, {letter}`},
		"index, no state":               {"urls:\n  state_index: /s?l={letter}", `x.yaml:5:16: urls.state_index: must hold {state} or {state_lower}`},
		"index, letters twice":          {"index:\n  letters: abca", `index.letters "abca": want letters and digits without repeats`},
		"index, letter without letters": {"urls: {state_index: '/{state}/{letter}'}\nindex: {letters: ''}", `index.letters is empty`},
		"index, no cities":              {"index:\n  cities: []", `x.yaml: index.cities`},
		"index, bad path":               {"index:\n  path: '('", `x.yaml:5:9: index.path: error parsing regexp`},
		"index, no path":                {"index:\n  path: ''", `x.yaml:5:9: index.path: is missing`},
		"index, no group":               {"index:\n  path: '^/x'", `x.yaml:5:9: index.path: "^/x": want one group, or one named city`},
		"rules, unknown format":         {"rules:\n  formats:\n    postalcode: x", `x.yaml:6:17: rules.formats.postalcode: unknown field "postalcode": did you mean "postal_code"?`},
		"rules, bad match":              {"rules:\n  formats:\n    id: '('", `x.yaml:6:9: rules.formats.id.match: error parsing regexp`},
		"rules, negative max":           {"rules:\n  formats:\n    id: {max: -1}", `x.yaml:6:15: rules.formats.id.max: max must not be negative`},
		"rules, unknown kind":           {"rules:\n  formats:\n    state: {kind: sate}", `x.yaml:6:19: rules.formats.state.kind: unknown kind "sate": did you mean "state"?`},
	} {
		_, err := Parse("x.yaml", []byte("extends: yellowpages\nname: x\nbase_url: https://x.example\n"+c.yaml+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", name, err, c.want)
		}
	}
	for yaml, want := range map[string]string{
		"detail:\n  fields: {name: h1}\n": "x.yaml: detail.path", "detail:\n  path: '/(\\d+)$'\n": "x.yaml: detail.fields.name",
	} {
		if _, err := Parse("x.yaml", []byte(smallDef+yaml)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", yaml, err, want)
		}
	}
	t.Run("the city in a named group", func(t *testing.T) {
		s := yellowWith(t, "base_url: https://x.example\nindex: {path: '^/(c|town)/(?P<city>[a-z-]+)$'}")
		if x := parseIndex(t, s, column(`<a href="/town/mesa-az">Mesa</a>`), "https://x.example/state-az", 200, "AZ"); slugs(x) != "mesa-az" {
			t.Errorf("got %v: %s", x.Cities, x.Reason)
		}
	})
	t.Run("no index", func(t *testing.T) {
		if yellowWith(t, "urls: {state_index: ''}").HasIndex() {
			t.Error("it has one")
		}
	})
	t.Run("a rule of its own replaces one", func(t *testing.T) {
		s := yellowWith(t, "base_url: https://x.example\nrules: {required: [phone], formats: {id: '^[a-z]+$'}}")
		got := fmt.Sprint(s.Check(&yp.Listing{ID: "abc", Name: "!", ProfileURL: "https://x.example/mip/1"}))
		if want := `[phone: is missing name: "!" does not match [\pL\pN]]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestDefinitionOfAliases: aliases are read, within bounds on what a short text may make of itself.
func TestDefinitionOfAliases(t *testing.T) {
	text := smallDef + "regions: &a [" + strings.Repeat("a,", 400) + "]\ndetail: {labels: {"
	for i := range 400 {
		text += fmt.Sprintf("l%d: *a,", i)
	}
	if _, err := Parse("my.yaml", []byte(text+"}}\n")); err == nil || !strings.Contains(err.Error(), "my.yaml: document contains excessive aliasing") {
		t.Errorf("got %v", err)
	}
	s, err := Parse("my.yaml", []byte(smallDef+"next: &n [{css: a, attr: href}]\ntotal: *n\nempty: &e {texts: [none]}\nindex: {frame: {<<: [*e]}}\n"))
	if err != nil || s.def.Total[0].CSS != "a" || s.def.Index.Frame.Texts[0] != "none" {
		t.Errorf("aliases and merges: %v", err)
	}
}

func TestSource(t *testing.T) {
	s, err := Parse("small.yaml", []byte(smallDef))
	noError(t, err)
	pl := yp.Place{City: "St. Louis", CitySlug: "saint-louis-mo", State: "MO", Category: "Auto Repair & Service", CategorySlug: "auto-repair-service"}
	t.Run("TargetURL", func(t *testing.T) {
		const dir = "https://dir.example.com/us/c/auto-repair-service/"
		for page, want := range map[int]string{0: dir + "1/saint-louis-mo?s=1", 1: dir + "1/saint-louis-mo?s=1", 2: dir + "2/saint-louis-mo?p=2&s=1"} {
			storetest.Equal(t, s.TargetRequest(pl, Position{Page: page}).URL, want, "page", page)
		}
		if r, ok := s.SearchRequest(pl, Position{Page: 1}); ok {
			t.Errorf("a search URL from nowhere: %s", r.URL)
		}
	})
	t.Run("Yellowpages", func(t *testing.T) {
		y := builtin(t, "yellowpages")
		if got, want := y.TargetRequest(pl, Position{Page: 1}).URL, "https://www.yellowpages.com/saint-louis-mo/auto-repair-service"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got, want := y.TargetRequest(pl, Position{Page: 3}).URL, "https://www.yellowpages.com/saint-louis-mo/auto-repair-service?page=3"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		got, ok := y.SearchRequest(pl, Position{Page: 2})
		want := "https://www.yellowpages.com/search?search_terms=Auto+Repair+%26+Service&geo_location_terms=St.+Louis%2C+MO&page=2"
		if !ok || got.URL != want {
			t.Errorf("got %s, want %s", got.URL, want)
		}
		if y.Name() != "yellowpages" || y.PageCap() != 100 || y.DefaultDelay() != 2*time.Second || y.PlacesPerState() != 0 || len(y.Categories()) != 0 {
			t.Errorf("defaults: %s %d %s %d %v", y.Name(), y.PageCap(), y.DefaultDelay(), y.PlacesPerState(), y.Categories())
		}
	})
	t.Run("Demo", func(t *testing.T) {
		d := builtin(t, "demo")
		if d.Name() != "demo" || d.DefaultDelay() != 0 || d.PlacesPerState() != 40 || len(d.Categories()) != 5 || d.PageCap() != 100 {
			t.Errorf("defaults: %s %s %d %v %d", d.Name(), d.DefaultDelay(), d.PlacesPerState(), d.Categories(), d.PageCap())
		}
		if !strings.Contains(string(d.YAML()), "extends: yellowpages") {
			t.Errorf("YAML: %s", d.YAML())
		}
		if p := parse(t, d, siteHTML(aCard), "http://127.0.0.1:8080/a/b", 200); p.Outcome != OK {
			t.Errorf("got %v: %s", p.Outcome, p.Reason)
		}
	})
	t.Run("WithBaseURL", func(t *testing.T) {
		moved := s.WithBaseURL(&url.URL{Scheme: "http", Host: "localhost:99", Path: "/x/", RawQuery: "q=1"})
		if got, want := moved.TargetRequest(pl, Position{Page: 1}).URL, "http://localhost:99/x/c/auto-repair-service/1/saint-louis-mo?s=1"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if s.BaseURL().Host != "dir.example.com" || moved.BaseURL().String() != "http://localhost:99/x/" {
			t.Errorf("base URLs: %s, %s", s.BaseURL(), moved.BaseURL())
		}
	})
	t.Run("BaseURLIsACopy", func(t *testing.T) {
		s.BaseURL().Host = "changed"
		if s.BaseURL().Host == "changed" {
			t.Error("the base URL was changed from outside")
		}
	})
	t.Run("Builtins", func(t *testing.T) {
		for _, name := range Builtins() {
			storetest.Equal(t, builtin(t, name).Name(), name, "calls itself")
		}
		if _, err := Builtin("../x"); !errors.Is(err, ErrNoSource) {
			t.Errorf("got %v, want ErrNoSource", err)
		}
	})
}

// TestWebsite tells businesses' own sites from the directory's links.
func TestWebsite(t *testing.T) {
	s := builtin(t, "yellowpages")
	for href, want := range map[string]string{
		"//acme.com/menu/":                    "https://acme.com/menu",
		"https://www.yellowpages.com/x":       "",
		"http://yellowpages.com":              "",
		"https://corporate.yellowpages.com/x": "",
		"https://notyellowpages.com":          "https://notyellowpages.com",
		"/redirect?u=http://acme.com":         "",
		"acme.com":                            "",
	} {
		p := parse(t, s, siteHTML(`<div class="result" data-ypid="1"><a class="business-name">A</a><a class="track-visit-website" href="`+href+`">w</a></div>`), srp, 200)
		if l := p.Listings[0]; l.Website != want || (l.WebsiteURL != "") != (want != "") || (l.Domain != "") != (want != "") {
			t.Errorf("%q: got %q %q %q, want %q", href, l.WebsiteURL, l.Website, l.Domain, want)
		}
	}
}

func FuzzParseDefinition(f *testing.F) {
	f.Add(smallDef)
	for _, name := range Builtins() {
		f.Add(string(builtin(f, name).YAML()))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f.yaml", []byte(text))
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if _, err := url.Parse(s.TargetRequest(yp.Place{CitySlug: "a-il", CategorySlug: "b"}, Position{Page: 2}).URL); err != nil {
			t.Errorf("target URL: %v", err)
		}
		if _, err := s.ParsePage([]byte(siteHTML(aCard)), nil, 200); err != nil {
			t.Error(err)
		}
	})
}
