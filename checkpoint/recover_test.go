package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var bg = context.Background()

// kill makes the run that of a dead process.
func (b *bundle) kill(t *testing.T, r *checkpoint.Run) {
	t.Helper()
	noErr(t, r.Die())
}

// second starts another run with one worker that holds a target.
func (b *bundle) second(t *testing.T) (*checkpoint.Run, *checkpoint.Claim) {
	t.Helper()
	r, err := b.StartRun(bg, b.scope.SourceID, "second", false)
	noErr(t, err)
	noErr(t, r.Enlist(bg, "other", "Bob", checkpoint.Usage{Memory: 5 << 20}))
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
	noErr(t, b.run.Enlist(bg, someWorkerID, "Ada", checkpoint.Usage{Memory: 1 << 20}))
	mine := b.claim(t, 0)
	dead, c := b.second(t)
	for n := range 2 {
		b.save(t, c, page(n+1, false, fmt.Sprint("l", n)))
	}
	at := yp.FormatTime(clock.Now())
	b.kill(t, dead)
	clock.Move(time.Minute)
	b.recovers(t, store.Scope{}, checkpoint.Recovered{Planned: 1, Dead: 1})
	same(t, "attempts", table(t, b.DB(), endedRows), []string{"1|worker_0_pid_1|running|||", "2|other|recovered||2|"})
	same(t, "workers", table(t, b.DB(), workerRows), []string{someWorkerID + "|Ada|" + at + "||0|1|1048576", "other|Bob|" + at + "|" + at + "|2|1|5242880"})
	same(t, "v_workers", table(t, b.DB(), `SELECT worker_id, name, target_id, page, claims FROM v_workers`), []string{someWorkerID + "|Ada|1|1|1"})
	noErr(t, b.Release(bg, mine, "stop"))
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 3, "CA", "TX")
	r := b.run
	begun := yp.FormatTime(clock.Now())
	noErr(t, r.Enlist(bg, "w1", "Ada", checkpoint.Usage{}))
	noErr(t, r.Enlist(bg, "w2", "Bob", checkpoint.Usage{Memory: 100}))
	for range 2 {
		if _, err := b.Claim(bg, checkpoint.Worker{ID: "w1", RunID: r.ID}, b.scope, 5); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "enlisted", table(t, b.DB(), workerRows), []string{"w1|Ada|" + begun + "||0|2|0", "w2|Bob|" + begun + "||0|0|100"})
	clock.Move(30 * time.Second)
	held, err := r.Heartbeat(bg, 7, checkpoint.Usage{Memory: 12345})
	if noErr(t, err); held != 2 {
		t.Errorf("%d held, want 2", held)
	}
	beat := yp.FormatTime(clock.Now())
	same(t, "they beat", table(t, b.DB(), workerRows), []string{"w1|Ada|" + beat + "||0|2|12345", "w2|Bob|" + beat + "||0|0|12345"})
	clock.Move(time.Second)
	noErr(t, r.Dismiss(bg, "w2", checkpoint.Usage{}))
	end := yp.FormatTime(clock.Now())
	clock.Move(time.Second)
	_, err = r.Heartbeat(bg, 8, checkpoint.Usage{Memory: 99})
	noErr(t, err)
	later := yp.FormatTime(clock.Now())
	same(t, "who was dismissed beats no more", table(t, b.DB(), workerRows), []string{"w1|Ada|" + later + "||0|2|99", "w2|Bob|" + end + "|" + end + "|0|0|12345"})
	noErr(t, r.Enlist(bg, "w2", "Bob", checkpoint.Usage{Memory: 1}))
	same(t, "hired again", table(t, b.DB(), workerRows), []string{"w1|Ada|" + later + "||0|2|99", "w2|Bob|" + later + "||0|0|12345"})
	other, err := b.StartRun(bg, b.scope.SourceID, "other", false)
	noErr(t, err)
	noErr(t, other.Enlist(bg, "w1", "Eve", checkpoint.Usage{Memory: 1})) // a worker's id is its run's own
	_, err = b.Claim(bg, checkpoint.Worker{ID: "nobody", RunID: other.ID}, b.scope, 5)
	noErr(t, err)                                                  // one that is not in the registry may claim all the same
	noErr(t, r.Dismiss(bg, "w2", checkpoint.Usage{Memory: 12345})) // it keeps its own end
	clock.Move(time.Second)
	noErr(t, r.Finish(bg, checkpoint.OutcomeDone, 0))
	last := yp.FormatTime(clock.Now())
	same(t, "the run is over", table(t, b.DB(), workerRows), []string{"w1|Ada|" + last + "|" + last + "|0|2|99", "w2|Bob|" + later + "|" + later + "|0|0|12345", "w1|Eve|" + later + "||0|0|1"})
	same(t, "what it held", table(t, b.DB(), `SELECT worker_id, ended, finished_at FROM crawl_attempts ORDER BY id`), []string{"w1|recovered|" + last, "w1|recovered|" + last, "nobody|running|"})
	noErr(t, other.Finish(bg, checkpoint.OutcomeDone, 0))
}

// TestProcessorTime: what a process takes of the processors is kept as it was told; unknown is
// NULL.
func TestProcessorTime(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	noErr(t, b.run.Enlist(bg, "w1", "Ada", checkpoint.Usage{CPU: time.Second}))
	noErr(t, b.run.Enlist(bg, "w2", "Bob", checkpoint.Usage{}))
	cpu := `SELECT worker_id, cpu_ms FROM workers ORDER BY id`
	same(t, "enlisted", table(t, b.DB(), cpu), []string{"w1|1000", "w2|"})
	for _, c := range []struct {
		use  checkpoint.Usage
		want string
	}{{checkpoint.Usage{CPU: 3 * time.Second}, "3000"}, {checkpoint.Usage{}, ""}} {
		_, err := b.run.Heartbeat(bg, 0, c.use)
		noErr(t, err)
		same(t, "heartbeat", table(t, b.DB(), cpu), []string{"w1|" + c.want, "w2|" + c.want})
	}
}

// TestOutcomes: every outcome that the program knows has its place in the schema.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	for _, o := range []checkpoint.RunOutcome{
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

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t, 500, "CA", "TX") // 2,000 targets
	path := b.DB().Path()
	got := make(chan []string, 2)
	procs := []*storetest.Process{start(t, "finish", path, "CA,TX"), start(t, "finish", path, "CA,TX")}
	seen := map[string]int{}
	for _, p := range procs {
		seen[fmt.Sprintf("claimed %d", p.Number(t, "claimed"))]++
	}
	for _, p := range procs {
		noErr(t, p.In.Close())
		go func() {
			var lines []string
			for p.Lines.Scan() {
				lines = append(lines, p.Lines.Text())
			}
			got <- lines
		}()
	}
	for range procs {
		lines := <-got
		for _, line := range lines {
			seen[line]++
		}
	}
	for line, n := range seen {
		storetest.Equal(t, n, 1, "times "+line)
	}
	storetest.Equal(t, len(seen), 2000, "targets claimed")
	same(t, "targets", table(t, b.DB(), `SELECT status, claim_token, total_attempts, count(*) FROM targets GROUP BY 1, 2, 3`), []string{"DONE|1|1|2000"})
	recount(t, b.DB())
}

func TestRecoverDead(t *testing.T) {
	t.Parallel()
	b := setup(t, 6, "CA", "TX")
	ctx := t.Context()
	mine := b.claim(t, 7)
	dying, living := start(t, "hold", b.DB().Path(), "TX"), start(t, "hold", b.DB().Path(), "TX,CA")
	dead, alive := dying.Number(t, "holds"), living.Number(t, "holds")
	execute(t, b.DB(), `INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at) VALUES (900, 'far', 'elsewhere', 1, 1, 'run', 'x', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
		`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', claimed_at = 'x', run_id = 900 WHERE id = (SELECT max(id) FROM targets WHERE status = 'PLANNED')`,
		`UPDATE targets SET heartbeat_at = '2000-01-01T00:00:00.000Z' WHERE status = 'IN_PROGRESS'`)
	b.recovers(t, store.Scope{}, checkpoint.Recovered{}) // while all live, however old their heartbeats
	dying.Kill(t)
	b.recovers(t, store.Scope{States: []string{"CA"}}, checkpoint.Recovered{Dead: 1}) // in another state none of its targets is
	b.recovers(t, store.Scope{}, checkpoint.Recovered{Planned: 3, Dead: 1})
	want := []string{fmt.Sprintf("%d|1", b.run.ID), fmt.Sprintf("%d|3", alive), "900|1"}
	same(t, "still held", table(t, b.DB(), `SELECT run_id, count(*) FROM targets WHERE status = 'IN_PROGRESS' GROUP BY 1 ORDER BY 1`), want)
	same(t, "the killed run", table(t, b.DB(), `SELECT outcome FROM runs WHERE id = ?`, dead), []string{"dead"})
	noErr(t, b.SweepLocks())
	b.recovers(t, store.Scope{}, checkpoint.Recovered{})
	if err := b.Release(ctx, mine, "stop"); err != nil {
		t.Errorf("a claim of the living: %v", err)
	}
}

func TestExclusive(t *testing.T) {
	t.Parallel()
	b := setup(t, 6, "CA")
	ctx := t.Context()
	if _, err := b.StartRun(ctx, 1, "alone", true); !errors.Is(err, checkpoint.ErrExclusive) {
		t.Errorf("exclusive beside a run: %v, want ErrExclusive", err)
	}
	second, err := b.StartRun(ctx, 1, "beside", false)
	if err != nil {
		t.Fatalf("beside a run: %v", err)
	}
	noErr(t, errors.Join(second.Finish(ctx, checkpoint.OutcomeDone, 3), b.run.Finish(ctx, checkpoint.OutcomeInterrupted, 5)))
	same(t, "runs", table(t, b.DB(), `SELECT outcome, requests FROM runs ORDER BY id`), []string{"interrupted|5", "done|3"})
	p := start(t, "exclusive", b.DB().Path(), "CA")
	p.Number(t, "holds")
	for _, exclusive := range []bool{true, false} {
		if _, err := b.StartRun(ctx, 1, "beside", exclusive); !errors.Is(err, checkpoint.ErrExclusive) {
			t.Errorf("beside an exclusive run, exclusive %v: %v, want ErrExclusive", exclusive, err)
		}
	}
	p.Kill(t)
	r, err := b.StartRun(ctx, 1, "after", true)
	if err != nil {
		t.Fatalf("after it was killed: %v", err)
	}
	noErr(t, r.Finish(ctx, checkpoint.OutcomeDone, 0))
	storetest.Equal(t, table(t, b.DB(), `SELECT count(*) FROM runs`)[0], "4", "runs registered, those that were let in,")
}

// TestStale: what has no heartbeat, or one from the future, is stale; what beats is not.
func TestStale(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 6, "CA")
	stale := func(want int) {
		t.Helper()
		if rec, err := b.RecoverStale(t.Context(), store.Scope{}, time.Hour); err != nil || rec.Total() != want {
			t.Errorf("%+v (%v), want %d", rec, err, want)
		}
	}
	c := b.claim(t, 0)
	clock.Move(time.Hour)
	_, err := b.run.Heartbeat(t.Context(), 0, checkpoint.Usage{})
	noErr(t, err)
	clock.Move(time.Hour)
	stale(0)
	clock.Move(time.Millisecond)
	stale(1)
	if _, err := b.Fail(t.Context(), c, yp.CodeTimeout, ""); !errors.Is(err, checkpoint.ErrClaimLost) {
		t.Errorf("got %v, want ErrClaimLost", err)
	}
	b.claim(t, 1)
	execute(t, b.DB(), `UPDATE targets SET heartbeat_at = NULL WHERE status = 'IN_PROGRESS'`)
	stale(1)
	b.claim(t, 2)
	clock.Move(-24 * time.Hour)
	stale(1)
}

func TestRunHolders(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA", "TX")
	b.claim(t, 0)
	dying := start(t, "hold", b.DB().Path(), "TX")
	dying.Number(t, "holds")
	for name, heartbeat := range map[string]string{"far": ago(time.Minute), "silent": ago(time.Hour)} {
		execute(t, b.DB(), fmt.Sprintf(`INSERT INTO runs (uuid, host, pid, source_id, command, started_at, heartbeat_at) VALUES ('%s', 'elsewhere', 1, 1, 'run', '%s', '%s')`,
			name, ago(2*time.Hour), heartbeat))
	}
	look := func() map[string]string {
		t.Helper()
		all, err := b.RunHolders(t.Context())
		noErr(t, err)
		out := map[string]string{}
		for _, r := range all {
			name := r.UUID
			if r.Host != "elsewhere" {
				name = fmt.Sprint(r.PID == os.Getpid(), " with ", r.Held)
			}
			out[name] = fmt.Sprintf("alive %t, dead %t", r.Alive, r.Dead)
		}
		return out
	}
	storetest.Equal(t, fmt.Sprint(look()), "map[false with 3:alive true, dead false far:alive false, dead false silent:alive false, dead true true with 1:alive true, dead false]", "while it lives")

	dying.Kill(t)
	storetest.Equal(t, look()["false with 3"], "alive false, dead true", "after the kill")
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeDone, 0))
	storetest.Equal(t, len(look()), 3, "runs that hold the database, none that ended well,")
}
