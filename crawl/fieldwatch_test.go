package crawl_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
)

// logOf crawls and returns what the log says.
func logOf(w *world) string {
	w.t.Helper()
	var log bytes.Buffer
	w.done(func(c *crawl.Config) { c.Logger = zerolog.New(zerolog.SyncWriter(&log)) })
	return log.String()
}

// TestFieldsNeverFound: what the definition itself has rules for, and no listing of the first ten pages has, is told once.
func TestFieldsNeverFound(t *testing.T) {
	t.Parallel()
	const yaml = "fields: {snippet: .nosuch, rank: .nosuch, phone: .phones}\n"
	for cities, want := range map[int]int{9: 0, 12: 1} {
		parallel(t, fmt.Sprint(cities, " pages"), func(t *testing.T) {
			w := setup(t, layout{cities: cities, yaml: yaml})
			log := logOf(w)
			if n := strings.Count(log, "no listing of the first 10 pages has"); n != want {
				t.Errorf("told %d times, want %d: %s", n, want, log)
			}
			if want > 0 && !strings.Contains(log, `"fields":["rank","snippet"]`) && !strings.Contains(log, `"fields":["phone","rank","snippet"]`) {
				t.Errorf("other fields are named: %s", log)
			}
		})
	}
	parallel(t, "what is taken over is not told", func(t *testing.T) {
		if log := logOf(setup(t, layout{cities: 12})); strings.Contains(log, "no listing of the first") {
			t.Error(log)
		}
	})
}

// TestMissingWithoutChrome: that the site's 404 page has nothing of chrome is told once.
func TestMissingWithoutChrome(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 3})
	for i := range 2 {
		w.on(fmt.Sprintf("/city-%d-ca/plumbers", i), func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusNotFound)
			_, _ = rw.Write([]byte("<html><body>no such file</body></html>"))
		})
	}
	if log := logOf(w); strings.Count(log, site.NoChrome) != 1 {
		t.Error(log)
	}
}

// TestKeptHeader: a kept page is read with what rules read of the header, and as the page of its number.
func TestKeptHeader(t *testing.T) {
	t.Parallel()
	src, err := site.Parse("a.yaml", []byte(`
name: a
base_url: http://dir.example
format: json
chrome: {json: [items]}
cards: {items: items}
fields: {id: id, name: name}
urls: {target: '/{city_slug}?p={page}'}
paging: {page: 1}
total: [{header: X-Total}]
`))
	storetest.NoError(t, err)
	p := &kept.Page{
		Target: wal.Target{Source: "a"}, Number: 2, URL: "http://dir.example/x?p=2", BaseURL: "http://dir.example", Status: http.StatusOK,
		Header: http.Header{"X-Total": {"7"}},
	}
	_, page, err := crawl.ParseKept(src, p, []byte(`{"items":[{"id":1,"name":"One"}]}`))
	storetest.NoError(t, err)
	if page.SiteTotal != 7 || page.NextURL != "@page=3" {
		t.Errorf("total %d, next %q", page.SiteTotal, page.NextURL)
	}
}

// TestKeepsHeader: of the header of an answer that is kept, what rules read is kept, too.
func TestKeepsHeader(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{yaml: "shown: [{header: X-Shown}]\n"})
	w.on(target, with(ok(counting(9, "", nameless(1, 6, 4)...)), "X-Shown: 1-9", "X-Other: no"))
	w.done()
	r, err := kept.OpenReader(w.db.Path() + ".pages")
	storetest.NoError(t, err)
	defer func() { _ = r.Close() }()
	p, _, err := r.Read(t.Context(), 1)
	storetest.NoError(t, err)
	if got := fmt.Sprint(p.Header); got != "map[X-Shown:[1-9]]" {
		t.Error(got)
	}
}
