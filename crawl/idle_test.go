package crawl_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestMaxPerState runs 16 workers over two states. The first ten requests meet
// at the server, so that both states are really full; no worker asks by itself, and all end with the run.
func TestMaxPerState(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{states: []string{"CA", "TX"}, cities: 12})
	var mu sync.Mutex
	flying, highest := map[string]int{}, map[string]int{}
	full := make(chan struct{})
	total := 0
	for i := range 12 {
		for _, st := range []string{"ca", "tx"} {
			w.on(fmt.Sprintf("/city-%d-%s/plumbers", i, st), after(func() {
				mu.Lock()
				flying[st]++
				highest[st] = max(highest[st], flying[st])
				if total++; total == 10 {
					close(full)
				}
				mu.Unlock()
				<-full
				mu.Lock()
				flying[st]--
				mu.Unlock()
			}, ok(page("", shops(1+i, 1)...))))
		}
	}
	e := w.engine(workers(16), func(c *crawl.Config) { c.MaxPerState = 5 }, reached(func(p crawl.Point) {
		if p == crawl.PointClaimed || p == crawl.PointCommitted {
			if n := w.number("SELECT ifnull(max(n), 0) FROM (SELECT count(*) AS n FROM targets WHERE status = 'IN_PROGRESS' GROUP BY state)"); n > 5 {
				t.Errorf("%d targets of a state are in progress", n)
			}
		}
	}))
	e.SetLook(time.Hour)
	storetest.NoError(t, w.crawl(e))
	if want := map[string]int{"ca": 5, "tx": 5}; !maps.Equal(highest, want) {
		t.Errorf("at most %v requests of a state at once, want %v", highest, want)
	}
	storetest.Equal(t, e.Stats().Done, 24, "targets done")
}

// TestAllWorkersInAState: without --max-per-state a crawl of one state has work for all of its workers.
func TestAllWorkersInAState(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 10})
	meet := meeting(t, 10)
	for i := range 10 {
		w.on(city(i), after(meet, ok(page("", shops(1+i, 1)...))))
	}
	storetest.Equal(t, w.done(workers(10)).Done, 10, "targets done")
}

// TestFullStateIsTold: workers that wait because of --max-per-state say so in the log and in v_waits, while they do.
func TestFullStateIsTold(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 4})
	var log bytes.Buffer
	var once sync.Once
	told := `SELECT reason, ifnull(targets, '-'), kind, source FROM v_waits`
	for i := range 4 {
		w.on(city(i), after(func() {
			once.Do(func() {
				waitFor(t, func() bool { return w.number("SELECT count(*) FROM workers WHERE waits_for IS NOT NULL") == 2 })
				w.same("waits", w.table(told), []string{"2 workers wait: --max-per-state 1 - search test"})
				w.same("workers", w.table(`SELECT waits_for, count(*) FROM v_run_workers GROUP BY 1 ORDER BY 2 DESC`), []string{"--max-per-state 1 2", "- 1"})
				st, err := report.New(w.db).Standing(t.Context(), store.Scope{})
				storetest.NoError(t, err)
				w.same("lines of the page", st.Reasons(), []string{"2 workers wait: --max-per-state 1"})
			})
		}, ok(page("", shops(1+i, 1)...))))
	}
	e := w.engine(workers(3), func(c *crawl.Config) { c.MaxPerState, c.Logger = 1, zerolog.New(zerolog.SyncWriter(&log)) })
	e.SetLook(time.Hour)
	storetest.NoError(t, w.crawl(e))
	storetest.Equal(t, e.Stats().Done, 4, "targets done")
	w.same("waits at the end", w.table(`SELECT reason FROM v_waits WHERE targets IS NULL`), nil)
	if n := strings.Count(log.String(), `"max_per_state":1,"workers":3,"states":["CA"],"message":"workers wait`); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, &log)
	}
}

// TestLinger: a run waits for what falls due soon, be it a backoff or a crawl.
func TestLinger(t *testing.T) {
	good := ok(page("", shops(1, 3)...))
	bad := status(403, shell("no"))
	for _, tt := range []struct {
		name   string
		page   http.HandlerFunc
		linger time.Duration
		asked  int
		took   [2]time.Duration // at least, at most
		status yp.Status
	}{
		{"waits for a backoff that ends soon", inTurn(bad, good), 150 * time.Second, 2, [2]time.Duration{2 * time.Minute, 151 * time.Second}, yp.Done},
		{"waits for the second, which is longer", inTurn(bad, bad, good), 5 * time.Minute, 3, [2]time.Duration{6 * time.Minute, 452 * time.Second}, yp.Done},
		{"does not wait for the third, which is two hours", bad, 5 * time.Minute, 3, [2]time.Duration{6 * time.Minute, 452 * time.Second}, yp.Failed},
		{"waits for two hours, too", inTurn(bad, bad, bad, good), 2 * time.Hour, 4, [2]time.Duration{2 * time.Hour, 130 * time.Minute}, yp.Done},
		{"does not wait for one that ends later", inTurn(bad, good), 119 * time.Second, 1, [2]time.Duration{0, time.Second}, waiting},
		{"of 0 waits for nothing", inTurn(bad, good), 0, 1, [2]time.Duration{0, time.Second}, waiting},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, layout{})
			w.look = 10 * time.Minute
			w.on(target, tt.page)
			began := time.Now()
			e := w.engine(func(c *crawl.Config) { c.Linger = tt.linger })
			storetest.NoError(t, w.crawl(e))
			took(t, began, tt.took[0], tt.took[1])
			w.requested(times(tt.asked, target)...)
			storetest.Equal(t, w.row(1).Status, tt.status, "the target is")
		})
	}
	for _, tt := range []struct {
		name  string
		due   time.Duration
		asked int
	}{
		{"waits for a crawl that is due again soon", 4 * time.Minute, 2},
		{"does not wait for one that is due later", 6 * time.Minute, 1},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, layout{})
			w.look = 10 * time.Minute
			w.done()
			w.write("UPDATE targets SET not_before = ?", yp.FormatTime(time.Now().Add(tt.due)))
			e := w.engine(func(c *crawl.Config) { c.Linger = 5 * time.Minute })
			storetest.NoError(t, w.crawl(e))
			w.requested(times(tt.asked, target)...)
			w.is(1, yp.Done, 1, "")
		})
	}
}

// TestWaiting: a run that works does not wait, whatever its idle workers do; one that
// waits says for what.
func TestWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 2})
		e := w.engine(workers(2), func(c *crawl.Config) { c.Linger = 3 * time.Minute })
		w.on(target, inTurn(status(403, shell("no")), ok(page("", shops(4, 3)...))))
		w.on(city(1), after(func() {
			time.Sleep(15 * time.Second)
			if s := e.Stats(); e.Waiting() != "" || s.Busy != 1 || s.Waiting != 1 || w.row(1).Status != waiting {
				t.Errorf("it works with %d busy workers, and says %q", s.Busy, e.Waiting())
			}
		}, ok(page("", shops(1, 3)...))))
		done := w.begin(t.Context(), e)
		time.Sleep(30*time.Second + time.Millisecond)
		if got := e.Waiting(); !regexp.MustCompile(`^waiting until 00:0[23]:\d\d UTC: nothing is due before that$`).MatchString(got) {
			t.Errorf("it says %q", got)
		}
		storetest.NoError(t, w.wait(done))
		storetest.Equal(t, e.Waiting(), "", "it is over")
		w.is(1, yp.Done, 1, "")
		w.is(2, yp.Done, 1, "")
	})
}
