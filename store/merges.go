package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"ypcrawl/yp"
)

// Everything that makes one company of two, or keeps two from becoming one. Merges
// are rare, so what is done here may cost something; a page without one pays nothing.

// join merges two companies because of a key and returns the survivor, or the first
// one when an operator took the two apart.
func (r *resolver) join(a, b *company, key string) (*company, error) {
	if err := r.settle(); err != nil {
		return nil, err
	}
	var apart bool
	if err := r.tx.Get(areApart, []any{a.id, b.id}, &apart); err != nil || apart {
		return a, err
	}
	keep, removed := a, b
	if removed.id < keep.id {
		keep, removed = removed, keep
	}
	_, err := r.merge(keep, removed, yp.KindOf(key), key)
	return keep, err
}

const (
	// The JSON of the company holds, beside its row, the last listing that there was:
	// what is numbered higher came after the merge.
	logMerge = `
	INSERT INTO company_merges (at, kept, gone, by, key, company, listings, keys)
	SELECT ?1, ?2, c.id, ?3, ?4,
		json_object('id', c.id, 'name', c.name, 'website', c.website, 'domain', c.domain, 'phone_e164', c.phone_e164,
			'street', c.street, 'city', c.city, 'state', c.state, 'postal_code', c.postal_code, 'lead_source', c.lead_source,
			'lead_listing', c.lead_listing, 'first_seen_at', c.first_seen_at, 'last_listing', (SELECT ifnull(max(id), 0) FROM listings)),
		(SELECT json_group_array(id) FROM (SELECT id FROM listings WHERE company_id = c.id ORDER BY id)),
		(SELECT json_group_array(key) FROM (SELECT key FROM company_keys WHERE company_id = c.id AND key IS NOT NULL UNION SELECT value FROM json_each(?5) ORDER BY 1))
	FROM companies c WHERE c.id = ?6`
	moveListings = `UPDATE listings SET company_id = ? WHERE company_id = ?`
	moveKeys     = `UPDATE company_keys SET company_id = ? WHERE company_id = ? AND key IS NOT NULL`
	dropCompany  = `DELETE FROM companies WHERE id = ?`
	copyWebsite  = `UPDATE companies SET (website, domain) = (SELECT website, domain FROM companies WHERE id = ?2) WHERE id = ?1`
	foldSeen     = `
	UPDATE companies SET first_seen_at = min(first_seen_at, (SELECT first_seen_at FROM companies WHERE id = ?2)) WHERE id = ?1`
)

// merge makes removed a part of keep and returns the number of the merge in the log.
func (r *resolver) merge(keep, removed *company, by yp.KeyKind, key string) (int64, error) {
	id, err := r.logMerge(keep, removed, by, key)
	if err == nil {
		err = r.fold(keep, removed)
	}
	if err != nil {
		return 0, fmt.Errorf("merge company %d into %d: %w", removed.id, keep.id, err)
	}
	removed.merged = keep
	r.removed++
	return id, nil
}

func (r *resolver) logMerge(keep, removed *company, by yp.KeyKind, key string) (int64, error) {
	if err := spellAll(r.tx, removed.id); err != nil {
		return 0, err
	}
	unwritten := []string{}
	for k, c := range r.newKeys {
		if c.root() == removed {
			unwritten = append(unwritten, k)
		}
	}
	res, err := r.tx.Exec(logMerge, r.tx.Now, keep.id, string(by), Text(key), JSONTexts(unwritten), removed.id)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// fold brings what the row of removed says into that of keep, gives keep what is its, and drops
// it. Keys that are not yet written find keep by themselves: see company.root.
func (r *resolver) fold(keep, removed *company) error {
	if removed.website != "" && (keep.website == "" || removed.website < keep.website) {
		err := beforeChange(r.tx, keep.id, func(row *yp.Listing) error {
			row.Website = removed.website
			return nil
		})
		if err == nil {
			err = r.tx.Run(copyWebsite, keep.id, removed.id)
		}
		if err != nil {
			return err
		}
		keep.website, keep.gives = removed.website, nil
	}
	if keep.leads(removed.leadSource, removed.leadListing) {
		if err := r.setLead(keep, removed.leadSource, removed.leadListing); err != nil {
			return err
		}
	}
	for _, query := range []string{foldSeen, moveListings, moveKeys, inheritApart} {
		if err := r.tx.Run(query, keep.id, removed.id); err != nil {
			return err
		}
	}
	if err := r.tx.Run(dropApart, removed.id); err != nil {
		return err
	}
	return r.tx.Run(dropCompany, removed.id)
}

const (
	areApart    = `SELECT EXISTS (SELECT 1 FROM company_apart WHERE a = min(?1, ?2) AND b = max(?1, ?2))`
	insertApart = `INSERT INTO company_apart (a, b, at) VALUES (min(?1, ?2), max(?1, ?2), ?3) ON CONFLICT DO NOTHING`
	liftApart   = `DELETE FROM company_apart WHERE a = min(?1, ?2) AND b = max(?1, ?2)`
	dropApart   = `DELETE FROM company_apart WHERE a = ?1 OR b = ?1`
	// Whoever is apart from ?2 becomes apart from ?1 as well: no listing may come to a company
	// that an operator took it away from.
	inheritApart = `
	INSERT INTO company_apart (a, b, at)
	SELECT min(other, ?1), max(other, ?1), at
	FROM (SELECT b AS other, at FROM company_apart WHERE a = ?2 UNION ALL SELECT a, at FROM company_apart WHERE b = ?2)
	WHERE other <> ?1 ON CONFLICT DO NOTHING`
)

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
	edit = &yp.CompanyEdit{Gone: make([][]yp.ListingKey, len(removed))}
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
		if edit.Gone[i], err = namesOf(tx, listingsOf, id); err != nil {
			return nil, nil, err
		}
		if err := tx.Run(liftApart, keep, id); err != nil {
			return nil, nil, fmt.Errorf("lift what keeps companies %d and %d apart: %w", keep, id, err)
		}
		if merges[i], err = r.merge(kept, other, yp.KeyHand, ""); err != nil {
			return nil, nil, err
		}
	}
	return merges, edit, nil
}
