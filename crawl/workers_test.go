package crawl_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// crowd counts the pages under way at once.
type crowd struct {
	mu       sync.Mutex
	now, top int
}

func (c *crowd) in(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.top = max(c.top, c.now)
	return c.now
}

// most is how many there were at once.
func (c *crowd) most() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.top
}

// towns plans n targets of one page each that take a second, and counts them.
func towns(t *testing.T, n int) (*world, *crowd) {
	t.Helper()
	w, c := setupInBubble(t, layout{cities: n}), &crowd{}
	for i := range n {
		w.on(city(i), c.slowly(ok(page("", shops(10*i+1, 3)...))))
	}
	return w, c
}

// slowly answers a second later, and counts those who wait.
func (c *crowd) slowly(h http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		c.in(1)
		time.Sleep(time.Second)
		c.in(-1)
		h(rw, r)
	}
}

// TestGrowth: workers that find nothing to do wait for what the others may plan.
func TestGrowth(t *testing.T) {
	inBubble(t, "an index plans searches", func(t *testing.T) {
		w, c := towns(t, 40)
		var slugs []string
		for i := range 40 {
			slugs = append(slugs, fmt.Sprintf("city-%d-ca", i))
		}
		w.on("/state-ca", ok(indexPage("ca", slugs...)))
		w.on("/state-ca*", ok(indexPage("ca")))
		w.write("DELETE FROM targets")
		w.wantIndexes("CA")
		storetest.NoError(t, w.crawl(w.engine(workers(4), w.reads(), func(c *crawl.Config) { c.Index.Only = false })))
		storetest.Equal(t, c.most(), 4, "pages at once")
	})
	inBubble(t, "a page plans details", func(t *testing.T) {
		w, c := setupInBubble(t, layout{yaml: shopPages}), &crowd{}
		w.on(target, ok(page("", shops(1, 40)...)))
		for i := range 40 {
			w.on(shop(i+1), c.slowly(ok(own(i+1))))
		}
		storetest.NoError(t, w.crawl(w.engine(workers(4), detailed)))
		storetest.Equal(t, c.most(), 4, "pages at once")
	})
	inBubble(t, "falls due", func(t *testing.T) {
		w, c := towns(t, 40)
		w.write("UPDATE targets SET wait_reason = 'backoff', not_before = ?, consecutive_failures = 1 WHERE id > 1", yp.FormatTime(time.Now().Add(20*time.Minute)))
		w.look = 2 * time.Minute
		e := w.engine(workers(4), func(c *crawl.Config) { c.Watch, c.Heartbeat = true, 2*time.Minute })
		done := w.begin(t.Context(), e)
		time.Sleep(10 * time.Minute)
		storetest.Equal(t, c.most(), 1, "pages at once")
		time.Sleep(15 * time.Minute)
		storetest.Equal(t, c.most(), 4, "pages at once")
		e.Stop(crawl.ErrInterrupted)
		endedBy(t, w.wait(done), crawl.ErrInterrupted)
		storetest.Equal(t, e.Stats().Done, 40, "targets done")
		w.tidy()
	})
}

// TestRegistry: a worker's row says who it is, what it did, and that it is alive.
func TestRegistry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, _ := towns(t, 6)
		w.on(city(0), ok(page(city(0)+"?page=2", shops(1000, 4)...)))
		w.on(city(0)+"?page=2", after(func() { time.Sleep(15 * time.Second) }, ok(page("", shops(2000, 2)...))))
		began := time.Now()
		e := w.engine(workers(2), func(c *crawl.Config) { c.Heartbeat = 5 * time.Second })
		done := w.begin(t.Context(), e)
		time.Sleep(11 * time.Second)
		const now = "SELECT name, target_id, page FROM v_workers"
		if got := w.table(now); len(got) != 2 || !strings.Contains(strings.Join(got, "\n"), " 1 2") {
			t.Errorf("at work: %v, want two, one of them on page 2 of target 1", got)
		}
		if beat := w.table("SELECT max(heartbeat_at) FROM workers")[0]; beat < yp.FormatTime(began.Add(10*time.Second)) {
			t.Errorf("the last heartbeat was at %s", beat)
		}
		storetest.NoError(t, w.wait(done))
		for _, c := range []struct{ what, query, want string }{
			{"names", "SELECT group_concat(name, ' ') FROM (SELECT name FROM workers ORDER BY worker_id)", yp.WorkerName(0) + " " + yp.WorkerName(1)},
			{"ids", "SELECT group_concat(worker_id, ' ') FROM (SELECT worker_id FROM workers ORDER BY worker_id)", yp.WorkerID(0, os.Getpid()) + " " + yp.WorkerID(1, os.Getpid())},
			{"pids", "SELECT DISTINCT pid FROM workers", fmt.Sprint(os.Getpid())},
			{"pages", "SELECT sum(pages) FROM workers", "7"},
			{"listings", "SELECT sum(listings) FROM workers", "21"},
			{"claims", "SELECT sum(claims), sum(claim_retries) FROM workers", "6 0"},
			{"still at work", "SELECT count(*) FROM workers WHERE stopped_at IS NULL", "0"},
			{"impossible", "SELECT count(*) FROM workers WHERE stopped_at < started_at OR heartbeat_at < started_at", "0"},
			{"pages of the run", "SELECT pages, targets, listings_new FROM runs", "7 6 21"},
		} {
			storetest.Equal(t, w.table(c.query)[0], c.want, c.what)
		}
	})
}

// TestWatch: a run that watches stays when nothing is due, takes targets as they fall
// due, and ends when it is told to.
func TestWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 2})
		w.on(city(1), inTurn(status(404, shell("x")), ok(page("", shops(4, 3)...))))
		w.write("UPDATE targets SET crawl_frequency_minutes = 120 WHERE id = 1")
		w.write("UPDATE targets SET enabled = 0 WHERE id = 2")
		began := time.Now()
		w.look = 5 * time.Minute
		e := w.engine(workers(3), func(c *crawl.Config) { c.Watch = true })
		done := w.begin(t.Context(), e)
		time.Sleep(30 * time.Minute)
		storetest.Equal(t, e.Waiting(), "nothing is due", "it says")
		time.Sleep(45 * time.Minute) // within the hour that it looks ahead
		storetest.Equal(t, e.Waiting(), "waiting until "+yp.ClockTime(began, began.Add(108*time.Minute))+": nothing is due before that", "it says")

		time.Sleep(time.Until(began.Add(6*time.Hour + time.Minute)))
		w.requested(times(4, target)...) // every 2 hours, a tenth sooner
		var at []string
		for _, s := range w.table("SELECT started_at FROM requests WHERE target_id = 1") {
			when, err := yp.ParseTime(s)
			storetest.NoError(t, err)
			at = append(at, when.Sub(began).Round(time.Second).String())
		}
		if want := []string{"0s", "1h48m0s", "3h36m0s", "5h24m0s"}; !slices.Equal(at, want) {
			t.Errorf("crawled after %v, want %v", at, want)
		}
		w.write("UPDATE targets SET enabled = 1 WHERE id = 2") // an operator's word is heard, too
		time.Sleep(6 * time.Minute)
		w.requested(append(times(4, target), city(1), "/search?search_terms=Plumbers&geo_location_terms=City+1%2C+CA")...)
		w.is(2, yp.Parked, 0, yp.CodeNoListings)
		stopped := time.Now()
		e.Stop(crawl.ErrInterrupted)
		endedBy(t, w.wait(done), crawl.ErrInterrupted)
		took(t, stopped, 0, 0)
		w.counts("workers stayed", 0, "SELECT count(*) FROM workers WHERE stopped_at IS NULL")
	})
}
