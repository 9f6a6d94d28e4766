package site

import (
	"flag"
	"net/url"
	"testing"

	"ypcrawl/yp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden is what a golden file holds of a page.
type golden struct {
	Outcome  string       `json:"outcome"`
	Code     yp.ErrorCode `json:"code"`
	Reason   string       `json:"reason"`
	Via      string       `json:"via,omitempty"`
	Raw      int          `json:"raw"`
	Bad      int          `json:"bad"`
	Total    int          `json:"total,omitempty"`
	NextURL  string       `json:"next_url,omitempty"`
	NotFound bool         `json:"not_found,omitempty"`
	Listings []yp.Listing `json:"listings,omitempty"`
}

// answers tells for which pages the URL or the status is not the usual one.
func answer(t *testing.T, name string) (final *url.URL, status int) {
	t.Helper()
	final, status = finalURL(t), 200
	switch name {
	case "homepage":
		final = &url.URL{Scheme: "https", Host: "www.yellowpages.com", Path: "/"}
	case "not_found", "block_not_found", "block_in_chrome":
		status = 404
	}
	return final, status
}

func TestGoldenPages(t *testing.T) {
	s := builtin(t, "yellowpages")
	goldenPages(t, "", 20, func(t *testing.T, name string, page []byte) any {
		final, status := answer(t, name)
		p, err := s.ParsePage(page, final, status)
		noError(t, err)
		return goldenOf(p)
	})
}

func goldenOf(p *Page) golden {
	return golden{p.Outcome.String(), p.Outcome.Code(), p.Reason, p.Via, p.Raw, p.Bad, p.SiteTotal, p.NextURL, p.NotFound, p.Listings}
}
