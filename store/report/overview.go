package report

import (
	"context"

	"ypcrawl/store"
)

// Overview is the numbers on top of the page; it costs less than Figures. A pointer that is
// nil is not known.
type Overview struct {
	Listings int64         `json:"listings"`   // first seen in the scope and not dropped since
	Dropped  int64         `json:"dropped"`    // and those that their source has dropped
	Emails   *int64        `json:"with_email"` // of the listings, by their own pages
	Read     int64         `json:"own_pages"`  // that were read and are not due again
	Passes   []Pass        `json:"passes"`     // the last one of each source
	New      *int64        `json:"new"`        // in them
	Coverage CoverageShare `json:"coverage"`
}

// CoverageShare is what CoverageTotals says first, for a fifth of its time: it is read whenever the page is.
type CoverageShare struct {
	SiteTotal   int64    `json:"site_total"` // listings that the site has in the searches of which it says a number
	SeenOfKnown int64    `json:"seen_of_known"`
	Percent     *float64 `json:"percent"`    // seen_of_known of site_total; null = nothing is known
	PagesLeft   int64    `json:"pages_left"` // beyond the limit of pages, as far as the site's numbers tell
	Text        string   `json:"text"`       // says why nothing is known; "" = it is
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
	overviewCoverage = `
	SELECT ifnull(sum(site_total), 0), ifnull(sum(min(seen, site_total)), 0), ifnull(sum(pages_left), 0) FROM targets_and_coverage
	WHERE (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))`
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
	o.Coverage, err = k.coverageShare(ctx, scope)
	return o, err
}

// coverageShare reads all searches of the scope, and once more to say why where no site says how many listings it has.
func (k *Reader) coverageShare(ctx context.Context, scope store.Scope) (c CoverageShare, err error) {
	_, err = k.one(ctx, "add up coverage", overviewCoverage, placesOf(scope), &c.SiteTotal, &c.SeenOfKnown, &c.PagesLeft)
	if err != nil {
		return c, err
	}
	if c.Percent = shareOf(c.SeenOfKnown, c.SiteTotal); c.Percent == nil {
		var all CoverageTotals
		all, err = k.CoverageTotals(ctx, store.Scope{SourceID: scope.SourceID, States: scope.States})
		c.Text = all.Text()
	}
	return c, err
}
