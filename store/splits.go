package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ypcrawl/yp"
)

// Everything that makes two companies of one: an operator takes listings out of a company,
// or takes a merge back.

// member is a listing of a company with the keys that it gives.
type member struct {
	row  int64
	keys []string
}

// GivenKeys returns the strong keys that a listing gives, with the phone and the
// website that its own page says, "" where it says none.
func GivenKeys(l *yp.Listing, phoneE164, website string) []string {
	keys := yp.CompanyKeys(l)
	if phoneE164 == "" && website == "" {
		return keys
	}
	detailed := yp.Listing{Name: l.Name, PhoneE164: phoneE164, Website: website}
	for _, k := range yp.CompanyKeys(&detailed) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

const selectMembers = `
	SELECT l.id, l.name, ifnull(l.phone_e164, ''), ifnull(l.street, ''), ifnull(l.postal_code, ''), ifnull(l.website, ''),
		ifnull(d.phone_e164, ''), ifnull(d.website, '')
	FROM listings l LEFT JOIN details d ON d.listing = l.id WHERE l.company_id = ? ORDER BY l.id`

// members returns the listings of a company by row id.
func members(tx *Tx, company int64) ([]member, error) {
	all := []member{}
	err := each(tx, selectMembers, []any{company}, func(rows *sql.Rows) error {
		var m member
		var l yp.Listing
		var phone, website string
		err := rows.Scan(&m.row, &l.Name, &l.PhoneE164, &l.Street, &l.PostalCode, &l.Website, &phone, &website)
		m.keys = GivenKeys(&l, phone, website)
		all = append(all, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read listings of company %d: %w", company, err)
	}
	return all, nil
}

// leaving returns the members that go: those that are named, and those that came later
// and give only keys that go.
func leaving(all []member, named []int64, keys []string, later func(row int64) bool) (rows []int64) {
	stays := func(k string) bool { return !slices.Contains(keys, k) }
	for _, m := range all {
		if slices.Contains(named, m.row) || later(m.row) && len(m.keys) > 0 && !slices.ContainsFunc(m.keys, stays) {
			rows = append(rows, m.row)
		}
	}
	return rows
}

// onlyTheirs returns the keys that members with these rows give, and no other member.
func onlyTheirs(all []member, rows []int64) []string {
	others := map[string]bool{}
	for _, m := range all {
		for _, k := range m.keys {
			others[k] = others[k] || !slices.Contains(rows, m.row)
		}
	}
	maps.DeleteFunc(others, func(_ string, other bool) bool { return other })
	return slices.Collect(maps.Keys(others))
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
	recomputeCompany = `
	UPDATE companies SET (lead_source, lead_listing, name, phone_e164, street, city, state, postal_code) =
			(SELECT source_id, listing_id, name, phone_e164, street, city, state, postal_code
			FROM listings WHERE company_id = ?1 ORDER BY source_id, listing_id LIMIT 1),
		first_seen_at = (SELECT min(first_seen_at) FROM listings WHERE company_id = ?1)
	WHERE id = ?1`
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
	for _, row := range rows {
		if !slices.ContainsFunc(all, func(m member) bool { return m.row == row }) {
			return nil, refuse("listing %d is none of company %d", row, from)
		}
	}
	d := &Divided{Company: from, Listings: leaving(all, rows, nil, func(int64) bool { return false })}
	switch len(d.Listings) {
	case 0:
		return nil, refuse("name the listings that are to leave company %d: `ypcrawl companies show %d` shows them", from, from)
	case len(all):
		return nil, refuse("that would leave nothing of company %d: name fewer than its %d listings", from, len(all))
	}
	d.Keys = onlyTheirs(all, d.Listings)
	return d, d.carryOut(tx)
}

// carryOut moves listings and keys to the other company, which is made with a new
// number when it has none, takes the two apart, and makes what a log says of it.
func (d *Divided) carryOut(tx *Tx) error {
	for _, step := range []func() error{
		func() error { return d.move(tx) },
		func() error { return recompute(tx, d.Company) },
		func() error { return recompute(tx, d.Other) },
		func() error { return tx.Run(inheritApart, d.Other, d.Company) },
		func() error { return tx.Run(insertApart, d.Company, d.Other, tx.Now) },
		func() error { return tx.Run(markUndone, tx.Now, d.Merge) }, // 0 is no merge
		func() error { return d.tell(tx) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("take company %d apart: %w", d.Company, err)
		}
	}
	return nil
}

func (d *Divided) move(tx *Tx) error {
	if err := spellAll(tx, d.Company); err != nil {
		return err
	}
	res, err := tx.Exec(addOther, Number(d.Other), d.Listings[0])
	if err != nil {
		return err
	}
	if d.Other, err = res.LastInsertId(); err != nil {
		return err
	}
	if err := countCompanies(tx, map[string]int64{"": 1}); err != nil {
		return err
	}
	if err := tx.Run(takeListings, d.Other, d.Company, JSONInts(d.Listings)); err != nil {
		return err
	}
	d.Keys, err = Column[string](tx, takeKeys, d.Other, d.Company, JSONTexts(d.Keys))
	slices.Sort(d.Keys)
	return err
}

// recompute makes all that a company's row says from its listings, of which it must
// have one at least.
func recompute(tx *Tx, company int64) error {
	if err := spellAll(tx, company); err != nil {
		return err
	}
	if err := tx.Run(recomputeCompany, company); err != nil {
		return err
	}
	_, err := chooseWebsite(tx, company)
	return err
}

const undoneMerge = `SELECT at, by, ifnull(key, ''), listings FROM company_merges WHERE id = ?`

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
		return err
	}
	m.Listings, err = namesOf(tx, listingKeys, listings)
	d.Edit.Merge = m
	return err
}

// loggedMerge is a row of company_merges, as far as undoing it goes.
type loggedMerge struct {
	id            int64
	kept, removed int64
	listings      []int64
	keys          []string
	last          int64 // listings with a higher row id came later
}

const (
	selectMerge = `
	SELECT kept, gone, listings, keys, ifnull(company ->> 'last_listing', 0), ifnull(undone_at, '') FROM company_merges WHERE id = ?`
	hasCompany = `SELECT EXISTS (SELECT 1 FROM companies WHERE id = ?)`
	markUndone = `UPDATE company_merges SET undone_at = ? WHERE id = ? AND undone_at IS NULL`
)

func loadMerge(tx *Tx, id int64) (*loggedMerge, error) {
	m := &loggedMerge{id: id}
	var listings, keys, undone string
	err := tx.Get(selectMerge, []any{id}, &m.kept, &m.removed, &listings, &keys, &m.last, &undone)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, refuse("there is no merge %d: `ypcrawl companies merges` shows those there are", id)
	case err != nil:
		return nil, fmt.Errorf("find merge %d: %w", id, err)
	case undone != "":
		return nil, refuse("merge %d was undone at %s already", id, undone)
	}
	if err := errors.Join(json.Unmarshal([]byte(listings), &m.listings), json.Unmarshal([]byte(keys), &m.keys)); err != nil {
		return nil, fmt.Errorf("read merge %d: %w", id, err)
	}
	return m, nil
}

// holder returns the company that has now what the merge gave to m.kept: that one, or
// the one that it was merged into later.
func (m *loggedMerge) holder(tx *Tx) (int64, error) {
	for at := m.kept; ; {
		var there bool
		if err := tx.Get(hasCompany, []any{at}, &there); err != nil || there {
			return at, err
		}
		var merge int64
		if err := tx.Get(mergedInto, []any{at}, &merge, &at); err != nil {
			return 0, err
		}
	}
}

// UndoMerge takes back a merge of the log, an automatic one or one by hand. The
// company that went comes back under its old number, with what it had and is still
// where the merge brought it: its listings, its keys, and the keys that only those
// listings have given since. Of the listings that came after the merge those go with
// it whose every key is one that is given back; others stay, also the one that joined
// the two. No key joins the two again. What means nothing is a *RefusedError.
func UndoMerge(tx *Tx, id int64) (*Divided, error) {
	m, err := loadMerge(tx, id)
	if err != nil {
		return nil, err
	}
	from, err := m.holder(tx)
	if err != nil {
		return nil, fmt.Errorf("find what became of merge %d: %w", id, err)
	}
	all, err := members(tx, from)
	if err != nil {
		return nil, err
	}
	d := &Divided{Company: from, Other: m.removed, Merge: id}
	d.Listings = leaving(all, m.listings, m.keys, func(row int64) bool { return row > m.last })
	switch len(d.Listings) {
	case 0:
		return nil, refuse("nothing of company %d is in company %d any more: its listings were taken out since", m.removed, from)
	case len(all):
		return nil, refuse("company %d holds nothing but what merge %d brought: undoing it would leave it empty", from, id)
	}
	d.Keys = append(onlyTheirs(all, d.Listings), m.keys...)
	return d, d.carryOut(tx)
}
