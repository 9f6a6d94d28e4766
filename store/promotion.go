package store

import (
	"encoding/json"
	"fmt"

	"ypcrawl/yp"
)

// Action is what became of a listing: a value of promotion_log.action.
type Action string

// The actions.
const (
	PromotedCreate Action = "promoted_create" // seen for the first time, in good order
	PromotedUpdate Action = "promoted_update" // its source says something else of it now
	Rejected       Action = "rejected"        // it broke a rule of its source: staged, not promoted
	Dropped        Action = "dropped"         // gone from its source
	Restored       Action = "restored"        // back again
)

// trail gathers what a page did to listings until it is written, in a few statements
// for the whole page. Companies are read from the rows at the end: they may have been
// merged since.
type trail struct {
	created  []created
	found    []told // created as well, by a key that led to a company
	updated  []told
	dropped  []int64
	restored []int64
	rejected []rejected
	changes  []change
}

// created is a new listing: nothing is read back to log it.
type created struct {
	id      string
	company *company
}

// told is a row with the JSON of its promotion_log.what.
type told struct {
	row  int64
	what string
}

type rejected struct{ id, what string }

func (t *trail) create(row int64, id string, c *company, key string) {
	if key == "" {
		t.created = append(t.created, created{id, c})
		return
	}
	t.found = append(t.found, told{row, what(struct {
		Key string `json:"key"`
	}{key})})
}

// update notes what changed of a listing; nothing if that is nothing.
func (t *trail) update(row int64, d diff) {
	if len(d.changed)+len(d.completed) == 0 {
		return
	}
	for _, c := range d.changed {
		c.row = row
		t.changes = append(t.changes, c)
	}
	t.updated = append(t.updated, told{row, what(d.what())})
}

func what(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // made of strings: they always marshal
		panic(err)
	}
	return string(b)
}

const (
	// A listing's id travels behind its company's number, as keys do: see insertKeys.
	logCreated = `
	INSERT INTO promotion_log (at, action, source_id, listing_id, company_id, run_id)
	SELECT ?1, 'promoted_create', ?2, substr(value, 1 + ` + idDigits + `), CAST(substr(value, 1, ` + idDigits + `) AS INTEGER), ?3 FROM json_each(?4)`
	logRows = `
	INSERT INTO promotion_log (at, action, source_id, listing_id, company_id, run_id)
	SELECT ?1, ?2, l.source_id, l.listing_id, l.company_id, ?3 FROM json_each(?4) AS j CROSS JOIN listings l ON l.id = j.value ORDER BY j.key`
	logTold = `
	INSERT INTO promotion_log (at, action, source_id, listing_id, company_id, run_id, what)
	SELECT ?1, ?2, l.source_id, l.listing_id, l.company_id, ?3, ?5 FROM listings l WHERE l.id = ?4`
	logRejected = `
	INSERT INTO promotion_log (at, action, source_id, listing_id, run_id, what) VALUES (?, 'rejected', ?, ?, ?, ?)`
	saveChange = `INSERT INTO listing_changes (listing, field, old, new, run_id, at) VALUES (?, ?, ?, ?, ?, ?)`
)

// flush writes what was gathered.
func (t *trail) flush(tx *Tx, at PageOf) error {
	run := number(at.RunID)
	if err := t.flushCreated(tx, at, run); err != nil {
		return err
	}
	for _, l := range []struct {
		action Action
		rows   []int64
	}{{Dropped, t.dropped}, {Restored, t.restored}} {
		if len(l.rows) == 0 {
			continue
		}
		if _, err := tx.Exec(logRows, tx.Now, string(l.action), run, intList(l.rows)); err != nil {
			return fmt.Errorf("log promotion: %w", err)
		}
	}
	for _, l := range []struct {
		action Action
		rows   []told
	}{{PromotedCreate, t.found}, {PromotedUpdate, t.updated}} {
		for _, r := range l.rows {
			if _, err := tx.Exec(logTold, tx.Now, string(l.action), run, r.row, r.what); err != nil {
				return fmt.Errorf("log promotion: %w", err)
			}
		}
	}
	return t.flushRest(tx, at, run)
}

func (t *trail) flushCreated(tx *Tx, at PageOf, run any) error {
	if len(t.created) == 0 {
		return nil
	}
	packed := make([]string, len(t.created))
	for i, c := range t.created {
		packed[i] = fmt.Sprintf("%0"+idDigits+"d%s", c.company.root().id, c.id)
	}
	if _, err := tx.Exec(logCreated, tx.Now, at.SourceID, run, what(packed)); err != nil {
		return fmt.Errorf("log promotion: %w", err)
	}
	return nil
}

func (t *trail) flushRest(tx *Tx, at PageOf, run any) error {
	for _, r := range t.rejected {
		if _, err := tx.Exec(logRejected, tx.Now, at.SourceID, r.id, run, r.what); err != nil {
			return fmt.Errorf("log rejection: %w", err)
		}
	}
	for _, c := range t.changes {
		if _, err := tx.Exec(saveChange, c.row, c.field, text(c.old), text(c.new), run, tx.Now); err != nil {
			return fmt.Errorf("log change: %w", err)
		}
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
func (s *saver) reject([]yp.Listing) error {
	if err := s.unstage(); err != nil {
		return fmt.Errorf("stage listings: %w", err)
	}
	for i := range s.at.Rejected {
		r := s.at.Rejected[i]
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
	reasons := what(r.Reasons)
	args := []any{s.at.SourceID, r.Listing.ID, s.at.TargetID, s.at.Page, reasons, what(r.Listing), s.tx.Now}
	if n, err := s.tx.Changed(stageAgain, args...); err != nil || n > 0 {
		return err
	}
	if _, err := s.tx.Exec(stage, args...); err != nil {
		return err
	}
	s.log.rejected = append(s.log.rejected, rejected{r.Listing.ID, `{"reasons":` + reasons + `}`})
	return nil
}

func (s *saver) unstage() error {
	if len(s.rows) == 0 {
		return nil
	}
	var some bool
	if err := s.tx.Get(anyStaged, nil, &some); err != nil || !some {
		return err
	}
	_, err := s.tx.Exec(unstage, s.at.SourceID, intList(s.rows), s.at.TargetID)
	return err
}
