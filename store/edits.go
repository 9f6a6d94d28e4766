package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"ypcrawl/yp"
)

// What operators did to companies, in the words of the logs: see yp.CompanyEdit.

const (
	listingKeys = `
	SELECT s.name, l.listing_id FROM json_each(?) AS j CROSS JOIN listings l ON l.id = j.value JOIN sources s ON s.id = l.source_id ORDER BY j.key`
	listingsOf = `SELECT s.name, l.listing_id FROM listings l JOIN sources s ON s.id = l.source_id WHERE l.company_id = ? ORDER BY l.id`
	findEdited = `
	SELECT l.id, l.company_id FROM json_each(?) AS j CROSS JOIN sources s ON s.name = j.value ->> 'source'
	CROSS JOIN listings l ON l.source_id = s.id AND l.listing_id = j.value ->> 'id' ORDER BY j.key`
	noteEdit = `INSERT INTO company_edits (id, at) VALUES (?, ?) ON CONFLICT DO NOTHING`
	// A page is logged before it is committed, and its merges come with the commit.
	findMerge = `
	SELECT id, gone FROM company_merges WHERE listings = ? AND by = ? AND ifnull(key, '') = ? AND undone_at IS NULL
	ORDER BY abs(julianday(at) - julianday(?)), id DESC LIMIT 1`
	hasEdit = `SELECT EXISTS (SELECT 1 FROM company_edits WHERE id = ?)`
)

// NoteEdit notes that an edit is made.
func NoteEdit(tx *Tx, id string) error {
	if err := tx.Run(noteEdit, id, tx.Now); err != nil {
		return fmt.Errorf("note edit of companies: %w", err)
	}
	return nil
}

// namesOf returns the listings that a query finds, as their sources name them.
func namesOf(tx *Tx, query string, arg any) ([]yp.ListingKey, error) {
	return All(tx, query, []any{arg}, func(k *yp.ListingKey) []any { return []any{&k.Source, &k.ID} })
}

// edited is a listing that an edit names, as it is here.
type edited struct{ row, company int64 }

// editedRows finds listings by their names; all tells that none is missing.
func editedRows(tx *Tx, names []yp.ListingKey) (found []edited, all bool, err error) {
	found, err = All(tx, findEdited, []any{JSON(names)}, func(e *edited) []any { return []any{&e.row, &e.company} })
	return found, len(found) == len(names), err
}

func rowsOf(found []edited) []int64 {
	rows := make([]int64, len(found))
	for i, e := range found {
		rows[i] = e.row
	}
	return rows
}

var errNoListings = errors.New("no page has brought the listings that were joined or taken apart by hand")

// RedoEdit makes an edit of a log once more. Where a listing that it names is not there yet
// nothing is done and ready is false, unless last says that no more pages come. An edit
// that was made before, or that changes nothing, is ready.
func RedoEdit(tx *Tx, e *yp.CompanyEdit, last bool) (ready bool, err error) {
	var has bool
	if err := tx.Get(hasEdit, []any{e.ID}, &has); err != nil || has {
		return true, err
	}
	moved := e.Gone
	if len(moved) == 0 {
		moved = [][]yp.ListingKey{e.Out}
	}
	found := make([][]edited, len(moved))
	kept, all, err := editedRows(tx, e.Kept)
	for i := range moved {
		some := false
		if err == nil {
			found[i], some, err = editedRows(tx, moved[i])
		}
		all = all && some && len(found[i]) > 0
	}
	switch {
	case err != nil:
		return false, err
	case !all && !last:
		return false, nil
	case len(kept) == 0 || !slices.ContainsFunc(found, func(rows []edited) bool { return len(rows) > 0 }):
		return false, errNoListings
	case len(e.Gone) > 0:
		err = redoMerge(tx, kept[0].company, found)
	default:
		err = redoSplit(tx, e, kept, found[0])
	}
	if err == nil {
		err = NoteEdit(tx, e.ID)
	}
	return err == nil, err
}

func redoMerge(tx *Tx, keep int64, found [][]edited) error {
	var removed []int64
	for _, rows := range found {
		if len(rows) > 0 && rows[0].company != keep && !slices.Contains(removed, rows[0].company) {
			removed = append(removed, rows[0].company)
		}
	}
	if len(removed) == 0 {
		return nil // they are one already
	}
	_, _, err := MergeCompanies(tx, keep, removed)
	return err
}

// redoSplit takes the listings out that had left, where they are still with those that
// stayed. A listing that came between, by the order of the logs, and gives only keys that
// went, goes with them.
func redoSplit(tx *Tx, e *yp.CompanyEdit, kept, out []edited) error {
	d := &Divided{Company: kept[0].company, Keys: slices.Clone(e.Keys)}
	all, err := members(tx, d.Company)
	if err != nil {
		return err
	}
	stayed := rowsOf(kept)
	d.Listings = leaving(all, rowsOf(out), e.Keys, func(row int64) bool { return !slices.Contains(stayed, row) })
	if len(d.Listings) == 0 || len(d.Listings) == len(all) {
		return nil // they are apart already
	}
	if e.Merge != nil {
		if err := d.findMerge(tx, e.Merge); err != nil {
			return err
		}
	}
	return d.carryOut(tx)
}

// findMerge finds the merge that a split took back, by the listings that it had brought: the
// company gets its old number then, and the merge is marked. Where keys have joined the
// listings at once, in another order of pages, there is none.
func (d *Divided) findMerge(tx *Tx, m *yp.UndoneMerge) error {
	brought, _, err := editedRows(tx, m.Listings)
	if err != nil {
		return err
	}
	rows := rowsOf(brought)
	slices.Sort(rows)
	err = tx.Get(findMerge, []any{JSONInts(rows), string(m.By), m.Key, m.At}, &d.Merge, &d.Other)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
