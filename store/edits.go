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

// What operators do to companies: they join several, take listings out of one, or take a
// merge back. A log says of it what is in yp.CompanyEdit, and a replay makes it once more.

// RefusedError says why companies were left as they are: what was asked for means
// nothing, or would change nothing.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func refuse(format string, args ...any) error {
	return &RefusedError{Why: fmt.Sprintf(format, args...)}
}

const (
	selectCompany = `SELECT id, lead_source, lead_listing, ifnull(website, '') FROM companies WHERE id = ?`
	mergedInto    = `SELECT id, kept FROM company_merges WHERE absorbed = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1`
)

// mergedAway returns the merge that took a company away, and what it was merged into; 0 = none did.
func mergedAway(q Querier, id int64) (merge, into int64, err error) {
	err = each(q, mergedInto, []any{id}, func(rows *sql.Rows) error { return rows.Scan(&merge, &into) })
	return merge, into, err
}

// NoCompany returns a *RefusedError that says what became of a company that is not there.
func NoCompany(q Querier, id int64) error {
	merge, into, err := mergedAway(q, id)
	switch {
	case err != nil:
		return fmt.Errorf("look for company %d: %w", id, err)
	case merge == 0:
		return refuse("there is no company %d: `ypcrawl companies list` lists them all", id)
	}
	return refuse("there is no company %d any more: merge %d made it a part of company %d", id, merge, into)
}

// loadCompany reads a company; a *RefusedError says what became of it when there is none.
func loadCompany(tx *Tx, id int64) (*company, error) {
	c := &company{}
	err := tx.Get(selectCompany, []any{id}, &c.id, &c.leadSource, &c.leadListing, &c.website)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, NoCompany(tx, id)
	}
	if err != nil {
		return nil, fmt.Errorf("find company %d: %w", id, err)
	}
	return c, nil
}

// MergeCompanies makes the companies removed parts of keep because an operator says so,
// and returns the number of each merge, and what a log says of it. Where they were taken
// apart before, they are so no more. What means nothing is a *RefusedError.
func MergeCompanies(tx *Tx, keep int64, removed []int64) (merges []int64, edit *yp.CompanyEdit, err error) {
	if len(removed) == 0 {
		return nil, nil, refuse("name the companies that are the same as company %d", keep)
	}
	r := &resolver{tx: tx}
	kept, err := loadCompany(tx, keep)
	if err != nil {
		return nil, nil, err
	}
	edit = &yp.CompanyEdit{Absorbed: make([][]yp.ListingKey, len(removed))}
	if edit.Kept, err = namesOf(tx, listingsOf, keep); err != nil {
		return nil, nil, err
	}
	merges = make([]int64, len(removed))
	for i, id := range removed {
		if id == keep {
			return nil, nil, refuse("company %d can't be merged into itself: name another one to keep", id)
		}
		if slices.Contains(removed[:i], id) {
			return nil, nil, refuse("company %d is named twice", id)
		}
		other, err := loadCompany(tx, id)
		if err != nil {
			return nil, nil, err
		}
		if edit.Absorbed[i], err = namesOf(tx, listingsOf, id); err != nil {
			return nil, nil, err
		}
		if err := tx.Run(liftApart, keep, id); err != nil {
			return nil, nil, fmt.Errorf("let companies %d and %d join again: %w", keep, id, err)
		}
		if merges[i], err = r.merge(kept, other, yp.KeyHand, ""); err != nil {
			return nil, nil, err
		}
	}
	return merges, edit, nil
}

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

// Divided says what became of a company that was taken apart.
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
	undoneMerge = `SELECT at, by, ifnull(key, ''), listings FROM company_merges WHERE id = ?`
	markUndone  = `UPDATE company_merges SET undone_at = ? WHERE id = ? AND undone_at IS NULL`
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
			return nil, refuse("listing %d does not belong to company %d", row, from)
		}
	}
	d := &Divided{Company: from, Listings: leaving(all, rows, nil, func(int64) bool { return false })}
	switch len(d.Listings) {
	case 0:
		return nil, refuse("name the listings to take out of company %d: `ypcrawl companies show %d` shows them", from, from)
	case len(all):
		return nil, refuse("company %d must keep a listing: name fewer than its %d", from, len(all))
	}
	d.Keys = onlyTheirs(all, d.Listings)
	return d, d.carryOut(tx)
}

// carryOut moves listings and keys to the other company, which is made with a new
// number when it has none, takes the two apart, and makes what a log says of it.
func (d *Divided) carryOut(tx *Tx) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("take company %d apart: %w", d.Company, err)
		}
	}()
	if err := spell(tx, d.Company, nil); err != nil {
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
	if d.Keys, err = Column[string](tx, takeKeys, d.Other, d.Company, JSONTexts(d.Keys)); err != nil {
		return err
	}
	slices.Sort(d.Keys)
	for _, id := range []int64{d.Company, d.Other} {
		if err := (&company{id: id}).recompute(tx); err != nil {
			return err
		}
	}
	if err := errors.Join(tx.Run(inheritApart, d.Other, d.Company), tx.Run(insertApart, d.Company, d.Other, tx.Now)); err != nil {
		return err
	}
	d.Edit = &yp.CompanyEdit{Keys: d.Keys}
	if d.Edit.Kept, err = namesOf(tx, listingsOf, d.Company); err != nil {
		return err
	}
	if d.Edit.Out, err = namesOf(tx, listingKeys, JSONInts(d.Listings)); err != nil || d.Merge == 0 {
		return err
	}
	m, listings := &yp.UndoneMerge{}, ""
	if err := tx.Get(undoneMerge, []any{d.Merge}, &m.At, &m.By, &m.Key, &listings); err != nil {
		return err
	}
	m.Listings, err = namesOf(tx, listingKeys, listings)
	d.Edit.Merge = m
	return errors.Join(err, tx.Run(markUndone, tx.Now, d.Merge))
}

const selectMerge = `
	SELECT kept, absorbed, listings, keys, ifnull(company ->> 'last_listing', 0), ifnull(undone_at, '') FROM company_merges WHERE id = ?`

// UndoMerge takes back a merge of the log, an automatic one or one by hand. The
// company that went comes back under its old number, with what it had and is still
// where the merge brought it: its listings, its keys, and the keys that only those
// listings have given since. Of the listings that came after the merge those go with
// it whose every key is one that is given back; others stay, also the one that joined
// the two. No key joins the two again. What means nothing is a *RefusedError.
func UndoMerge(tx *Tx, id int64) (*Divided, error) {
	d := &Divided{Merge: id}
	var last int64 // listings with a higher row id came later
	var listings, keys, undone string
	err := tx.Get(selectMerge, []any{id}, &d.Company, &d.Other, &listings, &keys, &last, &undone)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, refuse("there is no merge %d: `ypcrawl companies merges` lists them all", id)
	case err != nil:
		return nil, fmt.Errorf("find merge %d: %w", id, err)
	case undone != "":
		return nil, refuse("merge %d was undone at %s already", id, undone)
	}
	var merged []int64
	if err := errors.Join(json.Unmarshal([]byte(listings), &merged), json.Unmarshal([]byte(keys), &d.Keys)); err != nil {
		return nil, fmt.Errorf("read merge %d: %w", id, err)
	}
	for { // the company that kept it may have been merged into another one since
		later, into, err := mergedAway(tx, d.Company)
		if err != nil {
			return nil, fmt.Errorf("look for later merges of the company of merge %d: %w", id, err)
		}
		if later == 0 {
			break
		}
		d.Company = into
	}
	all, err := members(tx, d.Company)
	if err != nil {
		return nil, err
	}
	d.Listings = leaving(all, merged, d.Keys, func(row int64) bool { return row > last })
	switch len(d.Listings) {
	case 0:
		return nil, refuse("no listing of company %d is left in company %d: they were taken out later", d.Other, d.Company)
	case len(all):
		return nil, refuse("company %d has only the listings of merge %d: without them it is empty", d.Company, id)
	}
	d.Keys = append(onlyTheirs(all, d.Listings), d.Keys...)
	return d, d.carryOut(tx)
}

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
	SELECT id, absorbed FROM company_merges WHERE listings = ? AND by = ? AND ifnull(key, '') = ? AND undone_at IS NULL
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
	return All(tx, query, []any{arg}, Fields[yp.ListingKey])
}

// edited is a listing that an edit names, as it is here.
type edited struct{ row, company int64 }

// editedRows finds listings by their names; all says that none is missing.
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

var errNoListings = errors.New("these listings were merged or split by hand, and no page has brought them")

// RedoEdit makes an edit of a log once more. Where a listing that it names is not there yet
// nothing is done and ready is false, unless last says that no more pages come. An edit
// that was made before, or that changes nothing, is ready.
func RedoEdit(tx *Tx, e *yp.CompanyEdit, last bool) (ready bool, err error) {
	var has bool
	if err := tx.Get(hasEdit, []any{e.ID}, &has); err != nil || has {
		return true, err
	}
	moved := e.Absorbed
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
	case len(e.Absorbed) > 0:
		keep, removed := kept[0].company, []int64(nil)
		for _, rows := range found {
			if len(rows) > 0 && rows[0].company != keep && !slices.Contains(removed, rows[0].company) {
				removed = append(removed, rows[0].company)
			}
		}
		if len(removed) > 0 { // else they are one already
			_, _, err = MergeCompanies(tx, keep, removed)
		}
	default:
		err = redoSplit(tx, e, kept, found[0])
	}
	if err == nil {
		err = NoteEdit(tx, e.ID)
	}
	return err == nil, err
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
		// The merge that it took back is found by the listings that it had brought: the company
		// gets its old number then. Where keys have joined the listings at once, in another
		// order of pages, there is none.
		brought, _, err := editedRows(tx, e.Merge.Listings)
		if err != nil {
			return err
		}
		rows := rowsOf(brought)
		slices.Sort(rows)
		err = tx.Get(findMerge, []any{JSONInts(rows), string(e.Merge.By), e.Merge.Key, e.Merge.At}, &d.Merge, &d.Other)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return d.carryOut(tx)
}
