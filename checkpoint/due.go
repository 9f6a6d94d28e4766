package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const (
	// A failed crawl goes on behind its last page: nothing done is forgotten.
	wakeWaiting = `
	UPDATE targets AS t SET status = 'PLANNED', not_before = NULL, wait_reason = NULL, recoveries = 0
	WHERE t.wait_reason = 'backoff'
		AND (t.not_before <= ?7 OR t.not_before > ?8)
		AND t.retired_at IS NULL
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))`
	// A target that is due again is crawled anew, from page 1.
	wakeDone = `
	UPDATE targets AS t SET status = 'PLANNED', not_before = NULL, wait_reason = NULL, finished_at = NULL, page_current = 0,
		next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0, seen_ids = NULL,
		ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = NULL, recoveries = 0
	WHERE t.wait_reason IN ('recrawl', 'gap')
		AND t.not_before <= ?7
		AND t.retired_at IS NULL
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))`
	// A time further ahead than its reason allows is the mark of a clock that was set back
	// since. ?8 leaves the crawls of the usual week to the index.
	wakeGap = `
	UPDATE targets AS t SET status = 'PLANNED', not_before = NULL, wait_reason = NULL, finished_at = NULL, page_current = 0,
		next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0, seen_ids = NULL,
		ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = NULL, recoveries = 0
	WHERE t.wait_reason = 'gap'
		AND t.not_before > ?7
		AND t.retired_at IS NULL
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))`
	wakeLost = `
	UPDATE targets AS t SET status = 'PLANNED', not_before = NULL, wait_reason = NULL, finished_at = NULL, page_current = 0,
		next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0, seen_ids = NULL,
		ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = NULL, recoveries = 0
	WHERE t.wait_reason = 'recrawl'
		AND t.not_before > ?8
		AND t.retired_at IS NULL
		AND t.not_before > strftime('%Y-%m-%dT%H:%M:%fZ', ?7, '+' || (t.crawl_frequency_minutes + 1440) || ' minutes')
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))`

	// What falls due first, by itself: of each reason the first, which the index has in order.
	nextDue = `
	SELECT min(at)
	FROM (
		SELECT (
			SELECT t.not_before FROM targets t
			WHERE t.wait_reason = x.value
				AND t.not_before <= ?7
				AND t.enabled = 1
				AND t.paused = 0
				AND t.retired_at IS NULL
				AND (?1 = 0 OR t.source_id = ?1)
				AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
				AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
				AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
				AND (t.population >= ?5 OR t.kind = 'index')
				AND t.kind IN (SELECT value FROM json_each(?6))
			ORDER BY t.not_before LIMIT 1) AS at
		FROM json_each('["backoff", "recrawl", "gap"]') x)`
)

// Wake plans again what fell due in the scope: targets whose backoff is over, and
// DONE ones whose next crawl has come. (One that is paused or disabled is planned
// as well: it is claimed when the operator lets it.)
func (k *Keeper) Wake(ctx context.Context, scope store.Scope) (n int, err error) {
	err = k.write(ctx, "wake due targets", func(tx *store.Tx) error {
		n = 0
		after := func(d time.Duration) string { return yp.FormatTime(tx.At.Add(d)) }
		for _, w := range []struct {
			query string
			args  []any
		}{
			{wakeWaiting, []any{tx.Now, after(yp.BeyondBackoff)}},
			{wakeDone, []any{tx.Now}},
			{wakeGap, []any{after(yp.MinCrawlGap)}},
			{wakeLost, []any{tx.Now, after(yp.RecrawlAfter + 24*time.Hour)}},
		} {
			woken, err := tx.Changed(w.query, scope.Args(w.args...)...)
			if err != nil {
				return err
			}
			n += int(woken)
		}
		return nil
	})
	return n, err
}

// Outlook is what a scope has to offer.
type Outlook struct {
	Ready        int       // targets that can be claimed now, even if their state is full; counted up to the limit asked for
	Next         time.Time // when there are none: the first falls due then; zero = none within the horizon
	Availability store.Availability
}

// Look says what can be claimed in the scope, and when something will be, within
// the horizon. scope.SourceID must be set.
func (k *Keeper) Look(ctx context.Context, scope store.Scope, limit int, horizon time.Duration) (o Outlook, err error) {
	if o.Availability, err = k.Availability(ctx, scope.SourceID); err != nil {
		return o, err
	}
	for _, part := range scope.Parts() {
		var n int
		var one int64
		if err := k.row(ctx, part.Candidates(), part.Args(nil, nil, limit-o.Ready), &n, &one); err != nil {
			return o, fmt.Errorf("look for planned targets: %w", err)
		}
		o.Ready += n
	}
	if o.Ready == 0 && horizon > 0 {
		o.Next, err = k.NextDue(ctx, scope, k.db.Now().Add(horizon))
	}
	return o, err
}

// NextDue says when the first target of the scope falls due by itself, until a time; zero =
// none does.
func (k *Keeper) NextDue(ctx context.Context, scope store.Scope, until time.Time) (next time.Time, err error) {
	if err := k.row(ctx, nextDue, scope.Args(yp.FormatTime(until)), store.Instant(&next)); err != nil {
		return next, fmt.Errorf("look for due targets: %w", err)
	}
	return next, nil
}

const peekTarget = `
	SELECT t.kind, ifnull(c.name, '') AS city, coalesce(x.slug, c.slug, '') AS city_slug, t.state,
		ifnull(k.name, '') AS category, ifnull(k.slug, '') AS category_slug,
		ifnull(l.profile_url, '') AS next_page_url, ifnull(l.listing_id, '') AS listing_id
	FROM targets t
		LEFT JOIN cities c ON c.id = t.city_id
		LEFT JOIN categories k ON k.id = t.category_id
		LEFT JOIN listings l ON l.id = t.listing
		LEFT JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id
	WHERE t.id = ?`

// Peek returns a claim of some target that could be taken if its source were open, with
// no more than tells its page; nil when there is none. It is not held. scope.SourceID must
// be set.
func (k *Keeper) Peek(ctx context.Context, scope store.Scope) (*Claim, error) {
	c := &Claim{SourceID: scope.SourceID}
	for _, part := range scope.Parts() {
		var n, id int64
		err := k.row(ctx, part.Candidates(), part.Args(nil, nil, 1), &n, &id)
		if err == nil && n == 0 {
			continue
		}
		if err == nil {
			err = k.db.RowNamed(ctx, peekTarget, []any{id}, c.column)
		}
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("look for a planned target: %w", err)
		}
	}
	return nil, nil
}

const sourceAvailability = `
	SELECT ifnull(c.state, 'open'), c.ends, ifnull(c.code, ''), ifnull(c.reason, '')
	FROM sources s LEFT JOIN (SELECT * FROM v_source_closures WHERE source_id = ?1 AND until > ?2) c
	WHERE s.id = ?1 ORDER BY c.rank LIMIT 1`

// Availability reports whether a source may be asked, at the database's time.
func (k *Keeper) Availability(ctx context.Context, sourceID int64) (g store.Availability, err error) {
	err = k.row(ctx, sourceAvailability, []any{sourceID, yp.FormatTime(k.db.Now())}, &g.State, store.Instant(&g.Until), &g.Code, &g.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("there is none")
	}
	if err != nil {
		return g, fmt.Errorf("read source %d: %w", sourceID, err)
	}
	return g, nil
}

const (
	readPass = `SELECT began_at, cutoff FROM passes WHERE source_id = ? AND selection = ?`
	savePass = `
	INSERT INTO passes (source_id, selection, began_at, cutoff) VALUES (?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET began_at = excluded.began_at, cutoff = excluded.cutoff`
	runOfPass = `
	INSERT INTO run_passes (source_id, run_id, selection, began_at) VALUES (?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET selection = excluded.selection, began_at = excluded.began_at`

	// The gap between two crawls stands: only an operator's reset lifts it. A target that ended in the
	// future (a clock was set back since) is long done.
	recrawlDone = `
	UPDATE targets AS t SET
		wait_reason = iif(
			t.kind = 'search' AND strftime('%Y-%m-%dT%H:%M:%fZ', t.crawl_started_at, '+2 minutes') > ?7 AND t.crawl_started_at <= ?7,
			'gap', 'recrawl'),
		not_before = iif(
			t.kind = 'search' AND strftime('%Y-%m-%dT%H:%M:%fZ', t.crawl_started_at, '+2 minutes') > ?7 AND t.crawl_started_at <= ?7,
			strftime('%Y-%m-%dT%H:%M:%fZ', t.crawl_started_at, '+2 minutes'), ?7)
	WHERE t.status = 'DONE'
		AND t.retired_at IS NULL
		AND (t.finished_at <= ?8 OR t.finished_at > ?7)
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))`
)

// Pass is what a run does of a selection: it goes on with the pass that an earlier run of the
// same selection has begun and not brought to its end, or begins one.
type Pass struct {
	Began   time.Time
	GoesOn  bool
	Recrawl int // DONE targets that are due because of it
}

// BeginPass begins a pass over the scope, or goes on with the last one while that is open. With
// again not nil its DONE targets are due whose last crawl had ended so long ago when the pass
// began, 0 = all; of a scope with searches these alone. They are crawled anew, from page 1; Wake
// plans them, those in the gap between two crawls when it is over.
func (r *Run) BeginPass(ctx context.Context, scope store.Scope, again *time.Duration) (p Pass, err error) {
	selection := store.JSON(store.SelectionOf(scope, again))
	recrawled := scope
	if scope.Has(yp.KindSearch) {
		recrawled.Kinds = nil
	}
	err = r.keeper.write(ctx, "begin a pass", func(tx *store.Tx) error {
		p = Pass{}
		var began, cutoff string
		err := tx.Get(readPass, []any{scope.SourceID, selection}, &began, &cutoff)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if began != "" && began <= tx.Now {
			if p.Began, err = yp.ParseTime(began); err != nil {
				return err
			}
			row := store.PassRow{SourceID: scope.SourceID, Selection: selection, Began: p.Began}
			if p.GoesOn, err = row.Open(tx.Get); err != nil {
				return err
			}
		}
		if !p.GoesOn {
			began, p.Began = tx.Now, tx.At
			if cutoff = tx.Now; again != nil {
				cutoff = yp.FormatTime(tx.At.Add(-*again))
			}
			if err := tx.Run(savePass, scope.SourceID, selection, began, cutoff); err != nil {
				return err
			}
		}
		if again != nil {
			n, err := tx.Changed(recrawlDone, recrawled.Args(tx.Now, cutoff)...)
			if err != nil {
				return err
			}
			p.Recrawl = int(n)
		}
		return tx.Run(runOfPass, scope.SourceID, r.ID, selection, began)
	})
	return p, err
}

// What is done is due its new frequency after its last crawl began; 0 = once only.
const setFrequency = `
	UPDATE targets AS t SET crawl_frequency_minutes = ?7,
		wait_reason = iif(t.status <> 'DONE', t.wait_reason, iif(?7 > 0, 'recrawl', NULL)),
		not_before = iif(t.status <> 'DONE', t.not_before, iif(?7 > 0,
			strftime('%Y-%m-%dT%H:%M:%fZ', ifnull(t.crawl_started_at, t.finished_at), '+' || max(2, ?7 * 0.9) || ' minutes'), NULL))
	WHERE t.crawl_frequency_minutes <> ?7
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))`

// SetFrequency says how long after its last crawl began each target of the scope is
// crawled again, in whole minutes, 0 = never by itself, and returns how many had
// another frequency.
func (k *Keeper) SetFrequency(ctx context.Context, scope store.Scope, every time.Duration) (n int, err error) {
	return k.changed(ctx, "set how often targets are crawled", setFrequency,
		func(*store.Tx) []any { return scope.Args(int64(every / time.Minute)) })
}
