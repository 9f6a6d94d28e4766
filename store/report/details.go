package report

import (
	"context"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// DetailTotals tells in one line how far the details are, by the counters that the commits
// keep.
type DetailTotals struct {
	Due   int64 `json:"due"`   // can be claimed now
	Later int64 `json:"later"` // read and good for now, or to be tried again later
	Held  int64 `json:"held"`  // in somebody's hands
}

const (
	detailTotals = `
	SELECT ifnull(sum(iif(status = 'PLANNED', targets, 0)), 0),
		ifnull(sum(iif(status IN ('DONE', 'FAILED'), targets, 0)), 0),
		ifnull(sum(iif(status = 'IN_PROGRESS', targets, 0)), 0)
	FROM target_totals
	WHERE kind = 'detail' AND (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))`
	// What is due again and not planned yet, and what is planned and waits.
	detailsWoken = `
	SELECT ifnull(sum(not_before <= ?3 AND status <> 'PLANNED'), 0), ifnull(sum(not_before > ?3 AND status = 'PLANNED'), 0)
	FROM targets
	WHERE kind = 'detail'
		AND (wait_reason = 'backoff' AND not_before IS NOT NULL OR wait_reason = 'recrawl' AND not_before <= ?3)
		AND retired_at IS NULL
		AND (?1 = 0 OR source_id = ?1)
		AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))`
)

// DetailTotals counts the details of a source, 0 = of all, in some states, none = all.
func (k *Reader) DetailTotals(ctx context.Context, source int64, states []string) (t DetailTotals, err error) {
	var woken, waiting int64
	args := placesOf(store.Scope{SourceID: source, States: states}, yp.FormatTime(k.db.Now()))
	_, err = k.one(ctx, "count details", detailTotals, args[:2], &t.Due, &t.Later, &t.Held)
	if err == nil {
		_, err = k.one(ctx, "count details", detailsWoken, args, &woken, &waiting)
	}
	t.Due += woken - waiting
	t.Later += waiting - woken
	return t, err
}
