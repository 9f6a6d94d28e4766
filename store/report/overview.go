package report

import (
	"context"

	"ypcrawl/store"
)

// Overview is the numbers on top of the page; it costs less than Figures. A pointer that is nil is not known.
type Overview struct {
	Listings int64          `json:"listings"` // all that were kept, first seen in the scope; those that closed since included
	Emails   *int64         `json:"with_email"`
	Read     int64          `json:"own_pages_read"` // of which an e-mail may be known
	Passes   []Pass         `json:"passes"`         // the last one of each source
	New      *int64         `json:"new"`            // in them
	Coverage CoverageTotals `json:"coverage"`
}

const (
	countEmails        = `SELECT count(email), count(*) FROM details`
	countEmailsOfScope = `
	SELECT count(d.email), count(*) FROM listings l CROSS JOIN details d ON d.listing = l.id
	WHERE (?1 = 0 OR l.source_id = ?1) AND (?2 = '[]' OR l.found_state IN (SELECT value FROM json_each(?2)))`
)

// Overview reads the numbers of the page: of all details and all targets of the scope, of
// which source and states count.
func (k *Reader) Overview(ctx context.Context, scope store.Scope) (*Overview, error) {
	f := &Overview{}
	counts, err := list(ctx, k, "count listings", listingCounts, placesOf(scope), func(c *struct {
		state string
		n     int64
	},
	) []any {
		return []any{&c.state, &c.n}
	})
	if err != nil {
		return nil, err
	}
	for _, c := range counts {
		f.Listings += c.n
	}
	query, args, emails := countEmails, []any(nil), int64(0)
	if scope.SourceID != 0 || len(scope.States) > 0 {
		query, args = countEmailsOfScope, placesOf(scope)
	}
	if _, err := k.one(ctx, "count e-mail addresses", query, args, &emails, &f.Read); err != nil {
		return nil, err
	}
	if f.Read > 0 {
		f.Emails = &emails
	}
	if f.Passes, err = k.Passes(ctx, scope); err != nil {
		return nil, err
	}
	if len(f.Passes) > 0 {
		f.New = new(int64)
	}
	for _, p := range f.Passes {
		*f.New += p.New
	}
	f.Coverage, err = k.CoverageTotals(ctx, scope)
	return f, err
}
