package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// CompanyRow is a row of v_companies.
type CompanyRow struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	Website    string    `json:"website,omitempty"`
	Phone      string    `json:"phone_e164,omitempty"`
	Email      string    `json:"email,omitempty"`
	Hours      string    `json:"hours,omitempty"`
	Street     string    `json:"street,omitempty"`
	City       string    `json:"city,omitempty"`
	State      string    `json:"state,omitempty"`
	PostalCode string    `json:"postal_code,omitempty"`
	Listings   int       `json:"listings"`
	Alive      int       `json:"alive"` // of them, those that their source still shows
	FirstSeen  time.Time `json:"first_seen_at"`
}

// CompanyFilter selects companies. Empty fields select all.
type CompanyFilter struct {
	States      []string
	Name        string // part of the name, in any letter case
	MinListings int
}

const (
	companyColumns = `v.id, v.name, ifnull(v.website, ''), ifnull(v.phone_e164, ''), ifnull(v.email, ''), ifnull(v.hours, ''), ifnull(v.street, ''), ifnull(v.city, ''),
		ifnull(v.state, ''), ifnull(v.postal_code, ''), v.listings, v.alive, v.first_seen_at`
	listCompanies = `
	SELECT ` + companyColumns + ` FROM v_companies v
	WHERE (?1 = '[]' OR v.state IN (SELECT value FROM json_each(?1))) AND (?2 = '' OR instr(lower(v.name), lower(?2)) > 0)
		AND (?3 <= 1 OR v.listings >= ?3)
	ORDER BY v.id LIMIT ?4`
	showCompany = `SELECT ` + companyColumns + ` FROM v_companies v WHERE v.id = ?`
)

// Companies lists the companies of the filter by id, at most limit of them (0 = all).
func (k *Reader) Companies(ctx context.Context, f CompanyFilter, limit int) ([]CompanyRow, error) {
	args := []any{store.JSONTexts(f.States), f.Name, f.MinListings, atMost(limit)}
	return list(ctx, k, "list companies", listCompanies, args, fields[CompanyRow])
}

// MergeRow is a row of company_merges: two companies that became one.
type MergeRow struct {
	ID           int64     `json:"id"`
	At           time.Time `json:"at"`
	Kept         int64     `json:"kept"`
	KeptName     string    `json:"kept_name,omitempty"` // as it is now; empty when it was merged, too
	Absorbed     int64     `json:"absorbed"`
	AbsorbedName string    `json:"absorbed_name"` // as it was
	By           string    `json:"by"`            // web, tel, adr, hand
	Key          string    `json:"key,omitempty"`
	Listings     int       `json:"listings"` // that came with it
	Undone       time.Time `json:"undone_at"`
}

const (
	mergeColumns = `m.id, m.at, m.kept, ifnull(c.name, ''), m.absorbed, ifnull(m.company ->> 'name', ''), m.by, ifnull(m.key, ''),
		json_array_length(m.listings), m.undone_at`
	listMerges = `
	SELECT ` + mergeColumns + ` FROM company_merges m LEFT JOIN companies c ON c.id = m.kept
	WHERE m.at >= ?1 ORDER BY m.id DESC LIMIT ?2`
)

// Merges lists the merges of the last while (0 = all), the newest first, at most limit
// of them (0 = all), those that were undone too.
func (k *Reader) Merges(ctx context.Context, since time.Duration, limit int) ([]MergeRow, error) {
	from := ""
	if since > 0 {
		from = yp.FormatTime(k.db.Now().Add(-since))
	}
	return list(ctx, k, "list merges", listMerges, []any{from, atMost(limit)}, fields[MergeRow])
}

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
	FirstSeen time.Time `json:"first_seen_at"`
	LastSeen  time.Time `json:"last_seen_at"`
	Dropped   time.Time `json:"dropped_at"`

	postal, ownPhone, ownWebsite string   // the latter two from its own page
	keys                         []string // that it gives
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
		ifnull(l.state, ''), l.first_seen_at, l.last_seen_at, l.dropped_at, ifnull(l.postal_code, ''), ifnull(d.phone_e164, ''), ifnull(d.website, '')
	FROM listings l JOIN sources s ON s.id = l.source_id LEFT JOIN details d ON d.listing = l.id
	WHERE l.company_id = ? ORDER BY l.id`
	apartFrom = `SELECT b FROM company_apart WHERE a = ?1 UNION SELECT a FROM company_apart WHERE b = ?1 ORDER BY 1`
	// The merges into the company, and into those that became parts of it.
	companyMerges = `
	WITH RECURSIVE part(id) AS (
		VALUES (?1) UNION SELECT m.absorbed FROM part JOIN company_merges m ON m.kept = part.id WHERE m.undone_at IS NULL)
	SELECT ` + mergeColumns + `, m.listings, ifnull(m.company ->> 'last_listing', 0)
	FROM part CROSS JOIN company_merges m ON m.kept = part.id LEFT JOIN companies c ON c.id = m.kept
	WHERE m.undone_at IS NULL ORDER BY m.id`
)

// Company returns a company with all that makes it one. When there is none with that
// number, the error is a *store.RefusedError that says what became of it.
func (k *Reader) Company(ctx context.Context, id int64) (*CompanyDetail, error) {
	c, what := &CompanyDetail{}, fmt.Sprintf("read company %d", id)
	found, err := k.one(ctx, what, showCompany, []any{id}, fields(&c.CompanyRow)...)
	if err == nil && !found {
		err = store.NoCompany(k.db.Reader(ctx), id)
	}
	if err != nil {
		return nil, err
	}
	c.Places, err = list(ctx, k, what, companyListings, []any{id}, func(l *CompanyListing) []any {
		return append(fields(l), &l.postal, &l.ownPhone, &l.ownWebsite)
	})
	if err == nil {
		err = k.companyKeys(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	merges, err := list(ctx, k, what, companyMerges, []any{id}, func(m *mergeOf) []any {
		return append(fields(&m.MergeRow), fromJSON(&m.rows), &m.last)
	})
	if err != nil {
		return nil, err
	}
	c.Merges = make([]MergeRow, len(merges))
	for i, m := range merges {
		c.Merges[i] = m.MergeRow
	}
	c.Apart, err = list(ctx, k, what, apartFrom, []any{id}, value[int64])
	c.Confidence = c.confidence(merges)
	return c, err
}

// companyKeys reads the keys of the company, and tells who gives them.
func (k *Reader) companyKeys(ctx context.Context, c *CompanyDetail) error {
	givers := map[string][]int64{}
	for i := range c.Places {
		l := &c.Places[i]
		given := yp.Listing{Name: l.Name, PhoneE164: l.Phone, Website: l.Website, Street: l.Street, PostalCode: l.postal}
		l.keys = store.GivenKeys(&given, l.ownPhone, l.ownWebsite)
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
	if err != nil {
		return fmt.Errorf("read company %d: %w", c.ID, err)
	}
	return nil
}

// mergeOf is a merge with the listings that it brought, and the last one that there
// was when it did.
type mergeOf struct {
	MergeRow
	rows []int64
	last int64
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
		if o.Absorbed == m.Kept {
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
