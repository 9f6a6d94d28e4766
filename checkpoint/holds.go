package checkpoint

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ypcrawl/wal"
	"ypcrawl/yp"
)

const heldEdit = `SELECT EXISTS (SELECT 1 FROM company_edits WHERE id = ?)`

const (
	heldTarget = `
	SELECT t.id, t.source_id, t.page_current, t.crawls, ifnull(t.crawl_started_at, ''), ifnull(t.finished_at, ''), t.status = 'IN_PROGRESS'
	FROM targets t JOIN sources s ON s.id = t.source_id JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
	WHERE s.name = ? AND c.slug = ? AND k.slug = ?`
	// A listing that the target has met, as the page says or as a later one did.
	heldListings = `
	SELECT count(*) FROM json_each(?1) j CROSS JOIN listings l ON l.source_id = ?2 AND l.listing_id = j.value AND l.last_seen_at >= ?4
	JOIN sightings m ON m.target_id = ?3 AND m.listing = l.id`
	heldRejected = `
	SELECT count(*) FROM json_each(?1) j WHERE EXISTS (SELECT 1 FROM staged_listings WHERE source_id = ?2 AND listing_id = j.value AND last_seen_at >= ?3)
		OR EXISTS (SELECT 1 FROM listings WHERE source_id = ?2 AND listing_id = j.value AND last_seen_at >= ?3)`
	heldSeen   = `SELECT EXISTS (SELECT 1 FROM sightings WHERE target_id = ? AND seen_at >= ?)`
	heldDetail = `
	SELECT EXISTS (SELECT 1 FROM details d JOIN listings l ON l.id = d.listing JOIN sources s ON s.id = l.source_id
	WHERE s.name = ? AND l.listing_id = ? AND d.fetched_at >= ?)`
)

// heldWithin is how much later than it was stored the end of an attempt may be logged:
// less than the two minutes that lie between two attempts at a target.
const heldWithin = time.Minute

// heldTargetRow is what stands of the target that an event is about.
type heldTargetRow struct {
	id, source, crawls int64
	page               int
	started, finished  string
	held               bool // a worker has it
}

// Holds reports whether the database has what a logged event says, or what a later
// crawl of the same target or listing said: without the event, nothing is lost that a
// replay could bring. In doubt it says no, as for a kind of event that it does not know.
func (k *Keeper) Holds(ctx context.Context, e *wal.Event) (held bool, err error) {
	at := yp.FormatTime(e.Timestamp)
	switch e.Type {
	case wal.Heartbeat, wal.ClaimLost, wal.Stop:
		return true, nil
	case wal.CompanyMerge, wal.CompanySplit:
		if e.Edit == nil {
			return false, nil
		}
		err = k.db.Read().QueryRowContext(ctx, heldEdit, e.Edit.ID).Scan(&held)
	case wal.DetailComplete:
		if e.Detail == nil {
			return false, nil
		}
		err = k.db.Read().QueryRowContext(ctx, heldDetail, e.Detail.Source, e.Detail.Listing, at).Scan(&held)
	case wal.TargetStart, wal.PageComplete, wal.TargetComplete, wal.TargetError:
		held, err = k.holdsTarget(ctx, e, at)
	}
	if err != nil {
		return false, fmt.Errorf("look for event %d of %s: %w", e.Seq, yp.Printable(e.WorkerID), err)
	}
	return held, nil
}

func (k *Keeper) holdsTarget(ctx context.Context, e *wal.Event, at string) (bool, error) {
	if e.Target == nil {
		return false, nil
	}
	var t heldTargetRow
	err := k.db.Read().QueryRowContext(ctx, heldTarget, e.Target.Source, e.Target.CitySlug, e.Target.CategorySlug).
		Scan(&t.id, &t.source, &t.page, &t.crawls, &t.started, &t.finished, &t.held)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil || e.Type == wal.TargetStart {
		return err == nil, err
	}
	if e.Type == wal.PageComplete {
		return k.holdsPage(ctx, e, at, &t)
	}
	if at < t.started || t.finished != "" && !t.held && at <= later(t.finished) {
		return true, nil
	}
	var seen bool
	err = k.db.Read().QueryRowContext(ctx, heldSeen, t.id, at).Scan(&seen)
	return seen, err
}

// later is a minute after a stored time.
func later(stored string) string {
	t, err := yp.ParseTime(stored)
	if err != nil {
		return stored
	}
	return yp.FormatTime(t.Add(heldWithin))
}

// holdsPage wants every listing of the page, met by this very target, and the page
// itself done, by the crawl that logged it or because a later one has begun.
func (k *Keeper) holdsPage(ctx context.Context, e *wal.Event, at string, t *heldTargetRow) (bool, error) {
	p := e.Page
	over := at < t.started || t.started == "" && t.crawls > 0
	if p == nil || t.page < p.Number && !over {
		return false, nil
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
	list, err := json.Marshal(ids)
	if err != nil {
		return false, err
	}
	var n int
	err = k.db.Read().QueryRowContext(ctx, query, append([]any{string(list)}, args...)...).Scan(&n)
	return n == len(ids), err
}
