//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/demo"
	"ypcrawl/store"
	"ypcrawl/yp/gazetteer"
)

// convoy is a world of several demo directories, each behind a counter of its own and
// stored as a source of the database. One counter more counts the requests of all.
type convoy struct {
	*world
	names    []string
	counters []*counter
	truths   []demo.Truth
}

func newConvoy(t *testing.T) *convoy {
	t.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := demo.NewMany(demo.Config{Places: 1}, g, convoySize)
	if err != nil {
		t.Fatal(err)
	}
	c := &convoy{world: &world{t: t, dir: t.TempDir(), workers: convoySize}}
	c.counter = &counter{next: http.NotFoundHandler(), seen: map[string]map[string]int{}}
	var rows []any
	for i, dir := range dirs {
		one := &counter{next: dir, seen: map[string]map[string]int{}}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				c.counter.count(r)
			}
			one.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		base, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		c.names = append(c.names, fmt.Sprintf("ship-%d", i))
		c.counters = append(c.counters, one)
		c.truths = append(c.truths, dir.Truth(base, demo.Selection{States: []string{"CA", "TX"}, Categories: demo.Categories()}))
		rows = append(rows, c.names[i], server.URL, fmt.Sprintf("{extends: demo, name: %s}", c.names[i]))
	}
	c.store(rows)
	return c
}

// store puts the sources into the database: name, address and definition of each.
func (c *convoy) store(rows []any) {
	c.t.Helper()
	db, err := store.Open(c.t.Context(), store.Config{Path: filepath.Join(c.dir, "ypcrawl.db"), Schema: schema})
	if err != nil {
		c.t.Fatal(err)
	}
	err = db.Write(c.t.Context(), func(tx *store.Tx) error {
		for ; len(rows) > 0; rows = rows[3:] {
			_, err := tx.Exec("INSERT INTO sources (name, base_url, definition, created_at, updated_at) VALUES (?, ?, ?, ?, ?)", append(rows[:3:3], tx.Now, tx.Now)...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *convoy) args() []string {
	return []string{"run", "--all-sources", "--states", "CA", "TX", "--max-cities", "1", "--delay", "0", "--log-level", "warn"}
}

// killAfter starts the crawl and kills it after n more requests to any source; false
// when it ended by itself before.
func (c *convoy) killAfter(n int) bool {
	c.t.Helper()
	cmd := command(c.dir, nil, c.args()...)
	var out strings.Builder
	cmd.Stderr = &out
	reached := c.counter.after(n)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		c.checkEnd(err, out.String())
		return false
	case <-reached:
	}
	_ = cmd.Process.Kill() // it may have ended just now
	return killed(<-done)
}

// finish crawls to the end, taking back what died too often.
func (c *convoy) finish() {
	c.t.Helper()
	for range 3 {
		out, err := command(c.dir, nil, c.args()...).CombinedOutput()
		c.checkEnd(err, string(out))
		if err == nil {
			return
		}
		if out, err := command(c.dir, nil, "reset", "--status", "STUCK", "--yes").CombinedOutput(); err != nil {
			c.t.Fatalf("reset: %v\n%s", err, out)
		}
	}
	c.t.Fatal("the crawl does not come to its end")
}

// checkShips: of every source, the file holds exactly what a complete crawl finds.
func (c *convoy) checkShips(path string) {
	c.t.Helper()
	db := c.open(path)
	for i, name := range c.names {
		of := fmt.Sprintf("FROM listings WHERE source_id = (SELECT id FROM sources WHERE name = '%s')", name)
		if diff := cmp.Diff(c.truths[i].Listings, listingsBy(c.t, db, strings.Replace(selectListings, "FROM listings", of, 1))); diff != "" {
			c.t.Errorf("%s: listings differ from the truth (-want +got):\n%s", name, head(diff))
		}
	}
	if err := db.IntegrityCheck(context.WithoutCancel(c.t.Context())); err != nil {
		c.t.Error(err)
	}
}

// TestCrashFleet kills a run over ten sources again and again; in the end every source
// is what it would be undisturbed, in the database and in the logs.
func TestCrashFleet(t *testing.T) {
	t.Parallel()
	c := newConvoy(t)
	rnd := rand.New(rand.NewPCG(4, 4))
	kills := 0
	for kills < 8 && c.killAfter(rnd.IntN(15)+1) {
		kills++
	}
	if kills < 4 {
		t.Errorf("only %d kills", kills)
	}
	c.finish()
	c.checkShips(filepath.Join(c.dir, "ypcrawl.db"))
	c.checkRecords()
	want, extra := 0, 0
	for i := range c.names {
		want += c.truths[i].Targets
		extra += c.counters[i].extra()
	}
	if n := c.countStatus("DONE"); n != want {
		t.Errorf("%d targets are DONE, want %d", n, want)
	}
	if extra > kills*c.workers {
		t.Errorf("%d pages were fetched again after %d kills with %d workers", extra, kills, c.workers)
	}
	path := filepath.Join(t.TempDir(), "rebuilt.db")
	if out, err := command(c.dir, nil, "--db", path, "wal", "replay", "logs/yp_wal").CombinedOutput(); err != nil {
		t.Fatalf("wal replay: %v\n%s", err, out)
	}
	c.checkShips(path)
}
