package report

import (
	"context"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Closings counts what the crawl dropped, restored and rejected since a time.
type Closings struct {
	Dropped, Restored, Rejected int64
	Since                       time.Time
}

// ListingStatus is how a listing stands with its source.
type ListingStatus string

// The statuses of listings.
const (
	ListingOpen     ListingStatus = "open"
	ListingDropped  ListingStatus = "dropped"  // its source shows it no more
	ListingRestored ListingStatus = "restored" // open again
	ListingRejected ListingStatus = "rejected" // it breaks a rule of its source, and is not among the listings
)

// ListingStatuses lists them in the order in which people read them.
func ListingStatuses() []ListingStatus {
	return []ListingStatus{ListingOpen, ListingDropped, ListingRestored, ListingRejected}
}

const (
	closings      = ` FROM listing_events e INDEXED BY listing_events_closings WHERE e.kind IN ('dropped', 'restored', 'rejected')`
	countClosings = `SELECT ifnull(sum(e.kind = 'dropped'), 0), ifnull(sum(e.kind = 'restored'), 0), ifnull(sum(e.kind = 'rejected'), 0)` + closings + ` AND e.at >= ?1`
	// The last events of those that stand so still.
	lastClosings = `SELECT ` + changeColumns + changeFrom + `e.id IN (SELECT e.id` + closings + ` AND e.kind = ?1 AND iif(?1 = 'rejected',
			EXISTS (SELECT 1 FROM staged_listings g WHERE g.source_id = e.source_id AND g.listing_id = e.listing_id),
			EXISTS (SELECT 1 FROM listings l WHERE l.id = e.listing AND (l.dropped_at IS NOT NULL) = (?1 = 'dropped')))
		ORDER BY e.at DESC LIMIT ?2) ORDER BY e.at DESC, e.id DESC`
)

// Closings counts what became of listings since a time.
func (k *Reader) Closings(ctx context.Context, since time.Time) (c Closings, err error) {
	c.Since = since
	_, err = k.one(ctx, "count what closed", countClosings, []any{yp.FormatTime(since)}, &c.Dropped, &c.Restored, &c.Rejected)
	return c, err
}

// LastClosings lists the listings that are dropped, restored or rejected, by when they came to be
// so, the last ones first.
func (k *Reader) LastClosings(ctx context.Context, status ListingStatus, limit int) ([]Change, error) {
	return list(ctx, k, "list what closed", lastClosings, []any{string(status), limit}, func(c *Change) []any {
		c.Changes, c.Reasons = []store.FieldChange{}, []string{}
		return fields(c)
	})
}
