package report

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// CoverageTotals is how much of what sites list was seen of a selection: the searches of a
// scope that are not retired. Listings are counted by target: one that two searches show
// counts in both.
type CoverageTotals struct {
	Targets      int64    `json:"targets"`     // crawled: at least one page was read, or the site said that there is none
	Again        int64    `json:"again"`       // crawled before; the next crawl has not brought a page yet
	AgainWhole   int64    `json:"again_whole"` // of those: to a confirmed end. Of these no share is known yet
	NeverCrawled int64    `json:"never_crawled"`
	Complete     int64    `json:"complete"`   // crawled to a confirmed end at least once
	Known        int64    `json:"known"`      // of which the site says how many it has
	SiteTotal    int64    `json:"site_total"` // of those
	SeenOfKnown  int64    `json:"seen_of_known"`
	Seen         int64    `json:"seen"`
	Percent      *float64 `json:"percent"`    // seen_of_known of site_total; null = nothing is known
	PagesLeft    int64    `json:"pages_left"` // beyond the limit of pages, as far as the site's numbers tell
	NoTotal      int64    `json:"no_total"`   // of targets: the site does not say how many it has
	Unread       Unread   `json:"not_read_to_end"`
	Untold       int64    `json:"untold"` // never crawled, or neither the site's number nor a confirmed end is known: no share can be told
}

// Unread are the targets whose current crawl has not come to an end that the site confirmed, by
// cause. What is new of them may be newly seen, and what its source drops is not noticed.
type Unread struct {
	Targets     int64 `json:"targets"` // all of them
	MaxPages    int64 `json:"max_pages"`
	Unconfirmed int64 `json:"unconfirmed"` // ended, but the site did not confirm that this was all
	Begun       int64 `json:"begun"`       // in hand, or left in the middle: a budget, an interruption
	Failed      int64 `json:"failed"`      // failed, parked, stuck, or to be tried again in minutes
	Again       int64 `json:"again"`       // read before, and about to be read again
	Never       int64 `json:"never"`
	// Ends tell of the unconfirmed how their lists ended, the most frequent first.
	Ends []EndCount `json:"ends"`
}

// EndCount is how often lists came to an end in one way that the site does not confirm (yp.Ending).
type EndCount struct {
	Ending  yp.Ending `json:"ending"`
	Targets int64     `json:"targets"`
	Example string    `json:"example"` // why, of one of them, for people
}

// noWord counts the unconfirmed of which the site does not say where its lists end.
func (u *Unread) noWord() (n int64) {
	for _, e := range u.Ends {
		if e.Ending == yp.EndNoWord {
			n += e.Targets
		}
	}
	return n
}

// Each target is looked at once, in the subquery: LIMIT keeps SQLite from deciding anew in each sum.
const sumCoverage = `
	SELECT ifnull(sum(crawled), 0), ifnull(sum(NOT crawled AND crawled_before), 0),
		ifnull(sum(NOT crawled AND complete_at IS NOT NULL), 0), ifnull(sum(NOT crawled AND NOT crawled_before), 0),
		count(complete_at), count(iif(crawled, site_total, NULL)), ifnull(sum(site_total), 0),
		ifnull(sum(min(seen, site_total)), 0), ifnull(sum(seen), 0), ifnull(sum(pages_left), 0),
		ifnull(sum(crawled AND site_total IS NULL), 0),
		ifnull(sum(site_total IS NULL AND complete_at IS NULL AND unread IS NOT NULL), 0), count(unread),
		ifnull(sum(unread = 'max_pages'), 0), ifnull(sum(unread = 'unconfirmed'), 0), ifnull(sum(unread = 'begun'), 0),
		ifnull(sum(unread = 'failed'), 0), ifnull(sum(unread = 'again'), 0), ifnull(sum(unread = 'never'), 0)
	FROM (
		SELECT crawled, crawled_before, complete_at, site_total, seen, pages_left, unread FROM targets_and_coverage t
		WHERE (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
		LIMIT -1)`

const countEnds = `
	SELECT ending, count(*), ifnull(max(end_text), '') FROM targets_and_coverage t
	WHERE unread = 'unconfirmed'
		AND ending IS NOT NULL
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))
	GROUP BY ending ORDER BY count(*) DESC, ending`

// CoverageTotals adds up all searches of the scope. It reads them all.
func (k *Reader) CoverageTotals(ctx context.Context, scope store.Scope) (t CoverageTotals, err error) {
	scope.Kinds = nil // searches
	_, err = k.one(ctx, "add up coverage", sumCoverage, scope.Args(), t.numbers()...)
	t.setPercent()
	if t.Unread.Ends = []EndCount{}; err == nil && t.Unread.Unconfirmed > 0 {
		err = k.each(ctx, countEnds, scope.Args(), func(rows *sql.Rows) error {
			var e EndCount
			err := rows.Scan(&e.Ending, &e.Targets, &e.Example)
			t.Unread.Ends = append(t.Unread.Ends, e)
			return err
		})
	}
	return t, err
}

// numbers are the counts, in the order of sumCoverage.
func (t *CoverageTotals) numbers() (all []any) {
	for _, field := range slices.Concat(fields(t), fields(&t.Unread)) {
		if n, ok := field.(*int64); ok {
			all = append(all, n)
		}
	}
	return all
}

func (t *CoverageTotals) setPercent() { t.Percent = shareOf(t.SeenOfKnown, t.SiteTotal) }

// shareOf is seen in percent of what sites say they have; nil where they say nothing.
func shareOf(seen, all int64) *float64 {
	if all <= 0 {
		return nil
	}
	share := 100 * float64(seen) / float64(all)
	return &share
}

// Add adds the targets of another selection.
func (t *CoverageTotals) Add(o CoverageTotals) {
	more := o.numbers()
	for i, n := range t.numbers() {
		*n.(*int64) += *more[i].(*int64)
	}
	t.Unread.addEnds(o.Unread.Ends)
	t.setPercent()
}

func (u *Unread) addEnds(more []EndCount) {
	u.Ends = slices.Clone(u.Ends)
	for _, e := range more {
		if i := slices.IndexFunc(u.Ends, func(have EndCount) bool { return have.Ending == e.Ending }); i >= 0 {
			u.Ends[i].Targets += e.Targets
		} else {
			u.Ends = append(u.Ends, e)
		}
	}
	slices.SortStableFunc(u.Ends, func(a, b EndCount) int { return cmp.Compare(b.Targets, a.Targets) })
}

// All is how many targets the selection has.
func (t CoverageTotals) All() int64 { return t.Targets + t.Again + t.NeverCrawled }
