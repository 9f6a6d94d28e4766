package site

import "testing"

// TestParseAny: a page is read as what it is, whoever gives its address.
func TestParseAny(t *testing.T) {
	yellow, own := builtin(t, "yellowpages"), prairieSource(t)
	loose, err := Parse("x.yaml", []byte("name: x\nbase_url: https://dir.example.com\nurls: {target: '/{state_lower}/{city_slug}?p={page}'}\nchrome: {titles: [Prairie Directory]}\nstructured: true\n"))
	noError(t, err)
	for name, c := range map[string]struct {
		s        *Source
		body, at string
		status   int
		want     Outcome
		detail   bool
	}{
		"results":                              {yellow, siteHTML(aCard), srp, 200, OK, false},
		"own page":                             {yellow, siteHTML(bpp), mip, 200, OK, true},
		"own page of an unknown layout":        {yellow, siteHTML("<p>?</p>"), mip, 200, HTMLChanged, false},
		"own page that is not there":           {yellow, siteHTML("gone"), mip, 404, NoListings, false},
		"homepage":                             {yellow, siteHTML(aCard), "https://www.yellowpages.com/", 200, Redirected, false},
		"results without a listing":            {yellow, siteHTML("<p>?</p>"), srp, 200, HTMLChanged, false},
		"structured results":                   {own, listPage(9, 9, ""), prairieList, 200, OK, false},
		"structured own page":                  {own, ownPageOf(ldOf(ownBusiness), "<h1>Business 3</h1>"), ownURL, 200, OK, true},
		"own page at the address of a search":  {loose, ownPageOf(ldOf(ownBusiness), "<h1>Business 3</h1>"), ownURL, 200, OK, true},
		"results of one listing":               {loose, ownPageOf(ldOf(ownBusiness), ""), "https://dir.example.com/il/springfield-il", 200, OK, false},
		"a definition without rules for those": {yellowWith(t, "detail: {path: '/nowhere/(\\d+)$'}"), siteHTML(bpp), mip, 200, Redirected, false},
	} {
		p, err := c.s.ParseAny([]byte(c.body), urlOf(t, c.at), c.status)
		noError(t, err)
		if p.Outcome != c.want || (p.OwnListing() != nil) != c.detail {
			t.Errorf("%s: %v (%s), details %t", name, p.Outcome, p.Reason, p.OwnListing() != nil)
		}
	}
}
