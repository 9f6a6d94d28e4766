package store

import (
	"fmt"
	"slices"

	"ypcrawl/yp"
)

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
	rows, err := tx.Query(selectMembers, company)
	if err != nil {
		return nil, fmt.Errorf("read listings of company %d: %w", company, err)
	}
	defer func() { _ = rows.Close() }()
	var all []member
	for rows.Next() {
		var m member
		var l yp.Listing
		var phone, website string
		if err := rows.Scan(&m.row, &l.Name, &l.PhoneE164, &l.Street, &l.PostalCode, &l.Website, &phone, &website); err != nil {
			return nil, err
		}
		m.keys = GivenKeys(&l, phone, website)
		all = append(all, m)
	}
	return all, rows.Err()
}

// onlyTheirs returns the keys that those of the members give for which theirs says
// so, and no other member.
func onlyTheirs(all []member, theirs func(row int64) bool) []string {
	others := map[string]bool{}
	for _, m := range all {
		for _, k := range m.keys {
			others[k] = others[k] || !theirs(m.row)
		}
	}
	keys := []string{}
	for k, other := range others {
		if !other {
			keys = append(keys, k)
		}
	}
	return keys
}

const (
	recomputeCompany = `
	UPDATE companies SET (lead_source, lead_listing, name, phone_e164, street, city, state, postal_code) =
			(SELECT source_id, listing_id, name, phone_e164, street, city, state, postal_code
			FROM listings WHERE company_id = ?1 ORDER BY source_id, listing_id LIMIT 1),
		first_seen_at = (SELECT min(first_seen_at) FROM listings WHERE company_id = ?1)
	WHERE id = ?1`
	companyWebsites = `SELECT DISTINCT website, ifnull(domain, '') FROM listings WHERE company_id = ? AND website IS NOT NULL ORDER BY website`
)

// recompute makes all that a company's row says from its listings, of which it must
// have one at least.
func recompute(tx *Tx, company int64) error {
	if err := spellAll(tx, company); err != nil {
		return err
	}
	if _, err := tx.Exec(recomputeCompany, company); err != nil {
		return fmt.Errorf("set fields of company %d: %w", company, err)
	}
	if _, err := chooseWebsite(tx, company); err != nil {
		return fmt.Errorf("choose website of company %d: %w", company, err)
	}
	return nil
}

// chooseWebsite gives a company the smallest website of its listings, and returns it.
func chooseWebsite(tx *Tx, company int64) (string, error) {
	web, domain, err := smallestWebsite(tx, company)
	if err != nil {
		return "", err
	}
	return web, setWebsite(tx, company, web, domain)
}

func smallestWebsite(tx *Tx, company int64) (web, domain string, err error) {
	rows, err := tx.Query(companyWebsites, company)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = rows.Close() }()
	var l yp.Listing
	for web == "" && rows.Next() {
		if err := rows.Scan(&l.Website, &l.Domain); err != nil {
			return "", "", err
		}
		web, domain = companyWebsite(&l)
	}
	return web, domain, rows.Err()
}
