package checkpoint

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Recovered counts what a recovery took back.
type Recovered struct {
	Planned int `json:"planned"` // back to PLANNED, pages kept
	Stuck   int `json:"stuck"`   // recovered too often without a new page
	Dead    int `json:"dead"`    // runs found dead

	Details      int `json:"details"`       // taken back, those that are stuck included
	DetailsStuck int `json:"details_stuck"` // recovered too often without their page
}

// Total is the number of targets recovered that are no details.
func (r Recovered) Total() int { return r.Planned + r.Stuck }

var (
	giveUp     = strconv.Itoa(yp.MaxRecoveries)
	recoverSet = `
	UPDATE targets AS t SET ` + unclaim + `recoveries = recoveries + 1,
		finished_at = iif(recoveries + 1 >= ` + giveUp + `, ?7, NULL),
		status = iif(recoveries + 1 >= ` + giveUp + `, 'STUCK', 'PLANNED')
	WHERE t.status = 'IN_PROGRESS' AND ` + where
	recoverRuns  = recoverSet + ` AND t.run_id IN (SELECT value FROM json_each(?8)) RETURNING kind, status`
	recoverStale = recoverSet + ` AND (t.heartbeat_at IS NULL OR t.heartbeat_at < ?8 OR t.heartbeat_at > ?9) RETURNING kind, status`
	closeRuns    = `UPDATE runs SET outcome = 'dead', finished_at = ? WHERE outcome = 'running' AND id IN (SELECT value FROM json_each(?))`
	listRuns     = `
	SELECT id, uuid, host, heartbeat_at FROM runs WHERE outcome = 'running'
	UNION ALL SELECT id, uuid, host, heartbeat_at FROM runs
	WHERE id IN (SELECT run_id FROM targets WHERE status = 'IN_PROGRESS') AND outcome <> 'running'`
)

// RecoverDead takes back at once what dead processes of this machine held: their
// lock files are free. Targets of a living process are never touched, however
// old their heartbeat. A run under another machine's name must have been silent
// for a while, too.
func (k *Keeper) RecoverDead(ctx context.Context, scope Scope) (Recovered, error) {
	dead, err := k.deadRuns(ctx)
	if err != nil || len(dead) == 0 {
		return Recovered{}, err
	}
	out, err := k.recover(ctx, recoverRuns, scope, jsonInts(dead))
	if err != nil {
		return out, fmt.Errorf("recover targets of dead runs: %w", err)
	}
	out.Dead = len(dead)
	err = k.write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(closeRuns, tx.Now, jsonInts(dead)); err != nil {
			return err
		}
		_, err := tx.Exec(dismissDead, jsonInts(dead))
		return err
	})
	return out, err
}

// RecoverStale takes back every target whose heartbeat is missing, older than
// timeout, or as far in the future: the clock was set back since.
func (k *Keeper) RecoverStale(ctx context.Context, scope Scope, timeout time.Duration) (Recovered, error) {
	now := k.db.Now()
	out, err := k.recover(ctx, recoverStale, scope, yp.FormatTime(now.Add(-timeout)), yp.FormatTime(now.Add(timeout)))
	if err != nil {
		return out, fmt.Errorf("recover stale targets: %w", err)
	}
	return out, nil
}

// recover takes targets of every kind back.
func (k *Keeper) recover(ctx context.Context, query string, scope Scope, more ...any) (out Recovered, err error) {
	scope.Kinds = yp.Kinds()
	err = k.write(ctx, func(tx *store.Tx) (err error) {
		if out, err = takeBack(tx, query, scope.Args(append([]any{tx.Now}, more...)...)); err != nil {
			return err
		}
		if out.Total()+out.Details == 0 {
			return nil
		}
		return store.CloseAttempts(tx)
	})
	return out, err
}

func takeBack(tx *store.Tx, query string, args []any) (out Recovered, err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return out, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var kind yp.Kind
		var status yp.Status
		if err := rows.Scan(&kind, &status); err != nil {
			return out, err
		}
		switch {
		case kind == yp.KindDetail && status == yp.Stuck:
			out.Details++
			out.DetailsStuck++
		case kind == yp.KindDetail:
			out.Details++
		case status == yp.Stuck:
			out.Stuck++
		default:
			out.Planned++
		}
	}
	return out, rows.Err()
}

// deadRuns lists the runs that no living process stands behind.
func (k *Keeper) deadRuns(ctx context.Context) ([]int64, error) { return k.dead(ctx, listRuns) }

// dead lists those of the runs that a query brings, with id, uuid, host and heartbeat,
// that no living process stands behind.
func (k *Keeper) dead(ctx context.Context, query string) ([]int64, error) {
	rows, err := k.db.Read().QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	defer func() { _ = rows.Close() }()
	now := k.db.Now()
	silent, ahead := yp.FormatTime(now.Add(-store.SilentElsewhere)), yp.FormatTime(now.Add(24*time.Hour))
	var dead []int64
	for rows.Next() {
		var id int64
		var uuid, host, beat string
		if err := rows.Scan(&id, &uuid, &host, &beat); err != nil {
			return nil, err
		}
		if host != k.host && beat > silent && beat <= ahead { // further ahead: a clock was set back
			continue
		}
		alive, err := store.Alive(k.db.Path(), uuid)
		if err != nil {
			return nil, err
		}
		if !alive {
			dead = append(dead, id)
		}
	}
	return dead, rows.Err()
}

// SweepLocks removes the lock files that dead processes left.
func (k *Keeper) SweepLocks() error {
	return store.SweepLocks(k.db.Path(), func(name string) bool { return name == runLock })
}

// AlivePIDs returns the processes of this machine that stand behind a run of
// this database.
func (k *Keeper) AlivePIDs(ctx context.Context) (map[int]bool, error) {
	rows, err := k.db.Read().QueryContext(ctx, "SELECT pid, uuid FROM runs WHERE outcome = 'running' AND host = ?", k.host)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	defer func() { _ = rows.Close() }()
	alive := map[int]bool{}
	for rows.Next() {
		var pid int
		var uuid string
		if err := rows.Scan(&pid, &uuid); err != nil {
			return nil, err
		}
		lives, err := store.Alive(k.db.Path(), uuid)
		if err != nil {
			return nil, err
		}
		alive[pid] = alive[pid] || lives
	}
	return alive, rows.Err()
}
