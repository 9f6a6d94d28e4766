package report

import (
	"context"
	"fmt"
	"time"

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
// cause. What is new of them may be newly seen, and that a listing closed is not noticed.
type Unread struct {
	Targets     int64 `json:"targets"` // all of them
	MaxPages    int64 `json:"max_pages"`
	Unconfirmed int64 `json:"unconfirmed"` // ended, but the site did not confirm that this was all
	Begun       int64 `json:"begun"`       // in hand, or left in the middle: a budget, an interruption
	Failed      int64 `json:"failed"`      // failed, parked, stuck, or to be tried again in minutes
	Again       int64 `json:"again"`       // read before, and about to be read again
	Never       int64 `json:"never"`
}

const (
	crawled = `(t.page_current > 0 OR t.status = 'DONE')`
	before  = `(t.last_success_at IS NOT NULL OR t.complete_at IS NOT NULL)`
	seen    = `min(t.raw_count + t.bad_count, ifnull(t.site_total, 0))`

	sumCoverage = `SELECT ` + sums + `
	FROM targets t WHERE ` + where + ` AND t.retired_at IS NULL`
	sums = `
		ifnull(sum(` + crawled + `), 0), ifnull(sum(NOT ` + crawled + ` AND ` + before + `), 0), ifnull(sum(NOT ` + crawled + ` AND t.complete_at IS NOT NULL), 0), ifnull(sum(NOT ` + crawled + ` AND NOT ` + before + `), 0), count(t.complete_at),
		count(iif(` + crawled + `, t.site_total, NULL)), ifnull(sum(t.site_total), 0), ifnull(sum(` + seen + `), 0), ifnull(sum(t.raw_count + t.bad_count), 0),
		ifnull(sum(` + pagesLeft + `), 0), ifnull(sum(` + crawled + ` AND t.site_total IS NULL), 0),
		count(*) - ifnull(sum(` + wholly + `), 0), ifnull(sum(NOT ` + wholly + ` AND ` + atLimit + `), 0),
		ifnull(sum(NOT ` + wholly + ` AND NOT ` + atLimit + ` AND t.status = 'DONE'), 0),
		ifnull(sum(` + pending + ` AND t.page_current > 0), 0),
		ifnull(sum(` + inTrouble + `), 0),
		ifnull(sum(` + pending + ` AND t.page_current = 0 AND ` + before + `), 0),
		ifnull(sum(` + pending + ` AND t.page_current = 0 AND NOT ` + before + `), 0),
		ifnull(sum(t.site_total IS NULL AND t.complete_at IS NULL), 0)`

	// How the current crawl of a target stands: one of these is true.
	wholly    = `(t.status = 'DONE' AND t.complete_at IS NOT NULL AND t.complete_at = t.finished_at)`
	atLimit   = `(t.status = 'DONE' AND t.next_page_url IS NOT NULL)`
	inTrouble = `(t.status IN ('FAILED', 'PARKED', 'STUCK') OR t.status = 'PLANNED' AND t.wait_reason IS NOT NULL)`
	pending   = `(t.status = 'IN_PROGRESS' OR t.status = 'PLANNED' AND t.wait_reason IS NULL)`

	// As in v_coverage: a test holds the two together.
	pagesLeft = `CASE WHEN t.next_page_url IS NULL OR t.page_current = 0 OR t.status <> 'DONE' AND (t.site_total IS NULL OR t.max_pages = 0) THEN 0
		WHEN t.site_total IS NULL THEN 1
		ELSE max(t.status = 'DONE', cast(ceil((t.site_total - t.raw_count - t.bad_count) * 1.0 * t.page_current / max(1, t.raw_count + t.bad_count)) AS INTEGER)
			- iif(t.status = 'DONE', 0, t.max_pages - t.page_current)) END`
)

// CoverageTotals adds up all searches of the scope. It reads them all.
func (k *Reader) CoverageTotals(ctx context.Context, scope store.Scope) (CoverageTotals, error) {
	scope.Kinds = nil // searches
	all, err := list(ctx, k, "add up coverage", sumCoverage, scope.Args(), func(t *CoverageTotals) []any {
		u := &t.Unread
		return []any{
			&t.Targets, &t.Again, &t.AgainWhole, &t.NeverCrawled, &t.Complete, &t.Known, &t.SiteTotal, &t.SeenOfKnown, &t.Seen, &t.PagesLeft, &t.NoTotal,
			&u.Targets, &u.MaxPages, &u.Unconfirmed, &u.Begun, &u.Failed, &u.Again, &u.Never, &t.Untold,
		}
	})
	t := append(all, CoverageTotals{})[0]
	t.setPercent()
	return t, err
}

func (t *CoverageTotals) setPercent() {
	if t.Percent = nil; t.SiteTotal > 0 {
		share := 100 * float64(t.SeenOfKnown) / float64(t.SiteTotal)
		t.Percent = &share
	}
}

// Text says how much of what the sites list was seen: "32.0% of what the site lists was seen".
func (t CoverageTotals) Text() string {
	measured := t.All() - t.Untold - t.AgainWhole
	switch {
	case t.Targets == 0 && t.Again == 0:
		return "no page was read yet"
	case t.Percent != nil && measured < t.All():
		return fmt.Sprintf("%s of what the site lists in %s of %s was seen", yp.Share(*t.Percent), yp.Thousands(measured), yp.Plural(t.All(), "target"))
	case t.Percent != nil:
		return yp.Share(*t.Percent) + " of what the site lists was seen"
	case t.Targets == 0:
		return "nothing of what the site lists was seen again yet"
	case t.Unread.Targets == 0:
		return "every page that the site offers was read; the site does not say how much it lists"
	}
	return "the site does not say how much it lists"
}

// Line is what commands say beside their own answer; `coverage` says more. of says what is
// counted: "this selection".
func (t CoverageTotals) Line(of string) string {
	text := t.Text() + " (" + of + ")"
	if n := t.Unread.Targets; n > 0 && t.Targets+t.Again > 0 {
		text += fmt.Sprintf("; %s of %s not read to the end", yp.Thousands(n), yp.Plural(t.All(), "target"))
	}
	return sentence(text)
}

// Add adds the targets of another selection.
func (t *CoverageTotals) Add(o CoverageTotals) {
	u, v := &t.Unread, o.Unread
	for into, n := range map[*int64]int64{
		&t.Targets: o.Targets, &t.Again: o.Again, &t.AgainWhole: o.AgainWhole, &t.NeverCrawled: o.NeverCrawled, &t.Complete: o.Complete, &t.Known: o.Known, &t.SiteTotal: o.SiteTotal,
		&t.SeenOfKnown: o.SeenOfKnown, &t.Seen: o.Seen, &t.PagesLeft: o.PagesLeft, &t.NoTotal: o.NoTotal, &t.Untold: o.Untold,
		&u.Targets: v.Targets, &u.MaxPages: v.MaxPages, &u.Unconfirmed: v.Unconfirmed, &u.Begun: v.Begun, &u.Failed: v.Failed, &u.Again: v.Again,
		&u.Never: v.Never,
	} {
		*into += n
	}
	t.setPercent()
}

// All is how many targets the selection has.
func (t CoverageTotals) All() int64 { return t.Targets + t.Again + t.NeverCrawled }

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
	Started   time.Time    `json:"started_at"`
	Finished  time.Time    `json:"finished_at"`
	LastDone  time.Time    `json:"last_done_at"` // end of the last complete crawl
	Code      yp.ErrorCode `json:"error_code,omitempty"`
	Error     string       `json:"error,omitempty"`
}

const discoveries = `
	SELECT source, state, cities, new, removed, by_slug, by_name, unmatched, targets, retired, status, pages, page, started_at, finished_at, complete_at,
		ifnull(error, ''), ifnull(message, '')
	FROM v_indexes WHERE ` + ofSource + ` AND ` + inStates + ` ORDER BY source, state`

// Discoveries tells of every state whose index was crawled, or is to be. Of the scope,
// source and states count.
func (k *Reader) Discoveries(ctx context.Context, scope store.Scope) ([]Discovery, error) {
	return list(ctx, k, "read what was discovered", discoveries, placesOf(scope), fields[Discovery])
}
