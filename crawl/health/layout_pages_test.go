package health

import (
	flags "flag"
	"fmt"
	"net/http/httptest"
	"net/url"
	"testing"

	demosite "ypcrawl/crawl/demo"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// demoTarget is a target of the demo directory with the listings of its pages.
type demoTarget struct {
	target, category int64
	pages            [][]yp.Listing
}

// demoCrawl reads what a crawl of a state reads, in the order in which it claims
// targets: all categories of a city, then the next city.
func demoCrawl(t *testing.T, seed int64, state string) (all []demoTarget) {
	t.Helper()
	g, err := gazetteer.Load()
	ok(t, err)
	d, err := demosite.New(demosite.Config{Seed: seed}, g)
	ok(t, err)
	src, err := site.Builtin("demo")
	ok(t, err)
	for _, p := range g.In(state)[:src.PlacesPerState()] {
		for c, name := range src.Categories() {
			place := yp.Place{City: p.Name, CitySlug: p.Slug, State: state, Category: name, CategorySlug: yp.CategorySlug(name)}
			all = append(all, demoTarget{int64(len(all) + 1), int64(c + 1), demoPages(t, d, src, place, gazetteer.TierPages(p.Tier))})
		}
	}
	return all
}

func demoPages(t *testing.T, d *demosite.Directory, src *site.Source, place yp.Place, limit int) (pages [][]yp.Listing) {
	t.Helper()
	for next := src.TargetURL(place, 1); next != "" && len(pages) < limit; {
		u, err := url.Parse(next)
		ok(t, err)
		res := httptest.NewRecorder()
		d.ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), "GET", next, nil))
		p, err := src.ParsePage(res.Body.Bytes(), u, res.Code)
		ok(t, err)
		pages = append(pages, p.Listings)
		next = p.NextURL
	}
	return pages
}

// feedDemo gives the targets to a layout alarm, as workers do that read a page each in turn, the
// pages without a field (-1 = none), and returns the fields of the first alarm and the targets
// begun until then.
func feedDemo(l *Layout, targets []demoTarget, workers, without int) (gone []int, seen int) {
	at, read, next := make([]demoTarget, workers), map[int64]bool{}, 0
	for left := workers; left > 0; {
		left = workers
		for i := range at {
			for len(at[i].pages) == 0 && next < len(targets) {
				at[i] = targets[next]
				next++
			}
			if len(at[i].pages) == 0 {
				left--
				continue
			}
			page := at[i].pages[0]
			read[at[i].target] = true
			at[i].pages = at[i].pages[1:]
			if without >= 0 {
				page = lacking(page, without)
			}
			if gone := l.add(at[i].target, at[i].category, page); len(gone) > 0 {
				return gone, len(read)
			}
		}
	}
	return nil, len(read)
}

var seeds = flags.Int64("seeds", 1, "how many directories are crawled by the tests that take long")

// TestLayoutDemo: the demo directory, whose targets are of several generations of markup, raises
// no alarm wherever a crawl begins, nor in the next ones, and a field that nearly all listings had
// raises it within ten targets after it is taken away.
func TestLayoutDemo(t *testing.T) {
	t.Parallel()
	for seed := range *seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			targets := demoCrawl(t, seed, []string{"CA", "NY", "WY", "FL"}[seed%4])
			watched := 0
			for _, workers := range []int{1, 16} {
				for from := 0; from < len(targets); from += 23 {
					noAlarm(t, newLayout(), targets[from:], workers)
				}
				l := newLayout()
				for range 3 { // and again every week
					noAlarm(t, l, targets, workers)
				}
				for f := range fields {
					if !usualEverywhere(l, f) {
						continue
					}
					watched++
					again := newLayout()
					noAlarm(t, again, targets, workers)
					if gone, seen := feedDemo(again, targets, workers, f); len(gone) != 1 || gone[0] != f || seen > 10 {
						t.Errorf("%d workers: %s vanished from %d targets: alarm %v", workers, fields[f].Name, seen, gone)
					}
				}
			}
			if watched == 0 {
				t.Error("no field is usual")
			}
		})
	}
}

// usualEverywhere reports whether nearly all listings of every category have a field.
func usualEverywhere(l *Layout, f int) bool {
	for _, shares := range l.usual {
		if s := shares[f]; s.listings < usualListings || s.having < usualShare*s.listings {
			return false
		}
	}
	return len(l.usual) > 0
}

func noAlarm(t *testing.T, l *Layout, targets []demoTarget, workers int) {
	t.Helper()
	if gone, seen := feedDemo(l, targets, workers, -1); len(gone) > 0 {
		t.Errorf("%d workers, %d of %d targets: %s is missing", workers, seen, len(targets), fields[gone[0]].Name)
	}
}
