package report

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Trouble counts targets that are not as they should be.
type Trouble struct {
	Waiting int64 // PLANNED, until their first short backoff is over
	Since   int64 // waiting, FAILED, PARKED or STUCK, and so since the time asked for
	Rests   []Rest
}

// Rest counts the targets that wait, or are FAILED, for one cause: a run tries them again
// by itself.
type Rest struct {
	Code    yp.ErrorCode
	Targets int64
	From    time.Time // when the first of them may be tried, its source being open
}

// Blocked reports whether the site said no. An operator is not to cut such a rest short.
func (r Rest) Blocked() bool { return r.Code == yp.CodeBlockedProxy || r.Code == yp.CodeRateLimited }

const (
	countWaiting = `SELECT count(*) FROM targets t WHERE t.wait_reason = 'backoff' AND t.not_before IS NOT NULL AND t.status = 'PLANNED' AND ` + where
	countSince   = `
	SELECT count(*) FROM targets t
	WHERE (t.status IN ('FAILED', 'STUCK', 'PARKED') OR t.wait_reason IS 'backoff') AND t.finished_at >= ?7 AND ` + where
	countRests = `
	SELECT ifnull(t.last_error_code, ''), count(*), min(max(t.not_before, ifnull(g.until, '')))
	FROM targets t JOIN v_source_availability g ON g.source_id = t.source_id
	WHERE t.wait_reason = 'backoff' AND t.not_before IS NOT NULL AND ` + where + ` GROUP BY 1 ORDER BY 1`
)

// Trouble counts the targets of a scope that wait or went wrong since a time.
func (k *Reader) Trouble(ctx context.Context, scope store.Scope, since time.Time) (t Trouble, err error) {
	if err := k.db.Read().QueryRowContext(ctx, countWaiting, scope.Args()...).Scan(&t.Waiting); err != nil {
		return t, fmt.Errorf("count waiting targets: %w", err)
	}
	if err := k.db.Read().QueryRowContext(ctx, countSince, scope.Args(yp.FormatTime(since))...).Scan(&t.Since); err != nil {
		return t, fmt.Errorf("count failed targets: %w", err)
	}
	err = k.db.Each(ctx, countRests, scope.Args(), func(rows *sql.Rows) error {
		var r Rest
		err := rows.Scan(&r.Code, &r.Targets, at(&r.From))
		t.Rests = append(t.Rests, r)
		return err
	})
	if err != nil {
		return t, fmt.Errorf("count resting targets: %w", err)
	}
	return t, nil
}
