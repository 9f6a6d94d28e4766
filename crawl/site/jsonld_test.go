package site

import (
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestFillFromJSONLD: what a card takes from the page's JSON-LD, in whichever form that is.
func TestFillFromJSONLD(t *testing.T) {
	s := builtin(t, "yellowpages")
	const (
		card  = `<div id="main-content"><div class="search-results organic"><div class="result" data-ypid="301"><a class="business-name" href="/springfield-il/mip/acme-301">Acme</a></div></div></div>`
		acme  = `{"@type":"Plumber","name":"Acme","url":"/springfield-il/mip/acme-301","telephone":"tel:217-555-0301","address":{"streetAddress":"1 Main St","addressLocality":"Springfield","addressRegion":"IL","postalCode":"62701"}`
		hours = `"openingHoursSpecification":[{"dayOfWeek":["Monday","Tuesday"],"opens":"9:00 AM","closes":"5:00 PM"},{"dayOfWeek":"Friday","opens":"09:00","closes":"12:00","validFrom":"2026-12-24"}]`
	)
	for name, c := range map[string]struct {
		script, hours string
	}{
		"plain":         {`<script type="application/ld+json">` + acme + `}</script>`, ""},
		"charset":       {`<script type="application/ld+json; charset=utf-8">` + acme + `}</script>`, ""},
		"in a list":     {`<script type="application/ld+json">{"@type":"WebPage","mainEntity":{"@type":"ItemList","itemListElement":[{"@type":"ListItem","item":` + acme + `}}]}}</script>`, ""},
		"hours":         {`<script type="application/ld+json">` + acme + `,"openingHours":["Mo-Fr 08:00-17:00"],` + hours + `}</script>`, "Mo-Fr 08:00-17:00"},
		"hours by days": {`<script type="application/ld+json">` + acme + `,` + hours + `}</script>`, "Mo,Tu 09:00-17:00"},
	} {
		page := siteHTML(card + c.script)
		l := parse(t, s, page, srp, 200).Listings[0]
		got := []string{l.Phone, l.PhoneE164, l.Street, l.City, l.State, l.PostalCode, strings.Join(l.Hours, ";")}
		storetest.Diff(t, got, []string{"217-555-0301", "+12175550301", "1 Main St", "Springfield", "IL", "62701", c.hours}, name)
		checkResults(t, s, []byte(page))
	}
}

// TestJSONLDOfOnePage: businesses whose url is that of a card or of the page complete each other.
func TestJSONLDOfOnePage(t *testing.T) {
	s := builtin(t, "yellowpages")
	final := urlOf(t, "https://www.yellowpages.com/s-il/mip/a-400001")
	const (
		url   = `"name":"A","url":"/s-il/mip/a-400001"`
		phone = `,"telephone":"217-555-0101"`
		price = `,"description":"We fix pipes of any kind","priceRange":"$$"}`
	)
	for name, c := range map[string]struct{ script, phone, about string }{
		"person":           {`{"@type":"Person",` + url + phone + `}`, "", ""},
		"no type":          {`{` + url + phone + `}`, "", ""},
		"brief, then full": {`[{"@type":"ItemList","itemListElement":[{"@type":"Plumber",` + url + `}]},{"@type":"Plumber",` + url + phone + price + `]`, "217-555-0101", "We fix pipes of any kind"},
		"two halves":       {`[{"@type":"Plumber",` + url + phone + `},{"@type":"Plumber",` + url + `,"telephone":"217-555-0109"` + price + `]`, "217-555-0101", "We fix pipes of any kind"},
		"owner of a firm":  {`[{"@type":"Person",` + url + phone + `},{"@type":"Plumber",` + url + price + `]`, "", "We fix pipes of any kind"},
	} {
		script := `<script type="application/ld+json">` + c.script + `</script>`
		d, err := s.ParseDetail([]byte(`<html><head>`+script+`</head><body><div id="main-header"></div><main id="bpp" data-ypid="400001"><h1 class="business-name">A</h1></main></body></html>`), final, 200)
		if err != nil || d.OwnListing() == nil || d.OwnListing().Phone != c.phone || d.OwnListing().About != c.about {
			t.Errorf("%s: detail: got %+v, %v", name, d, err)
		}
		l := parse(t, s, siteHTML(`<div class="search-results"><div class="result" data-ypid="400001"><a class="business-name" href="/s-il/mip/a-400001">A</a></div></div>`+script), srp, 200).Listings[0]
		if price := map[bool]string{true: "$$"}[c.about != ""]; l.Phone != c.phone || l.PriceRange != price {
			t.Errorf("%s: card: got %+v", name, l)
		}
	}
}

// TestFillFrom: structured data adds to a card, and replaces nothing of it but hours.
func TestFillFrom(t *testing.T) {
	said := []string{`{"@type": "LocalBusiness", "url": "/mip/a-1", "telephone": "(512) 555-0142", "priceRange": "$$", "openingHours": "Mo-Fr 08:00-17:00",
		"address": {"streetAddress": "1 Elm St", "addressLocality": "Austin", "addressRegion": "TX", "postalCode": "78701"}}`}
	card := func(change func(*yp.Listing)) yp.Listing {
		l := []yp.Listing{{ProfileURL: "https://example.com/mip/a-1"}}
		change(&l[0])
		s := builtin(t, "yellowpages")
		s.fillFromJSONLD(l, said, s.linksAt(urlOf(t, "https://example.com/austin-tx/plumbers")))
		return l[0]
	}
	empty := card(func(*yp.Listing) {})
	if empty.PhoneE164 != "+15125550142" || empty.Street != "1 Elm St" || empty.City != "Austin" || empty.PriceRange != "$$" || len(empty.Hours) != 1 {
		t.Errorf("an empty card: %+v", empty)
	}
	full := card(func(l *yp.Listing) { l.Phone, l.City, l.PriceRange, l.Hours = "call us", "Dallas", "$", []string{"Sa"} })
	if full.Phone != "call us" || full.PhoneE164 != "" || full.Street != "" || full.City != "Dallas" || full.PostalCode != "" || full.PriceRange != "$" || full.Hours[0] == "Sa" {
		t.Errorf("a full card: %+v", full)
	}
	if same := card(func(l *yp.Listing) { l.City = "AUSTIN" }); same.City != "AUSTIN" || same.Street != "1 Elm St" || same.State != "TX" {
		t.Errorf("a card of the same city: %+v", same)
	}
}
