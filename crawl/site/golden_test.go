package site

import (
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(pagesDir, "*.html"))
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d pages: %v", len(files), err)
	}
	s := builtin(t, "yellowpages")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(file)
			noError(t, err)
			final, status := answer(t, name)
			p, err := s.ParsePage(page, final, status)
			noError(t, err)
			compareGolden(t, strings.TrimSuffix(file, ".html")+".golden.json", p)
		})
	}
}

func compareGolden(t *testing.T, file string, p *Page) {
	t.Helper()
	got := golden{p.Outcome.String(), p.Outcome.Code(), p.Reason, p.Via, p.Raw, p.Bad, p.SiteTotal, p.NextURL, p.NotFound, p.Listings}
	if *update {
		b, err := json.MarshalIndent(got, "", "  ")
		noError(t, err)
		noError(t, os.WriteFile(file, append(b, '\n'), 0o644))
	}
	b, err := os.ReadFile(file)
	noError(t, err)
	var want golden
	noError(t, json.Unmarshal(b, &want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got; -update writes the file anew)\n%s", diff)
	}
}
