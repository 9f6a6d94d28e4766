package report

import (
	"context"
	"time"

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
)

// Closings counts what became of listings since a time.
func (k *Reader) Closings(ctx context.Context, since time.Time) (c Closings, err error) {
	c.Since = since
	_, err = k.one(ctx, "count what was dropped", countClosings, []any{yp.FormatTime(since)}, &c.Dropped, &c.Restored, &c.Rejected)
	return c, err
}
