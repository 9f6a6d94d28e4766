package store

import (
	"encoding/json"
	"fmt"
	"slices"

	"ypcrawl/yp"
)

// fills is a listing's filled fields, each with its time: see listings.filled.
type fills map[string]string

func fillsOf(text string) (f fills, err error) {
	if text == "" {
		return fills{}, nil
	}
	err = json.Unmarshal([]byte(text), &f)
	return f, err
}

// mark keeps what became of a listing's filled fields until they are written.
func (s *saver) mark(row int64, f fills) {
	if s.filled == nil {
		s.filled = map[int64]string{}
	}
	s.filled[row] = ""
	if len(f) > 0 {
		s.filled[row] = what(f)
	}
}

// fill notes what a page completed of a listing. It may yet turn out to be a change:
// see tellFilled.
func (s *saver) fill(row int64, before string, d diff) error {
	if len(d.Completed) == 0 {
		return nil
	}
	if now, ok := s.filled[row]; ok {
		before = now
	}
	f, err := fillsOf(before)
	if err != nil {
		return fmt.Errorf("read filled fields: %w", err)
	}
	for _, field := range d.Completed {
		f[field] = s.tx.Now
	}
	s.mark(row, f)
	return nil
}

const (
	metBefore = `
	SELECT s.listing, s.seen_at FROM json_each(?1) AS j CROSS JOIN sightings s ON s.target_id = ?2 AND s.listing = j.value WHERE s.since < ?3`
	saveFilled = `UPDATE listings SET filled = ? WHERE id = ?`
)

// tellFilled finds the changes among what other targets filled: this one met the
// listing before, in an earlier crawl, showed nothing there, and shows the value now.
// So what counts as a change does not depend on which target of a crawl comes first.
func (s *saver) tellFilled(listings []yp.Listing, stored map[string]known) error {
	at, rows := map[int64]int{}, []int64(nil)
	for i := range listings {
		if k, ok := stored[listings[i].ID]; ok && k.filled != "" {
			at[k.id], rows = i, append(rows, k.id)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	found, err := s.tx.Query(metBefore, JSONInts(rows), s.at.TargetID, s.at.Crawl)
	if err != nil {
		return fmt.Errorf("compare listings: %w", err)
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		var row int64
		var seen string
		if err := found.Scan(&row, &seen); err != nil {
			return fmt.Errorf("compare listings: %w", err)
		}
		l := &listings[at[row]]
		if err := s.tell(row, stored[l.ID].filled, seen, valuesOf(l), s.diffs[at[row]]); err != nil {
			return fmt.Errorf("compare listings: %w", err)
		}
	}
	return found.Err()
}

// tell notes the changes of one listing that this target saw last at seen, but for
// fields whose value is another one again: those are told of anyhow.
func (s *saver) tell(row int64, before, seen string, now values, told diff) error {
	f, err := fillsOf(before)
	if err != nil {
		return err
	}
	var d diff
	for _, i := range compared {
		field := yp.ListingFields[i].Name
		at, ok := f[field]
		if !ok || now[i] == "" || seen >= at {
			continue
		}
		delete(f, field)
		if !slices.ContainsFunc(told.Changed, func(c change) bool { return c.Field == field }) {
			d.Changed = append(d.Changed, changeOf(field, "", now[i]))
		}
	}
	if len(d.Changed) > 0 {
		s.log.update(row, d)
		s.mark(row, f)
	}
	return nil
}

func (s *saver) saveFilled() error {
	for row, f := range s.filled {
		if _, err := s.tx.Exec(saveFilled, text(f), row); err != nil {
			return fmt.Errorf("mark filled fields: %w", err)
		}
	}
	return nil
}
