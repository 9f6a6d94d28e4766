package report

import (
	"context"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Closure is a source that is quarantined or paused now.
type Closure struct {
	ID     int64
	Name   string
	State  store.SourceState
	Until  time.Time // zero = not before an operator, or a probe, says so
	Code   yp.ErrorCode
	Reason string
	Since  time.Time // of a quarantine: failing without a break
}

const (
	selectClosed = `
	SELECT o.source_id, o.source, o.state, o.until, ifnull(o.code, ''), ifnull(o.reason, ''), p.failing_since
	FROM v_source_availability o LEFT JOIN connectivity_profiles p ON p.source_id = o.source_id
	WHERE o.state IN ('quarantined', 'paused') AND o.source_id IN (SELECT value FROM json_each(?)) ORDER BY o.source`
	// A listing's page that its source has no more is no trouble: see the exit codes of `run`.
	countParked = `
	SELECT count(*) FROM targets t
	WHERE t.kind IN ('index', 'search', 'detail') AND t.status = 'PARKED' AND t.status IN ('FAILED', 'STUCK', 'PARKED') AND t.retired_at IS NULL
		AND t.finished_at >= ?1 AND (t.kind <> 'detail' OR t.last_error_code <> 'NO_LISTINGS') AND t.source_id IN (SELECT value FROM json_each(?2))`
)

// Closures lists those of the sources that are quarantined or paused now.
func (k *Reader) Closures(ctx context.Context, ids []int64) ([]Closure, error) {
	return list(ctx, k, "look for closed sources", selectClosed, []any{store.JSONInts(ids)}, fields[Closure])
}

// ParkedSince counts the dead letters of the sources that came since a time.
func (k *Reader) ParkedSince(ctx context.Context, ids []int64, since time.Time) (n int64, err error) {
	_, err = k.one(ctx, "count dead letters", countParked, []any{yp.FormatTime(since), store.JSONInts(ids)}, &n)
	return n, err
}
