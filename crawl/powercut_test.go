package crawl_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// cuts is what a power cut would leave of a crawl at each of its commits: the database
// with the commit, and of the logs no more than had been synced when it began.
type cuts struct {
	world *world

	mu     sync.Mutex
	synced map[string]int64 // bytes on the disk, by file
	before map[string]int64 // the same when the last commit began
	bare   []string         // pages of the database that the logs did not have
	states int
	last   string // folder of the logs after the last cut
}

// syncedLog notes how much of a log every Sync has brought to the disk.
type syncedLog struct {
	*wal.Log
	cuts *cuts
}

func (l syncedLog) Sync() error {
	info, err := os.Stat(l.Path())
	if err != nil {
		return err
	}
	if err := l.Log.Sync(); err != nil {
		return err
	}
	l.cuts.mu.Lock()
	defer l.cuts.mu.Unlock()
	l.cuts.synced[l.Path()] = info.Size()
	return nil
}

const committedPages = `
	SELECT c.slug || ' page ' || s.page FROM sightings s JOIN targets t ON t.id = s.target_id JOIN cities c ON c.id = t.city_id GROUP BY 1
	UNION ALL SELECT 'details of ' || l.listing_id FROM details d JOIN listings l ON l.id = d.listing`

// commit is called before each commit: the one before it is in the database now.
func (c *cuts) commit() {
	c.mu.Lock()
	now := maps.Clone(c.synced)
	before := c.before
	c.before = now
	c.mu.Unlock()
	if before != nil {
		c.cut(before)
	}
}

// cut compares the database with the logs as a power cut leaves them.
func (c *cuts) cut(lengths map[string]int64) {
	c.states++
	c.last = c.world.t.TempDir()
	for path, n := range lengths {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(c.last, filepath.Base(path)), text[:n], 0o600)
		}
		if err != nil {
			c.world.t.Error(err)
		}
	}
	r, err := wal.OpenReader(c.last, wal.Options{})
	if err != nil {
		c.world.t.Error(err)
		return
	}
	logged := map[string]bool{}
	for e, err := range r.Events() {
		switch {
		case err != nil:
			c.world.t.Error(err)
		case e.Page != nil && e.Target.Kind == yp.KindDetail:
			logged["details of "+e.Target.Listing] = true
		case e.Page != nil:
			logged[fmt.Sprintf("%s page %d", e.Target.CitySlug, e.Page.Number)] = true
		}
	}
	for _, page := range c.world.table(committedPages) {
		if !logged[page] {
			c.bare = append(c.bare, fmt.Sprintf("commit %d: %s", c.states, page))
		}
	}
}

// TestPowerCut: whenever the power is cut, every page of the database is in the logs too.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	const cities = 12
	crawled := func(t *testing.T, change ...func(*crawl.Config)) *cuts {
		c := &cuts{synced: map[string]int64{}}
		c.world = setup(t, layout{cities: cities, beforeCommit: func() {
			if c.world != nil {
				c.commit()
			}
		}})
		w := c.world
		for i := range cities {
			at := city(i)
			w.on(at, ok(page(at+"?page=2", shops(100*i+1, 3)...)))
			w.on(at+"?page=2", ok(page("", shops(100*i+4, 3)...)))
		}
		change = append(change, func(cfg *crawl.Config) {
			cfg.Workers, cfg.MaxPerState = 4, 4
			cfg.OpenLog = func(id string) (crawl.Log, error) {
				log, err := wal.Create(wal.Config{Dir: w.walDir, WorkerID: id})
				return syncedLog{log, c}, err
			}
		})
		storetest.NoError(t, w.crawl(w.engine(change...)))
		c.cut(c.before)
		if pages := w.number(`SELECT sum(page_current) FROM targets`); pages != 2*cities || c.states < cities {
			t.Fatalf("%d pages in %d commits", pages, c.states)
		}
		return c
	}
	parallel(t, "each page's line is durable before the page", func(t *testing.T) {
		c := crawled(t)
		if len(c.bare) > 0 {
			t.Errorf("pages that no log had, in %d commits: %q", c.states, c.bare)
		}
		r, err := wal.OpenReader(c.last, wal.Options{ByCommit: true})
		storetest.NoError(t, err)
		if out := c.world.replay(storetest.Open(t), r.Events()); out.Pages != 2*cities || out.New != 6*cities {
			t.Errorf("replayed %+v", out)
		}
	})
	parallel(t, "with lazy logs that is given up", func(t *testing.T) {
		if c := crawled(t, func(cfg *crawl.Config) { cfg.LazyLogs = true }); len(c.bare) == 0 {
			t.Error("every page was synced all the same: what does the option save?")
		}
	})
}
