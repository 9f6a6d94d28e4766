package report

import (
	"context"

	"ypcrawl/store"
	"ypcrawl/yp"
)

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
		{Name: "rejected", Show: "reasons first_seen_at last_seen_at", Query: `
			SELECT v.reasons, v.first_seen_at, v.last_seen_at
			FROM listings l JOIN sources s ON s.id = l.source_id
				CROSS JOIN v_rejected v ON v.source = s.name AND v.listing_id = l.listing_id
			WHERE l.id = ?1`},
		{Name: "seen", Show: "category city state page rank seen_at kept missed", Zeros: "missed", Query: `
			SELECT k.name AS category, c.name AS city, t.state, g.page, g.rank, g.seen_at, g.since < 9223372036854775807 AS kept, g.missed,
				t.id AS target_id
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

// showRejected is what is known of a listing that broke a rule of its source and is none of the listings: ?1 is the source's row,
// ?2 its own id. Where it was removed since, only its history is left.
var showRejected = thing{
	list: "listings list --status rejected", named: "listing name source listing_id phone_e164", row: `
	SELECT s.name || '/' || ?2 AS listing, s.name AS source, ?2 AS listing_id, g.listing ->> 'name' AS name, 'rejected' AS status, g.reasons,
		g.listing ->> 'phone' AS phone, g.listing ->> 'phone_e164' AS phone_e164, g.listing ->> 'email' AS email,
		g.listing ->> 'street' AS street, g.listing ->> 'city' AS city, ifnull(g.listing ->> 'state', t.state) AS state,
		g.listing ->> 'postal_code' AS postal_code, g.listing ->> 'address' AS address, g.listing ->> 'website' AS website,
		g.listing ->> 'categories' AS categories, g.listing ->> 'rating' AS rating, g.listing ->> 'review_count' AS review_count,
		g.listing ->> 'profile_url' AS profile_url, t.state AS searched_state, g.page, g.first_seen_at, g.last_seen_at
	FROM sources s
		LEFT JOIN staged_listings g ON g.source_id = s.id AND g.listing_id = ?2
		LEFT JOIN targets t ON t.id = g.target_id
	WHERE s.id = ?1
		AND (g.listing_id IS NOT NULL
			OR EXISTS (SELECT 1 FROM listing_events e WHERE e.listing IS NULL AND e.source_id = ?1 AND e.listing_id = ?2))`,
	parts: []Part{{Name: "history", Show: "at kind what", Query: `
		SELECT * FROM v_changes
		WHERE listing_id = ?2
			AND event IN (SELECT id FROM listing_events WHERE listing IS NULL AND source_id = ?1 AND listing_id = ?2)
		ORDER BY at, event`}},
}

// Listing tells all that is known of the listing in a row, its own page included; nil = none is known.
func (k *Reader) Listing(ctx context.Context, row int64) (r *Record, err error) {
	err = k.at(ctx, func(k *Reader) error {
		if r, err = k.record(ctx, showListing, row); err != nil || r == nil {
			return err
		}
		return k.addOrigins(ctx, r, row)
	})
	return r, err
}

// ListingOf tells all that is known of a listing of a source by the source's own id, also of one that broke a rule of its source;
// nil = none is known.
func (k *Reader) ListingOf(ctx context.Context, source int64, id string) (r *Record, err error) {
	err = k.at(ctx, func(k *Reader) error {
		found, err := list(ctx, k, "find a listing", listingsByID, []any{id, source}, fields[ListingName])
		if err == nil && len(found) > 0 {
			r, err = k.Listing(ctx, found[0].Row)
		} else if err == nil {
			r, err = k.record(ctx, showRejected, source, id)
		}
		return err
	})
	return r, err
}

// Pages from which a field of a listing is taken.
const (
	FromResults = "results page"
	FromOwnPage = "own page"
)

const pagesOfListing = `SELECT cards, cards_before, last_seen_at, own_page_at FROM listings WHERE id = ?1`

// addOrigins adds the part that says from which page each field is, read when, or a little earlier: a page that says again what
// was known leaves no time of its own.
func (k *Reader) addOrigins(ctx context.Context, r *Record, row int64) error {
	var cards, before yp.Groups
	var seen string
	var own *string
	if _, err := k.one(ctx, "look for the pages of a listing", pagesOfListing, []any{row}, &cards, &before, &seen, &own); err != nil {
		return err
	}
	page := func(g yp.Group) [2]string {
		switch bit := g.Bit(); {
		case own == nil || bit == 0 || cards&bit != 0:
			return [2]string{FromResults, seen}
		case before&bit != 0: // a card had given it when the own page was read
			return [2]string{FromResults, min(seen, *own)}
		}
		return [2]string{FromOwnPage, *own}
	}
	names, order := map[[2]string][]string{}, [][2]string{}
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		if f.Name == "id" || r.Get(f.Name) == nil {
			continue
		}
		p := page(f.Group)
		if names[p] == nil {
			order = append(order, p)
		}
		names[p] = append(names[p], f.Name)
	}
	t := &Table{Part: Part{Name: "origins", Show: "origin at fields"}, Columns: []string{"origin", "at", fieldNames}}
	for _, p := range order {
		t.Rows = append(t.Rows, []any{p[0], p[1], store.JSONTexts(names[p])})
	}
	r.Parts = append(r.Parts, t)
	return nil
}

func (k *Reader) of(ctx context.Context, t thing, args ...any) (r *Record, err error) {
	err = k.at(ctx, func(k *Reader) error {
		r, err = k.record(ctx, t, args...)
		return err
	})
	return r, err
}
