package report

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Discovery is what is known of a source's cities in a state, and how the last crawl of
// its index fared.
type Discovery struct {
	Source    string       `json:"source"`
	State     string       `json:"state"`
	Cities    int64        `json:"cities"`          // in the index now
	New       int64        `json:"new"`             // of them first seen, or back, since the last crawl of the index began
	Gone      int64        `json:"gone"`            // no longer in the index
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
	SELECT s.name, d.state, ifnull(n.cities, 0), d.accepted_count, ifnull(n.gone, 0), ifnull(n.by_slug, 0), ifnull(n.by_name, 0), ifnull(n.unmatched, 0),
		(SELECT ifnull(sum(t.targets), 0) FROM target_totals t WHERE t.kind = 'search' AND t.source_id = d.source_id AND t.state = d.state AND t.status <> 'RETIRED'),
		(SELECT ifnull(sum(t.targets), 0) FROM target_totals t WHERE t.kind = 'search' AND t.source_id = d.source_id AND t.state = d.state AND t.status = 'RETIRED'),
		d.status, d.max_pages, d.page_current, d.crawl_started_at, d.finished_at, d.complete_at, ifnull(d.last_error_code, ''), ifnull(d.last_error, '')
	FROM targets d JOIN sources s ON s.id = d.source_id
	LEFT JOIN (
		SELECT x.source_id, c.state, sum(x.gone_at IS NULL) AS cities, sum(x.gone_at IS NOT NULL) AS gone,
			sum(x.gone_at IS NULL AND x.matched = 'slug') AS by_slug, sum(x.gone_at IS NULL AND x.matched = 'name') AS by_name,
			sum(x.gone_at IS NULL AND x.matched = 'none') AS unmatched
		FROM source_cities x JOIN cities c ON c.id = x.city_id GROUP BY x.source_id, c.state) n ON n.source_id = d.source_id AND n.state = d.state
	WHERE d.kind = 'index' AND (?1 = 0 OR d.source_id = ?1) AND (?2 = '[]' OR d.state IN (SELECT value FROM json_each(?2)))
	ORDER BY s.name, d.state`

// Discoveries tells of every state whose index was crawled, or is to be. Of the scope,
// source and states count.
func (k *Reader) Discoveries(ctx context.Context, scope store.Scope) ([]Discovery, error) {
	all := []Discovery{}
	err := k.db.Each(ctx, discoveryStats, []any{scope.SourceID, store.JSONTexts(scope.States)}, func(rows *sql.Rows) error {
		var d Discovery
		err := rows.Scan(&d.Source, &d.State, &d.Cities, &d.New, &d.Gone, &d.BySlug, &d.ByName, &d.Unmatched, &d.Targets, &d.Retired,
			&d.Status, &d.Pages, &d.PagesDone, at(&d.Started), at(&d.Finished), at(&d.LastDone), &d.Code, &d.Error)
		all = append(all, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what was discovered: %w", err)
	}
	return all, nil
}
