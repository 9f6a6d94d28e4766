package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// telling is a database with runs 1 and 2 and a clock.
type telling struct {
	*store.DB
	now time.Time
}

func newTelling(t *testing.T) *telling {
	t.Helper()
	x := &telling{now: noon}
	x.DB = storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "test.db"), Now: func() time.Time { return x.now }})
	x.do(t, `INSERT INTO runs (uuid, host, pid, command, started_at, heartbeat_at) VALUES ('a', 'h', 1, 'run', 'x', 'x'), ('b', 'h', 1, 'run', 'x', 'x')`)
	return x
}

func (x *telling) do(t *testing.T, query string) {
	t.Helper()
	if err := x.Write(t.Context(), func(tx *store.Tx) error { return tx.Run(query) }); err != nil {
		t.Fatal(err)
	}
}

// take takes a notice of a run and says whether it is to be reported; ended keeps that it was.
func (x *telling) take(t *testing.T, run int64, mark string, ended ...bool) bool {
	t.Helper()
	n := store.Notice{Event: yp.NoticeQuarantine, SourceID: 1, Mark: mark, Run: run}
	mine, err := x.TakeNotice(t.Context(), n, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, delivered := range ended {
		if err := x.NoticeEnded(t.Context(), n, delivered); err != nil {
			t.Fatal(err)
		}
	}
	return mine
}

func (x *telling) want(t *testing.T, want bool, run int64, mark string, ended ...bool) {
	t.Helper()
	if got := x.take(t, run, mark, ended...); got != want {
		t.Errorf("reported: %v, want %v", got, want)
	}
}

const endRun1 = `UPDATE runs SET outcome = 'dead', finished_at = heartbeat_at WHERE id = 1`

func TestNotices(t *testing.T) {
	t.Parallel()
	t.Run("once a period", func(t *testing.T) {
		t.Parallel()
		x := newTelling(t)
		x.want(t, true, 1, "a", true)
		x.want(t, false, 1, "a")
		x.want(t, false, 2, "b") // by another run neither
		x.now = noon.Add(time.Hour - time.Millisecond)
		x.want(t, false, 1, "b")
		x.now = noon.Add(time.Hour)
		x.want(t, false, 1, "a") // the same stands
		x.want(t, true, 1, "b")
	})
	t.Run("the same once a day", func(t *testing.T) {
		t.Parallel()
		x := newTelling(t)
		x.want(t, true, 1, "a", true)
		x.now = noon.Add(24*time.Hour - time.Millisecond)
		x.want(t, false, 2, "a")
		x.now = noon.Add(24 * time.Hour)
		x.want(t, true, 2, "a")
	})
	t.Run("after a restart not again", func(t *testing.T) {
		t.Parallel()
		x := newTelling(t)
		x.want(t, true, 1, "a", true)
		x.do(t, endRun1)
		x.want(t, false, 2, "a")
	})
	t.Run("lost by a kill", func(t *testing.T) {
		t.Parallel()
		x := newTelling(t)
		x.want(t, true, 1, "a")
		x.want(t, false, 2, "a") // the other run is about to tell it
		x.do(t, endRun1)
		x.want(t, true, 2, "a", true)
		x.want(t, false, 2, "a")
	})
	t.Run("nobody took it", func(t *testing.T) {
		t.Parallel()
		x := newTelling(t)
		x.want(t, true, 1, "a", false)
		x.want(t, false, 1, "a")
		x.do(t, endRun1)
		x.want(t, true, 2, "a")
	})
	t.Run("nobody took it, and its run goes on", func(t *testing.T) {
		t.Parallel()
		x := newTelling(t)
		x.want(t, true, 1, "a", false)
		x.now = noon.Add(time.Hour - time.Millisecond)
		x.want(t, false, 1, "a")
		x.now = noon.Add(time.Hour)
		x.want(t, true, 1, "a", true)
		x.now = noon.Add(2 * time.Hour)
		x.want(t, false, 1, "a")
	})
	t.Run("its run was forgotten", func(t *testing.T) {
		t.Parallel()
		x := newTelling(t)
		x.want(t, true, 1, "a", true)
		x.do(t, `DELETE FROM runs WHERE id = 1`)
		x.want(t, false, 2, "a")
	})
	t.Run("a clock set back", func(t *testing.T) {
		t.Parallel()
		x := newTelling(t)
		x.want(t, true, 1, "a", true)
		x.now = noon.Add(-time.Hour)
		x.want(t, true, 1, "a", true)
		x.want(t, false, 1, "a")
	})
}

func TestReportedUntil(t *testing.T) {
	t.Parallel()
	x := newTelling(t)
	until := func(want time.Time) {
		t.Helper()
		if got, err := x.ReportedUntil(t.Context(), yp.NoticeDeadLetters, x.now); err != nil || !got.Equal(want) {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	until(noon)
	x.now = noon.Add(time.Minute)
	until(noon) // what has come since is still to be reported
	n := store.Notice{Event: yp.NoticeDeadLetters, Mark: "x", Run: 1}
	if mine, err := x.TakeNotice(t.Context(), n, time.Hour); err != nil || !mine {
		t.Fatalf("the first one: %v, %v", mine, err)
	}
	until(noon)
	if err := x.NoticeEnded(t.Context(), n, true); err != nil {
		t.Fatal(err)
	}
	until(x.now)
	n.At = x.now.Add(time.Hour) // until when they were counted, and not when they were reported
	x.now = x.now.Add(2 * time.Hour)
	if mine, err := x.TakeNotice(t.Context(), n, time.Hour); err != nil || mine {
		t.Fatalf("the same mark: %v, %v", mine, err)
	}
	n.Mark = "y"
	if mine, err := x.TakeNotice(t.Context(), n, time.Hour); err != nil || !mine {
		t.Fatalf("the second one: %v, %v", mine, err)
	}
	if err := x.NoticeEnded(t.Context(), n, true); err != nil {
		t.Fatal(err)
	}
	until(n.At)
}
