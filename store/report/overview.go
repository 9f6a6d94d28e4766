package report

import (
	"context"

	"ypcrawl/store"
)

// Overview is the numbers on top of the page; it costs less than Figures. A pointer that is
// nil is not known.
type Overview struct {
	Listings int64          `json:"listings"`   // first seen in the scope and not dropped since
	Dropped  int64          `json:"dropped"`    // and those that their source has dropped
	Emails   *int64         `json:"with_email"` // of the listings, by their own pages
	Read     int64          `json:"own_pages"`  // that were read and are not due again
	Passes   []Pass         `json:"passes"`     // the last one of each source
	New      *int64         `json:"new"`        // in them
	Coverage CoverageTotals `json:"coverage"`
}

const (
	overviewListings = `
	SELECT ifnull(sum(listings - dropped), 0), ifnull(sum(dropped), 0), ifnull(sum(emails), 0) FROM listing_totals
	WHERE (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))`
	overviewRead = `
	SELECT ifnull(sum(targets), 0) FROM target_totals
	WHERE kind = 'detail'
		AND status = 'DONE'
		AND (?1 = 0 OR source_id = ?1)
		AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))`
)

// Overview reads the numbers on top of the page. Of the scope, source and states count. The
// listings are in counters; for passes and coverage the pages of the last passes that brought
// something, and all targets of the scope, are read.
func (k *Reader) Overview(ctx context.Context, scope store.Scope) (out *Overview, err error) {
	err = k.at(ctx, func(k *Reader) error {
		out, err = k.overviewNow(ctx, scope)
		return err
	})
	return out, err
}

func (k *Reader) overviewNow(ctx context.Context, scope store.Scope) (*Overview, error) {
	o, emails := &Overview{}, int64(0)
	if _, err := k.one(ctx, "count listings", overviewListings, placesOf(scope), &o.Listings, &o.Dropped, &emails); err != nil {
		return nil, err
	}
	if _, err := k.one(ctx, "count own pages", overviewRead, placesOf(scope), &o.Read); err != nil {
		return nil, err
	}
	if o.Read > 0 || emails > 0 {
		o.Emails = &emails
	}
	var err error
	if o.Passes, err = k.Passes(ctx, scope); err != nil {
		return nil, err
	}
	for _, p := range o.Passes {
		if o.New == nil {
			o.New = new(int64)
		}
		*o.New += p.New
	}
	o.Coverage, err = k.CoverageTotals(ctx, scope)
	return o, err
}
