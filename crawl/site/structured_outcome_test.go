package site

import (
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// TestStructuredOutcomes checks that the rules of outcome.go hold for sources
// without selectors.
func TestStructuredOutcomes(t *testing.T) {
	const (
		acme  = `<script type="application/ld+json">{"@type":"Plumber","name":"Acme","url":"/biz/acme-400001"}</script>`
		bad   = `<script type="application/ld+json">{"@type":"Plumber","name":"Acme"}</script>`
		empty = `<p>Sorry, no results found.</p>`
	)
	framed := func(s string) string { return `<html><body><header id="pd-header"></header>` + s + "</body>" }
	for _, c := range []struct {
		name, body, final string
		status            int
		want              Outcome
	}{
		{"3 homepage", framed(acme), "https://dir.example.com/", 200, Redirected},
		{"4 listings need no chrome", acme, prairieList, 200, OK},
		{"5 words", framed(empty), prairieList, 200, NoListings},
		{"6 bad businesses", framed(bad), prairieList, 200, HTMLChanged},
		{"6 next link", framed(`<a rel="next" href="?page=2">2</a>`), prairieList, 200, HTMLChanged},
		{"7 no chrome", empty, prairieList, 200, Unrecognised},
	} {
		if p := parse(t, prairie(t), c.body, c.final, c.status); p.Outcome != c.want || p.Reason == "" {
			t.Errorf("%s: got %v (%q), want %v", c.name, p.Outcome, p.Reason, c.want)
		}
	}
}

func TestStructuredDefinition(t *testing.T) {
	with := func(s string) string { return strings.Replace(prairieDef, "structured: true", s, 1) }
	ld := `<div itemscope itemtype="https://schema.org/Plumber"><a itemprop="name" href="/biz/card-400001">Card</a></div>
<script type="application/ld+json">[{"@type":"Plumber","name":"Acme","url":"/biz/acme-400002"},{"@type":"Guild","name":"Guild","url":"/biz/guild-400003"}]</script>`
	t.Run("Forms", func(t *testing.T) {
		for def, want := range map[string]string{
			"structured: true":                              "400002 400001",
			"structured: {}":                                "400002 400001",
			"structured: {forms: [microdata]}":              "400001",
			"structured: {forms: [jsonld], types: [Guild]}": "400002 400003",
		} {
			s, err := Parse("x", []byte(with(def)))
			noError(t, err)
			var ids []string
			for _, l := range parse(t, s, ld, prairieList, 200).Listings {
				ids = append(ids, l.ID)
			}
			storetest.Equal(t, strings.Join(ids, " "), want, def)
		}
	})
	t.Run("ExtendsAndSwitchedOff", func(t *testing.T) {
		for def, want := range map[string]Outcome{"true": HTMLChanged, "false": OK} {
			if p := parse(t, yellowWith(t, "structured: "+def), siteHTML(aCard), srp, 200); p.Outcome != want {
				t.Errorf("structured: %s: got %v, want %v", def, p.Outcome, want)
			}
		}
	})
	for def, want := range map[string]string{
		"structured: [jsonld]":         "x:3: unexpected seq: want another type of value",
		"structured: {form: [jsonld]}": `x:3:14: structured.form: unknown key "form": did you mean "forms"?`,
		"structured: {forms: [rdfa]}":  `x:3:22: structured.forms[0]: unknown form "rdfa": want one of jsonld, microdata`,
		"structured: maybe":            "x:3: unexpected str `maybe`: want another type of value",
		"structured: false":            "x: cards.organic",
	} {
		t.Run(def, func(t *testing.T) {
			if _, err := Parse("x", []byte(with(def))); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// TestStructuredTotalAndNext checks that a definition's own rules for the
// total and the next link come before the general ones.
func TestStructuredTotalAndNext(t *testing.T) {
	s, err := Parse("x", []byte(prairieDef+"total: [{css: .count, match: 'of ([0-9,]+)'}]\nnext: [{css: a.on, attr: href}]\n"))
	noError(t, err)
	const body = `<p class="count">1-30 of 1,108</p><a rel="next" href="?page=3">3</a><a class="on" href="?page=2">2</a>
<script type="application/ld+json">{"@type":"Plumber","name":"Acme","url":"/biz/acme-400001"}</script>`
	if p := parse(t, s, body, prairieList, 200); p.SiteTotal != 1108 || p.NextURL != prairieList+"?page=2" {
		t.Errorf("total %d, next %s", p.SiteTotal, p.NextURL)
	}
	for name, c := range map[string]struct{ html, want string }{
		"LinkBeforeAnchor":     {`<a rel="next" href="?page=3">n</a><link rel="next" href="?page=2">`, "?page=2"},
		"RelBeforeClass":       {`<a class="next" href="?page=3">n</a><a rel="nofollow next" href="?page=2">n</a>`, "?page=2"},
		"OtherHostIsNone":      {`<a rel="next" href="https://other.example.com/?page=2">n</a>`, ""},
		"SamePageIsNone":       {`<a rel="next" href="#">n</a>`, ""},
		"NextThatWorksIsTaken": {`<a class="next" href="javascript:void(0)">slide</a><a class="next" href="?page=2">n</a>`, "?page=2"},
		"Label":                {`<a aria-label="Next page" href="?page=2">2</a>`, "?page=2"},
		"TextInPagination":     {`<div class="pagination-list"><a href="?page=2">Next &raquo;</a></div>`, "?page=2"},
		"ArrowInPagination":    {`<ul id="pager"><a href="?page=2">»</a></ul>`, "?page=2"},
		"TextElsewhereIsNone":  {`<p><a href="?page=2">Next</a></p>`, ""},
		"BelowThePageIsTaken":  {`<a rel="next" href="/springfield-il/plumbers/page/2">n</a>`, "/page/2"},
		"ElsewhereIsNone":      {`<link rel="next" href="/blog/how-to-choose"><a class="next" href="/gallery?slide=2">n</a>`, ""},
		"ElsewhereIsPassed":    {`<link rel="next" href="/blog/how-to-choose"><a class="next" href="?page=2">n</a>`, "?page=2"},
	} {
		want := c.want
		if want != "" {
			want = prairieList + want
		}
		if p := parse(t, prairie(t), c.html, prairieList, 200); p.NextURL != want {
			t.Errorf("%s: got %q, want %q", name, p.NextURL, want)
		}
	}
}

// TestNextLeadsOn: where a next link of a source with structured data may lead that nobody names.
func TestNextLeadsOn(t *testing.T) {
	const host = "https://dir.example.com"
	for _, c := range []struct {
		target, at, next string
		want             bool
	}{
		{"/{category_slug}-in-{city_slug}.html?p={page}", "/plumbers-in-springfield-il.html", "/plumbers-in-springfield-il-2.html", true},
		{"/{category_slug}-in-{city_slug}.html?p={page}", "/plumbers-in-springfield-il.html", "/plumbers-in-springfield-il/2", true},
		{"/{category_slug}-{page}.html", "/plumbers-1.html", "/plumbers-2.html", true},
		{"/{category_slug}-{page}.html", "/plumbers-1.html", "/painters-2.html", false},
		{"/search?q={category}&p={page}", "/search?q=Plumbers", "/news?p=2", false},
		{"/{city_slug}?p={page}\n  search: '/find?q={category}'", "/springfield-il", "/find?q=Plumbers&p=2", true},
	} {
		s, err := Parse("x", []byte(strings.Replace(prairieDef, "/{city_slug}/{category_slug}?page={page}", c.target, 1)))
		noError(t, err)
		p := parse(t, s, `<a rel="next" href="`+c.next+`">n</a>`, host+c.at, 200)
		storetest.Equal(t, p.NextURL == host+c.next, c.want, c.next, c.at, p.NextURL, p.Reason)
	}
}

// TestStructuredBounds checks that hostile pages cost little and yield little.
func TestStructuredBounds(t *testing.T) {
	script := func(s string) string { return `<script type="application/ld+json">` + s + `</script>` }
	many := func(n int, s string) string { return strings.Repeat(s+",", n-1) + s }
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"ManyTokens":             {script("[" + many(50_000, "[]") + "]"), 0},
		"ReferencesInACircle":    {script(`{"@graph":[{"@id":"a","@type":"ItemList","itemListElement":{"@id":"b"}},{"@id":"b","@type":"ItemList","itemListElement":[{"@id":"a"},{"@id":"b"}]}]}`), 0},
		"AddressOfItself":        {script(`{"@type":"Plumber","@id":"/biz/a-400001","name":"A","address":{"@id":"/biz/a-400001"},"location":{"@id":"/biz/a-400001"}}`), 1},
		"LongPathIsCut":          {script(`{"@type":"Plumber","name":"A","url":"/` + strings.Repeat("a", 1500) + `"}`), 1},
		"LongIdentifierIsHashed": {script(`{"@type":"Plumber","name":"A","identifier":"` + strings.Repeat("9", 65) + `"}`), 1},
		"MarkupWithoutAnEnd":     {script(strings.Repeat("<!-- ", 100_000)), 0},
		"EntitiesThatBurst":      {script(`{"@type":"Plumber","url":"/b/1","name":"` + strings.Repeat("&amp;", 5000) + `"}`), 1},
		"ManyMicrodataSiblings":  {"<ul>" + strings.Repeat(`<li itemscope itemtype="Plumber">x</li>`, 20_010) + "</ul>", 0},
	} {
		p := parse(t, prairie(t), c.body, prairieList, 200)
		checkStructured(t, p)
		storetest.Equal(t, len(p.Listings), c.want, "listings", name)
	}
}

// TestIgnored: what a definition says of cards is not read beside structured data, and it is told.
func TestIgnored(t *testing.T) {
	const head = "name: x\nbase_url: https://x.example\nurls: {target: '/{city_slug}?p={page}'}\nchrome: {texts: [x]}\n"
	for text, want := range map[string]string{
		"structured: true":                                      "",
		"structured: true\ncards: {organic: [.c]}":              "cards",
		"structured: {forms: [jsonld]}\nfields: {name: h2}":     "fields",
		"cards: {organic: [.c]}\nfields: {id: .i, name: h2}":    "",
		"extends: yellowpages\nname: y\nstructured: true\n":     "",
		"extends: demo\nname: y\nstructured: true\ncards: {}\n": "cards",
	} {
		if !strings.HasPrefix(text, "extends") {
			text = head + text
		}
		s, err := Parse("x.yaml", []byte(text))
		noError(t, err)
		storetest.Equal(t, strings.Join(s.Ignored(), " "), want, text)
	}
}
