package health

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// How long rows are kept (docs/health.md, section 1).
const (
	DefaultKeep = 14 * 24 * time.Hour // requests
	MinKeep     = 24 * time.Hour
	MaxKeep     = 90 * 24 * time.Hour // attempts that failed or were cut off, workers and runs, always
	KeepDone    = 30 * 24 * time.Hour // attempts that went well: nine of ten, and the largest of what is kept besides listings

	// pruneBatch rows go in one transaction, which holds up a worker's commit for two
	// milliseconds or so.
	pruneBatch = 500
)

// What each of them costs depends on what it deletes and not on what stays.
const (
	// When the last run that has ended was last seen; NULL = none has.
	lastEnded = `SELECT (SELECT heartbeat_at FROM runs WHERE outcome <> 'running' ORDER BY id DESC LIMIT 1)`
	// The next rows by id, which is about their order in time: how many are old, and
	// how many are to be kept. Those dated in the future, left by a clock that was set
	// back, are neither: else what is old behind them would be kept for years.
	nextRequests = `
	SELECT ifnull(max(id), 0), ifnull(sum(finished_at < ?2), 0), ifnull(sum(finished_at >= ?2 AND finished_at <= ?3), 0)
	FROM (SELECT id, finished_at FROM requests WHERE id > ?1 ORDER BY id LIMIT ?4)`
	pruneRequests = `DELETE FROM requests WHERE id > ?1 AND id <= ?2 AND finished_at < ?3`
	rolledUpTo    = `SELECT ifnull((SELECT cast(value AS INTEGER) FROM meta WHERE key = 'rolled:requests'), 0)`
	// The ids of the last rows are given again when these are deleted: what comes next is to be behind the mark.
	lowerRolled = `
	UPDATE meta SET value = (SELECT ifnull(max(id), 0) FROM requests)
	WHERE key = 'rolled:requests' AND cast(value AS INTEGER) > (SELECT ifnull(max(id), 0) FROM requests)`
	pruneMinutes = `
	DELETE FROM request_spans
	WHERE (source_id, span, began_at) IN (
		SELECT r.source_id, r.span, r.began_at FROM sources s CROSS JOIN request_spans r ON r.source_id = s.id
		WHERE r.span = 'minute' AND r.began_at < ?1 LIMIT ?2)`
	// Hours can't be counted again.
	pruneHours = `
	DELETE FROM request_spans
	WHERE (source_id, span, began_at) IN (
		SELECT r.source_id, r.span, r.began_at FROM sources s CROSS JOIN request_spans r ON r.source_id = s.id
		WHERE r.span = 'hour' AND r.began_at < ?1 LIMIT ?2)`
	pruneAttempts = `
	DELETE FROM crawl_attempts WHERE id IN (SELECT id FROM crawl_attempts WHERE finished_at < ?1 ORDER BY finished_at LIMIT ?2)`
	// Of these the index has all that is asked, so the failed ones between them cost little.
	pruneDone = `
	DELETE FROM crawl_attempts
	WHERE id IN (
		SELECT id FROM crawl_attempts
		WHERE finished_at < ?1 AND error_code IN ('SUCCESS', 'NO_LISTINGS') ORDER BY finished_at LIMIT ?2)`
	// The oldest workers are those with the smallest ids, near enough.
	pruneWorkers = `
	DELETE FROM workers WHERE id IN (SELECT w.id FROM (SELECT id, run_id FROM workers ORDER BY id LIMIT ?2) w JOIN runs r ON r.id = w.run_id
		WHERE r.finished_at < ?1)`
	// A run stays for as long as anything says that it comes from it: what it found, above all.
	pruneRuns = `
	DELETE FROM runs WHERE id IN (SELECT id FROM runs r WHERE finished_at < ?1
		AND NOT EXISTS (SELECT 1 FROM workers WHERE run_id = r.id) AND NOT EXISTS (SELECT 1 FROM crawl_attempts WHERE run_id = r.id)
		AND NOT EXISTS (SELECT 1 FROM listing_events WHERE run_id = r.id)
		AND NOT EXISTS (SELECT 1 FROM targets WHERE run_id = r.id) ORDER BY id LIMIT ?2)`
	// Of a name the last delivery stays.
	pruneDeliveries = `
	DELETE FROM deliveries WHERE id IN (SELECT d.id FROM deliveries d WHERE d.at < ?1
		AND EXISTS (SELECT 1 FROM deliveries n WHERE n.name = d.name AND n.id > d.id) ORDER BY d.id LIMIT ?2)`
)

// Prune deletes the requests that ended longer ago than keep (0 = DefaultKeep; it
// is held between MinKeep and MaxKeep), the attempts that went well longer ago than KeepDone, and the
// other attempts, workers and runs that ended longer ago than MaxKeep, the figures over time that are older than
// KeepMinutes and KeepHours, and deliveries of that age which
// others have followed, in small transactions with a pause after each, so that
// workers hardly notice. A request is counted by the roll-up before it is deleted. What it has deleted stays so when ctx ends it early.
//
// age is read when the run begins, and lasted is how long ago that was by the machine's steady clock.
func (m *Monitor) Prune(ctx context.Context, keep time.Duration, age *Age, lasted time.Duration) error {
	if err := m.rollSeries(ctx, 0); err != nil {
		return fmt.Errorf("before requests are deleted: %w", err)
	}
	now := m.db.Now()
	if err := m.pruneRequests(ctx, age.before(now, min(max(cmp.Or(keep, DefaultKeep), MinKeep), MaxKeep), lasted)); err != nil {
		return fmt.Errorf("delete old requests: %w", err)
	}
	for _, old := range []struct {
		what, query string
		keep        time.Duration
	}{
		{"figures by minute", pruneMinutes, KeepMinutes},
		{"figures by hour", pruneHours, KeepHours},
		{"attempts that went well", pruneDone, KeepDone},
		{"attempts", pruneAttempts, MaxKeep},
		{"workers", pruneWorkers, MaxKeep},
		{"runs", pruneRuns, MaxKeep},
		{"deliveries", pruneDeliveries, MaxKeep},
	} {
		before := yp.FormatTime(age.before(now, old.keep, lasted))
		for deleted := pruneBatch; deleted == pruneBatch; {
			var err error
			if deleted, err = m.batch(ctx, old.query, before, pruneBatch); err != nil {
				return fmt.Errorf("delete old %s: %w", old.what, err)
			}
		}
	}
	return nil
}

// Age is from when on rows age in a run. Time in which no run lasts makes nothing old: neither a start with a clock that is years
// ahead, nor a clock that is set ahead during a run, deletes what is not old. After a rest that did take years the second run
// deletes, or this one when it has lasted for as long as the rows are kept.
type Age struct {
	ended time.Time // when the last run that had ended was last seen; where none had, began
	began time.Time // of the run
}

// Age is asked once, when a run begins.
func (m *Monitor) Age(ctx context.Context) (*Age, error) {
	a := &Age{began: m.db.Now()}
	if err := m.db.Row(ctx, lastEnded, nil, store.Instant(&a.ended)); err != nil {
		return nil, fmt.Errorf("look when the last run ended: %w", err)
	}
	if a.ended.IsZero() {
		a.ended = a.began
	}
	return a, nil
}

// before is the time before which rows are old that are kept for so long.
func (a *Age) before(now time.Time, keep, lasted time.Duration) time.Time {
	old := earlier(now, a.ended.Add(lasted))
	if own := earlier(now, a.began.Add(lasted)); lasted >= keep && own.After(old) { // rows of this run, and all before it
		old = own
	}
	return old.Add(-keep)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// pruneRequests walks from the oldest request to the first batch that has none to
// delete. It looks before it takes the writer.
func (m *Monitor) pruneRequests(ctx context.Context, end time.Time) error {
	before, now := yp.FormatTime(end), yp.FormatTime(m.db.Now())
	for last := int64(0); ; {
		var upTo int64
		var old, young int
		args := []any{last, before, now, pruneBatch}
		if err := m.db.Read().QueryRowContext(ctx, nextRequests, args...).Scan(&upTo, &old, &young); err != nil {
			return err
		}
		if upTo == 0 || old == 0 && young > 0 {
			return nil
		}
		if old > 0 {
			if err := m.deleteRequests(ctx, last, upTo, before); err != nil {
				return err
			}
		}
		last = upTo
	}
}

// deleteRequests deletes those with the ids behind from, up to to, that are old and counted by the roll-up.
func (m *Monitor) deleteRequests(ctx context.Context, from, to int64, before string) error {
	began := time.Now()
	err := m.db.Write(ctx, func(tx *store.Tx) error {
		var rolled int64
		err := tx.Get(rolledUpTo, nil, &rolled)
		if err == nil {
			err = tx.Run(pruneRequests, from, min(to, rolled), before)
		}
		if err == nil {
			err = tx.Run(lowerRolled)
		}
		return err
	})
	if err != nil {
		return err
	}
	return rest(ctx, time.Since(began))
}

// batch deletes in one transaction and rests after it.
func (m *Monitor) batch(ctx context.Context, query string, args ...any) (deleted int, err error) {
	began := time.Now()
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Changed(query, args...)
		deleted = int(n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, rest(ctx, time.Since(began))
}

// rest waits as long as the batch took, so that other processes, which wait for the
// writer's lock by polling, find it free half of the time.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
