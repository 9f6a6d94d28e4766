package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

var bg = context.Background()

// kill makes the run that of a dead process: its lock is gone.
func (b *bundle) kill(t *testing.T, r *checkpoint.Run) {
	t.Helper()
	noErr(t, os.Remove(filepath.Join(store.LockDir(b.DB().Path()), r.UUID+".lock")))
}

// second starts another run with one worker that holds a target.
func (b *bundle) second(t *testing.T) (*checkpoint.Run, *checkpoint.Claim) {
	t.Helper()
	r, err := b.StartRun(bg, b.scope.SourceID, "second", false)
	noErr(t, err)
	noErr(t, r.Enlist(bg, "other", "Bob", 5<<20))
	c, err := b.Claim(bg, checkpoint.Worker{ID: "other", RunID: r.ID}, b.scope, 5)
	noErr(t, err)
	return r, c
}

const (
	workerRows   = `SELECT worker_id, name, heartbeat_at, stopped_at, pages, claims, rss_bytes FROM workers ORDER BY id`
	endedRows    = `SELECT target_id, worker_id, ended, error_code, pages, listings FROM crawl_attempts ORDER BY id`
	someWorkerID = "worker_0_pid_1"
)

// TestRecoverClosesAttempts: with a dead process go its attempts and its workers;
// those of the living stay.
func TestRecoverClosesAttempts(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 3, "CA")
	noErr(t, b.run.Enlist(bg, someWorkerID, "Ada", 1<<20))
	mine := b.claim(t, 0)
	dead, c := b.second(t)
	for n := range 2 {
		if _, err := b.CommitPage(bg, c, page(n+1, false, fmt.Sprint("l", n))); err != nil {
			t.Fatal(err)
		}
	}
	at := yp.FormatTime(clock.Now())
	b.kill(t, dead)
	clock.Move(time.Minute)
	if rec, err := b.RecoverDead(bg, store.Scope{}); err != nil || rec != (checkpoint.Recovered{Planned: 1, Dead: 1}) {
		t.Fatalf("%+v (%v), want one", rec, err)
	}
	same(t, "attempts", table(t, b.DB(), endedRows), []string{"1|worker_0_pid_1|running|||", "2|other|recovered||2|"})
	same(t, "workers", table(t, b.DB(), workerRows), []string{someWorkerID + "|Ada|" + at + "||0|1|1048576", "other|Bob|" + at + "|" + at + "|2|1|5242880"})
	same(t, "v_workers", table(t, b.DB(), `SELECT worker_id, name, target_id, page, claims FROM v_workers`), []string{someWorkerID + "|Ada|1|1|1"})
	if err := b.Release(bg, mine, "stop"); err != nil {
		t.Error(err)
	}
	t.Run("stale ones too, but their worker may live", func(t *testing.T) {
		b.claim(t, 0)
		clock.Move(2 * time.Hour)
		if rec, err := b.RecoverStale(bg, store.Scope{}, time.Hour); err != nil || rec.Planned != 1 {
			t.Fatalf("%+v (%v)", rec, err)
		}
		same(t, "attempt", table(t, b.DB(), endedRows)[2:], []string{"1|worker_0_pid_1|recovered||0|"})
		if got := table(t, b.DB(), `SELECT worker_id FROM v_workers`); len(got) != 1 {
			t.Errorf("workers: %v", got)
		}
	})
	t.Run("given up is closed as well", func(t *testing.T) {
		b.claim(t, 0)
		execute(t, b.DB(), `UPDATE targets SET recoveries = 2, heartbeat_at = NULL WHERE status = 'IN_PROGRESS'`)
		if rec, err := b.RecoverStale(bg, store.Scope{}, time.Hour); err != nil || rec.Stuck != 1 {
			t.Fatalf("%+v (%v)", rec, err)
		}
		if open := table(t, b.DB(), `SELECT * FROM crawl_attempts WHERE ended = 'running'`); len(open) > 0 {
			t.Errorf("still open: %v", open)
		}
	})
}

// TestRecoverInScope: a dead run with targets in several states is closed at once;
// what it held elsewhere is still found by a later recovery.
func TestRecoverInScope(t *testing.T) {
	t.Parallel()
	b, _ := setupClock(t, 2, "CA", "TX")
	b.scope.States = []string{"TX"}
	dead, _ := b.second(t)
	b.kill(t, dead)
	if rec, err := b.RecoverDead(bg, store.Scope{States: []string{"CA"}}); err != nil || rec.Total() != 0 {
		t.Fatalf("%+v (%v), want nothing in CA", rec, err)
	}
	same(t, "attempts", table(t, b.DB(), `SELECT ended FROM crawl_attempts`), []string{"running"})
	if rec, err := b.RecoverDead(bg, store.Scope{}); err != nil || rec.Planned != 1 {
		t.Fatalf("%+v (%v), want the one in TX", rec, err)
	}
	same(t, "attempts", table(t, b.DB(), `SELECT ended FROM crawl_attempts`), []string{"recovered"})
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 3, "CA", "TX")
	r := b.run
	must := func(err error) {
		t.Helper()
		noErr(t, err)
	}
	begun := yp.FormatTime(clock.Now())
	must(r.Enlist(bg, "w1", "Ada", 0))
	must(r.Enlist(bg, "w2", "Bob", 100))
	for range 2 {
		if _, err := b.Claim(bg, checkpoint.Worker{ID: "w1", RunID: r.ID}, b.scope, 5); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "enlisted", table(t, b.DB(), workerRows), []string{"w1|Ada|" + begun + "||0|2|0", "w2|Bob|" + begun + "||0|0|100"})
	clock.Move(30 * time.Second)
	held, err := r.Heartbeat(bg, 7, 12345)
	if must(err); held != 2 {
		t.Errorf("%d held, want 2", held)
	}
	beat := yp.FormatTime(clock.Now())
	same(t, "they beat", table(t, b.DB(), workerRows), []string{"w1|Ada|" + beat + "||0|2|12345", "w2|Bob|" + beat + "||0|0|12345"})
	clock.Move(time.Second)
	must(r.Dismiss(bg, "w2"))
	end := yp.FormatTime(clock.Now())
	clock.Move(time.Second)
	_, err = r.Heartbeat(bg, 8, 99)
	must(err)
	later := yp.FormatTime(clock.Now())
	same(t, "who was dismissed beats no more", table(t, b.DB(), workerRows), []string{"w1|Ada|" + later + "||0|2|99", "w2|Bob|" + end + "|" + end + "|0|0|12345"})
	must(r.Enlist(bg, "w2", "Bob", 1))
	same(t, "hired again", table(t, b.DB(), workerRows), []string{"w1|Ada|" + later + "||0|2|99", "w2|Bob|" + later + "||0|0|12345"})
	other, err := b.StartRun(bg, b.scope.SourceID, "other", false)
	must(err)
	must(other.Enlist(bg, "w1", "Eve", 1)) // a worker's id is its run's own
	_, err = b.Claim(bg, checkpoint.Worker{ID: "nobody", RunID: other.ID}, b.scope, 5)
	must(err) // one that is not in the registry may claim all the same
	clock.Move(time.Second)
	must(r.Finish(bg, checkpoint.OutcomeDone, 0))
	last := yp.FormatTime(clock.Now())
	same(t, "the run is over", table(t, b.DB(), workerRows), []string{"w1|Ada|" + last + "|" + last + "|0|2|99", "w2|Bob|" + last + "|" + last + "|0|0|12345", "w1|Eve|" + later + "||0|0|1"})
	same(t, "what it held", table(t, b.DB(), `SELECT worker_id, ended, finished_at FROM crawl_attempts ORDER BY id`), []string{"w1|recovered|" + last, "w1|recovered|" + last, "nobody|running|"})
	must(other.Finish(bg, checkpoint.OutcomeDone, 0))
}

// TestFinishKeepsWorkersThatEnded: a worker that was dismissed keeps its own end.
func TestFinishKeepsWorkersThatEnded(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	noErr(t, errors.Join(b.run.Enlist(bg, "w1", "Ada", 0), b.run.Dismiss(bg, "w1")))
	before := table(t, b.DB(), workerRows)
	clock.Move(time.Hour)
	noErr(t, b.run.Finish(bg, checkpoint.OutcomeDone, 0))
	same(t, "workers", table(t, b.DB(), workerRows), before)
}

// TestOutcomes: every outcome that the program knows has its place in the schema.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	for _, o := range []checkpoint.Outcome{
		checkpoint.OutcomeDone, checkpoint.OutcomeInterrupted, checkpoint.OutcomeBudget, checkpoint.OutcomeError,
		checkpoint.OutcomeBlocked, checkpoint.OutcomeNoProxies, checkpoint.OutcomeLayout,
	} {
		r, err := b.StartRun(bg, b.scope.SourceID, "test", false)
		noErr(t, err)
		if err := r.Finish(bg, o, 3); err != nil {
			t.Errorf("%s: %v", o, err)
		}
		same(t, "run", table(t, b.DB(), `SELECT outcome, requests FROM runs WHERE id = ?`, r.ID), []string{string(o) + "|3"})
	}
}
