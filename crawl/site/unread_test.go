package site

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestUnread checks that the reasons for which cards can't be read are told, each with the text that shows which
// one it is.
func TestUnread(t *testing.T) {
	body, err := os.ReadFile(filepath.Join(pagesDir, "odd_ids.html"))
	noError(t, err)
	const shown = `<span class="showing-count">Showing 1-3 of 9</span>`
	ad := `<section class="featured-listings">` + strings.ReplaceAll(resultCard(""), "801", "899") + `</section>`
	for name, c := range map[string]struct{ body, want, cards string }{
		"NoIDAndNoName": {string(body), "2 no id, 1 no name, 2 announced but not shown", "no id: Nobody knows; no id: Nor here; no name: Name is missing"},
		"NoCard": {
			resultsMain(`<div class="organic">` + resultCard("") + `</div><a class="business-name" href="/x-il/mip/n-802">N802</a>`),
			"1 a link outside of any card", "a link outside of any card: N802",
		},
		"NotShown":   {resultsMain(shown + `<div class="organic">` + resultCard("") + `</div>`), "2 announced but not shown", ""},
		"PerhapsAds": {resultsMain(shown + ad + `<div class="organic">` + resultCard("") + `</div>`), "1 announced but not shown, 1 announced, perhaps an ad", ""},
	} {
		bothWays(t, name, c.body, func(t *testing.T, p *Page) { checkUnread(t, p, c.want, c.cards) })
	}
}

// TestUnreadEntries checks it of structured data.
func TestUnreadEntries(t *testing.T) {
	p := parse(t, prairie(t), `<script type="application/ld+json">[{"@type":"Plumber","url":"/biz/a-400001","name":"A"},
		{"@type":"Plumber","name":"Nowhere"},{"@type":"Plumber","url":"/biz/c-400003","telephone":"217 555 0103"},
		{"@type":"Plumber","name":"B","identifier":"x"},{"@type":"Plumber","name":"C","identifier":"x"}]</script>`, prairieList, 200)
	checkUnread(t, p, "1 no id, 1 no name, 1 same id as another", "no id: Nowhere; no name: 400003; same id as another: C")
}

func checkUnread(t *testing.T, p *Page, want, cards string) {
	t.Helper()
	var got []string
	for _, c := range p.UnreadCards {
		got = append(got, c.Why.String()+": "+c.Excerpt)
	}
	sum := 0
	for _, n := range p.Unread {
		sum += n
	}
	storetest.Equal(t, p.Unread.Text(), want)
	storetest.Equal(t, strings.Join(got, "; "), cards)
	storetest.Equal(t, p.Bad, sum)
}

// TestUnreadBounds checks that a page of many unreadable cards keeps the texts of a few.
func TestUnreadBounds(t *testing.T) {
	card := `<div class="result"><a class="business-name">` + strings.Repeat("Long ", 100) + `</a></div>`
	bothWays(t, "many", resultsMain(`<div class="organic">`+resultCard("")+strings.Repeat(card, 500)+`</div>`), func(t *testing.T, p *Page) {
		long := slices.ContainsFunc(p.UnreadCards, func(c UnreadCard) bool { return len(c.Excerpt) > maxExcerpt })
		if p.Unread[NoID] != 500 || len(p.UnreadCards) != maxUnread || long {
			t.Errorf("%d without an id, %d of them kept, too long: %t", p.Unread[NoID], len(p.UnreadCards), long)
		}
	})
}

// TestOddDetails checks that the path of a listing's own page gives the id that its card has, whatever it is, and that an id in other
// words on the page is no other listing's.
func TestOddDetails(t *testing.T) {
	s, err := Parse("odd.yaml", []byte(`name: odd
base_url: https://dir.example
urls: {target: "/{city_slug}/{category_slug}/{page}"}
chrome: {selectors: ["#head"]}
cards: {organic: [.firm]}
fields: {id: {attr: data-id}, name: h2, profile_url: {css: a, attr: href}}
detail:
  path: '/biz/(.+?)/?$'
  fields: {id: .number, name: h1}
`))
	noError(t, err)
	for path, c := range map[string]struct{ id, number string }{
		"b%C3%A4ckerei-m%C3%BCller": {"bäckerei-müller", ""},
		"123/acme":                  {"123/acme", ""}, "123%2Facme": {"123/acme", "123/acme"},
		"a+b": {"a+b", ""}, "1000~2": {"1000~2", ""}, "a%20b": {"a b", "a   b"}, "12": {"12", "No. 12 a"},
		strings.Repeat("x", 100): {yp.Identifier(strings.Repeat("x", 100)), strings.Repeat("x", 100)},
	} {
		p := parseDetail(t, s, `<html><body><div id="head"></div><h1>Acme</h1><p class="number">`+c.number+`</p></body></html>`, "https://dir.example/biz/"+path, 200)
		if p.OwnListing() == nil {
			t.Errorf("%s: %s", path, p.Reason)
			continue
		}
		storetest.Equal(t, p.OwnListing().ID, c.id, path)
		text := c.id
		if len(path) > yp.MaxID {
			text = path
		}
		page := parse(t, s, `<html><body><div id="head"></div><div class="firm" data-id="`+text+`"><h2>A</h2></div><a href="/biz/`+path+`">A</a></body></html>`, "https://dir.example/austin-tx/plumbers/1", 200)
		storetest.Equal(t, page.Bad, 0, path)
	}
	other := parseDetail(t, s, `<html><body><div id="head"></div><h1>Acme</h1><p class="number">b+c</p></body></html>`, "https://dir.example/biz/a+b", 200)
	storetest.Equal(t, other.Reason, "the page is that of listing b+c, not of a+b")
}

// TestOddIdentifiers checks that any text that an entry of structured data gives is its id where it has no other, and that a
// register's number does not take the place of the page.
func TestOddIdentifiers(t *testing.T) {
	p := parse(t, prairie(t), `<script type="application/ld+json">[{"@type":"Plumber","name":"A","identifier":"bäckerei-müller"},
		{"@type":"Plumber","name":"B","identifier":{"@type":"PropertyValue","name":"Number in the register","value":"123/acme"}},
		{"@type":"Plumber","name":"C","identifier":"HRB 12","url":"/biz/c"},
		{"@type":"Plumber","name":"D","identifier":"a\u0001b"},{"@type":"Plumber","name":"E","identifier":"ab"},
		{"@type":"Plumber","name":"F","telephone":"217 555 0100","identifier":"1 a"},{"@type":"Plumber","name":"F","telephone":"217 555 0100","identifier":"1 b"}]</script>
		<div itemscope itemtype="https://schema.org/Plumber" data-id="1000~2"><span itemprop="name">G</span></div>`, prairieList, 200)
	var got []string
	for _, l := range p.Listings {
		got = append(got, l.Name+" "+l.ID)
	}
	storetest.Equal(t, strings.Join(got, ", "), "A bäckerei-müller, B 123/acme, C /biz/c, D ab~82d34c7d68cf28219ce4ab8dd592d88d, E ab, F 1 a, F 1 b, G 1000~2")
}
