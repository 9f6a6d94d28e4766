package report

import (
	"context"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Work is what is left to read of a source, and what tells how many pages that are.
type Work struct {
	SourceID  int64
	Searches  int64 // planned or in hand
	Begun     int64 // pages of these that are read already
	Done      int64 // searches that are done, with so many pages:
	DonePages int64
	Details   int64 // listings' own pages that are due or in hand
	Brings    Rate  // own pages that a page of results adds; zero = nobody wants any
	Indexes   int64 // pages of indexes
}

// Rate is so many of one thing for so many of another.
type Rate struct{ Of, In int64 }

// pages is how many pages are left; false = not known: no search was done, or no page was read
// that tells how many own pages it adds.
func (w Work) pages() (float64, bool) {
	left := float64(w.Details + w.Indexes)
	if w.Searches == 0 {
		return left, true
	}
	if w.Done == 0 {
		return 0, false
	}
	search := w.ofSearches()
	if w.Brings.In > 0 {
		search *= 1 + float64(w.Brings.Of)/float64(w.Brings.In)
	}
	return left + search, true
}

// ofSearches is about how many pages of results are left, by those of the searches that are done.
func (w Work) ofSearches() float64 {
	return max(float64(w.Searches)*float64(w.DonePages)/float64(w.Done)-float64(w.Begun), float64(w.Searches))
}

// PagesLeft is about how many pages of results the searches have left; less than 0 = unknown: no search of a source was done.
type PagesLeft int64

// Text says it: "about 1,200 pages left".
func (n PagesLeft) Text() string {
	if n < 0 {
		return "pages left: unknown"
	}
	return "about " + yp.Plural(int64(n), "page") + " left"
}

// PagesLeft counts it. Of the scope, source and states count.
func (k *Reader) PagesLeft(ctx context.Context, scope store.Scope) (PagesLeft, error) {
	work, err := k.Work(ctx, scope, Rate{})
	return pagesLeft(work), err
}

func pagesLeft(work []Work) PagesLeft {
	left := 0.0
	for _, w := range work {
		switch {
		case w.Searches == 0:
		case w.Done == 0:
			return -1
		default:
			left += w.ofSearches()
		}
	}
	return PagesLeft(left)
}

const (
	// LookBack is how far back pages tell the speed: long enough to even out, short enough to forget a wait.
	LookBack = 5 * time.Minute
	// Silence is how long at least no page must come before the time left is unknown.
	Silence = 30 * time.Second
	// mostPages bounds what is read to tell the speed.
	mostPages = 10_000
)

// Left is the time until all that is due is read.
type Left struct {
	Seconds Seconds `json:"eta_seconds"` // at the speed of the last minutes; less than 0 = unknown
}

const (
	lastPages = `
	SELECT count(*), min(at), max(at)
	FROM (
		SELECT r.finished_at AS at FROM requests r
		WHERE r.source_id = ?1
			AND r.proxy_failed = 0
			AND r.finished_at > ?2
			AND r.outcome = 'success'
			AND r.type IN ('listing', 'detail', 'state_index', 'city_index')
		ORDER BY r.finished_at DESC LIMIT ?3)`
	// What an operator has set aside, or a source that nothing opens by itself, is not done now.
	workLeft = `
	SELECT o.source_id,
		ifnull(sum(iif(n.kind = 'search' AND n.status IN ('PLANNED', 'IN_PROGRESS'), n.targets, 0)), 0) - (
			SELECT count(*) FROM targets t INDEXED BY targets_set_aside
			WHERE (t.enabled = 0 OR t.paused = 1)
				AND t.status = 'PLANNED'
				AND t.retired_at IS NULL
				AND t.source_id = o.source_id
				AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
				AND t.kind = 'search'),
		ifnull(sum(iif(n.kind = 'search' AND n.status IN ('PLANNED', 'IN_PROGRESS'), n.pages, 0)), 0),
		ifnull(sum(iif(n.kind = 'search' AND n.status = 'DONE', n.targets, 0)), 0),
		ifnull(sum(iif(n.kind = 'search' AND n.status = 'DONE', n.pages, 0)), 0),
		(
			SELECT ifnull(sum(t.max_pages - t.page_current), 0) FROM targets t
			WHERE t.kind = 'index'
				AND t.source_id = o.source_id
				AND t.status IN ('PLANNED', 'IN_PROGRESS')
				AND t.enabled = 1
				AND t.paused = 0
				AND t.retired_at IS NULL
				AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))),
		- (
			SELECT count(*) FROM targets t INDEXED BY targets_set_aside
			WHERE (t.enabled = 0 OR t.paused = 1)
				AND t.status = 'PLANNED'
				AND t.retired_at IS NULL
				AND t.source_id = o.source_id
				AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
				AND t.kind = 'detail')
	FROM v_source_availability o
		LEFT JOIN target_totals n ON n.source_id = o.source_id
			AND (?2 = '[]' OR n.state IN (SELECT value FROM json_each(?2)))
	WHERE o.state IN ('open', 'held') AND (?1 = 0 OR o.source_id = ?1)
	GROUP BY o.source_id`
)

// TimeLeft says how long the work takes that runs since began do side by side. It is one answer
// for the bar, `progress`, the page and the metrics: of the source that takes longest. What rests after a failure is
// none of it: v_waits tells of that.
func (k *Reader) TimeLeft(ctx context.Context, began time.Time, work []Work) (left Left, err error) {
	now := k.db.Now()
	from := now.Add(-LookBack)
	if began.After(from) { // what an earlier run did says nothing: nobody crawled between the two
		from = began
	}
	longest, known := time.Duration(0), true
	for _, w := range work {
		pages, ok := w.pages()
		if pages > 0 && ok {
			var n int64
			var first, last time.Time
			if _, err = k.one(ctx, "read the last pages", lastPages, []any{w.SourceID, yp.FormatTime(from), mostPages}, &n,
				at(&first), at(&last)); err != nil {
				return left, err
			}
			var took time.Duration
			took, ok = timeFor(pages, n-1, last.Sub(first), now.Sub(last))
			longest = max(longest, took)
		}
		known = known && ok
	}
	if left.Seconds = Seconds(longest.Seconds()); !known {
		left.Seconds = -1
	}
	return left, nil
}

// leftNow is the time left while a run lives that does not wait for its source; else nil.
func (k *Reader) leftNow(ctx context.Context, scope store.Scope) (*Left, error) {
	p := &Progress{Now: yp.Stamp{Time: k.db.Now()}}
	err := k.speed(ctx, p, scope)
	if p.Live == 0 || p.WaitingFor != "" {
		return nil, err
	}
	return &p.Left, err
}

// timeFor is how long pages take at the speed of n of them within span, the last of them since ago;
// false = that can't be told: too few came, or none for several times as long as usual.
func timeFor(pages float64, n int64, span, since time.Duration) (time.Duration, bool) {
	if n < 1 || span <= 0 {
		return 0, false
	}
	mean := float64(span) / float64(n)
	if float64(since) > max(float64(Silence), 4*mean) {
		return 0, false
	}
	return max(time.Duration(pages*mean)-since, 0), true
}

// Work is what is left of each source that may be asked. brings says how many own pages of listings
// a page of results adds of late. Of the scope, source and states count.
func (k *Reader) Work(ctx context.Context, scope store.Scope, brings Rate) ([]Work, error) {
	work, err := list(ctx, k, "count what is left", workLeft, placesOf(scope), func(w *Work) []any {
		return []any{&w.SourceID, &w.Searches, &w.Begun, &w.Done, &w.DonePages, &w.Indexes, &w.Details}
	})
	for i := range work {
		w := &work[i]
		t, err := k.DetailTotals(ctx, w.SourceID, scope.States)
		if err != nil {
			return nil, err
		}
		if t != (DetailTotals{}) {
			w.Brings = brings
		}
		w.Details = max(w.Details+t.Due+t.Held, 0)
	}
	return work, err
}
