package health

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
)

const (
	// turnSlack is added to every gap between turns: so late after its turn was written
	// down may a request start without coming too near to the next one.
	turnSlack = 20 * time.Millisecond
	// turnTries bounds how often a turn is moved because it took longer than that to write.
	turnTries = 3
	// turnBusy is the wait before the next try when other processes keep the file busy.
	turnBusy = time.Second
)

const (
	selectTurn = `SELECT next_at, gap_ms FROM host_turns WHERE host = ?`
	upsertTurn = `
	INSERT INTO host_turns (host, next_at, gap_ms) VALUES (?1, ?2, ?3)
	ON CONFLICT (host) DO UPDATE SET next_at = ?2, gap_ms = ?3`
)

// Take asks for the next turn at a host, among all processes on the file: with 0 it is
// the caller's, whose request may start now, and nobody gets another one for gap; else
// it is somebody's, and so long is to be waited before the next try.
//
// Nothing is taken ahead of its time, so nothing is left behind by a process that dies
// while it waits. A turn is never further off than the gap that it was taken with,
// whatever the clock does.
func (m *Monitor) Take(ctx context.Context, host string, gap time.Duration) (wait time.Duration, err error) {
	var mine time.Time
	gap = (gap + time.Millisecond - 1).Truncate(time.Millisecond) // as it is stored
	slack := turnSlack
	for range turnTries {
		var at time.Time
		at, mine, wait, err = m.take(ctx, host, gap+slack, mine)
		switch {
		case errors.Is(err, store.ErrBusy):
			return turnBusy, nil
		case err != nil:
			return 0, fmt.Errorf("take a turn at %s: %w", host, err)
		case wait > 0:
			return wait, nil
		}
		late := m.db.Now().Sub(at) // a slow disk, or others' writes in the same transaction
		if late <= slack {
			break
		}
		slack = min(2*late, max(gap, turnSlack))
	}
	return 0, nil
}

// take takes a turn at the time at, until next, or says how long to wait. A turn that ends
// at mine is the caller's own, and moved.
func (m *Monitor) take(ctx context.Context, host string, gap time.Duration, mine time.Time) (at, next time.Time, wait time.Duration, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		var kept time.Duration
		err := tx.Get(selectTurn, []any{host}, clock{&next}, millis{&kept})
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		at, wait = now(tx), 0
		if left := next.Sub(at); left > 0 && !next.Equal(mine) {
			if wait = min(left, kept); wait == left {
				return nil
			}
			next = at.Add(wait) // the clock was set back meanwhile
		} else {
			kept = gap
			next = at.Add(gap)
		}
		_, err = tx.Exec(upsertTurn, host, stamp(next), max(kept.Milliseconds(), 1))
		return err
	})
	return at, next, wait, err
}
