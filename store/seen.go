package store

import (
	"encoding/json"
	"fmt"

	"ypcrawl/yp"
)

const (
	touchListings = `UPDATE listings SET last_seen_at = ? WHERE id IN (SELECT value FROM json_each(?))`
	bringBack     = `UPDATE listings SET gone_at = NULL WHERE id IN (SELECT value FROM json_each(?))`
)

// touch marks the equal listings as seen, and those that were gone as back.
func (s *saver) touch() error {
	if len(s.same) > 0 {
		if _, err := s.tx.Exec(touchListings, s.tx.Now, JSONInts(s.same)); err != nil {
			return fmt.Errorf("mark listings as seen: %w", err)
		}
	}
	return s.restore(s.back)
}

// restore takes listings back that were called gone.
func (s *saver) restore(rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := s.tx.Exec(bringBack, JSONInts(rows)); err != nil {
		return fmt.Errorf("restore listings: %w", err)
	}
	s.saved.Restored += len(rows)
	s.log.restored = append(s.log.restored, rows...)
	return nil
}

const countEarlier = `
	SELECT count(*) FROM json_each(?1) AS j CROSS JOIN sightings s ON s.target_id = ?2 AND s.listing = j.value
	WHERE s.page < ?3 AND s.crawl = ?4 AND s.since <= ?4`

func (s *saver) repeated() (bool, error) {
	var n int
	err := s.tx.Get(countEarlier, []any{JSONInts(s.rows), s.at.TargetID, s.page.page.Number, s.at.Crawl}, &n)
	if err != nil {
		return false, fmt.Errorf("look for a repeated page: %w", err)
	}
	return n >= len(s.rows), nil
}

// Row id and rank travel as one number, so that a page's sightings are one
// statement over a flat list; ranks beyond 4095 do not occur (pages are capped).
const (
	rankBits     = 12
	saveSighting = `
	INSERT INTO sightings (target_id, listing, page, rank, seen_at, since, crawl)
	SELECT ?1, value >> 12, ?2, value & 4095, ?3, ?4, ?4 FROM json_each(?5) WHERE true
	ON CONFLICT DO UPDATE SET page = excluded.page, rank = excluded.rank, seen_at = excluded.seen_at,
		since = min(since, excluded.since), crawl = excluded.crawl, missed = 0`
)

func (s *saver) sight(listings []yp.Listing) error {
	packed := make([]int64, len(s.rows))
	for i, row := range s.rows {
		packed[i] = row<<rankBits | int64(min(max(listings[i].Rank, 0), 1<<rankBits-1))
	}
	if _, err := s.tx.Exec(saveSighting, s.at.TargetID, s.page.page.Number, s.tx.Now, s.at.Crawl, JSONInts(packed)); err != nil {
		return fmt.Errorf("save sightings: %w", err)
	}
	return nil
}

const (
	// Those that it makes a difference to: gone, or not yet met by this crawl of the target.
	selectMet = `
	SELECT l.id, l.gone_at IS NOT NULL
	FROM json_each(?1) AS j CROSS JOIN listings l ON l.source_id = ?2 AND l.listing_id = j.value
	LEFT JOIN sightings s ON s.target_id = ?3 AND s.listing = l.id
	WHERE l.gone_at IS NOT NULL OR ifnull(s.crawl, -1) < ?4`
	// A target that never kept it has it in sight from now on, but since no crawl that is.
	meetAgain = `
	INSERT INTO sightings (target_id, listing, page, rank, seen_at, since, crawl)
	SELECT ?1, value, ?2, 0, ?3, ` + neverKept + `, ?4 FROM json_each(?5) WHERE true
	ON CONFLICT DO UPDATE SET crawl = excluded.crawl, missed = 0`
	// neverKept is later than every crawl: a target that has shown a listing as an ad
	// alone, or to a filter, says nothing of how its own card of it is marked up.
	neverKept = `0x7FFFFFFFFFFFFFFF`
)

// met marks the listings that were on the page and were not saved (an ad, one that a
// filter leaves out, one that breaks a rule) as seen by the target, if they are known:
// whoever is shown is not gone, whoever else misses it.
func (s *saver) met([]yp.Listing) error {
	ids := s.page.page.Others
	for i := range s.page.page.Rejected {
		ids = append(ids[:len(ids):len(ids)], s.page.page.Rejected[i].Listing.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	rows, back, err := s.findMet(ids)
	if err != nil || len(rows) == 0 {
		return err
	}
	list := JSONInts(rows)
	if _, err := s.tx.Exec(touchListings, s.tx.Now, list); err != nil {
		return fmt.Errorf("mark listings as seen: %w", err)
	}
	if _, err := s.tx.Exec(meetAgain, s.at.TargetID, s.page.page.Number, s.tx.Now, s.at.Crawl, list); err != nil {
		return fmt.Errorf("mark listings as seen: %w", err)
	}
	return s.restore(back)
}

func (s *saver) findMet(ids []string) (met, back []int64, err error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, nil, err
	}
	rows, err := s.tx.Query(selectMet, string(list), s.at.SourceID, s.at.TargetID, s.at.Crawl)
	if err != nil {
		return nil, nil, fmt.Errorf("find listings: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var gone bool
		if err := rows.Scan(&id, &gone); err != nil {
			return nil, nil, err
		}
		met = append(met, id)
		if gone {
			back = append(back, id)
		}
	}
	return met, back, rows.Err()
}
