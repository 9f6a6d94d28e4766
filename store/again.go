package store

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// storedListings are those of a page that are stored: where each stands, when it was seen
// last, by the target of the page and by any, and what is known of it.
var storedListings = func() string {
	var fields strings.Builder
	for _, f := range columnsOf {
		value := "l." + f.ColumnName()
		switch f.At(&yp.Listing{}).(type) {
		case *[]string:
			value = "json(" + value + ")"
		case *bool, **bool:
			value = "json(CASE " + value + " WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
		}
		fields.WriteString(", '" + f.Name + "', " + value)
	}
	return `
	SELECT l.fingerprint, l.last_seen_at, l.dropped_at IS NOT NULL, ifnull(s.seen_at, ''), ifnull(s.crawl, 0), ifnull(s.page, 0), json_object(` + fields.String()[2:] + `)
	FROM json_each(?1) AS j CROSS JOIN listings l ON l.source_id = ?2 AND l.listing_id = j.value
	LEFT JOIN sightings s ON s.target_id = ?3 AND s.listing = l.id`
}()

const latestCrawl = `SELECT crawls FROM targets WHERE id = ?`

// PrepareAgain prepares a kept page of results that is read again (PageOf.Fetched), for
// SaveListings. What was seen later stays as it is: of a listing that another page, also of the same
// crawl, or a later crawl of the target, has shown since, only fields that nobody has given are added; one that is
// dropped comes back only if the page is of the target's last crawl. older counts those.
func PrepareAgain(tx *Tx, at PageOf, page *yp.Page) (p *Prepared, older int, err error) {
	var last int64
	if err := tx.Get(latestCrawl, []any{at.TargetID}, &last); err != nil {
		return nil, 0, err
	}
	type stored struct {
		print int64
		older bool
		leave bool
		known yp.Listing
	}
	found, fetched := map[string]stored{}, at.seen(tx)
	ids := make([]string, len(page.Listings))
	for i := range page.Listings {
		ids[i] = page.Listings[i].ID
	}
	err = Each(tx, storedListings, []any{JSONTexts(ids), at.SourceID, at.TargetID}, func(rows *sql.Rows) error {
		var s stored
		var seen, own, fields string
		var dropped bool
		var crawl int64
		var number int
		if err := rows.Scan(&s.print, &seen, &dropped, &own, &crawl, &number, &fields); err != nil {
			return err
		}
		if crawl != at.Crawl || number != page.Number { // else the page was committed with this time, a little after it was fetched
			own = fetched
		}
		s.older = crawl > at.Crawl || seen > own
		s.leave = dropped && (s.older || last > at.Crawl)
		err := json.Unmarshal([]byte(fields), &s.known)
		found[s.known.ID] = s
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	again := *page
	again.Listings, again.Others = nil, nil
	for _, l := range page.Listings {
		s := found[l.ID]
		if s.leave || s.older {
			older++
		}
		if s.leave {
			continue
		}
		if s.older {
			rank := l.Rank
			l = completed(s.known, l)
			l.Rank = rank
		}
		again.Listings = append(again.Listings, l)
	}
	p = Prepare(&again)
	for i := range p.listings {
		s := found[p.listings[i].ID]
		if !s.older {
			continue
		}
		p.argsOf(i)[len(ofPage)-1] = s.print
		if print, _ := fingerprint(&s.known, nil); print == p.prints[i] { // nothing was added
			p.prints[i] = s.print
		}
	}
	return p, older, nil
}

// forms are fields that are taken together or not at all.
var forms = [][]string{{"phone", "phone_e164"}, {"website_url", "website", "domain"}}

// completed is a stored listing with what a page gives of the fields that it lacks.
func completed(known, page yp.Listing) yp.Listing {
	whole, held := known, map[string]bool{}
	for _, names := range forms {
		has := slices.ContainsFunc(names, func(name string) bool { return yp.ListingFields[yp.ListingFieldAt(name)].Has(&known) })
		for _, name := range names {
			held[name] = has
		}
	}
	for _, f := range columnsOf {
		if !held[f.Name] && f.Absent == yp.Kept {
			f.Fill(&whole, &page)
		}
	}
	return whole
}
