package crawl_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestNothingIsThere: a source of which not one of the first pages is there rests for the run, and nothing comes of it.
func TestNothingIsThere(t *testing.T) {
	t.Parallel()
	nginx := status(http.StatusNotFound, "<html><center><h1>404 Not Found</h1></center></html>")
	const planned = `SELECT count(*) FROM targets WHERE status = 'PLANNED'`
	nowhere := func(w *world, but ...int) {
		for n := range 9 {
			w.on(fmt.Sprintf("/city-%d-ca/plumbers", n), nginx)
		}
		for _, n := range but {
			w.on(fmt.Sprintf("/city-%d-ca/plumbers", n), ok(page("", shops(10*n+1, 3)...)))
		}
	}
	parallel(t, "five of five cities", func(t *testing.T) {
		clock := newClock()
		w := setup(t, layout{cities: 9, now: clock.Now})
		nowhere(w)
		for range 4 { // however often it is tried
			endedBy(t, w.crawl(w.engine(fast)), crawl.ErrMissing, "the first 5 targets, of 5 cities", "/city-", "-ca/plumbers")
			w.counts("planned targets", 9, planned)
			clock.Move(3 * time.Hour)
		}
		w.counts("blocks and holds", 0, `SELECT count(*) FROM hosts WHERE blocks > 0 OR held_until IS NOT NULL`)
		w.counts("attempts that ended otherwise", 0, `SELECT count(*) FROM crawl_attempts WHERE error_code NOT NULL AND error_code <> 'UNKNOWN_ERROR'`)
		w.counts("requests of another class", 0, `SELECT count(*) FROM requests WHERE type = 'listing' AND error_class IS NOT 'unknown'`)
	})
	for _, tt := range []struct {
		name string
		l    layout
		but  []int
	}{
		{"four cities", layout{cities: 4}, nil},
		{"one of the first is there", layout{cities: 9}, []int{2}},
		{"many targets of one city", layout{cities: 1, categories: []string{"A", "B", "C", "D", "E", "F", "G"}}, nil},
	} {
		parallel(t, tt.name, func(t *testing.T) {
			w := setup(t, tt.l)
			nowhere(w, tt.but...)
			for _, c := range tt.l.categories {
				w.on("/city-0-ca/"+strings.ToLower(c), nginx)
			}
			w.done(fast, workers(1))
			w.counts("targets not tried", 0, `SELECT count(*) FROM targets WHERE total_attempts = 0`)
		})
	}
	parallel(t, "a failure of the network in between says nothing", func(t *testing.T) {
		w := setup(t, layout{cities: 9})
		nowhere(w)
		w.on("/city-2-ca/plumbers", status(http.StatusBadGateway, "later"))
		endedBy(t, w.crawl(w.engine(fast)), crawl.ErrMissing, "the first 5 targets, of 5 cities")
	})
	parallel(t, "a block in between", func(t *testing.T) {
		w := setup(t, layout{cities: 9})
		nowhere(w)
		w.on("/city-2-ca/plumbers", status(http.StatusForbidden, "no"))
		w.done(fast)
		w.counts("targets not tried", 0, `SELECT count(*) FROM targets WHERE total_attempts = 0`)
	})
	parallel(t, "many targets of each of many cities", func(t *testing.T) {
		w := setup(t, layout{cities: 9, categories: []string{"A", "B", "C", "D", "E", "F", "G"}})
		for n := range 9 {
			for _, c := range "abcdefg" {
				w.on(fmt.Sprintf("/city-%d-ca/%c", n, c), nginx)
			}
		}
		endedBy(t, w.crawl(w.engine(fast)), crawl.ErrMissing, "the first 5 targets, of 5 cities")
		w.counts("planned targets", 63, planned)
		w.counts("tried", 5, "SELECT count(DISTINCT city_id) FROM targets WHERE total_attempts > 0")
	})
	parallel(t, "a source that gave listings before", func(t *testing.T) {
		w := setup(t, layout{cities: 9})
		w.done()
		listings := w.number("SELECT count(*) FROM listings")
		nowhere(w)
		for range 3 { // crawls, after which what is not shown would be closed
			w.again(fromPage1)
			w.done(fast)
		}
		w.counts("listings", listings, "SELECT count(*) FROM listings WHERE dropped_at IS NULL")
	})
}

// TestMissingForEver: a page that is not there, and of which the site says nothing, never parks its target.
func TestMissingForEver(t *testing.T) {
	t.Parallel()
	clock := newClock()
	w := setup(t, layout{now: clock.Now})
	w.on(target, status(http.StatusNotFound, "nginx"))
	for range 9 {
		w.done(fast)
		clock.Move(33 * time.Hour)
	}
	if r := w.row(1); r.Status != yp.Failed || r.Failures != 9 || r.Code != string(yp.CodeUnknown) {
		t.Errorf("after nine failures: %+v", r)
	}
	again := storetest.Open(t)
	w.replayLogs(again)
	const stands = "SELECT status, consecutive_failures, backoff_level FROM targets"
	storetest.Equal(t, fmt.Sprint(storetest.Table(t, again, stands)), fmt.Sprint(storetest.Table(t, w.db, stands)), "replayed")
}

// fast asks again at once.
func fast(c *crawl.Config) { c.RetryBase = time.Millisecond }

// TestNoPageOfAnyCity: where the site itself says of the first cities that it has no such page, their targets are parked, and the
// log says once where to look.
func TestNoPageOfAnyCity(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cities int
		but    int // is there
		warned int
	}{
		"all of nine":      {9, -1, 1},
		"four":             {4, -1, 0},
		"the first is one": {9, 0, 0},
	} {
		parallel(t, name, func(t *testing.T) {
			w := setup(t, layout{cities: tt.cities})
			for n := range tt.cities {
				w.on(city(n), status(http.StatusNotFound, shell("No such page")))
			}
			if tt.but >= 0 {
				w.on(city(tt.but), ok(page("", shops(1, 3)...)))
			}
			var lines bytes.Buffer
			w.done(fast, workers(1), func(c *crawl.Config) { c.Logger = zerolog.New(&lines) })
			w.counts("parked targets", int64(tt.cities-min(tt.but+1, 1)), `SELECT count(*) FROM targets WHERE status = 'PARKED'`)
			const warning = "compare the address with urls.target of the definition"
			storetest.Equal(t, strings.Count(lines.String(), warning), tt.warned, lines.String())
		})
	}
}
