package report

import (
	"context"
	"slices"
	"time"

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
	SELECT ifnull(sum(iif(status = 'PLANNED', targets, 0)), 0), ifnull(sum(iif(status IN ('DONE', 'FAILED'), targets, 0)), 0),
		ifnull(sum(iif(status = 'IN_PROGRESS', targets, 0)), 0)
	FROM target_totals WHERE kind = 'detail' AND ` + places
	// What is due again and not planned yet, and what is planned and waits.
	detailsWoken = `
	SELECT ifnull(sum(not_before <= ?3 AND status <> 'PLANNED'), 0), ifnull(sum(not_before > ?3 AND status = 'PLANNED'), 0) FROM targets
	WHERE kind = 'detail' AND (wait_reason = 'backoff' AND not_before IS NOT NULL OR wait_reason = 'recrawl' AND not_before <= ?3) AND retired_at IS NULL
		AND ` + places
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

// DetailRow is a row of v_details: what a listing's own page says, with what its card
// says where that wins.
type DetailRow struct {
	Source string    `json:"source"`
	Status yp.Status `json:"status"`
	yp.Detail
	Fetched time.Time    `json:"fetched_at"`
	Due     time.Time    `json:"due_at"` // read again, or tried again, then
	Code    yp.ErrorCode `json:"last_error_code,omitempty"`
	Error   string       `json:"last_error,omitempty"`
	Company int64        `json:"company_id"`
	URL     string       `json:"url"`
}

const detailRows = `
	SELECT v.source, v.status, v.listing_id, v.name, ifnull(v.email, ''), ifnull(v.phone, ''), ifnull(d.phone_e164, ''), ifnull(d.website_url, ''), ifnull(v.website, ''),
		ifnull(d.domain, ''), ifnull(v.hours, '[]'), ifnull(v.lat, 0), ifnull(v.lon, 0), ifnull(v.payment, '[]'), ifnull(v.social, '[]'), ifnull(v.services, '[]'),
		ifnull(v.languages, '[]'), ifnull(v.neighborhoods, '[]'), ifnull(v.aka, '[]'), ifnull(v.founded, 0), ifnull(v.years_in_business, 0), ifnull(v.about, ''),
		v.fetched_at, v.not_before, ifnull(v.last_error_code, ''), ifnull(v.last_error, ''), v.company_id, ifnull(l.profile_url, '')
	FROM listings l JOIN targets t ON t.listing = l.id LEFT JOIN details d ON d.listing = l.id JOIN v_details v ON v.id = t.id
	WHERE l.source_id IN (SELECT o.id FROM sources o WHERE ?2 = 0 OR o.id = ?2) AND l.listing_id = ?1 ORDER BY v.source`

// DetailsOf returns the details of the listings with an id: one of each source (0 = any)
// that has it.
func (k *Reader) DetailsOf(ctx context.Context, listing string, source int64) ([]DetailRow, error) {
	return list(ctx, k, "read details of listing "+listing, detailRows, []any{listing, source}, func(r *DetailRow) []any {
		return slices.Concat([]any{&r.Source, &r.Status}, fields(&r.Detail), []any{at(&r.Fetched), at(&r.Due), &r.Code, &r.Error, &r.Company, &r.URL})
	})
}
