package checkpoint

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// DetailsEvery is how often a listing's own page is asked for, unless somebody says
// otherwise.
const DetailsEvery = 30 * 24 * time.Hour

// A row of meta says that the details of a source's listings of one state are wanted:
// "details:1:CA". From then on every page plans those of its listings. 'sweeping' says
// that those that were there before are not all planned yet.
const (
	wantDetails = `
	INSERT INTO meta (key, value) SELECT 'details:' || ?1 || ':' || value, 'sweeping' FROM json_each(?2) WHERE true ON CONFLICT DO NOTHING`
	unswept = `
	SELECT j.value FROM json_each(?2) AS j CROSS JOIN meta m ON m.key = 'details:' || ?1 || ':' || j.value WHERE m.value = 'sweeping'`
	swept = `
	UPDATE meta SET value = 'planned' WHERE value = 'sweeping' AND key IN (SELECT 'details:' || ?1 || ':' || value FROM json_each(?2))`

	lastListing = `SELECT ifnull(max(id), 0) FROM listings`
	// A detail belongs to the city and the category whose search found its listing.
	insertDetails = `
	INSERT INTO targets (source_id, kind, state, city_id, category_id, listing, population, priority, max_pages, crawl_frequency_minutes, retired_at, created_at)
	SELECT l.source_id, 'detail', l.found_state, t.city_id, t.category_id, l.id, ifnull(t.population, 0), ` + freshDetail + `, 1, `
	finder   = `(SELECT min(x.target_id) FROM sightings x JOIN targets y ON y.id = x.target_id WHERE x.listing = l.id AND y.state = l.found_state)`
	noDetail = `l.profile_url IS NOT NULL AND NOT EXISTS (SELECT 1 FROM targets d WHERE d.listing = l.id)`
	sweep    = insertDetails + `?5, l.gone_at, ?6
	FROM listings l LEFT JOIN targets t ON t.id = ` + finder + `
	WHERE +l.source_id = ?1 AND l.id > ?2 AND l.id <= ?3 AND l.found_state IN (SELECT value FROM json_each(?4)) AND ` + noDetail + `
	ON CONFLICT DO NOTHING`
	planDetails = insertDetails + `?4, NULL, ?5
	FROM json_each(?2) AS j CROSS JOIN listings l ON l.source_id = ?1 AND l.listing_id = j.value JOIN targets t ON t.id = ?3
	WHERE EXISTS (SELECT 1 FROM meta w WHERE w.key >= 'details:' AND w.key < 'details;')
		AND EXISTS (SELECT 1 FROM meta m WHERE m.key = 'details:' || l.source_id || ':' || l.found_state) AND ` + noDetail + `
	ON CONFLICT DO NOTHING`

	freshDetail, readDetail = `100`, `101` // priorities
	detailsMinutes          = int64(DetailsEvery / time.Minute)
)

// sweepChunk bounds how long other writers wait behind the planning of what was there
// before.
const sweepChunk = 5000

// WantDetails plans the details of every listing that a source has in some states, in
// steps that let other writers pass, and returns how many were new. From then on every
// page plans those of its listings in its own transaction, whoever commits it. every is how
// long a page that was read stays good: those read longer ago are due.
func (k *Keeper) WantDetails(ctx context.Context, source int64, states []string, every time.Duration) (added int, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(wantDetails, source, jsonList(states))
		return err
	})
	if err == nil {
		added, err = k.sweep(ctx, source, states)
	}
	if err == nil {
		err = k.retime(ctx, source, every)
	}
	if err != nil {
		return added, fmt.Errorf("plan details: %w", err)
	}
	return added, nil
}

func (k *Keeper) sweep(ctx context.Context, source int64, states []string) (added int, err error) {
	var left []string
	err = k.db.Each(ctx, unswept, []any{source, jsonList(states)}, func(rows *sql.Rows) error {
		var state string
		err := rows.Scan(&state)
		left = append(left, state)
		return err
	})
	if err != nil || len(left) == 0 {
		return 0, err
	}
	var last int64
	if err := k.db.Read().QueryRowContext(ctx, lastListing).Scan(&last); err != nil {
		return 0, err
	}
	for from := int64(0); ; from += sweepChunk {
		n, err := k.sweepOnce(ctx, source, left, from, from+sweepChunk >= last)
		if added += n; err != nil || from+sweepChunk >= last {
			return added, err
		}
	}
}

// sweepOnce plans the details of the next listings in the order of their rows, those
// after from. What comes after the last plans its own.
func (k *Keeper) sweepOnce(ctx context.Context, source int64, states []string, from int64, last bool) (added int, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		n, err := tx.Changed(sweep, source, from, from+sweepChunk, jsonList(states), detailsMinutes, tx.Now)
		added = int(n)
		if err != nil || !last {
			return err
		}
		_, err = tx.Exec(swept, source, jsonList(states))
		return err
	})
	return added, err
}

// planPage plans the details of a page's listings, where somebody wants them.
func planPage(tx *store.Tx, source, target int64, listings []yp.Listing) error {
	if len(listings) == 0 {
		return nil
	}
	ids := make([]string, len(listings))
	for i := range listings {
		ids[i] = listings[i].ID
	}
	if _, err := tx.Exec(planDetails, source, jsonList(ids), target, detailsMinutes, tx.Now); err != nil {
		return fmt.Errorf("plan details: %w", err)
	}
	return nil
}

// What is due later than a page stays good was set under a longer interval: it is due after
// the interval of now.
const retimeDetails = `
	UPDATE targets AS t SET not_before = strftime('%Y-%m-%dT%H:%M:%fZ', ifnull(t.crawl_started_at, t.finished_at), ?3), crawl_frequency_minutes = ?5
	WHERE t.id IN (SELECT d.id FROM targets d WHERE d.wait_reason = 'recrawl' AND d.not_before > ?4 AND d.kind = 'detail' AND d.source_id = ?1
		AND d.crawl_frequency_minutes > ?5 LIMIT ?2)`

// retime sees to what is due too late.
func (k *Keeper) retime(ctx context.Context, source int64, every time.Duration) error {
	for {
		var n int64
		err := k.write(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.Changed(retimeDetails, source, sweepChunk, seconds(every*9/10), yp.FormatTime(tx.At.Add(every)), int64(every/time.Minute))
			return err
		})
		if err != nil || n < sweepChunk {
			return err
		}
	}
}

// seconds is a duration as SQLite's time functions take it.
func seconds(d time.Duration) string {
	return "+" + strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + " seconds"
}
