package report

import (
	"context"
	"database/sql"
	"fmt"
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
	if limit <= 0 {
		limit = -1
	}
	all := []Coverage{}
	err := k.db.Each(ctx, listCoverage, f.Scope.Args(f.All, limit), func(rows *sql.Rows) error {
		var c Coverage
		err := rows.Scan(&c.TargetID, &c.Source, &c.City, &c.State, &c.Category, &c.Status, &c.SiteTotal, &c.Seen, &c.Percent, &c.Pages,
			&c.PagesLeft, at(&c.Complete), at(&c.Finished))
		all = append(all, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list coverage: %w", err)
	}
	return all, nil
}

// CoverageTotals adds up all targets of the scope.
func (k *Reader) CoverageTotals(ctx context.Context, scope store.Scope) (t CoverageTotals, err error) {
	err = k.db.Read().QueryRowContext(ctx, sumCoverage, scope.Args()...).
		Scan(&t.Targets, &t.Again, &t.NeverCrawled, &t.Complete, &t.Known, &t.SiteTotal, &t.SeenOfKnown, &t.Seen)
	if err == nil {
		err = k.db.Read().QueryRowContext(ctx, sumPagesLeft, scope.Args()...).Scan(&t.PagesLeft)
	}
	if err != nil {
		return t, fmt.Errorf("add up coverage: %w", err)
	}
	if t.SiteTotal > 0 {
		share := 100 * float64(t.SeenOfKnown) / float64(t.SiteTotal)
		t.Percent = &share
	}
	return t, nil
}

const knownCategories = `SELECT id, slug, name FROM categories`

// UnknownCategoryError says that nothing was planned for a category.
type UnknownCategoryError struct {
	Word string
	Near string // what was probably meant; may be empty
}

func (e *UnknownCategoryError) Error() string {
	if e.Near == "" {
		return fmt.Sprintf("nothing was planned for the category %q", e.Word)
	}
	return fmt.Sprintf("nothing was planned for the category %q: did you mean %s?", e.Word, e.Near)
}

// FindCategories returns the ids of categories that words name, by name or slug. The
// error is an *UnknownCategoryError for one that the database does not have.
func (k *Reader) FindCategories(ctx context.Context, words []string) ([]int64, error) {
	if len(words) == 0 {
		return nil, nil
	}
	ids, names := map[string]int64{}, []string{}
	err := k.db.Each(ctx, knownCategories, nil, func(rows *sql.Rows) error {
		var id int64
		var slug, name string
		err := rows.Scan(&id, &slug, &name)
		ids[slug] = id
		names = append(names, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for categories: %w", err)
	}
	found := make([]int64, len(words))
	for i, word := range words {
		id, ok := ids[yp.Slug(word)]
		if !ok {
			near, _ := yp.Nearest(word, names)
			return nil, &UnknownCategoryError{Word: word, Near: near}
		}
		found[i] = id
	}
	return found, nil
}
