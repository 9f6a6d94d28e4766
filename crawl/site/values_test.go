package site

import (
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// valuesDef is a source whose cards have their values in plain elements.
const valuesDef = `name: values
base_url: https://www.yellowpages.com
urls: {target: '/{city_slug}/{category_slug}?page={page}'}
chrome: {titles: [The Real Yellow Pages]}
cards: {organic: [.card]}
total: [{css: .total, match: 'of ([0-9.,]+)'}]
fields:
  id: {attr: data-id}
  name: b
  phone: .phone
  street: .street
  locality: .locality
  state: .state
  postal_code: .zip
  address: .address
  rating: [.rating, {css: .of10, scale: 10}]
  review_count: [.reviews, {css: .raw, match: '(\d[\d.,]*)'}, {css: .cut, match: '(\d{3}) results'}]
`

// valuesOf reads a card of a source whose definition says more.
func valuesCard(t *testing.T, more, card string) yp.Listing {
	t.Helper()
	s, err := Parse("values.yaml", []byte(valuesDef+more))
	noError(t, err)
	p := parse(t, s, siteHTML(`<div class="card" data-id="1"><b>Acme</b>`+card+`</div>`), srp, 200)
	if len(p.Listings) != 1 {
		t.Fatalf("%s: %d listings", card, len(p.Listings))
	}
	return p.Listings[0]
}

// TestCardValues: ratings, counts, phones and postal codes are what the card says, or absent.
func TestCardValues(t *testing.T) {
	for html, want := range map[string]yp.Listing{
		`<i class="rating">4.7</i>`:                    {Rating: 4.7},
		`<i class="rating">4.7 out of 5</i>`:           {Rating: 4.7},
		`<i class="rating">4,7</i>`:                    {Rating: 4.7},
		`<i class="rating">9.2/10</i>`:                 {Rating: 4.6},
		`<i class="rating">9.2</i>`:                    {},
		`<i class="of10">9.2</i>`:                      {Rating: 4.6},
		`<i class="of10">4 out of 5</i>`:               {Rating: 4},
		`<i class="reviews">1.2K</i>`:                  {ReviewCount: 1200},
		`<i class="reviews">1.234</i>`:                 {ReviewCount: 1234},
		`<i class="reviews">1&nbsp;470 avis</i>`:       {ReviewCount: 1470},
		`<i class="reviews">1&#8239;470 avis</i>`:      {ReviewCount: 1470},
		`<i class="reviews">(12)</i>`:                  {ReviewCount: 12},
		`<i class="reviews">4.7</i>`:                   {},
		`<i class="raw">1.2K reviews</i>`:              {ReviewCount: 1200},
		`<i class="raw">12K reviews</i>`:               {ReviewCount: 12000},
		`<i class="raw">1 470 reviews</i>`:             {ReviewCount: 1470},
		`<i class="of10">four half</i>`:                {Rating: 4.5},
		`<i class="rating">20% off</i>`:                {},
		`<i class="reviews">5 stars</i>`:               {},
		`<i class="reviews">1'23</i>`:                  {},
		`<i class="cut">1,234 results</i>`:             {ReviewCount: 1234},
		`<i class="cut">1 234 results</i>`:             {},
		`<i class="zip">-02134</i>`:                    {},
		`<i class="zip">021341234</i>`:                 {PostalCode: "02134-1234"},
		`<i class="zip">MA 02134</i>`:                  {PostalCode: "02134"},
		`<i class="zip">02134 USA</i>`:                 {PostalCode: "02134"},
		`<i class="zip">02134&#8209;1234</i>`:          {PostalCode: "02134-1234"},
		`<i class="zip">０２１３４</i>`:                     {PostalCode: "02134"},
		`<i class="zip">0213412345</i>`:                {},
		`<i class="phone">２０２-555-0123</i>`:            {Phone: "２０２-555-0123", PhoneE164: "+12025550123"},
		`<i class="phone">001-202-555-0123</i>`:        {Phone: "001-202-555-0123", PhoneE164: "+12025550123"},
		`<i class="phone">+49 30 123456</i>`:           {Phone: "+49 30 123456", PhoneE164: "+4930123456"},
		`<i class="phone">011 49 30 123456</i>`:        {Phone: "011 49 30 123456", PhoneE164: "+4930123456"},
		`<i class="phone">12 34 56</i>`:                {Phone: "12 34 56"},
		`<i class="locality">Boston, MA 021341234</i>`: {City: "Boston", State: "MA", PostalCode: "02134-1234"},
	} {
		storetest.Diff(t, valuesCard(t, "", html), with(want), html)
	}
	for html, want := range map[string]yp.Listing{
		`<i class="phone">347 234 5678</i>`:    {Phone: "347 234 5678", PhoneE164: "+393472345678"},
		`<i class="phone">06 1234 5678</i>`:    {Phone: "06 1234 5678", PhoneE164: "+390612345678"},
		`<i class="phone">1234 5678</i>`:       {Phone: "1234 5678"},
		`<i class="phone">+1 347 234 5678</i>`: {Phone: "+1 347 234 5678", PhoneE164: "+13472345678"},
		`<i class="phone">00 49 30 123456</i>`: {Phone: "00 49 30 123456", PhoneE164: "+4930123456"},
	} {
		storetest.Diff(t, valuesCard(t, "country: IT\n", html), with(want), html)
	}
	for country, codes := range map[string][2]string{"DE": {"D-80331", "80331"}, "AU": {"NSW 2000", "2000"}, "GB": {"sw1a1aa", "SW1A 1AA"}, "CA": {"K1A-0B1", "K1A 0B1"}, "HK": {"02134", ""}, "FR": {"2134", ""}} {
		storetest.Diff(t, valuesCard(t, "country: "+country+"\n", `<i class="zip">`+codes[0]+`</i>`), with(yp.Listing{PostalCode: codes[1]}), country)
	}
	storetest.Equal(t, valuesCard(t, "country: CA\n", `<i class="phone">416 234 5678</i>`).PhoneE164, "+14162345678", "in Canada")
}

// with is a listing of a card, with more.
func with(l yp.Listing) yp.Listing {
	l.ID, l.Name = "1", "Acme"
	return l
}

// TestAddressLine: an address in one line is split where that is sure, and else kept as it is.
func TestAddressLine(t *testing.T) {
	line := func(s string) string { return `<p class="address">` + s + `</p>` }
	for html, want := range map[string]yp.Listing{
		line("12 Elm St, Reno, NV 89501"):                            {Street: "12 Elm St", City: "Reno", State: "NV", PostalCode: "89501"},
		line("12 Elm St, Reno, NV 895011234, USA"):                   {Street: "12 Elm St", City: "Reno", State: "NV", PostalCode: "89501-1234"},
		line("12 Elm St"):                                            {Street: "12 Elm St"},
		line("Hauptstr. 5, 80331 München"):                           {Address: "Hauptstr. 5, 80331 München"},
		line("Hauptstr. 5<br>80331 München"):                         {Address: "Hauptstr. 5 80331 München"},
		line("Marktplatz, 80331 München"):                            {Address: "Marktplatz, 80331 München"},
		line("Via Roma 5, 20121 Milano MI"):                          {Address: "Via Roma 5, 20121 Milano MI"},
		line("Weight House, Reno, NV"):                               {City: "Reno", State: "NV", Address: "Weight House, Reno, NV"},
		line("Reno, NV"):                                             {City: "Reno", State: "NV"},
		line("N/A"):                                                  {},
		line(`<i class="street">Hauptstr. 5</i>, 80331 München`):     {Street: "Hauptstr. 5"},
		line(strings.Repeat("ä", 150)):                               {Address: strings.Repeat("ä", 100)},
		line("<script>x</script>Hauptstr. 5,\u200b 80331\n München"): {Address: "Hauptstr. 5, 80331 München"},
	} {
		storetest.Diff(t, valuesCard(t, "", html), with(want), html)
	}
	storetest.Diff(t, valuesCard(t, "country: DE\n", line("Hauptstr. 5, Berlin, DE 10115")), with(yp.Listing{Address: "Hauptstr. 5, Berlin, DE 10115"}), "in Germany")
}

// TestTotals: a number that only says about how many there are is no total, nor is one of which a pattern took a part.
func TestTotals(t *testing.T) {
	s, err := Parse("values.yaml", []byte(valuesDef))
	noError(t, err)
	for text, want := range map[string]int{
		"1-1 of 93": 93, "1-1 of 1,108": 1108, "1-1 of 1.108 results": 1108, "1-1 of 1 470": 1470, "1-1 of 1,23,456": 123456, "1-1 of 30 10 miles": 30, "1-1 of 53. 108 more": 53, "1-1 of 12.": 12, "1-1 of 1'108": 1108,
		"1-1 of 1.2K": 0, "1-1 of 12K": 0, "1-1 of 12 K listings": 0, "1-1 of 1.2": 0, "1-1 of 1,000+": 0, "1-1 of 1M": 0, "1-1 of 12%": 0, "1-1 of 3万": 0,
	} {
		p := parse(t, s, siteHTML(`<p class="total">`+text+`</p><div class="card" data-id="1"><b>Acme</b></div>`), srp, 200)
		storetest.Equal(t, p.SiteTotal, want, text)
	}
}

// TestCutTotals: a pattern that takes the end of a number gives the whole one, or none where it is not clear.
func TestCutTotals(t *testing.T) {
	s, err := Parse("values.yaml", []byte(strings.Replace(valuesDef, `of ([0-9.,]+)`, `(\d{3}) results`, 1)))
	noError(t, err)
	for text, want := range map[string]int{"234 results": 234, "of 234 results": 234, "1,234 results": 1234, "1.234 results": 1234, "1'234 results": 1234, "1,234,567 results": 1234567, "1234 results": 1234, "1 234 results": 0, "1&nbsp;234 results": 0, "1.2,345 results": 0} {
		p := parse(t, s, siteHTML(`<p class="total">`+text+`</p><div class="card" data-id="1"><b>Acme</b></div>`), srp, 200)
		storetest.Equal(t, p.SiteTotal, want, text)
	}
}

// TestStructuredValues: the same of structured data, and of a listing's own page.
func TestStructuredValues(t *testing.T) {
	list := func(def, members string) yp.Listing {
		t.Helper()
		s, err := Parse("prairie.yaml", []byte(strings.Replace(prairieDef, "structured: true", def, 1)))
		noError(t, err)
		p := parse(t, s, `<html><head><title>x</title><script type="application/ld+json">{"@type":"Plumber","name":"Acme","url":"/biz/acme-400001",`+members+`}</script></head><body><header id="pd-header"></header></body></html>`, prairieList, 200)
		if len(p.Listings) != 1 {
			t.Fatalf("%s: %d listings", members, len(p.Listings))
		}
		l := p.Listings[0]
		l.ProfileURL = ""
		return l
	}
	rated := func(members string) string { return `"aggregateRating":{"@type":"AggregateRating",` + members + `}` }
	for members, want := range map[string]yp.Listing{
		rated(`"ratingValue":"4.7","reviewCount":"2.345"`):                         {Rating: 4.7, ReviewCount: 2345},
		rated(`"ratingValue":4.7,"reviewCount":12.0`):                              {Rating: 4.7, ReviewCount: 12},
		rated(`"ratingValue":"4,7","reviewCount":2.3`):                             {Rating: 4.7},
		rated(`"ratingValue":"4.8","ratingCount":"1.2K"`):                          {Rating: 4.8, ReviewCount: 1200},
		rated(`"ratingValue":9.2,"bestRating":10`):                                 {Rating: 4.6},
		rated(`"ratingValue":"9,2","bestRating":"10,0","worstRating":"1"`):         {Rating: 4.6},
		rated(`"ratingValue":87,"bestRating":100,"worstRating":0`):                 {Rating: 4.35},
		rated(`"ratingValue":"9.2/10"`):                                            {Rating: 4.6},
		rated(`"ratingValue":"92%"`):                                               {Rating: 4.6},
		rated(`"ratingValue":9.2`):                                                 {},
		rated(`"ratingValue":1.3,"bestRating":1,"worstRating":6`):                  {},
		rated(`"ratingValue":1.3,"bestRating":6,"worstRating":2`):                  {},
		rated(`"ratingValue":1,"bestRating":10,"worstRating":-10`):                 {},
		rated(`"ratingValue":4,"bestRating":"high"`):                               {},
		rated(`"ratingValue":4.5,"bestRating":0`):                                  {},
		rated(`"ratingValue":0,"reviewCount":0`):                                   {},
		`"telephone":"+49 (0)30 123456"`:                                           {Phone: "+49 (0)30 123456", PhoneE164: "+4930123456"},
		`"telephone":["123456","(217) 555-0101"]`:                                  {Phone: "(217) 555-0101", PhoneE164: "+12175550101"},
		`"address":{"streetAddress":"1 Main St","postalCode":"MA 021341234"}`:      {Street: "1 Main St", PostalCode: "02134-1234"},
		`"address":"Hauptstr. 5, 80331 München"`:                                   {Address: "Hauptstr. 5, 80331 München"},
		`"address":"1 Main St, Boston, MA 021341234, USA"`:                         {Street: "1 Main St", City: "Boston", State: "MA", PostalCode: "02134-1234"},
		`"address":["Hauptstr. 5, 80331 München",{"streetAddress":"Hauptstr. 5"}]`: {Street: "Hauptstr. 5"},
		`"address":"Hauptstr. 5, 80331 München","areaServed":"München"`:            {Address: "Hauptstr. 5, 80331 München"},
		`"address":{"@type":"PostalAddress","name":"Hauptstr. 5, 80331 München"}`:  {Address: "Hauptstr. 5, 80331 München"},
		`"address":"none"`: {},
	} {
		want.ID, want.Name = "400001", "Acme"
		storetest.Diff(t, list("structured: true", members), want, members)
	}
	storetest.Equal(t, list("structured: {scale: 10}", rated(`"ratingValue":9.2`)).Rating, 4.6, "by the scale of the definition")
	storetest.Equal(t, list("structured: {scale: 10}", rated(`"ratingValue":4.6,"bestRating":5`)).Rating, 4.6, "by the scale of the data")
	storetest.Equal(t, list("structured: true\ncountry: IN", `"telephone":"98765 43210"`).PhoneE164, "+919876543210", "in India")

	storetest.Equal(t, list("structured: true\ncountry: GB", `"address":{"streetAddress":"1 High St","postalCode":"sw1a1aa"}`).PostalCode, "SW1A 1AA", "in Britain")

	for country, want := range map[string]string{"US": "+13472345678", "IT": "+393472345678", "DE": ""} {
		yellow := yellowWith(t, "country: "+country)
		page := `<html><body><div id="main-header"></div><main id="bpp" data-ypid="400001"><h1 class="business-name">A</h1><p class="phone">347 234 5678</p></main></body></html>`
		p, err := yellow.ParseDetail([]byte(page), urlOf(t, mip), 200)
		noError(t, err)
		if p.OwnListing() == nil || p.OwnListing().Phone != "347 234 5678" || p.OwnListing().PhoneE164 != want {
			t.Errorf("%s: own page: %+v, %s", country, p.OwnListing(), p.Reason)
		}
		script := `<script type="application/ld+json">{"@type":"Plumber","name":"A","url":"/s-il/mip/a-400001","telephone":"347 234 5678","address":"Hauptstr. 5, 80331 München"}</script>`
		l := parse(t, yellow, siteHTML(`<div class="search-results"><div class="result" data-ypid="400001"><a class="business-name" href="/s-il/mip/a-400001">A</a></div></div>`+script), srp, 200).Listings[0]
		place := yp.Listing{Street: "Hauptstr. 5", City: "München", PostalCode: "80331"}
		if country == "US" {
			place = yp.Listing{Address: "Hauptstr. 5, 80331 München"}
		}
		got := yp.Listing{Street: l.Street, City: l.City, State: l.State, PostalCode: l.PostalCode, Address: l.Address}
		if storetest.Diff(t, got, place, country); l.Phone != "347 234 5678" || l.PhoneE164 != want {
			t.Errorf("%s: completed card: %+v", country, l)
		}
	}
}

// TestAddressWhole: an address in parts replaces a line that could not be split, and none is put beside the other.
func TestAddressWhole(t *testing.T) {
	line, parts := yp.Listing{Address: "Hauptstr. 5, 80331 München"}, yp.Listing{Street: "Hauptstr. 5", City: "München", PostalCode: "80331"}
	for _, c := range []struct{ l, from, want yp.Listing }{{line, parts, parts}, {parts, line, parts}, {yp.Listing{}, line, line}, {yp.Listing{City: "München"}, line, yp.Listing{City: "München"}}} {
		got := c.l
		fillListing(&got, &c.from)
		storetest.Diff(t, got, c.want)
	}
}
