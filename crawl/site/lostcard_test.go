package site

import (
	"regexp"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

var cardTag = regexp.MustCompile(`<(?:div|article|li) class="(?:result|srp-listing)[^>]*>`)

// TestLostCardTag takes the start tag of each card away, on pages that count their listings
// and on pages that do not: a listing that is lost with it must make the page incomplete.
func TestLostCardTag(t *testing.T) {
	t.Parallel()
	s, lost := builtin(t, "yellowpages"), 0
	read := func(page string) (*Page, map[string]bool) {
		p, err := s.ParsePage([]byte(page), finalURL(t), 200)
		noError(t, err)
		ids := map[string]bool{}
		for i := range p.Listings {
			ids[p.Listings[i].ID] = true
		}
		return p, ids
	}
	for name, page := range seedPages(t) {
		switch name {
		case "inner_ad.html", "unclosed_card.html", "unclosed_cards.html", "unclosed_snippet.html":
			continue // a card is in another one, or two tags are missing
		}
		for way, page := range map[string]string{"counted": page, "uncounted": strings.ReplaceAll(page, "showing-count", "x")} {
			before, had := read(page)
			for _, at := range cardTag.FindAllStringIndex(page, -1) {
				after, has := read(page[:at[0]] + page[at[1]:])
				for id := range had {
					if has[id] || after.Outcome != OK {
						continue
					}
					if lost++; after.Bad <= before.Bad {
						t.Errorf("%s, %s: without %s listing %s is lost in silence (%s)", name, way, page[at[0]:at[1]], id, after.Via)
					}
				}
			}
		}
	}
	if lost < 20 {
		t.Errorf("%d listings lost: the pages tell nothing", lost)
	}
}

// TestLinksOutsideCards: a link to a business of which no card is counts as a card that can't be
// read. One to a business of the page, or to anything else, does not.
func TestLinksOutsideCards(t *testing.T) {
	for name, c := range map[string]struct {
		more string
		bad  int
	}{
		"OtherBusiness": {`<a class="business-name" href="/x-il/mip/n-802">N802</a>`, 1},
		"Twice":         {`<a class="business-name" href="/x-il/mip/n-802">N802</a><a class="business-name" href="/x-il/mip/o-802?lid=1">N802</a>`, 1},
		"AdWithoutPage": {`<a class="business-name" href="">N802</a>`, 1},
		"SameBusiness":  {`<a class="business-name" href="/x-il/mip/n-801?lid=3">N801</a>`, 0},
		"NotAName":      {`<a href="/x-il/mip/n-802">Write the first review</a>`, 0},
		"NoBusiness":    {`<a class="business-name" href="/plumbers">All plumbers</a>`, 0},
		"OtherHost":     {`<a class="business-name" href="https://other.example/x-il/mip/n-802">N802</a>`, 0},
	} {
		bothWays(t, name, resultsMain(`<div class="organic">`+resultCard("")+`</div>`+c.more), func(t *testing.T, p *Page) {
			if p.Bad != c.bad || len(p.Listings) != 1 {
				t.Errorf("%d bad, %d listings; want %d and 1", p.Bad, len(p.Listings), c.bad)
			}
		})
		counted := `<span class="showing-count">Showing 1-2 of 2</span>`
		bothWays(t, name+", counted", resultsMain(counted+`<div class="organic">`+resultCard("")+`</div>`+c.more), func(t *testing.T, p *Page) {
			if p.Bad != 1 || p.Missing != 1 {
				t.Errorf("of two that are counted: %d bad, %d missing; want 1 and 1", p.Bad, p.Missing)
			}
		})
	}
}

// TestMarkOfAnAd: an element that is itself marked is an ad, where others of its kind hold the
// mark in them; it never replaces the organic listing of the same id.
func TestMarkOfAnAd(t *testing.T) {
	ad := func(id, pill string) string {
		return `<div class="result"><div class="paid-listing srp-listing" data-ypid="` + id + `">` + pill +
			`<a class="business-name" href="/nationwide/mip/ad-` + id + `">Ad ` + id + `</a><div class="phone">(800) 555-0` + id + `</div></div></div>`
	}
	const pill = `<span class="ad-pill">Ad</span>`
	body := resultsMain(`<div class="center-ads">` + ad("803", pill) + ad("801", "") + `</div><div class="organic">` + resultCard("") + `</div>`)
	bothWays(t, "of its own id", body, func(t *testing.T, p *Page) {
		var got []string
		for _, l := range p.Listings {
			if got = append(got, l.ID+" "+l.Name); l.Sponsored != (l.ID == "803") {
				t.Errorf("%s: sponsored %t", l.ID, l.Sponsored)
			}
		}
		storetest.Equal(t, strings.Join(got, ", "), "803 Ad 803, 801 N801", "listings")
	})
	flash := strings.NewReplacer(`"result"`, `"result flash-endt"`, "801", "802").Replace(resultCard(""))
	bothWays(t, "flash-endt", resultsMain(`<div class="organic">`+flash+resultCard("")+`</div>`), func(t *testing.T, p *Page) {
		if len(p.Listings) != 2 || !p.Listings[0].Sponsored || p.Listings[1].Sponsored {
			t.Errorf("%+v", p.Listings)
		}
	})
}

func TestLastRules(t *testing.T) {
	for name, c := range map[string]struct {
		html    string
		name    string
		reviews int
	}{
		"NameBehindRank": {`<h2 class="n">12.&nbsp;Acme &amp; Sons</h2>`, "Acme & Sons", 0},
		"NumberAsName":   {`<h2 class="n">24/7 Locksmith</h2>`, "24/7 Locksmith", 0},
		"CountInRating":  {`<h2 class="n">Acme</h2><div class="result-rating four"><span class="count">(1,012)</span></div>`, "Acme", 1012},
		"BadgeInRating":  {`<h2 class="n">Acme</h2><div class="result-rating four"><span class="count">25 Years</span></div>`, "Acme", 0},
	} {
		bothWays(t, name, resultsMain(`<div class="organic"><div class="result" data-ypid="801">`+c.html+`</div></div>`), func(t *testing.T, p *Page) {
			if len(p.Listings) != 1 {
				t.Fatalf("%d listings, %d bad", len(p.Listings), p.Bad)
			}
			if l := p.Listings[0]; l.Name != c.name || l.ReviewCount != c.reviews {
				t.Errorf("got %q, %d reviews; want %q, %d", l.Name, l.ReviewCount, c.name, c.reviews)
			}
		})
	}
	p := parse(t, builtin(t, "yellowpages"), resultsMain(`<div class="organic"><div class="result" data-ypid="801"><h2 class="n">3.</h2></div></div>`), srp, 200)
	if p.Bad != 1 || len(p.Listings) != 0 {
		t.Errorf("a rank passes for a name: %+v", p.Listings)
	}
}
