package site

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFillFromJSONLD: what a card takes from the page's JSON-LD, in whichever form that is.
func TestFillFromJSONLD(t *testing.T) {
	t.Parallel()
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
		"comments":      {`<script type="application/ld+json">/*<![CDATA[*/ [` + acme + `,},] // x` + "\n/*]]>*/</script>", ""},
		"in a list":     {`<script type="application/ld+json">{"@type":"WebPage","mainEntity":{"@type":"ItemList","itemListElement":[{"@type":"ListItem","item":` + acme + `}}]}}</script>`, ""},
		"bad ones":      {`<script type="application/ld+json">{"@type"</script><script type="application/ld+json">` + acme + `}</script>`, ""},
		"hours":         {`<script type="application/ld+json">` + acme + `,"openingHours":["Mo-Fr 08:00-17:00"],` + hours + `}</script>`, "Mo-Fr 08:00-17:00"},
		"hours by days": {`<script type="application/ld+json">` + acme + `,` + hours + `}</script>`, "Mo,Tu 9:00 AM-5:00 PM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := siteHTML(card + c.script)
			l := parse(t, s, page, srp, 200).Listings[0]
			got := []string{l.Phone, l.PhoneE164, l.Street, l.City, l.State, l.PostalCode, strings.Join(l.Hours, ";")}
			if diff := cmp.Diff([]string{"217-555-0301", "+12175550301", "1 Main St", "Springfield", "IL", "62701", c.hours}, got); diff != "" {
				t.Error(diff)
			}
			checkResults(t, s, []byte(page))
		})
	}
}
