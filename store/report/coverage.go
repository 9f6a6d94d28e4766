package report

import (
	"context"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// CoverageFilter selects targets by what was seen of them. Empty fields select all.
type CoverageFilter struct {
	Scope store.Scope // source, states and categories count
	All   bool        // those of which the current crawl has not seen a page, too
}

// Coverage is what a site says that it has for a city and a category, and what was
// seen of it by the last crawl.
type Coverage struct {
	TargetID  int64     `json:"target_id"`
	Source    string    `json:"source"`
	City      string    `json:"city"`
	State     string    `json:"state"`
	Category  string    `json:"category"`
	Status    yp.Status `json:"status"`
	SiteTotal *int64    `json:"site_total"` // listings, as the site says; null = it does not, or was not asked
	Seen      int64     `json:"seen"`
	Percent   *float64  `json:"percent"` // of site_total, at most 100
	Pages     int       `json:"pages"`
	PagesLeft int64     `json:"pages_left"`                // that only the limit of pages kept from us
	Complete  time.Time `json:"last_complete_at,omitzero"` // end of the last crawl that saw every page
	Finished  time.Time `json:"last_finished_at,omitzero"` // of the last crawl, however it ended
}

// CoverageTotals adds up the targets of a filter, whatever part of them is listed.
type CoverageTotals struct {
	Targets      int64    `json:"targets"` // crawled, at least one page
	Again        int64    `json:"again"`   // crawled before; the next crawl has not brought a page yet
	NeverCrawled int64    `json:"never_crawled"`
	Complete     int64    `json:"complete"`   // crawled to a confirmed end at least once
	Known        int64    `json:"known"`      // of which the site says how many it has
	SiteTotal    int64    `json:"site_total"` // of those
	SeenOfKnown  int64    `json:"seen_of_known"`
	Seen         int64    `json:"seen"`
	Percent      *float64 `json:"percent"` // seen_of_known of site_total; null = nothing is known
	PagesLeft    int64    `json:"pages_left"`
}

const (
	// Which targets, without their names: what the view computes is computed for the
	// rows that are shown, not for all of them.
	thinnest = `
	SELECT t.id FROM targets t
	WHERE ` + where + ` AND t.retired_at IS NULL AND (?7 OR ` + crawled + `)
	ORDER BY NOT (` + crawled + `), t.site_total IS NULL OR t.site_total = 0, ` + seen + ` * 1.0 / max(1, t.site_total), ` + seen + ` - t.site_total, t.id LIMIT ?8`
	crawled = `(t.page_current > 0 OR t.finished_at IS NOT NULL)`
	before  = `(t.last_success_at IS NOT NULL OR t.complete_at IS NOT NULL)`
	seen    = `min(t.raw_count + t.bad_count, ifnull(t.site_total, 0))`

	listCoverage = `
	SELECT t.id, s.name, c.name, t.state, k.name, t.status, t.site_total, t.raw_count + t.bad_count, v.percent, t.page_current,
		ifnull(v.pages_left, 0), t.complete_at, t.finished_at
	FROM (SELECT row_number() OVER () AS n, id FROM (` + thinnest + `)) x CROSS JOIN targets t ON t.id = x.id JOIN sources s ON s.id = t.source_id
	JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id LEFT JOIN v_coverage v ON v.id = t.id ORDER BY x.n`
	sumCoverage = `
	SELECT ifnull(sum(` + crawled + `), 0), ifnull(sum(NOT ` + crawled + ` AND ` + before + `), 0), ifnull(sum(NOT ` + crawled + ` AND NOT ` + before + `), 0), count(t.complete_at),
		count(iif(` + crawled + `, t.site_total, NULL)), ifnull(sum(t.site_total), 0), ifnull(sum(` + seen + `), 0), ifnull(sum(t.raw_count + t.bad_count), 0)
	FROM targets t WHERE ` + where + ` AND t.retired_at IS NULL`
	sumPagesLeft = `
	SELECT ifnull(sum(v.pages_left), 0) FROM targets t CROSS JOIN v_coverage v ON v.id = t.id
	WHERE ` + where + ` AND t.next_page_url IS NOT NULL AND t.retired_at IS NULL`
)

// Coverage lists the targets of the filter, those first of which the least share was
// seen, at most limit of them (0 = all).
func (k *Reader) Coverage(ctx context.Context, f CoverageFilter, limit int) ([]Coverage, error) {
	return list(ctx, k, "list coverage", listCoverage, f.Scope.Args(f.All, atMost(limit)), fields[Coverage])
}

// CoverageTotals adds up all targets of the scope.
func (k *Reader) CoverageTotals(ctx context.Context, scope store.Scope) (t CoverageTotals, err error) {
	if t, err = k.coverageSums(ctx, scope); err == nil {
		_, err = k.one(ctx, "add up coverage", sumPagesLeft, scope.Args(), &t.PagesLeft)
	}
	return t, err
}

// coverageSums is CoverageTotals without the pages left.
func (k *Reader) coverageSums(ctx context.Context, scope store.Scope) (t CoverageTotals, err error) {
	_, err = k.one(ctx, "add up coverage", sumCoverage, scope.Args(),
		&t.Targets, &t.Again, &t.NeverCrawled, &t.Complete, &t.Known, &t.SiteTotal, &t.SeenOfKnown, &t.Seen)
	if t.SiteTotal > 0 {
		share := 100 * float64(t.SeenOfKnown) / float64(t.SiteTotal)
		t.Percent = &share
	}
	return t, err
}

// Discovery is what is known of a source's cities in a state, and how the last crawl of
// its index fared.
type Discovery struct {
	Source    string       `json:"source"`
	State     string       `json:"state"`
	Cities    int64        `json:"cities"`          // in the index now
	New       int64        `json:"new"`             // of them first seen, or back, since the last crawl of the index began
	Removed   int64        `json:"removed"`         // no longer in the index
	BySlug    int64        `json:"matched_by_slug"` // of the cities, by how the gazetteer knew them
	ByName    int64        `json:"matched_by_name"`
	Unmatched int64        `json:"matched_none"`
	Targets   int64        `json:"targets"` // planned in the state, whatever became of them
	Retired   int64        `json:"targets_retired"`
	Status    yp.Status    `json:"status"` // of the index
	Pages     int          `json:"pages"`
	PagesDone int          `json:"pages_done"`
	Started   time.Time    `json:"started_at,omitzero"`
	Finished  time.Time    `json:"finished_at,omitzero"`
	LastDone  time.Time    `json:"last_done_at,omitzero"` // end of the last complete crawl
	Code      yp.ErrorCode `json:"error_code,omitempty"`
	Error     string       `json:"error,omitempty"`
}

const discoveryStats = `
	SELECT s.name, t.state, ifnull(n.cities, 0), t.accepted_count, ifnull(n.removed, 0), ifnull(n.by_slug, 0), ifnull(n.by_name, 0), ifnull(n.unmatched, 0),
		(SELECT ifnull(sum(o.targets), 0) FROM target_totals o WHERE o.kind = 'search' AND o.source_id = t.source_id AND o.state = t.state AND o.status <> 'RETIRED'),
		(SELECT ifnull(sum(o.targets), 0) FROM target_totals o WHERE o.kind = 'search' AND o.source_id = t.source_id AND o.state = t.state AND o.status = 'RETIRED'),
		t.status, t.max_pages, t.page_current, t.crawl_started_at, t.finished_at, t.complete_at, ifnull(t.last_error_code, ''), ifnull(t.last_error, '')
	FROM targets t JOIN sources s ON s.id = t.source_id
	LEFT JOIN (
		SELECT x.source_id, c.state, sum(x.removed_at IS NULL) AS cities, sum(x.removed_at IS NOT NULL) AS removed,
			sum(x.removed_at IS NULL AND x.matched = 'slug') AS by_slug, sum(x.removed_at IS NULL AND x.matched = 'name') AS by_name,
			sum(x.removed_at IS NULL AND x.matched = 'none') AS unmatched
		FROM source_cities x JOIN cities c ON c.id = x.city_id GROUP BY x.source_id, c.state) n ON n.source_id = t.source_id AND n.state = t.state
	WHERE t.kind = 'index' AND ` + placesOn + ` ORDER BY s.name, t.state`

// Discoveries tells of every state whose index was crawled, or is to be. Of the scope,
// source and states count.
func (k *Reader) Discoveries(ctx context.Context, scope store.Scope) ([]Discovery, error) {
	return list(ctx, k, "read what was discovered", discoveryStats, placesOf(scope), fields[Discovery])
}
