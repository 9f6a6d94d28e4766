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
	wakeWaiting = `UPDATE targets AS t SET status = 'PLANNED', backoff_until = NULL, recoveries = 0
		WHERE (t.backoff_until <= ?6 OR t.backoff_until > ?7) AND t.retired_at IS NULL AND ` + where
	// A target that is due again is crawled anew, from page 1.
	wakeDone = `UPDATE targets AS t SET status = 'PLANNED', next_crawl_at = NULL, finished_at = NULL, ` + anew + `
		WHERE t.status = 'DONE' AND t.next_crawl_at <= ?6 AND (t.gap_until IS NULL OR t.gap_until <= ?6 OR t.gap_until > ?7) AND t.retired_at IS NULL AND ` + where
	// A next crawl that is a day later than the target's own frequency allows is the mark
	// of a clock that was set back since. ?7 leaves those of the usual week to the index.
	wakeLost = `UPDATE targets AS t SET status = 'PLANNED', next_crawl_at = NULL, finished_at = NULL, ` + anew + `
		WHERE t.status = 'DONE' AND t.retired_at IS NULL AND t.next_crawl_at > ?7 AND (t.gap_until IS NULL OR t.gap_until <= ?6 OR t.gap_until > ?8)
			AND t.next_crawl_at > strftime('%Y-%m-%dT%H:%M:%fZ', ?6, '+' || (t.crawl_frequency_minutes + 1440) || ' minutes') AND ` + where

	anew = `page_current = 0, next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0,
		site_total = NULL, crawl_started_at = NULL, recoveries = 0`

	// What falls due by itself within the horizon: a backoff that ends, a crawl whose
	// time has come, and (nextRipe) a gap that ends.
	nextDue = `SELECT min(at) FROM (
		SELECT min(t.backoff_until) AS at FROM targets t
		WHERE t.backoff_until IS NOT NULL AND t.backoff_until <= ?6 AND t.enabled = 1 AND t.retired_at IS NULL AND t.crawl_status <> 'paused' AND ` + where + `
		UNION ALL SELECT min(max(t.next_crawl_at, iif(t.gap_until <= ?8, t.gap_until, ''))) FROM targets t
		WHERE t.status = 'DONE' AND t.next_crawl_at <= ?6 AND (t.gap_until IS NULL OR t.gap_until <= ?6 OR t.gap_until > ?8)
			AND t.enabled = 1 AND t.retired_at IS NULL AND t.crawl_status <> 'paused' AND ` + where + `
		UNION ALL `

	// Of the targets that wait for nothing but the gap between two crawls, and whether
	// it is over; ?8 is the end of a gap that began now, see ripe.
	countReady = `SELECT count(*) FROM (SELECT 1 `
	readyRipe  = ` AND (t.gap_until IS NULL OR t.gap_until <= ?7 OR t.gap_until > ?8) LIMIT ?6)`
	nextRipe   = `SELECT min(t.gap_until) `
	nextInGap  = ` AND t.gap_until > ?7 AND t.gap_until <= min(?6, ?8))`
)

// Wake plans again what fell due in the scope: targets whose backoff is over, and
// DONE ones whose next crawl has come. (One that is paused or disabled is planned
// as well: it is claimed when the operator lets it.)
func (k *Keeper) Wake(ctx context.Context, scope Scope) (n int, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		waiting, err := tx.Changed(wakeWaiting, scope.Args(tx.Now, yp.FormatTime(tx.At.Add(yp.BeyondBackoff)))...)
		if err != nil {
			return err
		}
		gap := yp.FormatTime(tx.At.Add(yp.MinCrawlGap))
		done, err := tx.Changed(wakeDone, scope.Args(tx.Now, gap)...)
		if err != nil {
			return err
		}
		lost, err := tx.Changed(wakeLost, scope.Args(tx.Now, yp.FormatTime(tx.At.Add(yp.RecrawlAfter+24*time.Hour)), gap)...)
		n = int(waiting + done + lost)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("wake due targets: %w", err)
	}
	return n, nil
}

// The targets of a scope that a claim may find, by the same indexes as the claim: a
// look at a scope that is exhausted costs no walk through a million others.
const (
	ofAll        = `FROM targets t WHERE ` + claimable + ` AND ` + where
	ofStates     = `FROM (SELECT DISTINCT value FROM json_each(?2)) AS s CROSS JOIN targets t ON t.source_id = ?1 AND t.state = s.value WHERE ` + claimable + ` AND ` + where
	ofCategories = `FROM (SELECT DISTINCT value FROM json_each(?2)) AS s CROSS JOIN (SELECT DISTINCT value FROM json_each(?3)) AS c
		CROSS JOIN targets t ON t.source_id = ?1 AND t.state = s.value AND t.category_id = c.value WHERE ` + claimable + ` AND ` + where
	ofCities = `FROM (SELECT DISTINCT value FROM json_each(?4)) AS c CROSS JOIN targets t INDEXED BY sqlite_autoindex_targets_1
		ON t.source_id = ?1 AND t.city_id = c.value WHERE ` + claimable + ` AND ` + where
)

// candidates returns which of them serves the scope; it must have a source.
func candidates(s Scope) string {
	switch {
	case len(s.CityIDs) > 0:
		return ofCities
	case len(s.States) == 0:
		return ofAll
	case len(s.CategoryIDs) > 0:
		return ofCategories
	}
	return ofStates
}

// Outlook is what a scope has to offer.
type Outlook struct {
	Ready int       // targets that can be claimed now, even if their state is full; counted up to the limit asked for
	Next  time.Time // when there are none: the first falls due then; zero = none within the horizon
	Gate  Gate      // of the source
}

// Look tells what can be claimed in the scope, and when something will be, within
// the horizon. scope.SourceID must be set.
func (k *Keeper) Look(ctx context.Context, scope Scope, limit int, horizon time.Duration) (o Outlook, err error) {
	if o.Gate, err = k.Gate(ctx, scope.SourceID); err != nil {
		return o, err
	}
	at := k.db.Now()
	now, gap := yp.FormatTime(at), yp.FormatTime(at.Add(yp.MinCrawlGap))
	from := candidates(scope)
	if err := k.db.Read().QueryRowContext(ctx, countReady+from+readyRipe, scope.Args(limit, now, gap)...).Scan(&o.Ready); err != nil {
		return o, fmt.Errorf("look for planned targets: %w", err)
	}
	if o.Ready > 0 {
		return o, nil
	}
	var next sql.NullString
	if err := k.db.Read().QueryRowContext(ctx, nextDue+nextRipe+from+nextInGap, scope.Args(yp.FormatTime(at.Add(horizon)), now, gap)...).Scan(&next); err != nil {
		return o, fmt.Errorf("look for due targets: %w", err)
	}
	if next.Valid {
		o.Next, err = yp.ParseTime(next.String)
	}
	return o, err
}

const peekTarget = `
	SELECT c.name, ifnull(x.slug, c.slug), t.state, k.name, k.slug FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
	LEFT JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id
	WHERE t.id = (SELECT t.id `

// Peek returns the place of some target that could be claimed if its source were
// open; found is false when there is none. scope.SourceID must be set.
func (k *Keeper) Peek(ctx context.Context, scope Scope) (p yp.Place, found bool, err error) {
	err = k.db.Read().QueryRowContext(ctx, peekTarget+candidates(scope)+" LIMIT 1)", scope.Args()...).Scan(&p.City, &p.CitySlug, &p.State, &p.Category, &p.CategorySlug)
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("look for a planned target: %w", err)
	}
	return p, true, nil
}
