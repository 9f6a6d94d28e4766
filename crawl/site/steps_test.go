package site

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// storebookDef reads listings from JSON and other codes in attributes.
const storebookDef = `name: storebook
base_url: https://www.storebook.example
urls:
  target: /{city_slug}/{category_slug}?page={page}
chrome:
  selectors: ["#storebook"]
cards:
  organic: [.store]
total: [{css: .count, attr: data-list, json: page.total, steps: [{replace: ['.', '']}]}]
shown: [{css: .count, attr: data-list, json: 'page.shown.#.to', steps: [{match: '(.*)'}, {replace: ['7', '1-7']}]}]
fields:
  id: {attr: data-store, json: store.id, steps: [{replace: ['.', '-']}]}
  name: {attr: data-store, json: 'store.names.#(lang=="en").v', steps: [{decode: html}]}
  phone: {attr: data-store, json: 'store.contact.#(type=="phone").v'}
  street: {css: .street, attr: data-street, steps: [{decode: percent}]}
  city: {attr: data-store, json: 'store.geo\.city'}
  state: {attr: data-store, json: store.state}
  website: {attr: data-web, steps: [{decode: base64}]}
  categories: {attr: data-store, json: store.tags, all: true}
  rating: {attr: data-store, json: store.score, steps: [{scale: 0.05}]}
  review_count: {attr: data-store, json: store.reviews}
  image_url: {attr: data-store, json: store.img}
`

func storebook(t testing.TB) *Source {
	t.Helper()
	s, err := Parse("storebook.yaml", []byte(storebookDef))
	noError(t, err)
	return s
}

// oneField reads the name of a card by a rule.
func oneField(t *testing.T, rule, card string) string {
	t.Helper()
	s, err := Parse("x.yaml", []byte(strings.Replace(smallDef, "name: h2", "name: "+rule, 1)))
	noError(t, err)
	p := parse(t, s, `<html><body><i class="c"></i><div class="card" data-id="1" `+card+`</div></body></html>`, "https://dir.example.com/us/c/plumbers/1/springfield-il", 200)
	if len(p.Listings) == 0 {
		return ""
	}
	return p.Listings[0].Name
}

// TestAttributeJSON: a rule's json is a path; of one name, it is read as it always was.
func TestAttributeJSON(t *testing.T) {
	for _, c := range []struct{ path, text, want string }{
		{"a.b", `{"a":{"b":"x"}}`, "x"},
		{"a.b", `{"a":{"b":1.10}}`, "1.10"},
		{"a.b", `{"a":{"b":true}}`, "true"},
		{"a.b", `{"a":{"b":null}}`, ""},
		{"a.b", `{"a":{"b":[[],["","x","y"]]}}`, "x"},
		{"a.b", `{"a":{"b":{"c":"x"}}}`, ""},
		{"a.b", `{"a":{"b":"x"}`, ""},
		{"a.b", `{"a":{"b":"x"}},`, ""},
		{"#.n", `[{},{"n":"x"},{"n":"y"}]`, "x"},
		{"0", `["x"]`, "x"},
		{"0", `{"0":"x"}`, "x"},
		{"1.n", `[1,{"n":"x"}]`, "x"},
		{"@this.n", `{"n":"x"}`, ""},
		{"a.@values", `{"a":{"b":"x"}}`, ""},
		{`a\.b`, `{"a.b":"x","a":{"b":"y"}}`, "x"},
		{"a.b", `{"a.b":"x"}`, ""},
		{"a.b", strings.Repeat(" ", maxAttrJSON) + `{"a":{"b":"x"}}`, ""},
		{"a.b", `{"a":{"b":"caf\u00e9"}}`, "café"},
		{"a.b", `{"a":{},"a":{"b":"x"}}`, ""},
		{"n", `{"n":"x",}`, "x"},
		{"n", `/* c */{"n":["x"]}`, "x"},
		{"n", `{"n":true}`, ""},
		{"0", `{"0":"x",}`, "x"},
		{"@n", `{"@n":"x"}`, "x"},
		{"n", `["n"]`, ""},
	} {
		if got := oneField(t, fmt.Sprintf("{attr: data-j, json: '%s'}", c.path), `data-j='`+c.text+`'>`); got != c.want {
			t.Errorf("%s of %.60s: got %q, want %q", c.path, c.text, got, c.want)
		}
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct{ steps, text, want string }{
		{"{decode: base64}", "QWNtZQ==", "Acme"},
		{"{decode: base64}", "QWNtZQ", "Acme"},
		{"{decode: base64}", " QWNt\n ZQ= ", "Acme"},
		{"{decode: base64}", "Plumbing", ""},
		{"{decode: base64}", "Pj4_Pz8-", ">>???>"},
		{"{decode: base64}", "AAAA", ""},
		{"{decode: base64}", "Acme Inc.", ""},
		{"{decode: base64}", "QW=NtZQ", ""},
		{"{decode: percent}", "M%C3%BCller+Co", "Müller+Co"},
		{"{decode: percent}", "100% Acme", ""},
		{"{decode: percent}", "M%FCller", ""},
		{"{decode: percent}", "a%00b", ""},
		{"{decode: json}", `https:\/\/a.example`, "https://a.example"},
		{"{decode: json}", `"M\u00fcller"`, "Müller"},
		{"{decode: json}", "1.10", "1.10"},
		{"{decode: json}", `{"a":1}`, ""},
		{"{decode: json}", "null", ""},
		{"{decode: json}", `a\x`, ""},
		{"{decode: json}", `"a`, ""},
		{"{decode: json}", "[1]", ""},
		{"{decode: html}", "&amp;lt;", "<"},
		{"{decode: percent}, {decode: html}", "Tom%20%26amp%3B%20Jerry", "Tom & Jerry"},
		{"{decode: html}", "a<br>b", "a b"},
		{"{match: '(\\d+)'}", "No. 12, 13", "12"},
		{"{match: 'x'}", "No. 12", ""},
		{"{replace: [',', '.']}", "1,2,3", "1.2.3"},
		{"{replace: ['.', '']}", "a.b", "ab"},
		{"{replace: ['a', '']}", "aaa", ""},
		{"{scale: 0.05}", "83", "4.15"},
		{"{scale: 0.05}", "1e2", "5"},
		{"{scale: 0.001}", "-33868800", "-33868.8"},
		{"{scale: 10}", "1,5", ""},
		{"{scale: 10}", "5 stars", ""},
		{"{scale: 2}", "0x10", ""},
		{"{scale: 2}", "1/2", ""},
		{"{scale: 2}", "1e999999999", ""},
		{"{scale: 2}", "NaN", ""},
		{"{replace: [',', '.']}, {scale: 0.1}", "9,2", "0.92"},
		{"{scale: 0.1}, {replace: ['.', ',']}", "92.0", "9,2"},
		{"{decode: base64}, {match: 'n=(\\w+)'}, {decode: percent}", "P249QWNtZQ==", "Acme"},
		{"{decode: base64}", strings.Repeat("QUFB", maxStepped), ""},
		{"{decode: base64}", base64.StdEncoding.EncodeToString([]byte("<b>Acme</b>\u202e &amp; Co")), "Acme & Co"},
	} {
		if got := oneField(t, "{attr: data-j, steps: ["+c.steps+"]}", `data-j='`+c.text+`'>`); got != c.want {
			t.Errorf("%s of %.60q: got %q, want %q", c.steps, c.text, got, c.want)
		}
	}
	t.Run("match comes first", func(t *testing.T) {
		if got := oneField(t, "{attr: data-j, match: '^x-(.*)$', steps: [{decode: base64}]}", `data-j="x-QWNtZQ">`); got != "Acme" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a text cut off is none", func(t *testing.T) {
		if got := oneField(t, "{css: p, steps: [{decode: base64}]}", "><p>"+strings.Repeat("QUFB", maxText/4+1)+"</p>"); got != "" {
			t.Errorf("got %q", got)
		}
	})
}

// TestStepFaults: what is wrong in steps and paths is told with its place.
func TestStepFaults(t *testing.T) {
	for yaml, want := range map[string]string{
		"{attr: a, json: 'b|c'}":              "x.yaml:11:9: fields.name: json: path \"b|c\": |, * and ? have no meaning here",
		"{attr: a, json: 'b.*'}":              "have no meaning here",
		"{attr: a, json: 'b.01'}":             "can't begin with 0",
		"{attr: a, json: '#(b==\"~x\")'}":     "must not begin with ~",
		"{json: b.c}":                         "json needs attr",
		"{css: a, steps: [{decode: rot13}]}":  `decode: unknown code "rot13": want one of base64, html, json, percent`,
		"{css: a, steps: [{decode: base46}]}": `did you mean "base64"?`,
		"\n    css: a\n    steps:\n      - {match: a}\n      - {match: '('}": "x.yaml:15:9: fields.name.steps[1]: match: error parsing regexp",
		"\n    - h2\n    - css: a\n      steps:\n        - {replace: [a]}":   "x.yaml:15:11: fields.name[1].steps[0]: replace: want two texts",
		"{css: a, steps: [{replace: ['', b]}]}":                              "replace: want two texts",
		"{attr: a, json: b, all: true}":                                      "fields.name: all: only the rules of a field that is a list may have it",
		"{css: a, steps: [{scale: 0}]}":                                      "scale 0: want a positive number to multiply by",
		"{css: a, steps: [{scale: .inf}]}":                                   "scale +Inf: want",
		"{css: a, steps: [{scale: -1}]}":                                     "scale -1: want",
		"{css: a, steps: [{scale: 2, match: a}]}":                            "a step has exactly one of decode, match, replace and scale",
		"{css: a, steps: [{}]}":                                              "a step has exactly one of",
		"{css: a, steps: [{decod: json}]}":                                   `fields.name.steps[0].decod: unknown key "decod": did you mean "decode"?`,
		"{css: a, steps: [base64]}":                                          "x.yaml:11",
		"{css: a, steps: [" + strings.Repeat("{match: a},", 21) + "]}":       "21 steps: want 20 at most",
	} {
		_, err := Parse("x.yaml", []byte(strings.Replace(smallDef, "name: h2", "name: "+yaml, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", yaml, err, want)
		}
	}
}

// TestListsOfSteps: a list of a listing's own page takes each element of a list in JSON, and steps count for it.
func TestListsOfSteps(t *testing.T) {
	for rule, want := range map[string]string{
		"{css: '[data-s]', attr: data-s, json: tags, all: true}":                         "[Drains Boilers]",
		"{css: '[data-s]', attr: data-s, json: tags}":                                    "[Drains]",
		"{css: '[data-s]', attr: data-s, json: 'of.#.n', all: true}":                     "[Leaks Gas Taps]",
		"{css: '[data-s]', attr: data-s, json: 'of.#.n'}":                                "[Leaks]",
		"{css: '[data-s]', attr: data-s, json: tags, all: true, match: '^(B.*)$'}":       "[Boilers]",
		"{css: .coded, steps: [{decode: base64}]}":                                       "[Drains]",
		"{css: '[data-s]', attr: data-s, json: no.such, all: true}":                      "[]",
		"[{css: '[data-s]', attr: data-s, json: none, all: true}, {css: .coded}]":        "[RHJhaW5z]",
		"{css: '[data-s]', attr: data-s, json: tags, all: true, steps: [{match: '^D'}]}": "[D]",
	} {
		def := "detail: {path: '/mip/(\\d+)$', fields: {name: h1, services: " + rule + "}}\n"
		s, err := Parse("x.yaml", []byte(smallDef+def))
		noError(t, err)
		p := parseDetail(t, s, `<html><body><i class="c"></i><h1>Acme</h1><p class="coded">RHJhaW5z</p>
			<p data-s='{"tags":["Drains","Boilers","Drains"],"none":[],"of":[{"n":"Leaks"},{"n":["Gas",["Taps"]]},{"n":null}]}'></p></body></html>`,
			"https://dir.example.com/us/mip/12", 200)
		if got := fmt.Sprint(p.Listings[0].Services); got != want {
			t.Errorf("%s: got %s, want %s (%s)", rule, got, want, p.Reason)
		}
	}
}

// FuzzSteps: no text makes a step fail, and what is kept is bounded.
func FuzzSteps(f *testing.F) {
	steps := make([]step, 0, 8)
	one := 0.001
	for _, d := range []stepDef{
		{Decode: codeBase64}, {Decode: codePercent}, {Decode: codeJSON}, {Decode: codeHTML}, {Match: `(\d+)?.*(x)?`}, {Replace: []string{"a", "bbbb"}}, {Scale: &one},
	} {
		do, err := d.compile(true)
		noError(f, err)
		steps = append(steps, do)
	}
	for i, s := range []string{"QWNtZQ==", "%C3%BC", `"\u00fc"`, "&amp;", "12x", "aaa", "-1.5e3", "\x00", "\ufefffor(;;);1"} {
		f.Add(s, uint32(i))
	}
	f.Fuzz(func(t *testing.T, s string, order uint32) {
		for ; order > 0; order /= 8 {
			if i := int(order % 8); i < len(steps) && len(s) <= maxStepped {
				s = steps[i](s)
			}
		}
		if len(s) > 2*maxStepped {
			t.Errorf("%d bytes", len(s))
		}
	})
}

// TestReadOncePerCard: fields in one attribute parse it once.
func TestReadOncePerCard(t *testing.T) {
	c := cardReader{}
	r := rule{}
	noError(t, r.compileJSON("a.b"))
	text := `{"a":{"b":"x"}}`
	storetest.Equal(t, r.member(&c, text), "x")
	if n := testing.AllocsPerRun(10, func() { r.member(&c, text) }); n > 4 {
		t.Errorf("%v allocations", n)
	}
}
