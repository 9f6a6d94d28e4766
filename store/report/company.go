package report

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// CompanyDetail is a company with its listings and what makes it one.
type CompanyDetail struct {
	CompanyRow
	Confidence float64          `json:"confidence"` // from 0 to 1, see yp.Confidence
	Places     []CompanyListing `json:"places"`
	Keys       []CompanyKey     `json:"keys"`
	Merges     []MergeRow       `json:"merges"`          // that made it, the oldest first
	Apart      []int64          `json:"kept_apart_from"` // companies that no key joins it with
}

// CompanyListing is a listing of a company.
type CompanyListing struct {
	Row       int64     `json:"listing"` // row id
	Source    string    `json:"source"`
	ID        string    `json:"listing_id"`
	Name      string    `json:"name"`
	Phone     string    `json:"phone_e164,omitempty"`
	Website   string    `json:"website,omitempty"`
	Street    string    `json:"street,omitempty"`
	City      string    `json:"city,omitempty"`
	State     string    `json:"state,omitempty"`
	FirstSeen time.Time `json:"first_seen_at,omitzero"`
	LastSeen  time.Time `json:"last_seen_at,omitzero"`
	Gone      time.Time `json:"gone_at,omitzero"`

	keys []string
}

// CompanyKey is a strong key that a company has, with the listings that give it now;
// none when it is only remembered.
type CompanyKey struct {
	Key      string     `json:"key"`
	Kind     yp.KeyKind `json:"kind"`
	Listings []int64    `json:"listings"` // row ids
}

const (
	companyListings = `
	SELECT l.id, s.name, l.listing_id, l.name, ifnull(l.phone_e164, ''), ifnull(l.website, ''), ifnull(l.street, ''), ifnull(l.city, ''),
		ifnull(l.state, ''), l.first_seen_at, l.last_seen_at, l.gone_at, ifnull(l.postal_code, ''), ifnull(d.phone_e164, ''), ifnull(d.website, '')
	FROM listings l JOIN sources s ON s.id = l.source_id LEFT JOIN details d ON d.listing = l.id
	WHERE l.company_id = ? ORDER BY l.id`
	apartFrom = `SELECT b FROM company_apart WHERE a = ?1 UNION SELECT a FROM company_apart WHERE b = ?1 ORDER BY 1`
	// The merges into the company, and into those that became parts of it.
	companyMerges = `
	WITH RECURSIVE part(id) AS (
		VALUES (?1) UNION SELECT m.gone FROM part JOIN company_merges m ON m.kept = part.id WHERE m.undone_at IS NULL)
	SELECT ` + mergeColumns + `, m.listings, ifnull(m.company ->> 'last_listing', 0)
	FROM part CROSS JOIN company_merges m ON m.kept = part.id LEFT JOIN companies c ON c.id = m.kept
	WHERE m.undone_at IS NULL ORDER BY m.id`
)

// Company returns a company with all that makes it one. When there is none with that
// number, the error is a *store.RefusedError that says what became of it.
func (k *Reader) Company(ctx context.Context, id int64) (*CompanyDetail, error) {
	c := &CompanyDetail{Places: []CompanyListing{}, Apart: []int64{}}
	err := k.db.Read().QueryRowContext(ctx, showCompany, id).Scan(c.into()...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, k.noCompany(ctx, id)
	}
	if err == nil {
		err = k.companyListings(ctx, c)
	}
	if err == nil {
		err = k.companyKeys(ctx, c)
	}
	var merges []mergeOf
	if err == nil {
		merges, err = k.mergesOf(ctx, c)
	}
	if err == nil {
		err = k.db.Each(ctx, apartFrom, []any{id}, func(rows *sql.Rows) error {
			var other int64
			err := rows.Scan(&other)
			c.Apart = append(c.Apart, other)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("look at company %d: %w", id, err)
	}
	c.Confidence = c.confidence(merges)
	return c, nil
}

const mergedInto = `SELECT id, kept FROM company_merges WHERE gone = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1`

// noCompany says what became of a company that is not there.
func (k *Reader) noCompany(ctx context.Context, id int64) error {
	var merge, kept int64
	err := k.db.Read().QueryRowContext(ctx, mergedInto, id).Scan(&merge, &kept)
	if errors.Is(err, sql.ErrNoRows) {
		return &store.RefusedError{Why: fmt.Sprintf("there is no company %d: `ypcrawl companies list` shows those there are", id)}
	}
	if err != nil {
		return fmt.Errorf("look for company %d: %w", id, err)
	}
	return &store.RefusedError{Why: fmt.Sprintf("there is no company %d any more: merge %d made it a part of company %d", id, merge, kept)}
}

func (k *Reader) companyListings(ctx context.Context, c *CompanyDetail) error {
	return k.db.Each(ctx, companyListings, []any{c.ID}, func(rows *sql.Rows) error {
		var l CompanyListing
		var postal, phone, website string
		err := rows.Scan(&l.Row, &l.Source, &l.ID, &l.Name, &l.Phone, &l.Website, &l.Street, &l.City, &l.State,
			at(&l.FirstSeen), at(&l.LastSeen), at(&l.Gone), &postal, &phone, &website)
		given := yp.Listing{Name: l.Name, PhoneE164: l.Phone, Website: l.Website, Street: l.Street, PostalCode: postal}
		l.keys = store.GivenKeys(&given, phone, website)
		c.Places = append(c.Places, l)
		return err
	})
}

// companyKeys reads the keys of the company, and tells who gives them.
func (k *Reader) companyKeys(ctx context.Context, c *CompanyDetail) error {
	givers := map[string][]int64{}
	for _, l := range c.Places {
		for _, key := range l.keys {
			givers[key] = append(givers[key], l.Row)
		}
	}
	c.Keys = []CompanyKey{}
	keys, err := store.KeysOf(ctx, k.db, c.ID)
	for _, key := range keys {
		c.Keys = append(c.Keys, CompanyKey{Key: key, Kind: yp.KindOf(key), Listings: append([]int64{}, givers[key]...)})
	}
	slices.SortStableFunc(c.Keys, func(a, b CompanyKey) int { return cmp.Compare(len(b.Listings), len(a.Listings)) })
	return err
}

// mergeOf is a merge with the listings that it brought, and the last one that there
// was when it did.
type mergeOf struct {
	MergeRow
	rows []int64
	last int64
}

func (k *Reader) mergesOf(ctx context.Context, c *CompanyDetail) (merges []mergeOf, err error) {
	c.Merges = []MergeRow{}
	err = k.db.Each(ctx, companyMerges, []any{c.ID}, func(rows *sql.Rows) error {
		var m mergeOf
		var listings string
		if err := rows.Scan(append(m.into(), &listings, &m.last)...); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(listings), &m.rows); err != nil {
			return err
		}
		merges, c.Merges = append(merges, m), append(c.Merges, m.MergeRow)
		return nil
	})
	return merges, err
}

// confidence is yp.Confidence of the listings. Of a merge by hand, one listing of
// either side stands for it.
func (c *CompanyDetail) confidence(merges []mergeOf) float64 {
	keys, index := make([][]string, len(c.Places)), map[int64]int{}
	for i, l := range c.Places {
		keys[i], index[l.Row] = l.keys, i
	}
	var pairs [][2]int
	for i, m := range merges {
		if m.By != string(yp.KeyHand) {
			continue
		}
		a, came := standIn(m.rows, index)
		b, kept := standIn(sideOf(i, merges, slices.Collect(maps.Keys(index))), index)
		if came && kept {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return yp.Confidence(keys, pairs)
}

// sideOf returns the listings, of all, that the company which kept merge i had at that time.
func sideOf(i int, merges []mergeOf, all []int64) []int64 {
	m := merges[i]
	had := all
	for _, o := range merges { // it may have become a part of another itself
		if o.Gone == m.Kept {
			had = o.rows
		}
	}
	return slices.DeleteFunc(slices.Clone(had), func(row int64) bool {
		if row > m.last || slices.Contains(m.rows, row) {
			return true
		}
		return slices.ContainsFunc(merges[i+1:], func(o mergeOf) bool { return o.Kept == m.Kept && slices.Contains(o.rows, row) })
	})
}

// standIn returns the place of the smallest of the rows that is in the company now.
func standIn(rows []int64, index map[int64]int) (int, bool) {
	slices.Sort(rows)
	for _, row := range rows {
		if i, ok := index[row]; ok {
			return i, true
		}
	}
	return 0, false
}
