package store

import (
	"database/sql"
	"encoding/json"
	"strings"

	"ypcrawl/yp"
)

// storedListings are those of a page that are stored: where each stands, when it was seen
// last, by the target of the page and by any, when its own page was read, and what is known of it: json_object is of all fields,
// "'name', l.name, 'categories', json(l.categories), ...".
var storedListings = func() string {
	var fields strings.Builder
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		if f.Table == yp.NoTable {
			continue
		}
		value := [...]string{yp.InListings: "l.", yp.InTexts: "m."}[f.Table] + f.ColumnName()
		switch f.At(&yp.Listing{}).(type) {
		case *[]string:
			value = "json(" + value + ")"
		case *bool, **bool:
			value = "json(CASE " + value + " WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
		}
		fields.WriteString(", '" + f.Name + "', " + value)
	}
	return `
	SELECT l.fingerprint, l.last_seen_at, l.dropped_at IS NOT NULL, ifnull(s.seen_at, ''), ifnull(s.crawl, 0), ifnull(s.page, 0),
		ifnull(l.own_page_at, ''), l.cards_before, json_object(` + fields.String()[2:] + `)
	FROM json_each(?1) AS j CROSS JOIN listings l ON l.source_id = ?2 AND l.listing_id = j.value LEFT JOIN listing_texts m ON m.listing = l.id
	LEFT JOIN sightings s ON s.target_id = ?3 AND s.listing = l.id`
}()

const latestCrawl = `SELECT crawls FROM targets WHERE id = ?`

// PrepareReparsed prepares a kept page of results that is read again (PageOf.Fetched), for
// SaveListings. What was seen later stays as it is: of a listing that another page, also of the same
// crawl, or a later crawl of the target, has shown since, only fields that nobody has given are added; one that is
// dropped comes back only if the page is of the target's last crawl. older counts those.
func PrepareReparsed(tx *Tx, at PageOf, page *yp.Page) (p *Prepared, older int, err error) {
	var last int64
	if err := tx.Get(latestCrawl, []any{at.TargetID}, &last); err != nil {
		return nil, 0, err
	}
	found := map[string]storedListing{}
	ids := make([]string, len(page.Listings))
	for i := range page.Listings {
		ids[i] = page.Listings[i].ID
	}
	err = Each(tx, storedListings, []any{JSONTexts(ids), at.SourceID, at.TargetID}, func(rows *sql.Rows) error {
		s, err := at.scanStored(tx, rows, page.Number, last)
		found[s.known.ID] = s
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	again := *page
	again.Listings = nil
	for _, l := range page.Listings {
		s := found[l.ID]
		if s.leave || s.older {
			older++
		}
		if s.leave {
			continue
		}
		if s.older { // what no group has
			l.Name, l.Sponsored = s.known.Name, s.known.Sponsored
		}
		again.Listings = append(again.Listings, l)
	}
	p = Prepare(&again)
	p.others = nil // what else a page shows is news of the time when it was fetched
	for i := range p.listings {
		if s, ok := found[p.listings[i].ID]; ok {
			p.gives[i] = s.given(p.gives[i].writes)
			p.argsOf(i)[cardsArg] = int64(p.gives[i].writes)
		}
		if s := found[p.listings[i].ID]; s.older {
			p.argsOf(i)[printArg] = s.print
			if p.gives[i].writes == 0 { // nothing is added
				p.prints[i] = s.print
			}
		}
	}
	return p, older, nil
}

// storedListing is a listing of a kept page.
type storedListing struct {
	print  int64
	older  bool // the page is older than what cards have said last
	leave  bool
	ownNew bool      // its own page was read since
	before yp.Groups // that cards had given when that was
	known  yp.Listing
}

// scanStored reads a row of storedListings; last is the number of the target's last crawl.
func (at PageOf) scanStored(tx *Tx, rows *sql.Rows, page int, last int64) (s storedListing, err error) {
	var seen, shown, ownAt, fields string
	var dropped bool
	var crawl int64
	var number int
	if err := rows.Scan(&s.print, &seen, &dropped, &shown, &crawl, &number, &ownAt, &s.before, &fields); err != nil {
		return s, err
	}
	if crawl != at.Crawl || number != page { // else the page was committed with this time, a little after it was fetched
		shown = at.seen(tx)
	}
	s.older, s.ownNew = crawl > at.Crawl || seen > shown, ownAt > shown
	s.leave = dropped && (s.older || last > at.Crawl)
	return s, json.Unmarshal([]byte(fields), &s.known)
}

// given are the groups that the page writes of those in which it says something. What is older than other cards, or than two
// readings of the own page, only fills what nobody has given; a card that the own page found there wins over it still.
func (s *storedListing) given(says yp.Groups) (g given) {
	g.writes = says
	if s.older || s.ownNew && s.before == 0 {
		g.writes &^= s.known.Gives()
	}
	switch {
	case !s.ownNew:
		g.cards = g.writes
	case !s.older:
		g.before = g.writes
	}
	return g
}
