package report

import "context"

// WordsLacking is how many listings the index of words does not have yet.
func (k *Reader) WordsLacking(ctx context.Context) (int64, error) { return k.db.WordsLacking(ctx) }

// showListing is what `listings show` shows.
var showListing = thing{
	list: "listings list", named: "listing name id source listing_id phone_e164", row: `SELECT * FROM v_listings WHERE id = ?1`,
	parts: []Part{
		{
			Name: "company", Show: "company name listings",
			Query: `SELECT id AS company, * FROM v_companies WHERE id = (SELECT company_id FROM listings WHERE id = ?1)`,
		},
		// kept: 0 = as an ad, or filtered out. missed: complete crawls of the search in a row without it.
		{Name: "seen", Show: "category city state page rank seen_at kept missed", Zeros: "missed", Query: `
			SELECT k.name AS category, c.name AS city, t.state, g.page, g.rank, g.seen_at, g.since < 9223372036854775807 AS kept, g.missed
			FROM sightings g JOIN targets t ON t.id = g.target_id JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
			WHERE g.listing = ?1 ORDER BY g.seen_at DESC, g.target_id`},
		{Name: "history", Show: "at kind what", Query: `
			SELECT * FROM v_changes
			WHERE listing_id = (SELECT listing_id FROM listings WHERE id = ?1) AND event IN (
				SELECT id FROM (SELECT id FROM listing_events WHERE listing <= ?1 AND kind = 'new' ORDER BY listing DESC LIMIT 1)
				UNION ALL
				SELECT id FROM listing_events WHERE listing = ?1 AND kind <> 'new'
				UNION ALL
				SELECT id FROM listing_events
				WHERE listing IS NULL
					AND source_id = (SELECT source_id FROM listings WHERE id = ?1)
					AND listing_id = (SELECT listing_id FROM listings WHERE id = ?1))
			ORDER BY at, event`},
	},
}

// Listing tells all that is known of the listing in a row, its own page included; nil = none is known.
func (k *Reader) Listing(ctx context.Context, row int64) (*Record, error) {
	return k.of(ctx, showListing, row)
}

func (k *Reader) of(ctx context.Context, t thing, id int64) (r *Record, err error) {
	err = k.at(ctx, func(k *Reader) error {
		r, err = k.record(ctx, t, id)
		return err
	})
	return r, err
}
