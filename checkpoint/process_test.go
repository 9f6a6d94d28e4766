package checkpoint_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t, 500, "CA", "TX") // 2,000 targets
	path := b.DB().Path()
	got := make(chan []string, 2)
	procs := []*process{start(t, "finish", path, "CA,TX"), start(t, "finish", path, "CA,TX")}
	seen := map[string]int{}
	for _, p := range procs {
		seen[fmt.Sprintf("claimed %d", p.number(t, "claimed"))]++
	}
	for _, p := range procs {
		noErr(t, p.stdin.Close())
		go func() {
			var lines []string
			for p.lines.Scan() {
				lines = append(lines, p.lines.Text())
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
		if n != 1 {
			t.Errorf("%s %d times", line, n)
		}
	}
	if len(seen) != 2000 {
		t.Errorf("%d targets claimed, want 2000", len(seen))
	}
	same(t, "targets", table(t, b.DB(), `SELECT status, claim_token, total_attempts, count(*) FROM targets GROUP BY 1, 2, 3`), []string{"DONE|1|1|2000"})
	recount(t, b.DB())
}

func TestRecoverDead(t *testing.T) {
	t.Parallel()
	b := setup(t, 6, "CA", "TX")
	ctx := t.Context()
	mine := b.claim(t, 7)
	dying, living := start(t, "hold", b.DB().Path(), "TX"), start(t, "hold", b.DB().Path(), "TX,CA")
	dead, alive := dying.number(t, "holds"), living.number(t, "holds")
	execute(t, b.DB(), `INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at) VALUES (900, 'far', 'elsewhere', 1, 1, 'run', 'x', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
		`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', claimed_at = 'x', run_id = 900 WHERE id = (SELECT max(id) FROM targets WHERE status = 'PLANNED')`,
		`UPDATE targets SET heartbeat_at = '2000-01-01T00:00:00.000Z' WHERE status = 'IN_PROGRESS'`)
	if rec, err := b.RecoverDead(ctx, store.Scope{}); err != nil || rec.Total() != 0 {
		t.Errorf("while all live: %+v (%v), want nothing, however old their heartbeats", rec, err)
	}
	dying.kill(t)
	if rec, err := b.RecoverDead(ctx, store.Scope{States: []string{"CA"}}); err != nil || rec.Total() != 0 {
		t.Errorf("in another state: %+v (%v), want nothing", rec, err)
	}
	rec, err := b.RecoverDead(ctx, store.Scope{})
	if err != nil || rec != (checkpoint.Recovered{Planned: 3, Dead: 1}) {
		t.Errorf("after the kill: %+v (%v), want its 3 targets and one dead run", rec, err)
	}
	want := []string{fmt.Sprintf("%d|1", b.run.ID), fmt.Sprintf("%d|3", alive), "900|1"}
	same(t, "still held", table(t, b.DB(), `SELECT run_id, count(*) FROM targets WHERE status = 'IN_PROGRESS' GROUP BY 1 ORDER BY 1`), want)
	same(t, "the killed run", table(t, b.DB(), `SELECT outcome FROM runs WHERE id = ?`, dead), []string{"dead"})
	if err := b.SweepLocks(); err != nil {
		t.Error(err)
	}
	if rec, err := b.RecoverDead(ctx, store.Scope{}); err != nil || rec != (checkpoint.Recovered{}) {
		t.Errorf("again, after a sweep: %+v (%v), want nothing", rec, err)
	}
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
	p.number(t, "holds")
	for _, exclusive := range []bool{true, false} {
		if _, err := b.StartRun(ctx, 1, "beside", exclusive); !errors.Is(err, checkpoint.ErrExclusive) {
			t.Errorf("beside an exclusive run, exclusive %v: %v, want ErrExclusive", exclusive, err)
		}
	}
	p.kill(t)
	r, err := b.StartRun(ctx, 1, "after", true)
	if err != nil {
		t.Fatalf("after it was killed: %v", err)
	}
	if err := r.Finish(ctx, checkpoint.OutcomeDone, 0); err != nil {
		t.Error(err)
	}
	if n := table(t, b.DB(), `SELECT count(*) FROM runs`); n[0] != "4" {
		t.Errorf("%s runs are registered, want the 4 that were let in", n)
	}
}

func TestFinishReleases(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA")
	c := b.claim(t, 0)
	other, err := b.StartRun(t.Context(), 1, "other", false)
	noErr(t, err)
	kept, err := b.Claim(t.Context(), checkpoint.Worker{ID: "o", RunID: other.ID}, b.scope, 5)
	noErr(t, err)
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeInterrupted, 0))
	if err := b.Release(t.Context(), c, "stop"); !errors.Is(err, checkpoint.ErrClaimLost) {
		t.Errorf("a claim after its run: %v, want ErrClaimLost", err)
	}
	if err := b.Release(t.Context(), kept, "stop"); err != nil {
		t.Errorf("another run's claim: %v", err)
	}
	if err := other.Finish(t.Context(), checkpoint.OutcomeDone, 0); err != nil {
		t.Error(err)
	}
}

// TestHeartbeatKeepsFresh: what beats is never stale; what does not is, once.
func TestHeartbeatKeepsFresh(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 6, "CA")
	fresh, stale := b.claim(t, 0), (*checkpoint.Claim)(nil)
	other, err := b.StartRun(t.Context(), 1, "silent", false)
	noErr(t, err)
	stale, err = b.Claim(t.Context(), checkpoint.Worker{ID: "silent", RunID: other.ID}, b.scope, 5)
	noErr(t, err)
	total := 0
	for range 200 {
		clock.Move(30 * time.Second)
		if _, err := b.run.Heartbeat(t.Context(), 0, 0); err != nil {
			t.Fatal(err)
		}
		rec, err := b.RecoverStale(t.Context(), store.Scope{}, time.Hour)
		noErr(t, err)
		total += rec.Total()
	}
	if err := b.Release(t.Context(), stale, "stop"); total != 1 || !errors.Is(err, checkpoint.ErrClaimLost) {
		t.Errorf("%d recovered in 100 minutes and the silent claim says %v, want 1 and ErrClaimLost", total, err)
	}
	if err := b.Release(t.Context(), fresh, "stop"); err != nil {
		t.Errorf("the claim that beat: %v", err)
	}
	t.Run("NULL is stale", func(t *testing.T) {
		c := b.claim(t, 3)
		execute(t, b.DB(), `UPDATE targets SET heartbeat_at = NULL WHERE status = 'IN_PROGRESS'`)
		if rec, err := b.RecoverStale(t.Context(), store.Scope{}, time.Hour); err != nil || rec.Planned != 1 {
			t.Errorf("%+v (%v), want the one", rec, err)
		}
		if _, err := b.Fail(t.Context(), c, yp.CodeTimeout, ""); !errors.Is(err, checkpoint.ErrClaimLost) {
			t.Errorf("got %v, want ErrClaimLost", err)
		}
	})
	t.Run("a clock set back a day", func(t *testing.T) {
		b.claim(t, 4)
		clock.Move(-24 * time.Hour)
		if rec, err := b.RecoverStale(t.Context(), store.Scope{}, time.Hour); err != nil || rec.Planned != 1 {
			t.Errorf("%+v (%v), want the one from the future", rec, err)
		}
	})
	if err := other.Finish(t.Context(), checkpoint.OutcomeDone, 0); err != nil {
		t.Error(err)
	}
}

func TestRunHolders(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA", "TX")
	b.claim(t, 0)
	dying := start(t, "hold", b.DB().Path(), "TX")
	dying.number(t, "holds")
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
			if r.Here {
				name = fmt.Sprint(r.Command, " with ", r.Targets)
			}
			out[name] = fmt.Sprintf("alive %t, gone %t", r.Alive, r.Gone())
		}
		return out
	}
	if got := fmt.Sprint(look()); got != "map[far:alive false, gone false hold with 3:alive true, gone false silent:alive false, gone true test with 1:alive true, gone false]" {
		t.Errorf("while it lives: %s", got)
	}
	dying.kill(t)
	if got := look()["hold with 3"]; got != "alive false, gone true" {
		t.Errorf("after the kill: %s", got)
	}
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeDone, 0))
	if len(look()) != 3 {
		t.Error("a run that ended well holds the database")
	}
}
