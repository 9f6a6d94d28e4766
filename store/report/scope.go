package report

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const scopeCounts = `
	SELECT iif(t.retired_at IS NULL, t.status, 'RETIRED'), count(*), sum(t.page_current) FROM targets t WHERE ` + where + ` GROUP BY 1`

// Count counts the targets of a scope by status. It reads them all: a start of
// a run can afford that, a display that is redrawn can't (see Progress).
func (k *Reader) Count(ctx context.Context, scope store.Scope) (c Counts, err error) {
	rows, err := k.db.Read().QueryContext(ctx, scopeCounts, scope.Args()...)
	if err != nil {
		return c, fmt.Errorf("count targets: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var status yp.Status
		var n, pages int64
		if err := rows.Scan(&status, &n, &pages); err != nil {
			return c, err
		}
		c.add(status, n)
		c.Pages += pages
	}
	c.setPercent()
	return c, rows.Err()
}

// A gap that ends later than ?7 is the mark of a clock that was set back, and none.
const countInGap = `
	SELECT count(*), max(t.not_before) FROM targets t
	WHERE t.wait_reason = 'gap' AND t.not_before > ?7 AND t.not_before <= ?8
		AND t.enabled = 1 AND t.retired_at IS NULL AND t.paused = 0 AND ` + where

// InGap counts the targets of the scope that are due and wait only because two crawls of
// a target start at least yp.MinCrawlGap apart, and tells when the last of them may be
// claimed.
func (k *Reader) InGap(ctx context.Context, scope store.Scope) (n int64, until time.Time, err error) {
	now := k.db.Now()
	args := scope.Args(yp.FormatTime(now), yp.FormatTime(now.Add(yp.MinCrawlGap)))
	if err := k.db.Read().QueryRowContext(ctx, countInGap, args...).Scan(&n, at(&until)); err != nil {
		return 0, until, fmt.Errorf("count targets in the gap between two crawls: %w", err)
	}
	return n, until, nil
}
