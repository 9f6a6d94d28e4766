package site

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/yp"
)

// goldenDetail is what a golden file holds of a detail page.
type goldenDetail struct {
	Outcome string     `json:"outcome"`
	Reason  string     `json:"reason"`
	Regions bool       `json:"regions,omitempty"` // the regions were enough
	Detail  *yp.Detail `json:"detail,omitempty"`
}

// goldenIndex is what a golden file holds of an index page.
type goldenIndex struct {
	Outcome  string       `json:"outcome"`
	Reason   string       `json:"reason"`
	NotFound bool         `json:"not_found,omitempty"`
	Cities   []goldenCity `json:"cities,omitempty"`
}

type goldenCity struct {
	Slug  string `json:"slug"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// goldenAnswer returns the source of a page, its URL and its status.
func goldenAnswer(t *testing.T, name, path string) (s *Source, final *url.URL, status int) {
	t.Helper()
	s, status = builtin(t, "yellowpages"), 200
	switch name {
	case "missing":
		status = 404
	case "demo":
		s = builtin(t, "demo")
	}
	final, err := s.BaseURL().Parse(path)
	noError(t, err)
	return s, final, status
}

func TestGoldenDetails(t *testing.T) {
	ids := map[string]string{"current": "467123456", "hidden_email": "12", "demo": "11732592"}
	goldenPages(t, "detail", 9, func(t *testing.T, name string, page []byte) any {
		id := ids[name]
		if id == "" {
			id = "400001"
		}
		s, final, status := goldenAnswer(t, name, "/springfield-il/mip/some-name-"+id)
		p, err := s.ParseDetail(page, final, status)
		noError(t, err)
		return goldenDetail{p.Outcome.String(), p.Reason, s.detailRegions(page, final, status) != nil, p.Detail}
	})
}

func TestGoldenIndexes(t *testing.T) {
	goldenPages(t, "index", 8, func(t *testing.T, name string, page []byte) any {
		s, final, status := goldenAnswer(t, name, "/state-az?page=a")
		x, err := s.ParseIndex(page, final, status, "AZ")
		noError(t, err)
		got := goldenIndex{x.Outcome.String(), x.Reason, x.NotFound, nil}
		for _, c := range x.Cities {
			got.Cities = append(got.Cities, goldenCity{c.Address, c.Shown, c.State})
		}
		return got
	})
}

// goldenPages compares what read makes of every page of a folder with its
// golden file.
func goldenPages(t *testing.T, folder string, least int, read func(*testing.T, string, []byte) any) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pagesDir, folder, "*.html"))
	if err != nil || len(files) < least {
		t.Fatalf("found %d pages: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		t.Run(name, func(t *testing.T) {
			page, err := os.ReadFile(file)
			noError(t, err)
			got, err := json.MarshalIndent(read(t, name, page), "", "  ")
			noError(t, err)
			file := strings.TrimSuffix(file, ".html") + ".golden.json"
			if *update {
				noError(t, os.WriteFile(file, append(got, '\n'), 0o644))
			}
			want, err := os.ReadFile(file)
			noError(t, err)
			if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
				t.Errorf("(-want +got; -update writes the file anew)\n%s", diff)
			}
		})
	}
}
