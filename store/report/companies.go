package report

import (
	"cmp"
	"context"
	"fmt"
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

const (
	companyColumns = `v.id, v.name, ifnull(v.website, ''), ifnull(v.phone_e164, ''), ifnull(v.email, ''), ifnull(v.hours, ''), ifnull(v.street, ''), ifnull(v.city, ''),
		ifnull(v.state, ''), ifnull(v.postal_code, ''), v.listings, v.alive, v.first_seen_at`
	showCompany = `SELECT ` + companyColumns + ` FROM v_companies v WHERE v.id = ?`
)

// CompanyDetail is a company with its listings and what makes it one.
type CompanyDetail struct {
	CompanyRow
	Confidence float64          `json:"confidence"` // from 0 to 1, see yp.Confidence
	Places     []CompanyListing `json:"places"`
	Keys       []CompanyKey     `json:"keys"`
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
)

// Company returns a company with all that makes it one. When there is none with that
// number, the error is a *store.RefusedError.
func (k *Reader) Company(ctx context.Context, id int64) (*CompanyDetail, error) {
	c, what := &CompanyDetail{}, fmt.Sprintf("read company %d", id)
	found, err := k.one(ctx, what, showCompany, []any{id}, fields(&c.CompanyRow)...)
	if err == nil && !found {
		err = &store.RefusedError{Why: fmt.Sprintf("there is no company %d: `ypcrawl companies list` lists them all", id)}
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
	keys := make([][]string, len(c.Places))
	for i, l := range c.Places {
		keys[i] = l.keys
	}
	c.Confidence = yp.Confidence(keys)
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
