package site

import (
	"fmt"
	"strings"
	"testing"
)

// TestTakeApart: which elements in a card are cards, and what stays with whom.
func TestTakeApart(t *testing.T) {
	s := builtin(t, "yellowpages")
	const end = "</div>"
	card := func(id string) string { return `<div class="result" data-ypid="` + id + `">` }
	ad := func(id string) string { return `<div class="paid-listing" ` + id + `>` }
	name := func(name string) string { return `<a class="business-name">` + name + `</a>` }
	phone := func(n string) string { return `<div class="phone">217 555 000` + n + `</div>` }
	for _, c := range []struct {
		name, body string
		raw, bad   int
		want       string // id, name and phone of each listing
	}{
		{"an unclosed card holds the next one", card("1") + name("A") + card("2") + name("B") + phone("2"), 2, 0, "1 A , 2 B 217 555 0002"},
		{"a bad card that is not closed is no part of the next one", card("1") + card("2") + name("B") + end, 2, 1, "2 B "},
		{"nor is the next one, when it is bad", card("1") + name("A") + card("2") + phone("2"), 2, 1, "1 A "},
		{
			"what follows the next card is not the first one's",
			card("1") + name("A") + card("2") + name("B") + end + phone("9"), 2, 0, "1 A , 2 B ",
		},
		{
			"an ad in a card is an insertion",
			card("1") + name("A") + ad(`data-ypid="2"`) + name("B") + end + phone("1") + end, 2, 0, "1 A 217 555 0001, 2 B  ad",
		},
		{
			"an ad that tells its id in another way is one, too", card("1") + name("A") + ad(`data-analytics='{"ypid":"2"}'`) + name("B") + phone("2") + end + end +
				card("3") + name("C") + `<article class="srp-listing diamond-listing" data-ypid="4">` + name("D") + phone("4") + "</article>" + end,
			4, 0, "1 A , 2 B 217 555 0002 ad, 3 C , 4 D 217 555 0004 ad",
		},
		{
			"an element of a card's name in it, without id and name, is its content",
			card("1") + name("A") + `<div class="result">` + phone("1") + end + end, 1, 0, "1 A 217 555 0001",
		},
		{"a wrapper of the same id is the card", card("1") + phone("1") + card("1") + name("A") + end + end, 1, 0, "1 A 217 555 0001"},
		{
			"a wrapper without id and name is none",
			`<div class="result">` + card("1") + name("A") + end + card("2") + name("B") + end + end, 2, 0, "1 A , 2 B ",
		},
		{
			"an inner box of the same id, without a name, is the card's content", card("1") + name("A") +
				`<div class="srp-listing" data-ypid="1">` + phone("1") + end + card("1") + `<div class="adr">1 Main St</div>` + end + end, 1, 0, "1 A 217 555 0001",
		},
		{
			"an ad's inner box is no second card", `<section class="featured-listings">` + card("1") + `<div class="srp-listing">` +
				name("A") + phone("1") + end + end + "</section>", 1, 0, "1 A 217 555 0001 ad",
		},
	} {
		p := parse(t, s, siteHTML(`<div id="main-content"><div class="search-results organic">`+c.body+"</div></div>"), srp, 200)
		var got []string
		for _, l := range p.Listings {
			text := l.ID + " " + l.Name + " " + l.Phone
			if l.Sponsored {
				text += " ad"
			}
			got = append(got, text)
		}
		if all := strings.Join(got, ", "); all != c.want || p.Raw != c.raw || p.Bad != c.bad {
			t.Errorf("%s: got %q in %d cards, %d bad; want %q in %d, %d", c.name, all, p.Raw, p.Bad, c.want, c.raw, c.bad)
		}
	}
	t.Run("thirty cards behind an unclosed one", func(t *testing.T) {
		whole := resultsPage(30, 1)
		for cut := range 30 {
			at := strings.Index(whole, fmt.Sprintf(`data-ypid="%d"`, 400000+cut))
			end := at + strings.Index(whole[at:], "</div>\n</div>\n")
			if end < at {
				end = at + strings.Index(whole[at:], "</div></div></div></div>\n")
			}
			p := parse(t, s, whole[:end]+whole[end+len("</div>"):], srp, 200)
			if len(p.Listings) != 30 || p.Bad != 0 || p.NextURL == "" {
				t.Fatalf("card %d unclosed: %d listings, %d bad, next %q", cut, len(p.Listings), p.Bad, p.NextURL)
			}
		}
	})
	t.Run("cards that are no more than a tag", func(t *testing.T) {
		own := yellowWith(t, "cards: {organic: [li], sponsored: [], sponsored_marks: []}")
		p := parse(t, own, siteHTML(`<ul class="search-results"><li data-ypid="1"><a class="business-name">A</a><ul class="categories"><li><a>Plumbers</a></li><li><a>Drains</a></li></ul></li></ul>`), srp, 200)
		if p.Raw != 1 || len(p.Listings) != 1 || len(p.Listings[0].Categories) != 2 {
			t.Errorf("got %d cards, %+v", p.Raw, p.Listings)
		}
	})
}

// TestUnclosedAds: a container of ads without an end tag makes no ads of the cards behind
// it, on a page that does not count what it shows.
func TestUnclosedAds(t *testing.T) {
	card := func(id int, more string) string {
		return fmt.Sprintf(`<div class="result" data-ypid="%d"><a class="business-name">B</a>%s</div>`, id, more)
	}
	body := `<div id="main-content"><div class="search-results center-ads">` + card(1, `<span class="ad-pill">Ad</span>`) + card(2, "") + card(3, "") + `</div>`
	p := parse(t, builtin(t, "yellowpages"), siteHTML(body), srp, 200)
	if len(p.Listings) != 3 || !p.Listings[0].Sponsored || p.Listings[1].Sponsored || p.Listings[2].Sponsored {
		t.Errorf("got %+v, want one ad and two organic listings", p.Listings)
	}
	for i, l := range parse(t, builtin(t, "yellowpages"), siteHTML(strings.ReplaceAll(body, "ad-pill", "x")), srp, 200).Listings {
		if !l.Sponsored {
			t.Errorf("listing %d of a container whose ads bear no mark is organic", i)
		}
	}
}

// TestAdsCountedAlong: a site that counts the ads of a page as shown has no complete page,
// and none whose layout is unknown.
func TestAdsCountedAlong(t *testing.T) {
	card := func(class string, n int) string {
		return fmt.Sprintf(`<div class="%s" data-ypid="%d"><a class="business-name" href="/x-il/mip/b-%d">B%d</a></div>`, class, n, n, n)
	}
	var ads, organic strings.Builder
	for n := range 6 {
		ads.WriteString(card("result", 100+n))
	}
	for n := range 24 {
		organic.WriteString(card("result", 200+n))
	}
	p := parse(t, builtin(t, "yellowpages"), siteHTML(`<div id="main-content"><span class="showing-count">Showing 1-30 of 1,108</span><div class="search-results center-ads">`+
		ads.String()+`</div><div class="search-results organic">`+organic.String()+`</div></div>`), srp, 200)
	if p.Raw != 30 || p.Missing != 6 || p.Announced != 30 {
		t.Errorf("%d cards, %d missing of %d announced, want 30, 6, 30", p.Raw, p.Missing, p.Announced)
	}
}
