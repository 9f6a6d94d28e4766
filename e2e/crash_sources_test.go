//go:build unix

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"ypcrawl/cli/selftest"
	"ypcrawl/crawl/demo"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// sourcesWorld is a world of several demo directories, each behind a counter of its own and
// stored as a source of the database. One counter more counts the requests of all.
type sourcesWorld struct {
	*world
	names    []string
	counters []*counter
	truths   []demo.Truth
}

func newSourcesWorld(t *testing.T) *sourcesWorld {
	t.Helper()
	c := &sourcesWorld{world: &world{t: t, dir: t.TempDir(), workers: crashSources, counter: newCounter(http.NotFoundHandler())}}
	c.args = []string{"run", "--source", "all", "--states", "CA", "TX", "--max-cities", "1", "--delay", "0", "--log-level", "warn"}
	var sources []storetest.Source
	for i, dir := range sites(t, demo.Config{Places: 1}, crashSources) {
		one := newCounter(dir)
		c.url = serveSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				c.counter.count(r)
			}
			one.ServeHTTP(w, r)
		}))
		c.names = append(c.names, fmt.Sprintf("source-%d", i))
		c.counters = append(c.counters, one)
		truth := dir.Truth(c.base(), selection())
		truth.Searches = dir.Searches(selection())
		c.truths = append(c.truths, truth)
		sources = append(sources, storetest.Source{Name: c.names[i], BaseURL: c.url, Definition: fmt.Sprintf("{extends: demo, name: %s}", c.names[i])})
	}
	c.store(sources)
	return c
}

// store puts the sources into the database.
func (c *sourcesWorld) store(sources []storetest.Source) {
	c.t.Helper()
	db, err := store.Open(c.t.Context(), store.Config{Path: filepath.Join(c.dir, "ypcrawl.db"), Schema: schema})
	storetest.NoError(c.t, err)
	storetest.World{Sources: sources}.Plant(c.t, db)
	storetest.NoError(c.t, db.Close())
}

// checkSources: of every source, the file holds exactly what a complete crawl finds, but for so many searches
// without a page whose end the logs lack: a kill came between their commit and its line.
func (c *sourcesWorld) checkSources(path string, untold int) {
	c.t.Helper()
	db := c.open(path)
	for i, name := range c.names {
		truth := demo.Truth{Listings: c.truths[i].Listings, Searches: c.truths[i].Searches}
		found, err := selftest.Compare(context.WithoutCancel(c.t.Context()), db, name, &truth)
		storetest.NoError(c.t, err)
		for _, s := range truth.Searches {
			id := "search " + s.City + "/" + s.Category
			planned, done := id+` is in the database alone: {"pages":0,"status":"PLANNED"}`, id+` is in the truth alone: {"pages":0,"status":"DONE"}`
			if slices.Contains(found, planned) && slices.Contains(found, done) && untold > 0 {
				untold--
				found = slices.DeleteFunc(found, func(d string) bool { return d == planned || d == done })
			}
		}
		for _, d := range found {
			c.t.Errorf("%s: %s", name, d)
		}
	}
}

// TestCrashSources kills a run over ten sources again and again; in the end every source
// is what it would be undisturbed, in the database and in the logs.
func TestCrashSources(t *testing.T) {
	t.Parallel()
	c := newSourcesWorld(t)
	rnd := rand.New(rand.NewPCG(4, 4))
	kills := 0
	for kills < orLong(sourcesKills) && c.killAfter(rnd.IntN(15)+1) {
		kills++
	}
	if kills < sourcesKills-1 {
		t.Errorf("only %d kills", kills)
	}
	c.finish()
	c.checkSources(filepath.Join(c.dir, "ypcrawl.db"), 0)
	c.checkRecords()
	extra := 0
	for i := range c.names {
		extra += c.counters[i].extra()
	}
	if extra > kills*c.workers {
		t.Errorf("%d pages were fetched again after %d kills with %d workers", extra, kills, c.workers)
	}
	c.checkSources(c.rebuilt(), kills)
}
