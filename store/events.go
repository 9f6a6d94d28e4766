package store

import (
	"database/sql"
	"fmt"

	"ypcrawl/yp"
)

const (
	// ?3 is PageOf.latest.
	touchListings = `
	UPDATE listings SET last_seen_at = max(min(last_seen_at, ?3), ?1)
	WHERE id IN (SELECT value FROM json_each(?2)) AND last_seen_at <> max(min(last_seen_at, ?3), ?1)`
	bringBack = `UPDATE listings SET dropped_at = NULL WHERE id IN (SELECT value FROM json_each(?))`
)

// touch marks the equal listings as seen, and the dropped ones as restored.
func (s *saver) touch() error {
	if len(s.same) > 0 {
		if err := s.tx.Run(touchListings, s.at.seen(s.tx), JSONInts(s.same), s.at.latest(s.tx)); err != nil {
			return err
		}
	}
	return s.restore(s.back)
}

// restore marks dropped listings as shown again.
func (s *saver) restore(rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	s.saved.Restored += len(rows)
	s.saved.Rows += int64(len(rows))
	s.log.restored = append(s.log.restored, rows...)
	return s.tx.Run(bringBack, JSONInts(rows))
}

// Row id and rank travel as one number, so that a page's sightings are one
// statement over a flat list; ranks beyond 4095 do not occur (pages are capped).
const (
	rankBits = 12
	// A page that is read again says nothing of later crawls, nor of what its own crawl has shown since.
	saveSighting = `
	INSERT INTO sightings (target_id, listing, page, rank, seen_at, since, crawl)
	SELECT ?1, value >> 12, ?2, value & 4095, ?3, ?4, ?4 FROM json_each(?5) WHERE true
	ON CONFLICT DO UPDATE SET page = excluded.page, rank = excluded.rank, seen_at = excluded.seen_at,
		since = min(since, excluded.since), crawl = excluded.crawl, missed = 0
	WHERE crawl < excluded.crawl OR crawl = excluded.crawl AND (since > excluded.since
		OR min(seen_at, ?6) <= excluded.seen_at AND (page, rank, seen_at) IS NOT (excluded.page, excluded.rank, excluded.seen_at))`
)

func (s *saver) sight() error {
	packed := make([]int64, len(s.rows))
	for i, row := range s.rows {
		packed[i] = row<<rankBits | int64(min(max(s.page.listings[i].Rank, 0), 1<<rankBits-1))
	}
	n, err := s.tx.Changed(saveSighting, s.at.TargetID, s.page.page.Number, s.at.seen(s.tx), s.at.Crawl, JSONInts(packed), s.at.latest(s.tx))
	s.saved.Rows += n
	return err
}

const (
	// Those that it changes: dropped ones, and those not yet seen by this crawl of the target.
	selectMet = `
	SELECT l.id, l.dropped_at IS NOT NULL
	FROM json_each(?1) AS j CROSS JOIN listings l ON l.source_id = ?2 AND l.listing_id = j.value
	LEFT JOIN sightings s ON s.target_id = ?3 AND s.listing = l.id
	WHERE l.dropped_at IS NOT NULL OR ifnull(s.crawl, -1) < ?4`
	// A target that never kept it has it in sight from now on, but since no crawl that is: 0x7F... is later than every crawl.
	// A target that has shown a listing as an ad alone, or to a filter, says nothing of how its own card of it is marked up.
	meetAgain = `
	INSERT INTO sightings (target_id, listing, page, rank, seen_at, since, crawl)
	SELECT ?1, value, ?2, 0, ?3, 0x7FFFFFFFFFFFFFFF, ?4 FROM json_each(?5) WHERE true
	ON CONFLICT DO UPDATE SET crawl = excluded.crawl, missed = 0`
)

// seeOthers marks the listings that were on the page and were not saved (an ad, one that a
// filter leaves out, one that breaks a rule) as seen by the target, if they are known:
// a listing that any page shows is not dropped, even if other targets miss it.
func (s *saver) seeOthers() error {
	if len(s.page.others) == 0 {
		return nil
	}
	var rows, back []int64
	err := Each(s.tx, selectMet, []any{JSONTexts(s.page.others), s.at.SourceID, s.at.TargetID, s.at.Crawl}, func(found *sql.Rows) error {
		var id int64
		var gone bool
		err := found.Scan(&id, &gone)
		rows = append(rows, id)
		if gone {
			back = append(back, id)
		}
		return err
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	list := JSONInts(rows)
	if err := s.tx.Run(touchListings, s.tx.Now, list, s.tx.Now); err != nil {
		return err
	}
	if err := s.tx.Run(meetAgain, s.at.TargetID, s.page.page.Number, s.tx.Now, s.at.Crawl, list); err != nil {
		return err
	}
	return s.restore(back)
}

// DropAfter is how many complete crawls in a row, of every target that showed it, a listing must
// be missing from until it is dropped; and how many reads of the index in a row a city, until its
// targets count no more.
const DropAfter = 2

const (
	missUnseen = `UPDATE sightings SET missed = missed + 1 WHERE target_id = ? AND crawl < ?`
	// A target that showed a listing keeps it open until two complete crawls in a row lack the
	// listing, or two complete reads of the index in a row lack the target's city.
	dropMissed = `
	UPDATE listings SET dropped_at = ?1
	WHERE dropped_at IS NULL
		AND NOT EXISTS (
			SELECT 1
			FROM sightings s
				JOIN targets t ON t.id = s.target_id
				LEFT JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id
			WHERE s.listing = listings.id AND s.missed < ?2 AND ifnull(x.missed, 0) < ?2)
		AND id IN (SELECT listing FROM sightings WHERE target_id = ?3 AND crawl < ?4 AND missed >= ?2)
	RETURNING id`
	dropOfLeft = `
	UPDATE listings SET dropped_at = ?1
	WHERE dropped_at IS NULL
		AND NOT EXISTS (
			SELECT 1
			FROM sightings s
				JOIN targets t ON t.id = s.target_id
				LEFT JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id
			WHERE s.listing = listings.id AND s.missed < ?2 AND ifnull(x.missed, 0) < ?2)
		AND id IN (
			SELECT s.listing
			FROM cities c
				CROSS JOIN source_cities x ON x.source_id = ?3 AND x.city_id = c.id AND x.missed >= ?2
				CROSS JOIN targets t ON t.kind = 'search' AND t.source_id = ?3 AND t.city_id = c.id
				CROSS JOIN sightings s ON s.target_id = t.id
			WHERE c.state IN (SELECT value FROM json_each(?4)))
	RETURNING id`
)

// CityLeftIndex is why a listing is dropped that only targets of such a city showed.
const CityLeftIndex = "city_left_index"

// EndCrawl notes that a crawl of a target saw every page to a confirmed end: what
// it did not show is missing once more, and dropped after DropAfter such crawls of
// every target that ever showed it. It must be called once a crawl, in the
// transaction that ends it. Crawls that were cut short, by a block, an error or the
// limit of pages, prove nothing and must not be ended so. It returns how many are dropped.
func EndCrawl(tx *Tx, at PageOf) (dropped int, err error) {
	n, err := tx.Changed(missUnseen, at.TargetID, at.Crawl)
	if err != nil {
		return 0, fmt.Errorf("look for missing listings: %w", err)
	}
	if n == 0 {
		return 0, nil
	}
	return at.drop(tx, dropMissed, "", at.TargetID, at.Crawl)
}

// EndIndex notes that a read of the index of some states was complete: what only targets of cities
// showed that the last two lack is dropped. It must be called in the transaction that ends the
// read. It returns how many are dropped.
func EndIndex(tx *Tx, at PageOf, states []string) (dropped int, err error) {
	return at.drop(tx, dropOfLeft, CityLeftIndex, at.SourceID, JSONTexts(states))
}

func (at PageOf) drop(tx *Tx, query, reason string, args ...any) (int, error) {
	rows, err := Column[int64](tx, query, append([]any{tx.Now, DropAfter}, args...)...)
	if err != nil {
		return 0, fmt.Errorf("drop listings: %w", err)
	}
	t := eventBatch{dropped: rows, reason: reason}
	return len(rows), t.flush(tx, at)
}

// Event is what became of a listing: a value of listing_events.kind.
type Event string

// The events.
const (
	EventNew       Event = "new"       // seen for the first time, in good order
	EventChanged   Event = "changed"   // its source says something else of it
	EventCompleted Event = "completed" // other markup shows more of it
	EventDropped   Event = "dropped"   // its source no longer shows it
	EventRestored  Event = "restored"  // back again
	EventRejected  Event = "rejected"  // it broke a rule of its source: staged, not promoted
)

// eventBatch gathers what a page did to listings until it is written. Companies are read
// from the rows at the end: they may have been merged since.
type eventBatch struct {
	first    int64          // row id of the first new listing; the others follow it
	created  int            // how many
	found    map[int]string // the keys by which some of them found their company
	updated  []updated
	dropped  []int64
	reason   string // why they are dropped; "" = targets that showed them no longer do
	restored []int64
	rejected []rejected
}

type updated struct {
	row  int64
	diff diff
}

type rejected struct{ id, what string }

// create notes a new listing.
func (t *eventBatch) create(row int64, key string) {
	if t.created == 0 {
		t.first = row
	}
	if key != "" {
		if t.found == nil {
			t.found = map[int]string{}
		}
		t.found[t.created] = key
	}
	t.created++
}

// update notes what changed of a listing; nothing if that is nothing.
func (t *eventBatch) update(row int64, d diff) {
	if len(d.Changed)+len(d.Completed) > 0 {
		t.updated = append(t.updated, updated{row, d})
	}
}

const (
	logNew = `
	INSERT INTO listing_events (at, kind, source_id, run_id, reparsed, listing, listings, what)
	VALUES (?1, 'new', ?2, ?3, ?4, ?5, ?6, ?7)`
	logStored = `
	INSERT INTO listing_events (at, kind, run_id, reparsed, source_id, listing, company_id, what)
	SELECT ?1, ?2, ?3, ?4, l.source_id, l.id, l.company_id, ?6 FROM json_each(?5) AS j CROSS JOIN listings l ON l.id = j.value ORDER BY j.key`
	logRejected = `
	INSERT INTO listing_events (at, kind, source_id, run_id, reparsed, listing_id, what)
	VALUES (?1, 'rejected', ?2, ?3, ?4, ?5, ?6)`
)

// flush writes what was gathered.
func (t *eventBatch) flush(tx *Tx, at PageOf) (err error) {
	run := Number(at.RunID)
	exec := func(query string, args ...any) {
		if err == nil {
			_, err = tx.Exec(query, args...)
		}
	}
	stored := func(kind Event, what any, rows ...int64) {
		if len(rows) > 0 {
			exec(logStored, tx.Now, string(kind), run, at.reparsed(), JSONInts(rows), what)
		}
	}
	if t.created > 0 {
		var keys any
		if t.found != nil {
			keys = JSON(t.found)
		}
		exec(logNew, tx.Now, at.SourceID, run, at.reparsed(), t.first, t.created, keys)
	}
	var why any
	if t.reason != "" {
		why = JSON(map[string][]string{"reasons": {t.reason}})
	}
	stored(EventDropped, why, t.dropped...)
	stored(EventRestored, nil, t.restored...)
	for _, u := range t.updated {
		kind := EventChanged
		if len(u.diff.Changed) == 0 {
			kind = EventCompleted
		}
		stored(kind, JSON(u.diff), u.row)
	}
	for _, r := range t.rejected {
		exec(logRejected, tx.Now, at.SourceID, run, at.reparsed(), r.id, r.what)
	}
	if err != nil {
		return fmt.Errorf("record what happened to listings: %w", err)
	}
	return nil
}

const (
	// Only what is new or breaks another rule is worth a line in the log: two targets may
	// show a listing in different words, each in every crawl. A page that is read again leaves what is staged so already, or was
	// staged by another target since.
	stageAgain = `
	UPDATE staged_listings SET target_id = ?3, page = ?4, listing = ?6, last_seen_at = ?7
	WHERE source_id = ?1 AND listing_id = ?2 AND reasons = ?5 AND min(last_seen_at, ?8) <= ?7
		AND (target_id, page, listing, last_seen_at) IS NOT (?3, ?4, ?6, ?7)`
	stage = `
	INSERT INTO staged_listings (source_id, listing_id, target_id, page, reasons, listing, first_seen_at, last_seen_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
	ON CONFLICT DO UPDATE SET target_id = excluded.target_id, page = excluded.page, reasons = excluded.reasons,
		listing = excluded.listing, last_seen_at = max(min(last_seen_at, ?8), excluded.last_seen_at)
	WHERE (reasons, listing) IS NOT (excluded.reasons, excluded.listing)
		AND (target_id = excluded.target_id OR min(last_seen_at, ?8) <= excluded.last_seen_at)`
	// That another target shows it in good order mends nothing where it was found.
	unstage = `
	DELETE FROM staged_listings WHERE source_id = ?1 AND target_id = ?3
		AND listing_id IN (SELECT listing_id FROM listings WHERE id IN (SELECT value FROM json_each(?2)))`
	anyStaged = `SELECT EXISTS (SELECT 1 FROM staged_listings)`
)

// reject keeps the listings that break a rule as they were seen, and lets go of those
// that are in good order now.
func (s *saver) reject() error {
	if err := s.unstage(); err != nil {
		return err
	}
	for _, r := range s.page.page.Rejected {
		if r.Listing.ID == "" || len(r.Reasons) == 0 {
			s.saved.Dropped++
			continue
		}
		if err := s.stage(r); err != nil {
			return fmt.Errorf("stage listing %s: %w", r.Listing.ID, err)
		}
	}
	return nil
}

func (s *saver) stage(r yp.Rejection) error {
	r.Listing.Rank = 0 // says nothing of the listing
	reasons := JSON(r.Reasons)
	args := []any{s.at.SourceID, r.Listing.ID, s.at.TargetID, s.page.page.Number, reasons, JSON(r.Listing), s.at.seen(s.tx), s.at.latest(s.tx)}
	s.saved.Rejected++
	n, err := s.tx.Changed(stageAgain, args...)
	if err == nil && n == 0 {
		if n, err = s.tx.Changed(stage, args...); n > 0 {
			s.log.rejected = append(s.log.rejected, rejected{r.Listing.ID, `{"reasons":` + reasons + `}`})
		}
	}
	s.saved.Rows += n
	return err
}

func (s *saver) unstage() error {
	if len(s.rows) == 0 {
		return nil
	}
	var some bool
	if err := s.tx.Get(anyStaged, nil, &some); err != nil || !some {
		return err
	}
	n, err := s.tx.Changed(unstage, s.at.SourceID, JSONInts(s.rows), s.at.TargetID)
	s.saved.Rows += n
	return err
}
