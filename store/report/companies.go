package report

import (
	"context"
	"database/sql"
	"fmt"
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
	Street     string    `json:"street,omitempty"`
	City       string    `json:"city,omitempty"`
	State      string    `json:"state,omitempty"`
	PostalCode string    `json:"postal_code,omitempty"`
	Listings   int       `json:"listings"`
	Alive      int       `json:"alive"` // of them, not gone from their source
	FirstSeen  time.Time `json:"first_seen_at,omitzero"`
}

// CompanyFilter selects companies. Empty fields select all.
type CompanyFilter struct {
	States      []string
	Name        string // part of the name, in any letter case
	MinListings int
}

const (
	companyColumns = `v.id, v.name, ifnull(v.website, ''), ifnull(v.phone_e164, ''), ifnull(v.street, ''), ifnull(v.city, ''),
		ifnull(v.state, ''), ifnull(v.postal_code, ''), v.listings, v.alive, v.first_seen_at`
	listCompanies = `
	SELECT ` + companyColumns + ` FROM v_companies v
	WHERE (?1 = '[]' OR v.state IN (SELECT value FROM json_each(?1))) AND (?2 = '' OR instr(lower(v.name), lower(?2)) > 0)
		AND (?3 <= 1 OR v.listings >= ?3)
	ORDER BY v.id LIMIT ?4`
	showCompany = `SELECT ` + companyColumns + ` FROM v_companies v WHERE v.id = ?`
)

func (c *CompanyRow) into() []any {
	return []any{
		&c.ID, &c.Name, &c.Website, &c.Phone, &c.Street, &c.City, &c.State, &c.PostalCode, &c.Listings, &c.Alive, at(&c.FirstSeen),
	}
}

// Companies lists the companies of the filter by id, at most limit of them (0 = all).
func (k *Reader) Companies(ctx context.Context, f CompanyFilter, limit int) ([]CompanyRow, error) {
	if limit <= 0 {
		limit = -1
	}
	all := []CompanyRow{}
	args := []any{store.JSONTexts(f.States), f.Name, f.MinListings, limit}
	err := k.db.Each(ctx, listCompanies, args, func(rows *sql.Rows) error {
		var c CompanyRow
		err := rows.Scan(c.into()...)
		all = append(all, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list companies: %w", err)
	}
	return all, nil
}

// MergeRow is a row of company_merges: two companies that became one.
type MergeRow struct {
	ID       int64     `json:"id"`
	At       time.Time `json:"at,omitzero"`
	Kept     int64     `json:"kept"`
	KeptName string    `json:"kept_name,omitempty"` // as it is now; empty when it is gone itself
	Gone     int64     `json:"gone"`
	GoneName string    `json:"gone_name"` // as it was
	By       string    `json:"by"`        // web, tel, adr, hand
	Key      string    `json:"key,omitempty"`
	Listings int       `json:"listings"` // that came with it
	Undone   time.Time `json:"undone_at,omitzero"`
}

const (
	mergeColumns = `m.id, m.at, m.kept, ifnull(c.name, ''), m.gone, ifnull(m.company ->> 'name', ''), m.by, ifnull(m.key, ''),
		json_array_length(m.listings), m.undone_at`
	listMerges = `
	SELECT ` + mergeColumns + ` FROM company_merges m LEFT JOIN companies c ON c.id = m.kept
	WHERE m.at >= ?1 ORDER BY m.id DESC LIMIT ?2`
)

func (m *MergeRow) into() []any {
	return []any{&m.ID, at(&m.At), &m.Kept, &m.KeptName, &m.Gone, &m.GoneName, &m.By, &m.Key, &m.Listings, at(&m.Undone)}
}

// Merges lists the merges of the last while (0 = all), the newest first, at most limit
// of them (0 = all), those that were undone too.
func (k *Reader) Merges(ctx context.Context, since time.Duration, limit int) ([]MergeRow, error) {
	if limit <= 0 {
		limit = -1
	}
	from := ""
	if since > 0 {
		from = yp.FormatTime(k.db.Now().Add(-since))
	}
	all := []MergeRow{}
	err := k.db.Each(ctx, listMerges, []any{from, limit}, func(rows *sql.Rows) error {
		var m MergeRow
		err := rows.Scan(m.into()...)
		all = append(all, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list merges: %w", err)
	}
	return all, nil
}
