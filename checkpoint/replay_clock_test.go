package checkpoint_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

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
			events := byCommit(t, g.events, now)
			k := checkpoint.New(storetest.Open(t))
			for range 2 {
				out, err := k.Replay(t.Context(), seq(events), g.replayConfig(func(err error) { t.Errorf("damaged: %v", err) }))
				noErr(t, err)
				same(t, "listings", table(t, k.DB(), foundRows), found)
				same(t, "targets", table(t, k.DB(), crawledRows), targets)
				same(t, "sightings", table(t, k.DB(), sightRows), sights)
				if out.Pages != 10 || out.Uncommitted != 1 || out.Late+out.Unknown != 0 || out.Known != 0 && out.Known != out.Pages-1 {
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
		got := g.replay(t, k, events)
		got.Events, got.Listings, got.New, got.Targets = 0, 0, 0, 0
		if got != want {
			t.Errorf("told %+v, want %+v", got, want)
		}
	}
	t.Run("what is there already", func(t *testing.T) {
		told(t, g.Keeper, g.events, checkpoint.Replayed{Pages: 6, Known: 5, Uncommitted: 1})
	})
	t.Run("pages that come late, and those of a later claim alone", func(t *testing.T) {
		k := checkpoint.New(storetest.Open(t))
		last := slices.DeleteFunc(slices.Clone(g.events), func(e *wal.Event) bool { return e.WorkerID != g.worker(2).ID }) // a third page
		told(t, k, last, checkpoint.Replayed{Pages: 1, Late: 1})
		told(t, k, g.events, checkpoint.Replayed{Pages: 6, Late: 3, Uncommitted: 1})
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
	t.Run("the own page of a listing that no page has brought", func(t *testing.T) {
		e := &wal.Event{
			Type: wal.PageComplete, Timestamp: g.clock.Now(), Nth: 1, Target: &wal.Target{ClaimToken: 1, Crawl: 1, Kind: yp.KindDetail, Source: "demo", Listing: "nowhere"},
			Page: &yp.Page{Number: 1, Last: true, Raw: 1, Accepted: 1, Detail: &yp.Detail{ID: "nowhere"}},
		}
		out, err := g.Replay(t.Context(), seq([]*wal.Event{e}), g.replayConfig(func(error) {}))
		if err != nil || out.Damaged != 1 || out.Details != 0 {
			t.Errorf("told %+v (%v)", out, err)
		}
	})
}
