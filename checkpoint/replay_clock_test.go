package checkpoint_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// written writes the events into logs of their workers, each with the time that a clock
// tells, and returns the folder.
func (g *logged) written(t *testing.T, now func(i int) time.Time) (dir string) {
	t.Helper()
	dir = t.TempDir()
	logs := map[string]*wal.Log{}
	for i, e := range g.events {
		if logs[e.WorkerID] == nil {
			log, err := wal.Create(wal.Config{Dir: dir, WorkerID: e.WorkerID})
			noErr(t, err)
			logs[e.WorkerID] = log
		}
		e := *e
		e.Timestamp = now(i)
		noErr(t, logs[e.WorkerID].Append(&e))
	}
	for _, log := range logs {
		noErr(t, log.Close())
	}
	return dir
}

// replayLogs replays a folder as the command does.
func (g *logged) replayLogs(t *testing.T, k *checkpoint.Keeper, dir string) checkpoint.Replayed {
	t.Helper()
	x, err := wal.ReadIndex(dir, wal.Options{})
	noErr(t, err)
	r, err := x.OpenOrdered(dir, wal.Options{})
	noErr(t, err)
	defer func() { _ = r.Close() }()
	cfg := g.replayConfig(func(err error) { t.Errorf("damaged: %v", err) })
	cfg.Details = func() (iter.Seq2[*wal.Event, error], error) {
		r, err := wal.OpenReader(dir, wal.Options{Filter: wal.Filter{Kinds: []yp.Kind{yp.KindDetail}}})
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = r.Close() })
		return r.Events(), nil
	}
	out, err := k.Replay(t.Context(), r.Events(), cfg)
	noErr(t, err)
	return out
}

// TestReplayWithAnyClock: whatever the clock said while a crawl went on, its logs bring the
// same listings, the same progress and the same ends.
func TestReplayWithAnyClock(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	g.clock.Move(yp.RecrawlAfter + time.Hour) // and each target a second time, by other workers
	g.wake(t)
	for i := range 2 {
		c := g.take(t, 5+i)
		g.page(t, c, false, 20+10*i, 21+10*i)
		noErr(t, g.Release(bg, c, "stop"))
		g.log(wal.Stop, c, nil, "", yp.Planned)
		c = g.take(t, 7+i)
		g.page(t, c, true, 22+10*i, 23+10*i)
		g.log(wal.TargetComplete, c, nil, "", yp.Done)
	}
	const crawledRows = `SELECT * FROM (` + targetRows + `) WHERE page_current > 0` // the others were only planned anew
	found, targets, sights := table(t, g.DB(), foundRows), table(t, g.DB(), crawledRows), table(t, g.DB(), sightRows)
	start := g.events[0].Timestamp
	rnd := rand.New(rand.NewPCG(7, 7))
	clocks := map[string]func(i int) time.Time{
		"backwards": func(i int) time.Time { return start.Add(-time.Duration(i) * time.Second) },
		"standing":  func(int) time.Time { return start },
		"ten s back": func(i int) time.Time {
			return start.Add(time.Duration(i)*time.Second - time.Duration(i/10)*10*time.Second)
		},
		"a year ahead": func(i int) time.Time { return start.AddDate(i%2, 0, 0) },
	}
	for i := range 8 {
		times := make([]time.Time, len(g.events))
		for i := range times {
			times[i] = start.Add(time.Duration(rnd.IntN(60)) * time.Second)
		}
		clocks[fmt.Sprint("at random ", i)] = func(i int) time.Time { return times[i] }
	}
	for name, now := range clocks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := g.written(t, now)
			k := checkpoint.New(storetest.Open(t))
			for range 2 {
				out := g.replayLogs(t, k, dir)
				same(t, "listings", table(t, k.DB(), foundRows), found)
				same(t, "targets", table(t, k.DB(), crawledRows), targets)
				same(t, "sightings", table(t, k.DB(), sightRows), sights)
				if out.Pages != 10 || out.Late+out.Aside+out.Unknown != 0 || out.Known != 0 && out.Known != out.Pages {
					t.Errorf("told %+v", out)
				}
			}
			recount(t, k.DB())
		})
	}
}

// TestReplayTellsWhatItSkips: nothing that a log holds is passed over without a word.
func TestReplayTellsWhatItSkips(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	found := table(t, g.DB(), foundRows)
	told := func(t *testing.T, k *checkpoint.Keeper, events []*wal.Event, want checkpoint.Replayed) {
		t.Helper()
		got, err := k.Replay(t.Context(), seq(events), g.replayConfig(func(error) {}))
		noErr(t, err)
		got.Events, got.Listings, got.New, got.Targets = 0, 0, 0, 0
		if got != want {
			t.Errorf("told %+v, want %+v", got, want)
		}
	}
	pages := slices.DeleteFunc(slices.Clone(g.events), func(e *wal.Event) bool { return e.Type != wal.PageComplete })
	t.Run("what is there already", func(t *testing.T) {
		told(t, g.Keeper, g.events, checkpoint.Replayed{Pages: 6, Known: 6})
	})
	t.Run("pages that come late, and those of a later claim alone", func(t *testing.T) {
		k := checkpoint.New(storetest.Open(t))
		last := pages[3:4] // the first target's third page, by another worker than the two before
		told(t, k, last, checkpoint.Replayed{Pages: 1, Aside: 1})
		told(t, k, pages, checkpoint.Replayed{Pages: 6, Late: 2, Known: 1})
		same(t, "listings", table(t, k.DB(), foundRows), found)
	})
	t.Run("kinds of another program, and lines that no one can read", func(t *testing.T) {
		k := checkpoint.New(storetest.Open(t))
		events := func(yield func(*wal.Event, error) bool) {
			_ = yield(&wal.Event{Type: "from_the_future", Timestamp: time.Now()}, nil) && yield(nil, errors.New("damaged"))
		}
		out, err := k.Replay(t.Context(), events, g.replayConfig(func(error) {}))
		if err != nil || out.Unknown != 1 || out.Damaged != 1 || out.Events != 1 {
			t.Errorf("told %+v (%v)", out, err)
		}
	})
}

// TestReplayOfDetailsBeforeTheirPage: a clock that was set back brings a listing's own page
// before the page that the listing stands on. It is kept, the claim that came later counts,
// and what has no page at all is told.
func TestReplayOfDetailsBeforeTheirPage(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	detail := func(id string, token int64, email string) {
		g.events = append(g.events, &wal.Event{
			Type: wal.PageComplete, WorkerID: "worker_9_pid_1", Status: yp.Done,
			Target: &wal.Target{ClaimToken: token, Crawl: token, Kind: yp.KindDetail, Source: "demo", Listing: id},
			Page:   &yp.Page{Number: 1, Last: true, Raw: 1, Accepted: 1, Detail: &yp.Detail{ID: id, Email: email}},
		})
	}
	g.brings(t, g.take(t, 0), yp.Page{Last: true, End: true}, "a", "b")
	detail("a", 1, "old@a.com")
	detail("a", 3, "new@a.com")
	detail("a", 2, "late@a.com")
	detail("b", 1, "b@b.com")
	start := g.events[0].Timestamp
	dir := g.written(t, func(i int) time.Time { return start.Add(-time.Duration(i) * time.Minute) })
	k := checkpoint.New(storetest.Open(t))
	for _, known := range []int{2, 4 + 1} { // two that a later claim came before; the second time all of them, and the page
		if out := g.replayLogs(t, k, dir); out.Details != 4 || out.Known != known || out.Damaged != 0 {
			t.Errorf("told %+v", out)
		}
		same(t, "details", table(t, k.DB(), `SELECT l.listing_id, d.email, t.claim_token FROM details d JOIN listings l ON l.id = d.listing JOIN targets t ON t.listing = l.id ORDER BY 1`),
			[]string{"a|new@a.com|3", "b|b@b.com|1"})
	}
	detail("nowhere", 1, "x@x.com")
	out, err := k.Replay(t.Context(), seq(g.events), g.replayConfig(func(error) {}))
	if err != nil || out.Damaged != 1 {
		t.Errorf("told %+v (%v), want the detail of a listing that no page has brought", out, err)
	}
}
