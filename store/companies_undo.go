package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// loggedMerge is a row of company_merges, as far as undoing it goes.
type loggedMerge struct {
	id         int64
	kept, gone int64
	listings   []int64
	keys       []string
	last       int64 // listings with a higher row id came later
}

const (
	selectMerge = `
	SELECT kept, gone, listings, keys, ifnull(company ->> 'last_listing', 0), ifnull(undone_at, '') FROM company_merges WHERE id = ?`
	markUndone = `UPDATE company_merges SET undone_at = ? WHERE id = ? AND undone_at IS NULL`
)

func loadMerge(tx *Tx, id int64) (*loggedMerge, error) {
	m := &loggedMerge{id: id}
	var listings, keys, undone string
	err := tx.Get(selectMerge, []any{id}, &m.kept, &m.gone, &listings, &keys, &m.last, &undone)
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
	at := m.kept
	for {
		var c company
		err := tx.Get(selectCompany, []any{at}, &c.id, &c.leadSource, &c.leadListing, &c.website)
		if err == nil || !errors.Is(err, sql.ErrNoRows) {
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
	theirs := m.theirs(all)
	d := &Divided{Company: from, Other: m.gone, Merge: id, Keys: slices.Clone(m.keys)}
	for _, x := range all {
		if theirs[x.row] {
			d.Listings = append(d.Listings, x.row)
		}
	}
	switch len(d.Listings) {
	case 0:
		return nil, refuse("nothing of company %d is in company %d any more: its listings were taken out since", m.gone, from)
	case len(all):
		return nil, refuse("company %d holds nothing but what merge %d brought: undoing it would leave it empty", from, id)
	}
	d.Keys = append(d.Keys, onlyTheirs(all, func(row int64) bool { return theirs[row] })...)
	return d, d.carryOut(tx)
}

// theirs returns which listings of the company go with the one that comes back.
func (m *loggedMerge) theirs(all []member) map[int64]bool {
	back := map[string]bool{}
	for _, k := range m.keys {
		back[k] = true
	}
	theirs := map[int64]bool{}
	for _, x := range all {
		later := x.row > m.last && len(x.keys) > 0 && !slices.ContainsFunc(x.keys, func(k string) bool { return !back[k] })
		if later || slices.Contains(m.listings, x.row) {
			theirs[x.row] = true
		}
	}
	return theirs
}
