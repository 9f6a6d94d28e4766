package store

import (
	"fmt"

	"ypcrawl/yp"
)

// Event is what became of a listing: a value of listing_events.kind.
type Event string

// The events.
const (
	EventNew       Event = "new"       // seen for the first time, in good order
	EventChanged   Event = "changed"   // its source says something else of it
	EventCompleted Event = "completed" // other markup shows more of it
	EventDropped   Event = "dropped"   // gone from its source
	EventRestored  Event = "restored"  // back again
	EventRejected  Event = "rejected"  // it broke a rule of its source: staged, not promoted
)

// trail gathers what a page did to listings until it is written. Companies are read
// from the rows at the end: they may have been merged since.
type trail struct {
	first    int64          // row id of the first new listing; the others follow it
	created  int            // how many
	found    map[int]string // the keys by which some of them found their company
	updated  []updated
	dropped  []int64
	restored []int64
	rejected []rejected
}

type updated struct {
	row  int64
	diff diff
}

type rejected struct{ id, what string }

// create notes a new listing.
func (t *trail) create(row int64, key string) {
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
func (t *trail) update(row int64, d diff) {
	if len(d.Changed)+len(d.Completed) > 0 {
		t.updated = append(t.updated, updated{row, d})
	}
}

const (
	logNew    = `INSERT INTO listing_events (at, kind, source_id, run_id, listing, listings, what) VALUES (?, 'new', ?, ?, ?, ?, ?)`
	logStored = `
	INSERT INTO listing_events (at, kind, run_id, source_id, listing, company_id, what)
	SELECT ?1, ?2, ?3, l.source_id, l.id, l.company_id, ?5 FROM json_each(?4) AS j CROSS JOIN listings l ON l.id = j.value ORDER BY j.key`
	logRejected = `INSERT INTO listing_events (at, kind, source_id, run_id, listing_id, what) VALUES (?, 'rejected', ?, ?, ?, ?)`
)

// flush writes what was gathered.
func (t *trail) flush(tx *Tx, at PageOf) (err error) {
	run := Number(at.RunID)
	exec := func(query string, args ...any) {
		if err == nil {
			_, err = tx.Exec(query, args...)
		}
	}
	stored := func(kind Event, what any, rows ...int64) {
		if len(rows) > 0 {
			exec(logStored, tx.Now, string(kind), run, JSONInts(rows), what)
		}
	}
	if t.created > 0 {
		var keys any
		if t.found != nil {
			keys = JSON(t.found)
		}
		exec(logNew, tx.Now, at.SourceID, run, t.first, t.created, keys)
	}
	stored(EventDropped, nil, t.dropped...)
	stored(EventRestored, nil, t.restored...)
	for _, u := range t.updated {
		kind := EventChanged
		if len(u.diff.Changed) == 0 {
			kind = EventCompleted
		}
		stored(kind, JSON(u.diff), u.row)
	}
	for _, r := range t.rejected {
		exec(logRejected, tx.Now, at.SourceID, run, r.id, r.what)
	}
	if err != nil {
		return fmt.Errorf("log what became of listings: %w", err)
	}
	return nil
}

const (
	// Only what is new or breaks another rule is worth a line in the log: two targets may
	// show a listing in different words, each in every crawl.
	stageAgain = `
	UPDATE staged_listings SET target_id = ?3, page = ?4, listing = ?6, last_seen_at = ?7 WHERE source_id = ?1 AND listing_id = ?2 AND reasons = ?5`
	stage = `
	INSERT INTO staged_listings (source_id, listing_id, target_id, page, reasons, listing, first_seen_at, last_seen_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
	ON CONFLICT DO UPDATE SET target_id = excluded.target_id, page = excluded.page, reasons = excluded.reasons,
		listing = excluded.listing, last_seen_at = excluded.last_seen_at`
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
		s.saved.Rejected++
		if err := s.stage(r); err != nil {
			return fmt.Errorf("stage listing %s: %w", r.Listing.ID, err)
		}
	}
	return nil
}

func (s *saver) stage(r yp.Rejection) error {
	r.Listing.Rank = 0 // says nothing of the listing
	reasons := JSON(r.Reasons)
	args := []any{s.at.SourceID, r.Listing.ID, s.at.TargetID, s.page.page.Number, reasons, JSON(r.Listing), s.tx.Now}
	if n, err := s.tx.Changed(stageAgain, args...); err != nil || n > 0 {
		return err
	}
	s.log.rejected = append(s.log.rejected, rejected{r.Listing.ID, `{"reasons":` + reasons + `}`})
	return s.tx.Run(stage, args...)
}

func (s *saver) unstage() error {
	if len(s.rows) == 0 {
		return nil
	}
	var some bool
	if err := s.tx.Get(anyStaged, nil, &some); err != nil || !some {
		return err
	}
	return s.tx.Run(unstage, s.at.SourceID, JSONInts(s.rows), s.at.TargetID)
}
