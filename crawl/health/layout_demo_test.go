package health

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"testing"

	demosite "ypcrawl/crawl/demo"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// demoPage is what a page of the demo directory has.
type demoPage struct {
	listings int
	have     having
}

// demoTarget is a target of the demo directory with its pages.
type demoTarget struct {
	target, category int64
	pages            []demoPage
}

// demoCrawl reads what a crawl of some states reads, in the order in which it claims
// targets: all categories of a city, then the next city. Of each target at most some
// pages; 0 = as many as a crawl reads by itself.
func demoCrawl(t *testing.T, seed int64, pages int, states ...string) (all []demoTarget) {
	t.Helper()
	g, err := gazetteer.Load()
	ok(t, err)
	d, err := demosite.New(demosite.Config{Seed: seed}, g)
	ok(t, err)
	src, err := site.Builtin("demo")
	ok(t, err)
	for _, state := range states {
		for _, p := range g.In(state)[:src.PlacesPerState()] {
			limit := pages
			if limit == 0 {
				limit = gazetteer.TierPages(p.Tier)
			}
			for c, name := range src.Categories() {
				place := yp.Place{City: p.Name, CitySlug: p.Slug, State: state, Category: name, CategorySlug: yp.CategorySlug(name)}
				all = append(all, demoTarget{int64(len(all) + 1), int64(c + 1), demoPages(t, d, src, place, limit)})
			}
		}
	}
	return all
}

func demoPages(t *testing.T, d *demosite.Directory, src *site.Source, place yp.Place, limit int) (pages []demoPage) {
	t.Helper()
	for next := src.TargetURL(place, 1); next != "" && len(pages) < limit; {
		u, err := url.Parse(next)
		ok(t, err)
		res := httptest.NewRecorder()
		d.ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), "GET", next, nil))
		p, err := src.ParsePage(res.Body.Bytes(), u, res.Code)
		ok(t, err)
		pages = append(pages, demoPage{len(p.Listings), count(p.Listings)})
		next = p.NextURL
	}
	return pages
}

// feedDemo gives the targets to a window, as workers do that read a page each in
// turn, and returns the first alarm and the pages and targets fed until then.
func feedDemo(w *window, targets []demoTarget, workers int, change func(*having)) (falls []fall, pages, seen int) {
	at := make([]demoTarget, workers)
	for left := workers; left > 0; {
		left = workers
		for i := range at {
			for len(at[i].pages) == 0 && seen < len(targets) {
				at[i] = targets[seen]
				seen++
			}
			if len(at[i].pages) == 0 {
				left--
				continue
			}
			p := at[i].pages[0]
			at[i].pages = at[i].pages[1:]
			pages++
			change(&p.have)
			if falls := w.add(at[i].target, at[i].category, p.listings, p.have); len(falls) > 0 {
				return falls, pages, seen
			}
		}
	}
	return nil, pages, seen
}

// TestLayoutDemo: the demo directory, whose targets are of several generations of
// markup, raises no alarm wherever a crawl begins, and a field that vanishes from it does.
func TestLayoutDemo(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		seed   int64
		pages  int
		states []string
	}{
		{0, 0, []string{"CA", "TX"}}, {1, 0, []string{"NY"}}, {2, 0, []string{"WY", "VT"}}, {3, 10, []string{"FL"}},
	} {
		if i > 0 && scale > 1 {
			break
		}
		t.Run(fmt.Sprint(c.states, " of seed ", c.seed), func(t *testing.T) {
			t.Parallel()
			targets := demoCrawl(t, c.seed, c.pages, c.states...)
			for _, workers := range []int{1, 2, 5, 16} {
				for from := 0; from < len(targets); from += 7 {
					noAlarm(t, newWindow(), targets[from:], workers)
				}
				w := newWindow()
				for range 3 { // and again every week
					noAlarm(t, w, targets, workers)
				}
				for f := range fields {
					demoVanish(t, w, targets, workers, f)
				}
			}
		})
	}
}

func noAlarm(t *testing.T, w *window, targets []demoTarget, workers int) {
	t.Helper()
	if falls, pages, _ := feedDemo(w, targets, workers, asEver); len(falls) > 0 {
		t.Errorf("%d workers, page %d of %d targets: %s", workers, pages, len(targets), reason(falls))
	}
}

// demoVanish lets a field vanish. One that targets rarely lack is missed after some five
// of them; one that older markup lacks, after so many as tell the two apart.
func demoVanish(t *testing.T, w *window, targets []demoTarget, workers, f int) {
	t.Helper()
	var known share
	for _, s := range w.usual {
		known.targets, known.bare = known.targets+s[f].targets, known.bare+s[f].bare
	}
	if known.targets < 150 {
		return // prices, in one state: only restaurants have them
	}
	within := 7
	if known.bare > 0.01*known.targets {
		within = 20
	}
	if f == prices {
		within *= 5
	}
	falls, pages, seen := feedDemo(copyOf(w), targets, workers, func(h *having) { h[f] = 0 })
	if len(falls) == 0 || falls[0].field != f || seen > within {
		t.Errorf("%d workers: %s, which %.0f of %.0f targets lack, vanished from %d pages of %d targets: %v, want an alarm within %d targets",
			workers, fields[f].Name, known.bare, known.targets, pages, seen, falls, within)
	}
}
