package checkpoint

import (
	"context"
	"fmt"
	"os"

	"ypcrawl/store"
)

const (
	enlist = `
	INSERT INTO workers (run_id, worker_id, name, host, pid, started_at, heartbeat_at, rss_bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)
	ON CONFLICT (run_id, worker_id) DO UPDATE SET stopped_at = NULL, heartbeat_at = excluded.heartbeat_at`
	dismiss     = `UPDATE workers SET stopped_at = ?, heartbeat_at = ? WHERE run_id = ? AND worker_id = ?`
	dismissAll  = `UPDATE workers SET stopped_at = ?, heartbeat_at = ? WHERE run_id = ? AND stopped_at IS NULL`
	dismissDead = `UPDATE workers SET stopped_at = heartbeat_at WHERE stopped_at IS NULL AND run_id IN (SELECT value FROM json_each(?))`
	beatWorkers = `UPDATE workers SET heartbeat_at = ?, rss_bytes = ? WHERE run_id = ? AND stopped_at IS NULL`
	countClaim  = `UPDATE workers SET claims = claims + 1, claim_retries = claim_retries + ? WHERE run_id = ? AND worker_id = ?`
)

// Enlist enters a worker of the run into the registry. name is for people; rss is
// the memory of the process in bytes, 0 = unknown.
func (r *Run) Enlist(ctx context.Context, worker, name string, rss int64) error {
	err := r.keeper.write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(enlist, r.ID, worker, name, r.keeper.host, os.Getpid(), tx.Now, rss)
		return err
	})
	if err != nil {
		return fmt.Errorf("register worker %s: %w", worker, err)
	}
	return nil
}

// Dismiss notes that a worker has ended.
func (r *Run) Dismiss(ctx context.Context, worker string) error {
	err := r.keeper.write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(dismiss, tx.Now, tx.Now, r.ID, worker)
		return err
	})
	if err != nil {
		return fmt.Errorf("dismiss worker %s: %w", worker, err)
	}
	return nil
}
