package report

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
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
	SELECT ifnull(sum(iif(n.status = 'PLANNED', n.targets, 0)), 0), ifnull(sum(iif(n.status IN ('DONE', 'FAILED'), n.targets, 0)), 0),
		ifnull(sum(iif(n.status = 'IN_PROGRESS', n.targets, 0)), 0)
	FROM target_totals n WHERE n.kind = 'detail' AND (?2 = 0 OR n.source_id = ?2) AND (?3 = '[]' OR n.state IN (SELECT value FROM json_each(?3))) AND ?1 = ?1`
	// What is due again and not planned yet, and what is planned and waits.
	detailsWoken = `
	SELECT ifnull(sum(t.not_before <= ?1 AND t.status <> 'PLANNED'), 0), ifnull(sum(t.not_before > ?1 AND t.status = 'PLANNED'), 0) FROM targets t
	WHERE t.kind = 'detail' AND (t.wait_reason = 'backoff' AND t.not_before IS NOT NULL OR t.wait_reason = 'recrawl' AND t.not_before <= ?1) AND t.retired_at IS NULL
		AND (?2 = 0 OR t.source_id = ?2) AND (?3 = '[]' OR t.state IN (SELECT value FROM json_each(?3)))`
)

// DetailTotals counts the details of a source, 0 = of all, in some states, none = all.
func (k *Reader) DetailTotals(ctx context.Context, source int64, states []string) (t DetailTotals, err error) {
	var woken, waiting int64
	args := []any{yp.FormatTime(k.db.Now()), source, store.JSONTexts(states)}
	err = k.db.Read().QueryRowContext(ctx, detailTotals, args...).Scan(&t.Due, &t.Later, &t.Held)
	if err == nil {
		err = k.db.Read().QueryRowContext(ctx, detailsWoken, args...).Scan(&woken, &waiting)
	}
	if err != nil {
		return t, fmt.Errorf("count details: %w", err)
	}
	t.Due += woken - waiting
	t.Later += waiting - woken
	return t, nil
}

// ProgressOfDetails is Progress with the details, which cost a walk through an index, and
// what the last run brought.
// They are counted over all states.
func (k *Reader) ProgressOfDetails(ctx context.Context, scope store.Scope) (*Progress, error) {
	p, err := k.Progress(ctx, scope)
	if err != nil {
		return nil, err
	}
	if p.LastRun, err = k.LastRun(ctx, scope.SourceID); err != nil {
		return nil, err
	}
	t, err := k.DetailTotals(ctx, scope.SourceID, nil)
	if err == nil && t != (DetailTotals{}) {
		p.Details = &t
	}
	if err == nil && p.Live > 0 && p.WaitingFor == "" {
		r := progressReader{k: k, ctx: ctx, args: []any{scope.SourceID, store.JSONTexts(scope.States)}}
		p.DetailsETASec, err = r.timeLeft(lastDetails, p, t.Due+t.Held)
	}
	return p, err
}

// DetailStats counts the details of one source.
type DetailStats struct {
	Source     string `json:"source"`
	Wanted     int64  `json:"wanted"`
	Planned    int64  `json:"planned"` // those that wait after a first failure included
	InProgress int64  `json:"in_progress"`
	Done       int64  `json:"done"`
	Failed     int64  `json:"failed"`
	Stuck      int64  `json:"stuck"`
	Parked     int64  `json:"parked"`
	Fetched    int64  `json:"fetched"` // read at least once, whatever became of them since
	Email      int64  `json:"with_email"`
	Phone      int64  `json:"with_phone"`
	Website    int64  `json:"with_website"`
	Hours      int64  `json:"with_hours"`
	Geo        int64  `json:"with_geo"`
	Social     int64  `json:"with_social"`
}

const detailStats = `
	SELECT s.name, count(*), sum(t.status = 'PLANNED'), sum(t.status = 'IN_PROGRESS'), sum(t.status = 'DONE'), sum(t.status = 'FAILED'),
		sum(t.status = 'STUCK'), sum(t.status = 'PARKED'), count(d.fetched_at), count(d.email), count(d.phone), count(d.website), count(d.hours), count(d.lat), count(d.social)
	FROM targets t JOIN sources s ON s.id = t.source_id LEFT JOIN details d ON d.listing = t.listing
	WHERE t.kind = 'detail' AND (?1 = 0 OR t.source_id = ?1) AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
	GROUP BY s.id ORDER BY s.name`

// DetailStats counts the details that were found in some states (none = all) of a source
// (0 = all), by source. It reads them all.
func (k *Reader) DetailStats(ctx context.Context, source int64, states []string) ([]DetailStats, error) {
	all := []DetailStats{}
	err := k.db.Each(ctx, detailStats, []any{source, store.JSONTexts(states)}, func(rows *sql.Rows) error {
		var s DetailStats
		err := rows.Scan(&s.Source, &s.Wanted, &s.Planned, &s.InProgress, &s.Done, &s.Failed, &s.Stuck, &s.Parked,
			&s.Fetched, &s.Email, &s.Phone, &s.Website, &s.Hours, &s.Geo, &s.Social)
		all = append(all, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count details: %w", err)
	}
	return all, nil
}

// DetailRow is a row of v_details: what a listing's own page says, with what its card
// says where that wins.
type DetailRow struct {
	Source string    `json:"source"`
	Status yp.Status `json:"status"`
	yp.Detail
	Fetched time.Time    `json:"fetched_at,omitzero"`
	Due     time.Time    `json:"due_at,omitzero"` // read again, or tried again, then
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
	all := []DetailRow{}
	err := k.db.Each(ctx, detailRows, []any{listing, source}, func(rows *sql.Rows) error {
		var r DetailRow
		d := &r.Detail
		err := rows.Scan(&r.Source, &r.Status, &d.ID, &d.Name, &d.Email, &d.Phone, &d.PhoneE164, &d.WebsiteURL, &d.Website, &d.Domain, listed(&d.Hours), &d.Lat, &d.Lon,
			listed(&d.Payment), listed(&d.Social), listed(&d.Services), listed(&d.Languages), listed(&d.Neighborhoods), listed(&d.AKA), &d.Founded, &d.Years, &d.About,
			at(&r.Fetched), at(&r.Due), &r.Code, &r.Error, &r.Company, &r.URL)
		all = append(all, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read details of listing %s: %w", listing, err)
	}
	return all, nil
}

// listed scans a JSON list.
func listed(into *[]string) sql.Scanner { return jsonTexts{into} }

type jsonTexts struct{ into *[]string }

// Scan implements sql.Scanner.
func (j jsonTexts) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("a list is %T", v)
	}
	return json.Unmarshal([]byte(s), j.into)
}
