package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

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
	apart, err := areApart(r.tx, a.id, b.id)
	if err != nil || apart {
		return a, err
	}
	keep, gone := a, b
	if gone.id < keep.id {
		keep, gone = gone, keep
	}
	_, err = r.merge(keep, gone, yp.KindOf(key), key)
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
	copyWebsite  = `UPDATE companies SET (website, domain) = (SELECT website, domain FROM companies WHERE id = ?) WHERE id = ?`
	foldSeen     = `
	UPDATE companies SET first_seen_at = min(first_seen_at, (SELECT first_seen_at FROM companies WHERE id = ?)) WHERE id = ?`
)

// merge makes gone a part of keep and returns the number of the merge in the log.
func (r *resolver) merge(keep, gone *company, by yp.KeyKind, key string) (int64, error) {
	var id int64
	err := spellAll(r.tx, gone.id)
	if err == nil {
		id, err = r.logMerge(keep, gone, by, key)
	}
	if err == nil {
		err = r.fold(keep, gone)
	}
	if err == nil {
		err = r.moveAll(keep, gone)
	}
	if err != nil {
		return 0, fmt.Errorf("merge company %d into %d: %w", gone.id, keep.id, err)
	}
	gone.merged = keep
	r.gone++
	return id, nil
}

func (r *resolver) logMerge(keep, gone *company, by yp.KeyKind, key string) (int64, error) {
	unwritten := []string{}
	for k, c := range r.newKeys {
		if c.root() == gone {
			unwritten = append(unwritten, k)
		}
	}
	list, err := json.Marshal(unwritten)
	if err != nil {
		return 0, err
	}
	res, err := r.tx.Exec(logMerge, r.tx.Now, keep.id, string(by), text(key), string(list), gone.id)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// fold brings what gone's row says into keep's.
func (r *resolver) fold(keep, gone *company) error {
	if gone.website != "" && (keep.website == "" || gone.website < keep.website) {
		err := beforeChange(r.tx, keep.id, func(row *yp.Listing) error {
			row.Website = gone.website
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := r.tx.Exec(copyWebsite, gone.id, keep.id); err != nil {
			return err
		}
		keep.website, keep.gives = gone.website, nil
	}
	if keep.leads(gone.leadSource, gone.leadListing) {
		if err := r.setLead(keep, gone.leadSource, gone.leadListing); err != nil {
			return err
		}
	}
	_, err := r.tx.Exec(foldSeen, gone.id, keep.id)
	return err
}

// moveAll gives keep what is gone's, and drops gone. Keys that are not yet written
// find keep by themselves: see company.root.
func (r *resolver) moveAll(keep, gone *company) error {
	for _, q := range []string{moveListings, moveKeys} {
		if _, err := r.tx.Exec(q, keep.id, gone.id); err != nil {
			return err
		}
	}
	if err := copyApart(r.tx, gone.id, keep.id); err != nil {
		return err
	}
	for _, q := range []string{dropApart, dropCompany} {
		if _, err := r.tx.Exec(q, gone.id); err != nil {
			return err
		}
	}
	return nil
}

const (
	selectApart = `SELECT 1 FROM company_apart WHERE a = min(?1, ?2) AND b = max(?1, ?2)`
	insertApart = `INSERT INTO company_apart (a, b, at) VALUES (min(?1, ?2), max(?1, ?2), ?3) ON CONFLICT DO NOTHING`
	liftApart   = `DELETE FROM company_apart WHERE a = min(?1, ?2) AND b = max(?1, ?2)`
	dropApart   = `DELETE FROM company_apart WHERE a = ?1 OR b = ?1`
	// Whoever is apart from ?1 becomes apart from ?2 as well.
	inheritApart = `
	INSERT INTO company_apart (a, b, at)
	SELECT min(other, ?2), max(other, ?2), at
	FROM (SELECT b AS other, at FROM company_apart WHERE a = ?1 UNION ALL SELECT a, at FROM company_apart WHERE b = ?1)
	WHERE other <> ?2 ON CONFLICT DO NOTHING`
)

func areApart(tx *Tx, a, b int64) (bool, error) {
	var one int
	err := tx.Get(selectApart, []any{a, b}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether companies %d and %d are apart: %w", a, b, err)
	}
	return true, nil
}

// copyApart keeps apart from to whatever is apart from from: no listing may come to
// one that an operator took it away from.
func copyApart(tx *Tx, from, to int64) error {
	if _, err := tx.Exec(inheritApart, from, to); err != nil {
		return fmt.Errorf("keep company %d apart as %d is: %w", to, from, err)
	}
	return nil
}
