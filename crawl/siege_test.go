package crawl_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// siege is a host in a bubble that has a bad time: until it begins and after it ends
// every target has two pages of three shops.
type siege struct {
	began    time.Time // the crawl
	from, to time.Duration
	bad      http.HandlerFunc
	latency  time.Duration

	mu   sync.Mutex
	hits []hit
}

// hit is one request, robots.txt included.
type hit struct {
	at   time.Duration
	path string
}

func (s *siege) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Since(s.began)
	s.mu.Lock()
	s.hits = append(s.hits, hit{at, r.URL.RequestURI()})
	s.mu.Unlock()
	time.Sleep(s.latency)
	var n int
	_, err := fmt.Sscanf(r.URL.Path, "/city-%d-ca/plumbers", &n)
	switch {
	case at >= s.from && at < s.to:
		s.bad(w, r)
	case r.URL.Path == "/robots.txt":
		status(http.StatusNotFound, "")(w, r)
	case err != nil:
		status(http.StatusNotFound, shell("none"))(w, r)
	case r.URL.RawQuery == "":
		ok(page(r.URL.Path+"?page=2", shops(10*n+1, 3)...))(w, r)
	default:
		ok(page("", shops(10*n+4, 3)...))(w, r)
	}
}

// during lists the requests between two times.
func (s *siege) during(from, to time.Duration) (all []hit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hits {
		if h.at >= from && h.at < to {
			all = append(all, h)
		}
	}
	return all
}

// world plans the targets of a siege, which begins to count now.
func (s *siege) world(t *testing.T, targets int) *world {
	t.Helper()
	p := newPipes()
	d := &town{}
	s.began = time.Now()
	d.Server = p.serve(t, http.HandlerFunc(s.serve))
	w := newWorld(t, d, layout{cities: targets, synchronous: unsafe})
	w.limit = ages
	w.fetch = fetch.Config{Dial: p.dial, DelayMin: siegeDelay, ConcurrencyPerHost: siegeWorkers}
	return w
}

const (
	siegeDelay   = 2 * time.Second
	siegeWorkers = 5
)

// watching returns an engine that stays, as a crawl that runs for days. It looks but
// seldom whether there is something new: the database's work takes real time.
func (w *world) watching(look time.Duration) *crawl.Engine {
	w.t.Helper()
	rollUp := 5 * time.Minute
	if look >= time.Hour {
		rollUp = look
	}
	e := w.engine(workers(siegeWorkers), func(c *crawl.Config) {
		c.Watch, c.Delay, c.RetryBase, c.MaxPerState = true, siegeDelay, time.Second, siegeWorkers
		c.Heartbeat, c.RollUp = look, rollUp
	})
	e.SetLook(look)
	e.SetRefresh(look)
	return e
}

// untilDone lets a run that stays go on until all of its targets are done, and stops
// it.
func (w *world) untilDone(e *crawl.Engine, done <-chan error) {
	w.t.Helper()
	w.until("SELECT count(*) FROM targets WHERE status <> 'DONE'", e, done)
}

// until lets a run that stays go on until there is nothing left of what a query counts.
func (w *world) until(left string, e *crawl.Engine, done <-chan error) {
	w.t.Helper()
	for end := time.Now().Add(ages); w.number(left) > 0; {
		select {
		case err := <-done:
			w.t.Fatalf("a run that stays ended with %v", err)
		case <-time.After(10 * time.Minute):
		}
		if time.Now().After(end) {
			w.t.Fatalf("after %s there is still %d of %s", ages, w.number(left), left)
		}
	}
	e.Stop(crawl.ErrInterrupted)
	endedBy(w.t, w.wait(done), crawl.ErrInterrupted)
}

// restarted ends a run as if its process were told to stop, and opens everything anew.
func (w *world) restarted(e *crawl.Engine, done <-chan error) *world {
	w.t.Helper()
	e.Stop(crawl.ErrInterrupted)
	endedBy(w.t, w.wait(done), crawl.ErrInterrupted)
	storetest.NoError(w.t, errors.Join(w.run.Finish(w.t.Context(), checkpoint.OutcomeInterrupted, 0), w.db.Close()))
	return w.peer()
}

// rounds is how often a host is tried anew in a time in which it turns everything
// down. With every block in a row it is left alone for longer (health.Penalty): not
// at all after the first, then 30 s, doubled each time up to 30 minutes. So it is
// tried at
//
//	0 s, 0 s, 30 s, 90 s, 210 s, 450 s, 930 s, 1890 s, 3690 s, …
//
// which is 8 times in an hour.
func rounds(hour time.Duration) (n int) {
	for at := time.Duration(0); at < hour; at += health.Penalty(n) {
		n++
	}
	return n
}

// together is how many requests are under way before the answer to the first of them is
// known: one for each delay in the latency, and at most as many as may be in flight.
func together(latency time.Duration) int {
	return min(1+int((latency-1)/siegeDelay), siegeWorkers)
}

// TestTheHour: a host that turns to 403, or to challenges, for an hour meets a
// handful of requests in it, also when the crawl is restarted meanwhile; then the
// crawl takes itself back by itself and finishes everything.
func TestTheHour(t *testing.T) {
	const quick, slow = 300 * time.Millisecond, 7 * time.Second
	if a, b, c := rounds(time.Hour), together(quick), together(slow); a != 8 || b != 1 || c != 4 {
		t.Fatalf("the arithmetic gives %d, %d, %d", a, b, c)
	}
	forbidden := status(http.StatusForbidden, shell("no"))
	strange := ok("<html><body>" + strings.Repeat("<p>Sorry.</p>", 50) + "</body></html>")
	for _, tt := range []struct {
		name    string
		bad     http.HandlerFunc
		latency time.Duration
		restart bool
		most    int
	}{
		{"of 403", forbidden, quick, false, 8},
		{"of 403 on a slow host", forbidden, slow, false, 8 * 4},
		{"of challenges, restarted in its middle", challenge, quick, true, 8 + 1}, // the new process asks for robots.txt
		// The first stranger's page is taken for an accident.
		{"of pages of a stranger", strange, quick, false, 8 + 1},
		// Each is two requests, and those of all workers are under way together.
		{"of redirects to the homepage", redirectHome, quick, false, 8 * 2 * siegeWorkers},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			const look, targets, from, to = time.Minute, 40, time.Minute, time.Minute + time.Hour
			s := &siege{from: from, to: to, bad: tt.bad, latency: tt.latency}
			w := s.world(t, targets)
			e := w.watching(look)
			done := w.begin(t.Context(), e)
			if tt.restart {
				time.Sleep(from + 20*time.Minute)
				w = w.restarted(e, done)
				e = w.watching(look)
				done = w.begin(t.Context(), e)
			}
			w.untilDone(e, done)
			t.Logf("%d requests", len(s.during(from, to)))
			if hits := s.during(from, to); len(hits) > tt.most || len(hits) < rounds(time.Hour)-1 {
				t.Errorf("the host was asked %d times in its hour, want %d to %d:\n%v", len(hits), rounds(time.Hour)-1, tt.most, hits)
			}
			if back := s.during(to, to+health.MaxPenalty+time.Minute); len(back) < 10 {
				t.Errorf("half an hour later the crawl was not back: %v", back)
			}
			s.whole(w, targets)
		})
	}
}

func redirectHome(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		ok(noResults())(w, r)
		return
	}
	redirectTo("/")(w, r)
}

// whole checks that every page of every target is there once.
func (s *siege) whole(w *world, targets int) {
	w.t.Helper()
	w.counts("targets are whole", int64(targets),
		"SELECT count(*) FROM targets WHERE status = 'DONE' AND page_current = 2 AND accepted_count = 6 AND paused = 0 AND backoff_level = 0")
	w.counts("listings", int64(6*targets), "SELECT count(*) FROM listings")
	w.counts("good pages were fetched", int64(2*targets), "SELECT count(*) FROM requests WHERE error_class IS NULL AND type = 'listing'")
	w.tidy()
}

// TestQuarantine: a host that challenges everything is quarantined after 30 minutes,
// and then asked for one page when the cooldown is over: after 30 minutes, 1, 2, 4
// and 6 hours. A restart changes nothing of it.
func TestQuarantine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const to = 10 * time.Hour
		s := &siege{to: to, bad: challenge, latency: 300 * time.Millisecond}
		w := s.world(t, 30)
		e := w.watching(30 * time.Minute)
		done := w.begin(t.Context(), e)
		time.Sleep(36 * time.Minute) // failing since the roll-up at 5 minutes: quarantined by that at 35
		storetest.Equal(t, w.table("SELECT status, error_class FROM connectivity_profiles")[0], "quarantined cf_challenge", "after 36 minutes the source is")

		w.counts("targets are held in quarantine", 0, "SELECT count(*) FROM targets WHERE status = 'IN_PROGRESS'")
		w = w.restarted(e, done)
		e = w.watching(30 * time.Minute)
		w.untilDone(e, w.begin(t.Context(), e))
		s.probed(t, w, to)
		s.whole(w, 30)
	})
}

// probed checks when the host was asked from the quarantine on.
func (s *siege) probed(t *testing.T, w *world, to time.Duration) {
	t.Helper()
	before := s.during(0, 35*time.Minute)
	if most := rounds(35*time.Minute) + 1; len(before) > most { // and robots.txt
		t.Errorf("%d requests before the quarantine, want at most %d", len(before), most)
	}
	var probes []string
	asked := 0
	for _, p := range w.table("SELECT started_at || ' ' || ifnull(error_class, 'ok') FROM requests WHERE type = 'probe' ORDER BY id") {
		at, outcome, _ := strings.Cut(p, " ")
		when, err := yp.ParseTime(at)
		storetest.NoError(t, err)
		probes = append(probes, when.Sub(s.began).Round(time.Minute).String()+" "+outcome)
		asked++
	}
	want := []string{ // 35 minutes, and then the cooldowns: half an hour, one, two, four, six
		"1h5m0s cf_challenge", "2h5m0s cf_challenge", "4h5m0s cf_challenge", "8h5m0s cf_challenge", "14h5m0s ok",
	}
	w.same("probes", probes, want)
	storetest.Equal(t, len(s.during(35*time.Minute, to))+1, asked+1, "requests in quarantine, the probes and robots.txt by the new process,")
}
