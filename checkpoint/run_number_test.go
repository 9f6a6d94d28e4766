package checkpoint_test

import (
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// TestRunNumber: a later run has a higher number, one beside another the same, and a rebuilt
// database counts on from its logs.
func TestRunNumber(t *testing.T) {
	t.Parallel()
	g := logOfOne(t) // has a run that is alive
	start := func(k *checkpoint.Keeper) *checkpoint.Run {
		r, err := k.StartRun(t.Context(), 0, "run", false)
		noErr(t, err)
		return r
	}
	finish := func(r *checkpoint.Run) {
		noErr(t, r.Finish(t.Context(), checkpoint.OutcomeDone, 0))
	}
	c := g.take(t, 0)
	g.page(t, c, true, 1, 2)
	for _, e := range g.events {
		e.RunNumber = 41
	}
	k := checkpoint.New(storetest.Open(t))
	g.replay(t, k, g.events)
	g.replay(t, k, []*wal.Event{g.events[0]})
	first := start(k)
	beside := start(k)
	finish(first)
	third := start(k)
	finish(beside)
	finish(third)
	last := start(k)
	defer finish(last)
	for i, r := range []*checkpoint.Run{first, beside, third, last} {
		if want := []int64{42, 42, 42, 43}[i]; r.Number != want {
			t.Errorf("run %d has number %d, want %d", i, r.Number, want)
		}
	}
}

// TestLaterBound: a start with a clock a year ahead counts the age of logs from the run before.
func TestLaterBound(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	var want string
	noErr(t, g.DB().Read().QueryRowContext(t.Context(), `SELECT max(heartbeat_at) FROM runs`).Scan(&want))
	g.clock.Move(365 * 24 * time.Hour)
	ahead, err := g.StartRun(t.Context(), 0, "run", false)
	noErr(t, err)
	at, err := g.LaterBound(t.Context(), ahead.ID)
	if err != nil || yp.FormatTime(at) != want {
		t.Errorf("counted from %v (%v), want %s", at, err, want)
	}
	noErr(t, ahead.Finish(t.Context(), checkpoint.OutcomeDone, 0))
}
