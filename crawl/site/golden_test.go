package site

import (
	"cmp"
	"encoding/json"
	"flag"
	"net/http"
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
	Own      bool         `json:"own,omitempty"`  // it is the own page of the listing
	Last     string       `json:"last,omitempty"` // what says that the page is the last one
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
				compareGolden(t, filepath.Join(pagesDir, folder, name+".golden.json"), goldenOf(p, regions))
			})
		}
	}
}

// goldenOf is what a golden file holds of a page.
func goldenOf(p *Page, regions bool) golden {
	got := golden{
		p.Outcome.String(), p.Outcome.Code(), p.Reason, p.Via, regions, p.Raw, p.Bad, p.SiteTotal, p.NextURL, p.NotFound,
		p.Nothing, p.Own, p.LastMark, p.Listings, nil,
	}
	for _, c := range p.Cities {
		got.Cities = append(got.Cities, goldenCity{c.Address, c.Shown, c.State})
	}
	return got
}

// TestGoldenDirectories compares what is read of pages of directories of other forms with golden files: of each the first page of
// a list, its last one, a list that has nothing, and a failure. The definitions are those of testdata/directories, and the made
// directories (e2e/directories) have written the pages.
func TestGoldenDirectories(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(pagesDir, "directories", "*", "*.asked"))
	noError(t, err)
	if len(pages) < 4*9 {
		t.Errorf("found %d pages", len(pages))
	}
	for _, asked := range pages {
		folder, name := filepath.Dir(asked), strings.TrimSuffix(filepath.Base(asked), ".asked")
		of := filepath.Base(folder)
		t.Run(of+"/"+name, func(t *testing.T) {
			defs := filepath.Join(filepath.Dir(pagesDir), "directories")
			text, err := os.ReadFile(filepath.Join(defs, of+".yaml"))
			noError(t, err)
			s, err := ParseWith(of+".yaml", text, func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(defs, name)) })
			noError(t, err)
			var a struct {
				File  string
				Place yp.Place
				At    Position
				Head  http.Header
			}
			text, err = os.ReadFile(asked)
			noError(t, err)
			noError(t, json.Unmarshal(text, &a))
			body, err := os.ReadFile(filepath.Join(folder, a.File))
			noError(t, err)
			header := http.Header{}
			for key, values := range a.Head {
				header[http.CanonicalHeaderKey(key)] = values
			}
			p, err := s.At(a.At).WithHeader(header).ParsePage(body, urlOf(t, s.TargetRequest(a.Place, a.At).URL), http.StatusOK)
			noError(t, err)
			compareGolden(t, filepath.Join(folder, name+".golden.json"), goldenOf(p, false))
			if wants := map[string]Outcome{"none": NoListings, "failed": Failed}[name]; wants != 0 && p.Outcome != wants || p.Bad > 0 {
				t.Errorf("got %v %q, %d bad", p.Outcome, p.Reason, p.Bad)
			}
		})
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
