package checkpoint

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Run is this process's invocation of `run`: a row, and a lock file that tells
// the living from the dead.
type Run struct {
	ID   int64
	UUID string

	keeper *Keeper
	owner  *store.Lock
	shared *store.Lock
}

// RunOutcome is how a run ended.
type RunOutcome string

// The outcomes of a run.
const (
	OutcomeDone        RunOutcome = "done"
	OutcomeInterrupted RunOutcome = "interrupted"
	OutcomeBudget      RunOutcome = "budget"
	OutcomeError       RunOutcome = "error"
	OutcomeBlocked     RunOutcome = "blocked"    // the source is closed for now, with work left
	OutcomeNoProxies   RunOutcome = "no_proxies" // --proxy-policy require, and none is left
	OutcomeLayout      RunOutcome = "layout"     // the layout alarm paused the source
)

const insertRun = `
	INSERT INTO runs (uuid, host, pid, source_id, command, started_at, heartbeat_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`

// StartRun registers a run of this process over source, 0 = several. With exclusive, or
// while an exclusive run lives, a second run is refused with ErrExclusive.
func (k *Keeper) StartRun(ctx context.Context, source int64, command string, exclusive bool) (*Run, error) {
	r := &Run{keeper: k}
	if err := r.lock(k.db.Path(), exclusive); err != nil {
		return nil, err
	}
	err := k.write(ctx, "register run", func(tx *store.Tx) error {
		res, err := tx.Exec(insertRun, r.UUID, k.host, os.Getpid(), store.Number(source), command, tx.Now, tx.Now)
		if err != nil {
			return err
		}
		r.ID, err = res.LastInsertId()
		return err
	})
	if err != nil {
		return nil, errors.Join(err, r.unlock())
	}
	return r, nil
}

// lock takes the locks of a run: the one that all runs share, and one of a new name, before the
// row is there: a run that can be read of is alive. A sweeper may try a file that was made but
// a moment ago, so a name that is held already is given up for another one.
func (r *Run) lock(path string, exclusive bool) (err error) {
	r.shared, err = store.TakeLock(path, store.RunLock, !exclusive)
	if errors.Is(err, store.ErrLocked) {
		return ErrExclusive
	}
	if err != nil {
		return err
	}
	for range 10 {
		r.UUID = rand.Text()
		if r.owner, err = store.TakeLock(path, r.UUID, false); err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrLocked) {
			break
		}
	}
	return errors.Join(err, r.shared.Release())
}

func (r *Run) unlock() error {
	return errors.Join(r.owner.Remove(), r.shared.Release())
}

// InPlace returns store.ErrReplaced when the database or the run's lock is gone from its name: nobody finds what is
// stored then, and everybody takes the run for dead, itself included.
func (r *Run) InPlace() error {
	if err := r.keeper.db.InPlace(); err != nil {
		return err
	}
	return r.owner.InPlace()
}

// InHand notes for a death that a worker, by its number, has a page of the claim in hand, from its
// request to its commit; nil = none. What can't be noted is not held against the target.
func (r *Run) InHand(worker int, c *Claim) {
	if c == nil {
		c = &Claim{}
	}
	_ = r.owner.Put(worker, c.TargetID, c.Token)
}

const finishRun = `UPDATE runs SET outcome = ?1, finished_at = ?2, heartbeat_at = ?3, requests = ?4 WHERE id = ?5 AND outcome = 'running'`

// Finish records how the run ended and drops its locks. It releases whatever
// the run still holds, so that nothing stays in progress behind it.
func (r *Run) Finish(ctx context.Context, outcome RunOutcome, requests int64) error {
	err := r.keeper.write(context.WithoutCancel(ctx), "finish run", func(tx *store.Tx) error {
		n, err := tx.Changed(releaseRun, r.ID)
		if err == nil && n > 0 {
			err = store.CloseAttempts(tx)
		}
		if err == nil {
			err = tx.Run(dismissAll, tx.Now, tx.Now, r.ID)
		}
		if err == nil {
			err = tx.Run(finishRun, string(outcome), tx.Now, tx.Now, requests, r.ID)
		}
		return err
	})
	return errors.Join(err, r.unlock())
}

const (
	releaseRun = `
	UPDATE targets SET claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL, status = 'PLANNED'
	WHERE status = 'IN_PROGRESS' AND run_id = ?`
	beatTargets = `UPDATE targets SET heartbeat_at = ? WHERE status = 'IN_PROGRESS' AND run_id = ?`
	beatRun     = `UPDATE runs SET heartbeat_at = ?, requests = ? WHERE id = ?`
)

// Heartbeat marks every claim and worker of the run as alive and returns how many
// targets it holds. Claims that were recovered belong to nobody or to another run
// and are left alone.
func (r *Run) Heartbeat(ctx context.Context, requests int64, use Usage) (held int, err error) {
	err = r.keeper.write(ctx, "heartbeat", func(tx *store.Tx) error {
		n, err := tx.Changed(beatTargets, tx.Now, r.ID)
		if err != nil {
			return err
		}
		held = int(n)
		if err := tx.Run(beatWorkers, tx.Now, use.Memory, use.cpu(), r.ID); err != nil {
			return err
		}
		return tx.Run(beatRun, tx.Now, requests, r.ID)
	})
	return held, err
}

const lastRunSeen = `SELECT ifnull(max(heartbeat_at), '') FROM runs WHERE id <> ? AND heartbeat_at < ?`

// LaterBound is the time from which the age of logs is counted: now, or when the last other
// run was seen if that is earlier. So one start with a clock that is far ahead makes nothing
// old. It is zero where no other run is known.
func (k *Keeper) LaterBound(ctx context.Context, run int64) (at time.Time, err error) {
	var seen string
	if err := k.row(ctx, lastRunSeen, []any{run, yp.FormatTime(k.db.Now())}, &seen); err != nil {
		return at, fmt.Errorf("look for the last run: %w", err)
	}
	if seen == "" {
		return at, nil
	}
	return yp.ParseTime(seen)
}

const (
	enlist = `
	INSERT INTO workers (run_id, worker_id, name, host, pid, started_at, heartbeat_at, rss_bytes, cpu_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8)
	ON CONFLICT (run_id, worker_id) DO UPDATE SET stopped_at = NULL, heartbeat_at = excluded.heartbeat_at`
	dismiss     = `UPDATE workers SET stopped_at = ?1, heartbeat_at = ?1, rss_bytes = ifnull(nullif(?4, 0), rss_bytes), cpu_ms = ifnull(?5, cpu_ms) WHERE run_id = ?2 AND worker_id = ?3`
	dismissAll  = `UPDATE workers SET stopped_at = ?, heartbeat_at = ? WHERE run_id = ? AND stopped_at IS NULL`
	dismissDead = `UPDATE workers SET stopped_at = heartbeat_at WHERE stopped_at IS NULL AND run_id IN (SELECT value FROM json_each(?))`
	beatWorkers = `UPDATE workers SET heartbeat_at = ?, rss_bytes = ?, cpu_ms = ? WHERE run_id = ? AND stopped_at IS NULL`
	countClaim  = `UPDATE workers SET claims = claims + 1, claim_retries = claim_retries + ?, waits_for = NULL, waits_source = NULL WHERE run_id = ? AND worker_id = ?`
	waitsFor    = `UPDATE workers SET waits_for = ?, waits_source = ? WHERE run_id = ? AND worker_id = ?`
)

// Usage is what a process uses of its machine.
type Usage struct {
	Memory int64         // bytes that it holds now, 0 = unknown
	CPU    time.Duration // processor time since it began, 0 = unknown
}

// cpu is the processor time for SQL: NULL where it isn't known.
func (u Usage) cpu() any { return store.Number(u.CPU.Milliseconds()) }

// Enlist enters a worker of the run into the registry. name is for people.
func (r *Run) Enlist(ctx context.Context, worker, name string, use Usage) error {
	return r.keeper.write(ctx, "register worker "+worker, func(tx *store.Tx) error {
		return tx.Run(enlist, r.ID, worker, name, r.keeper.host, os.Getpid(), tx.Now, use.Memory, use.cpu())
	})
}

// Wait notes what keeps a worker of the run from claiming a target of a source that is ready, "--max-per-state 5", for
// others to see; "" = nothing does. Its next claim forgets it.
func (r *Run) Wait(ctx context.Context, worker, reason string, source int64) error {
	if reason == "" {
		source = 0
	}
	return r.keeper.write(ctx, "note what worker "+worker+" waits for", func(tx *store.Tx) error {
		return tx.Run(waitsFor, sql.NullString{String: reason, Valid: reason != ""}, store.Number(source), r.ID, worker)
	})
}

// Dismiss notes that a worker has ended, and what its process used until then; what isn't known
// stays as it was.
func (r *Run) Dismiss(ctx context.Context, worker string, use Usage) error {
	return r.keeper.write(ctx, "remove worker "+worker, func(tx *store.Tx) error {
		return tx.Run(dismiss, tx.Now, r.ID, worker, use.Memory, use.cpu())
	})
}
