package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

const (
	heldTarget = `
	SELECT t.id, t.source_id, t.page_current, t.crawls, t.crawl_started_at, t.finished_at, t.status = 'IN_PROGRESS'
	FROM targets t WHERE t.id = `
	// A listing that the target has seen, as the page says or as a later one did.
	heldListings = `
	SELECT count(*) FROM json_each(?1) j CROSS JOIN listings l ON l.source_id = ?2 AND l.listing_id = j.value AND l.last_seen_at >= ?4
	JOIN sightings m ON m.target_id = ?3 AND m.listing = l.id`
	heldRejected = `
	SELECT count(*) FROM json_each(?1) j WHERE EXISTS (SELECT 1 FROM staged_listings WHERE source_id = ?2 AND listing_id = j.value AND last_seen_at >= ?3)
		OR EXISTS (SELECT 1 FROM listings WHERE source_id = ?2 AND listing_id = j.value AND last_seen_at >= ?3)`
	heldSeen   = `SELECT EXISTS (SELECT 1 FROM sightings WHERE target_id = ? AND seen_at >= ?)`
	heldDetail = `SELECT count(*) FROM json_each(?1) j CROSS JOIN targets t ON t.id = ?3 JOIN details d ON d.listing = t.listing AND d.fetched_at >= ?4 WHERE ?2 > 0`
	heldCities = `
	SELECT count(*) FROM json_each(?1) j CROSS JOIN cities c ON c.slug = j.value
	JOIN source_cities x ON x.source_id = ?2 AND x.city_id = c.id AND x.last_seen_at >= ?4 WHERE ?3 > 0`
)

// heldTargetRow is what stands of the target that an event is about.
type heldTargetRow struct {
	id, source, crawls int64
	page               int
	started, finished  time.Time // zero = not
	held               bool      // a worker has it
}

// Holds reports whether the database has what a logged event says, or what a later
// crawl of the same target or listing said: without the event, nothing is lost that a
// replay could bring. In doubt it says no, as for a kind of event that it does not know.
func (k *Keeper) Holds(ctx context.Context, e *wal.Event) (held bool, err error) {
	switch e.Type {
	case wal.Heartbeat, wal.ClaimLost, wal.Stop:
		return true, nil
	case wal.TargetStart, wal.PageComplete, wal.TargetComplete, wal.TargetError:
		if e.Target != nil {
			held, err = k.holdsTarget(ctx, e)
		}
	}
	if err != nil {
		return false, fmt.Errorf("look for event %d of %s: %w", e.Seq, yp.Printable(e.WorkerID), err)
	}
	return held, nil
}

func (k *Keeper) holdsTarget(ctx context.Context, e *wal.Event) (held bool, err error) {
	var t heldTargetRow
	at := e.Timestamp.Truncate(time.Millisecond)
	query, args := findTarget(e.Target)
	err = k.row(ctx, heldTarget+"("+query+")", args, &t.id, &t.source, &t.page, &t.crawls, store.Instant(&t.started), store.Instant(&t.finished), &t.held)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil || e.Type == wal.TargetStart:
		return err == nil, err
	case e.Type == wal.PageComplete:
		return k.holdsPage(ctx, e, yp.FormatTime(at), at.Before(t.started) || t.started.IsZero() && t.crawls > 0, &t)
	}
	// The end of an attempt may be logged later than it was stored, by less than the two minutes
	// that lie between two attempts at a target.
	if at.Before(t.started) || !t.finished.IsZero() && !t.held && !at.After(t.finished.Add(time.Minute)) {
		return true, nil
	}
	err = k.row(ctx, heldSeen, []any{t.id, yp.FormatTime(at)}, &held)
	return held, err
}

const (
	heldIndex   = `SELECT id FROM targets WHERE kind = 'index' AND source_id = (SELECT id FROM sources WHERE name = ?) AND state = ?`
	heldOwnPage = `SELECT d.id FROM sources s JOIN listings l ON l.source_id = s.id AND l.listing_id = ?2 JOIN targets d ON d.listing = l.id WHERE s.name = ?1`
	heldSearch  = `
	SELECT x.id FROM sources s CROSS JOIN categories k ON k.slug = ?3 CROSS JOIN targets x ON x.kind = 'search' AND x.source_id = s.id AND x.category_id = k.id
		AND x.city_id = coalesce((SELECT id FROM cities WHERE slug = ?2), (SELECT city_id FROM source_cities WHERE source_id = s.id AND slug = ?2))
	WHERE s.name = ?1`
)

// findTarget is the query for the id of a target that a log names.
func findTarget(t *wal.Target) (query string, args []any) {
	switch t.Kind {
	case yp.KindIndex:
		return heldIndex, []any{t.Source, t.State}
	case yp.KindDetail:
		return heldOwnPage, []any{t.Source, t.Listing}
	}
	return heldSearch, []any{t.Source, t.CitySlug, t.CategorySlug}
}

// holdsPage wants every listing of the page, seen by this very target, and the page
// itself done, by the crawl that logged it or because that one is over: a later one has begun.
func (k *Keeper) holdsPage(ctx context.Context, e *wal.Event, at string, over bool, t *heldTargetRow) (bool, error) {
	p := e.Page
	if p == nil || t.page < p.Number && !over {
		return false, nil
	}
	switch e.Target.Kind {
	case yp.KindIndex:
		slugs := make([]string, len(p.Cities))
		for i := range p.Cities {
			slugs[i] = p.Cities[i].Slug
		}
		return k.holdsAll(ctx, heldCities, slugs, t.source, t.id, at)
	case yp.KindDetail:
		return k.holdsAll(ctx, heldDetail, []string{e.Target.Listing}, t.source, t.id, at)
	}
	kept, rejected := []string{}, []string{}
	for i := range p.Listings {
		if l := &p.Listings[i]; l.ID != "" && l.Name != "" {
			kept = append(kept, l.ID)
		}
	}
	if !over { // what a rule refused is forgotten when the target is crawled anew
		for i := range p.Rejected {
			rejected = append(rejected, p.Rejected[i].Listing.ID)
		}
	}
	all, err := k.holdsAll(ctx, heldListings, kept, t.source, t.id, at)
	if err != nil || !all {
		return false, err
	}
	return k.holdsAll(ctx, heldRejected, rejected, t.source, at)
}

// holdsAll reports whether a query finds all of the ids.
func (k *Keeper) holdsAll(ctx context.Context, query string, ids []string, args ...any) (bool, error) {
	if len(ids) == 0 {
		return true, nil
	}
	var n int
	err := k.row(ctx, query, append([]any{store.JSONTexts(ids)}, args...), &n)
	return n == len(ids), err
}
