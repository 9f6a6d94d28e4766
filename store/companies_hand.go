package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"ypcrawl/yp"
)

// What an operator does to companies. Each is one part of a transaction: it is done
// whole, or nothing of it is.

// RefusedError says why companies were left as they are: what was asked for means
// nothing, or would change nothing.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func refuse(format string, args ...any) error {
	return &RefusedError{Why: fmt.Sprintf(format, args...)}
}

const (
	selectCompany = `SELECT id, lead_source, lead_listing, ifnull(website, '') FROM companies WHERE id = ?`
	mergedInto    = `SELECT id, kept FROM company_merges WHERE gone = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1`
)

// loadCompany reads a company; a *RefusedError says what became of it when there is none.
func loadCompany(tx *Tx, id int64) (*company, error) {
	c := &company{}
	err := tx.Get(selectCompany, []any{id}, &c.id, &c.leadSource, &c.leadListing, &c.website)
	if err == nil {
		return c, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("find company %d: %w", id, err)
	}
	var merge, kept int64
	switch err := tx.Get(mergedInto, []any{id}, &merge, &kept); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, refuse("there is no company %d: `ypcrawl companies list` shows those there are", id)
	case err != nil:
		return nil, fmt.Errorf("find company %d: %w", id, err)
	}
	return nil, refuse("there is no company %d any more: merge %d made it a part of company %d", id, merge, kept)
}

// MergeCompanies makes the companies gone parts of keep because an operator says so,
// and returns the number of each merge, and what a log says of it. Where they were taken
// apart before, they are so no more. What means nothing is a *RefusedError.
func MergeCompanies(tx *Tx, keep int64, gone []int64) (merges []int64, edit *yp.CompanyEdit, err error) {
	if len(gone) == 0 {
		return nil, nil, refuse("name the companies that are the same as company %d", keep)
	}
	r := &resolver{tx: tx}
	kept, err := loadCompany(tx, keep)
	if err != nil {
		return nil, nil, err
	}
	edit = &yp.CompanyEdit{Gone: make([][]yp.ListingKey, len(gone))}
	if edit.Kept, err = namesOf(tx, listingsOf, keep); err != nil {
		return nil, nil, err
	}
	merges = make([]int64, len(gone))
	for i, id := range gone {
		if id == keep {
			return nil, nil, refuse("company %d can't be merged into itself: name another one to keep", id)
		}
		if slices.Contains(gone[:i], id) {
			return nil, nil, refuse("company %d is named twice", id)
		}
		other, err := loadCompany(tx, id)
		if err != nil {
			return nil, nil, err
		}
		if edit.Gone[i], err = namesOf(tx, listingsOf, id); err != nil {
			return nil, nil, err
		}
		if _, err := tx.Exec(liftApart, keep, id); err != nil {
			return nil, nil, fmt.Errorf("lift what keeps companies %d and %d apart: %w", keep, id, err)
		}
		if merges[i], err = r.merge(kept, other, yp.KeyHand, ""); err != nil {
			return nil, nil, err
		}
	}
	return merges, edit, nil
}

// Divided tells what became of a company that was taken apart.
type Divided struct {
	Company  int64    // that was divided, and keeps the rest
	Other    int64    // that its listings went to: new, or back again
	Listings []int64  // row ids of those that went there
	Keys     []string // strong keys that went with them
	Merge    int64    // number of the merge that was undone; 0 = none

	Edit *yp.CompanyEdit // what a log says of it
}

const (
	// Fields are set from the company's listings afterwards.
	addOther = `
	INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at)
	SELECT ?1, name, source_id, listing_id, first_seen_at FROM listings WHERE id = ?2`
	takeListings = `UPDATE listings SET company_id = ? WHERE company_id = ? AND id IN (SELECT value FROM json_each(?))`
	takeKeys     = `
	UPDATE company_keys SET company_id = ? WHERE company_id = ? AND key IS NOT NULL AND key IN (SELECT value FROM json_each(?)) RETURNING key`
)

// SplitCompany takes listings, by row id, out of a company into a new one: with them
// go the keys that nobody else of the company gives; keys that the rest gives too, and
// those that nobody gives any more, stay. No key joins the two again. What means
// nothing is a *RefusedError.
func SplitCompany(tx *Tx, from int64, rows []int64) (*Divided, error) {
	if _, err := loadCompany(tx, from); err != nil {
		return nil, err
	}
	all, err := members(tx, from)
	if err != nil {
		return nil, err
	}
	theirs := map[int64]bool{}
	for _, row := range rows {
		if !slices.ContainsFunc(all, func(m member) bool { return m.row == row }) {
			return nil, refuse("listing %d is none of company %d", row, from)
		}
		theirs[row] = true
	}
	switch {
	case len(theirs) == 0:
		return nil, refuse("name the listings that are to leave company %d: `ypcrawl companies show %d` shows them", from, from)
	case len(theirs) == len(all):
		return nil, refuse("that would leave nothing of company %d: name fewer than its %d listings", from, len(all))
	}
	d := &Divided{Company: from, Keys: onlyTheirs(all, func(row int64) bool { return theirs[row] })}
	for _, m := range all {
		if theirs[m.row] {
			d.Listings = append(d.Listings, m.row)
		}
	}
	return d, d.carryOut(tx)
}

// carryOut moves listings and keys to the other company, which is made with a new
// number when it has none, and takes the two apart.
func (d *Divided) carryOut(tx *Tx) error {
	if err := spellAll(tx, d.Company); err != nil {
		return err
	}
	res, err := tx.Exec(addOther, nullID(d.Other), d.Listings[0])
	if err != nil {
		return fmt.Errorf("add company: %w", err)
	}
	if d.Other, err = res.LastInsertId(); err != nil {
		return err
	}
	if err := countCompanies(tx, map[string]int64{"": 1}); err != nil {
		return err
	}
	if _, err := tx.Exec(takeListings, d.Other, d.Company, JSONInts(d.Listings)); err != nil {
		return fmt.Errorf("move listings to company %d: %w", d.Other, err)
	}
	if d.Keys, err = moveSome(tx, d.Other, d.Company, d.Keys); err != nil {
		return fmt.Errorf("move keys to company %d: %w", d.Other, err)
	}
	for _, c := range []int64{d.Company, d.Other} {
		if err := recompute(tx, c); err != nil {
			return err
		}
	}
	if err := copyApart(tx, d.Company, d.Other); err != nil {
		return err
	}
	if _, err := tx.Exec(insertApart, d.Company, d.Other, tx.Now); err != nil {
		return fmt.Errorf("keep companies %d and %d apart: %w", d.Company, d.Other, err)
	}
	if d.Merge != 0 {
		if _, err := tx.Exec(markUndone, tx.Now, d.Merge); err != nil {
			return fmt.Errorf("mark merge %d as undone: %w", d.Merge, err)
		}
	}
	return d.tell(tx)
}

// tell makes what a log says of it.
func (d *Divided) tell(tx *Tx) (err error) {
	d.Edit = &yp.CompanyEdit{Keys: d.Keys}
	if d.Edit.Kept, err = namesOf(tx, listingsOf, d.Company); err != nil {
		return err
	}
	if d.Edit.Out, err = namesOf(tx, listingKeys, JSONInts(d.Listings)); err != nil || d.Merge == 0 {
		return err
	}
	m, listings := &yp.UndoneMerge{}, ""
	if err = tx.Get(undoneMerge, []any{d.Merge}, &m.At, &m.By, &m.Key, &listings); err != nil {
		return fmt.Errorf("read merge %d: %w", d.Merge, err)
	}
	m.Listings, err = namesOf(tx, listingKeys, listings)
	d.Edit.Merge = m
	return err
}

const undoneMerge = `SELECT at, by, ifnull(key, ''), listings FROM company_merges WHERE id = ?`

// moveSome gives a company those of the keys that another has, and returns them.
func moveSome(tx *Tx, to, from int64, keys []string) ([]string, error) {
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(takeKeys, to, from, string(list))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	moved := []string{}
	for rows.Next() {
		var k string
		if err := rows.Scan(&k); err != nil {
			return nil, err
		}
		moved = append(moved, k)
	}
	slices.Sort(moved)
	return moved, rows.Err()
}

// nullID binds 0 as NULL.
func nullID(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}
