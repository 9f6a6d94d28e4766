package report

import (
	"context"

	"ypcrawl/yp"
)

// Closings counts what the crawl dropped, restored and rejected in the last days. A listing that was dropped and came back
// counts as restored alone, one that was restored and dropped again as dropped: the same as `changes --lasting`.
type Closings struct {
	Dropped, Restored, Rejected int64
	Days                        int
}

// ListingStatus says whether its source still shows a listing.
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

// Of the events dropped and restored of a listing the last one; of the others every one.
const countClosings = `
	SELECT ifnull(sum(e.kind = 'dropped'), 0), ifnull(sum(e.kind = 'restored'), 0), ifnull(sum(e.kind = 'rejected'), 0)
	FROM listing_events e INDEXED BY listing_events_closings
	WHERE e.kind IN ('dropped', 'restored', 'rejected')
		AND e.at >= ?1
		AND (e.kind NOT IN ('dropped', 'restored')
			OR e.id = (SELECT max(x.id) FROM listing_events x WHERE x.listing = e.listing AND x.kind IN ('dropped', 'restored')))`

// Closings counts what became of listings in the last days.
func (k *Reader) Closings(ctx context.Context, days int) (c Closings, err error) {
	c.Days = days
	since := yp.FormatTime(k.db.Now().AddDate(0, 0, -days))
	_, err = k.one(ctx, "count what was dropped", countClosings, []any{since}, &c.Dropped, &c.Restored, &c.Rejected)
	return c, err
}
