package site

import (
	"cmp"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ypcrawl/crawl/site/region/regiontest"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden is what a golden file holds of a page: of results, of a listing's own page or of an index.
type golden struct {
	Outcome  string       `json:"outcome"`
	Code     yp.ErrorCode `json:"code"`
	Reason   string       `json:"reason"`
	Via      string       `json:"via,omitempty"`
	Regions  bool         `json:"regions,omitempty"` // the regions of a listing's own page were enough
	Raw      int          `json:"raw"`
	Bad      int          `json:"bad"`
	Total    int          `json:"total,omitempty"`
	NextURL  string       `json:"next_url,omitempty"`
	NotFound bool         `json:"not_found,omitempty"`
	Nothing  []string     `json:"nothing,omitempty"`
	Own      bool         `json:"own,omitempty"` // it is the own page of the listing
	Listings []yp.Listing `json:"listings,omitempty"`
	Cities   []goldenCity `json:"cities,omitempty"`
}

type goldenCity struct {
	Slug  string `json:"slug"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// TestGoldenPages compares what is read of every page with its golden file.
func TestGoldenPages(t *testing.T) {
	yellow, demo, own := builtin(t, "yellowpages"), builtin(t, "demo"), prairie(t)
	attributes := storebook(t)
	status := map[string]int{"not_found": 404, "block_not_found": 404, "block_in_chrome": 404, "missing": 404}
	ids := map[string]string{"current": "467123456", "hidden_email": "12", "demo": "11732592"}
	for folder, least := range map[string]int{"": 20, "detail": 9, "index": 8, "structured": 17, "attributes": 1} {
		pages := regiontest.Golden(t, filepath.Join(pagesDir, folder))
		if delete(pages, "empty"); len(pages) < least {
			t.Errorf("%s: found %d pages", folder, len(pages))
		}
		for file, page := range pages {
			name := strings.TrimSuffix(file, ".html")
			t.Run(name, func(t *testing.T) {
				s, status, body := yellow, cmp.Or(status[name], 200), []byte(page)
				if name == "demo" {
					s = demo
				}
				at := func(path string) *url.URL { return urlOf(t, strings.TrimSuffix(s.BaseURL().String(), "/")+path) }
				var p *Page
				var err error
				regions := false
				switch folder {
				case "detail":
					final := at("/springfield-il/mip/some-name-" + cmp.Or(ids[name], "400001"))
					p, err = s.ParseDetail(body, final, status)
					regions = s.detailRegions(body, final, status) != nil
				case "index":
					p, err = s.ParseIndex(body, at("/state-az?page=a"), status, "AZ")
				case "attributes":
					p, err = attributes.ParsePage(body, urlOf(t, "https://www.storebook.example/springfield-il/plumbers"), status)
				case "structured":
					p, err = own.ParsePage(body, urlOf(t, prairieList), status)
				default:
					p, err = s.ParsePage(body, at(map[bool]string{true: "/", false: "/springfield-il/plumbers"}[name == "homepage"]), status)
				}
				noError(t, err)
				got := golden{
					p.Outcome.String(), p.Outcome.Code(), p.Reason, p.Via, regions, p.Raw, p.Bad, p.SiteTotal, p.NextURL, p.NotFound,
					p.Nothing, p.Own, p.Listings, nil,
				}
				for _, c := range p.Cities {
					got.Cities = append(got.Cities, goldenCity{c.Address, c.Shown, c.State})
				}
				compareGolden(t, filepath.Join(pagesDir, folder, name+".golden.json"), got)
			})
		}
	}
}

func compareGolden(t *testing.T, file string, page golden) {
	t.Helper()
	got, err := json.MarshalIndent(page, "", "  ")
	noError(t, err)
	if *update {
		noError(t, os.WriteFile(file, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(file)
	noError(t, err)
	storetest.Diff(t, string(got), strings.TrimSpace(string(want)), file, "(-update writes it anew)")
}
