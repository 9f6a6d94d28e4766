package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// setHealth sets all that decides whether a target can be claimed, but enabled.
const setHealth = `UPDATE targets SET status = ?, paused = ?, wait_reason = ?, not_before = ?, backoff_level = ?,
	claimed_by = iif(?1 = 'IN_PROGRESS', 'w', NULL), claimed_at = iif(?1 = 'IN_PROGRESS', 'x', NULL), run_id = iif(?1 = 'IN_PROGRESS', ?, NULL), heartbeat_at = NULL,
	last_error_code = 'TIMEOUT', finished_at = 'x' WHERE id = ?`

// TestAvailable: what the view lists is what can be claimed, neither more nor less,
// of targets in mixed health. The view reads the real clock.
func TestAvailable(t *testing.T) {
	t.Parallel()
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Synchronous: "OFF"})
	b := setupOn(t, db, 6, "CA", "TX") // 24 searches
	b.want(t, "CA", "TX")
	b.found(t, "CA", "1", "2", "3")
	b.found(t, "TX", "4", "5", "6")
	b.planIndexes(t, 1, "CA", "TX")
	b.scope.Kinds = yp.Kinds()
	rapid.Check(t, func(rt *rapid.T) {
		execute(rt, db, `DELETE FROM crawl_attempts`, `UPDATE sources SET enabled = 1`, `UPDATE targets SET enabled = 1, wait_reason = NULL, not_before = NULL,
			status = 'STUCK', claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL`)
		b.mix(rt, 32)
		execute(rt, db, `UPDATE targets SET enabled = 0 WHERE id % `+fmt.Sprint(rapid.IntRange(2, 9).Draw(rt, "disabled"))+` = 0`)
		if rapid.IntRange(0, 9).Draw(rt, "closed") == 0 {
			execute(rt, db, `UPDATE sources SET enabled = 0`)
		}
		want := table(rt, db, `SELECT id FROM targets_available ORDER BY priority, id`)
		if n := table(rt, db, `SELECT due_now = (SELECT count(*) FROM targets_available WHERE kind = 'search') FROM v_crawl_health`); n[0] != "1" {
			rt.Fatalf("v_crawl_health does not say how many searches are due")
		}
		if odd := table(rt, db, `SELECT v.id, schedule_status FROM v_crawler_status v JOIN targets_available a ON a.id = v.id WHERE schedule_status <> 'DUE'`); len(odd) > 0 {
			rt.Fatalf("available, and yet %v", odd)
		}
		if _, err := b.Wake(t.Context(), b.scope); err != nil {
			rt.Fatalf("%v", err)
		}
		o, err := b.Look(t.Context(), b.scope, 100, 0)
		if err != nil || o.Availability.Open() && o.Ready != len(want) {
			rt.Fatalf("the outlook is %+v (%v), the view has %d", o, err, len(want))
		}
		if got := b.claimAll(rt); !slices.Equal(got, want) {
			rt.Fatalf("claimed\n%v\navailable\n%v", got, want)
		}
	})
}

// mix gives the first n targets any health that there is.
func (b *bundle) mix(rt *rapid.T, n int) {
	at := func() string { // none is near now; the last is the mark of a clock set back
		return rapid.SampledFrom([]string{ago(30 * 24 * time.Hour), ago(time.Minute), ahead(time.Hour), ahead(30 * time.Hour), ahead(40 * 24 * time.Hour)}).Draw(rt, "at")
	}
	err := b.DB().Write(context.Background(), func(tx *store.Tx) error {
		for id := 1; id <= n; id++ {
			var reason, until any
			level := rapid.IntRange(0, 1).Draw(rt, "level")
			status := rapid.SampledFrom([]yp.Status{yp.Planned, yp.Planned, yp.Planned, yp.InProgress, yp.Done, yp.Done, yp.Failed, yp.Failed, yp.Stuck, yp.Parked}).Draw(rt, "status")
			switch status {
			case yp.Planned:
				if rapid.Bool().Draw(rt, "waits") {
					reason, until = "backoff", at()
				}
			case yp.Failed:
				level, reason, until = 1, "backoff", at()
			case yp.Done:
				switch rapid.IntRange(0, 3).Draw(rt, "again") {
				case 1, 2:
					reason, until = "recrawl", at()
				case 3:
					reason, until = "gap", rapid.SampledFrom([]string{ago(time.Second), ahead(100 * time.Second), ahead(time.Hour)}).Draw(rt, "gap")
				}
			}
			paused := rapid.IntRange(0, 4).Draw(rt, "paused") / 4
			if _, err := tx.Exec(setHealth, string(status), paused, reason, until, level, b.run.ID, id); err != nil {
				return err
			}
		}
		return nil
	})
	noErr(rt, err)
}

// claimAll claims until nothing is left and returns the ids in the order of the claims.
func (b *bundle) claimAll(t tester) (ids []string) {
	t.Helper()
	for {
		c, err := b.Claim(context.Background(), b.worker(0), b.scope, 1000)
		if errors.Is(err, checkpoint.ErrNothing) {
			return ids
		}
		noErr(t, err)
		ids = append(ids, fmt.Sprint(c.TargetID))
	}
}
