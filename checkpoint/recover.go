package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Recovered counts what a recovery took back.
type Recovered struct {
	Planned int `json:"planned"` // back to PLANNED, pages kept
	Stuck   int `json:"stuck"`   // recovered too often without a new page
	Dead    int `json:"dead"`    // runs found dead
	Unknown int `json:"unknown"` // runs that are silent, and whose lock can't be looked at: they are left alone

	Unseen error `json:"-"` // why, for one of those
}

// Total is the number of targets recovered.
func (r Recovered) Total() int { return r.Planned + r.Stuck }

const (
	// A death counts against a target whose page was in hand (?8: pairs of target and token), and
	// so may have been its cause. NULL = nobody knows what was, and all count. With ?9 of them a target is STUCK.
	recoverRuns = `
	UPDATE targets AS t SET claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL,
		recoveries = recoveries
			+ (?8 IS NULL OR EXISTS (SELECT 1 FROM json_each(?8) AS h WHERE h.value ->> 0 = t.id AND h.value ->> 1 = t.claim_token)),
		finished_at = iif(
			(?8 IS NULL OR EXISTS (SELECT 1 FROM json_each(?8) AS h WHERE h.value ->> 0 = t.id AND h.value ->> 1 = t.claim_token))
			AND recoveries + 1 >= ?9, ?7, NULL),
		status = iif(
			(?8 IS NULL OR EXISTS (SELECT 1 FROM json_each(?8) AS h WHERE h.value ->> 0 = t.id AND h.value ->> 1 = t.claim_token))
			AND recoveries + 1 >= ?9, 'STUCK', 'PLANNED')
	WHERE t.status = 'IN_PROGRESS'
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))
		AND t.run_id IN (SELECT value FROM json_each(?10))
	RETURNING status`
	recoverStale = `
	UPDATE targets AS t SET claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL,
		recoveries = recoveries
			+ (?8 IS NULL OR EXISTS (SELECT 1 FROM json_each(?8) AS h WHERE h.value ->> 0 = t.id AND h.value ->> 1 = t.claim_token)),
		finished_at = iif(
			(?8 IS NULL OR EXISTS (SELECT 1 FROM json_each(?8) AS h WHERE h.value ->> 0 = t.id AND h.value ->> 1 = t.claim_token))
			AND recoveries + 1 >= ?9, ?7, NULL),
		status = iif(
			(?8 IS NULL OR EXISTS (SELECT 1 FROM json_each(?8) AS h WHERE h.value ->> 0 = t.id AND h.value ->> 1 = t.claim_token))
			AND recoveries + 1 >= ?9, 'STUCK', 'PLANNED')
	WHERE t.status = 'IN_PROGRESS'
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))
		AND (t.heartbeat_at IS NULL OR t.heartbeat_at < ?10 OR t.heartbeat_at > ?11)
	RETURNING status`
	closeRuns = `UPDATE runs SET outcome = 'dead', finished_at = ? WHERE outcome = 'running' AND id IN (SELECT value FROM json_each(?))`
	listRuns  = `
	SELECT id, pid, uuid, host, heartbeat_at, true FROM runs WHERE outcome = 'running'
	UNION ALL
	SELECT id, pid, uuid, host, heartbeat_at, false FROM runs
	WHERE id IN (SELECT run_id FROM targets WHERE status = 'IN_PROGRESS') AND outcome <> 'running'`
)

// RecoverDead takes back at once what dead processes of this machine held: their
// lock files are free. Targets of a living process are never touched, however
// old their heartbeat, nor are those of one whose lock can't be looked at. A run under another machine's name must have been silent
// for a while, too. A death counts where a page was in hand: one that ended by itself, and could
// not release what it held because nothing could be written any more, had none.
func (k *Keeper) RecoverDead(ctx context.Context, scope store.Scope) (Recovered, error) {
	var seen Recovered
	dead, inHand, err := k.deadRuns(ctx, &seen)
	if err != nil || len(dead) == 0 {
		return seen, err
	}
	list := store.JSONInts(dead)
	out, err := k.recover(ctx, "recover targets of dead runs", recoverRuns, scope, store.JSON(inHand), list)
	if err != nil {
		return out, err
	}
	out.Dead, out.Unknown, out.Unseen = len(dead), seen.Unknown, seen.Unseen
	return out, k.write(ctx, "close dead runs", func(tx *store.Tx) error {
		if err := tx.Run(closeRuns, tx.Now, list); err != nil {
			return err
		}
		return tx.Run(dismissDead, list)
	})
}

// RecoverStale takes back every target whose heartbeat is missing, older than
// timeout, or as far in the future: the clock was set back since.
func (k *Keeper) RecoverStale(ctx context.Context, scope store.Scope, timeout time.Duration) (Recovered, error) {
	now := k.db.Now()
	return k.recover(ctx, "recover stale targets", recoverStale, scope, nil, yp.FormatTime(now.Add(-timeout)), yp.FormatTime(now.Add(timeout)))
}

// recover takes targets of every kind back.
func (k *Keeper) recover(ctx context.Context, what, query string, scope store.Scope, inHand any, more ...any) (out Recovered, err error) {
	scope.Kinds = yp.Kinds()
	err = k.write(ctx, what, func(tx *store.Tx) error {
		out = Recovered{}
		back, err := store.Column[yp.Status](tx, query, scope.Args(append([]any{tx.Now, inHand, yp.MaxRecoveries}, more...)...)...)
		if err != nil || len(back) == 0 {
			return err
		}
		for _, status := range back {
			if status == yp.Stuck {
				out.Stuck++
			} else {
				out.Planned++
			}
		}
		return store.CloseAttempts(tx)
	})
	return out, err
}

// runRow is a run that may be alive, or that holds targets.
type runRow struct {
	id               int64
	pid              int
	uuid, host, beat string
	running          bool  // nobody has ended it
	alive            bool  // its process holds its lock
	unseen           error // why that can't be told
}

// beats reports whether the run has sent a heartbeat lately.
func (r *runRow) beats(now time.Time) bool {
	beat, _ := yp.ParseTime(r.beat) // what is no time is zero
	return store.Beats(now, beat)
}

func (k *Keeper) runs(ctx context.Context) ([]runRow, error) {
	all, err := store.All(k.db.Reader(ctx), listRuns, nil, func(r *runRow) []any {
		return []any{&r.id, &r.pid, &r.uuid, &r.host, &r.beat, &r.running}
	})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	for i := range all {
		all[i].alive, all[i].unseen = store.Alive(k.db.Path(), all[i].uuid)
	}
	return all, nil
}

// deadRuns lists the runs that no living process is behind, and the claims, as target and
// token, of which they had a page in hand. It counts in seen those of which nobody can tell.
func (k *Keeper) deadRuns(ctx context.Context, seen *Recovered) (dead []int64, inHand [][2]int64, err error) {
	runs, err := k.runs(ctx)
	now := k.db.Now()
	for _, r := range runs {
		beats := r.beats(now)
		switch {
		case r.alive:
		case r.unseen != nil && !beats:
			seen.Unknown, seen.Unseen = seen.Unknown+1, r.unseen
		case r.unseen == nil && (r.host == k.host || !beats):
			dead = append(dead, r.id)
			held, unread := store.Places(k.db.Path(), r.uuid)
			inHand, err = append(inHand, held...), errors.Join(err, unread)
		}
	}
	return dead, inHand, err
}

// AlivePIDs returns the processes of this machine that are behind a run of
// this database, or of which that can't be told.
func (k *Keeper) AlivePIDs(ctx context.Context) (map[int]bool, error) {
	runs, err := k.runs(ctx)
	alive := map[int]bool{}
	for _, r := range runs {
		if r.running && r.host == k.host {
			alive[r.pid] = alive[r.pid] || r.alive || r.unseen != nil
		}
	}
	return alive, err
}

// SweepLocks removes the lock files that dead processes left.
func (k *Keeper) SweepLocks() error {
	return store.SweepLocks(k.db.Path(), func(name string) bool { return name == store.RunLock })
}
