package store

import (
	"fmt"

	"ypcrawl/yp"
)

// company is what the resolver must know of a company that a page touches.
type company struct {
	id          int64 // 0 = made by this page, and not yet written
	leadSource  int64
	leadListing string
	website     string
	domain      string   // of the website, where that is another one than in its row
	merged      *company // the survivor, once this one was merged away

	gives []string // keys of which it is known that its row gives them

	// Of one that is not yet written, what its row will say.
	lead *yp.Listing
}

func (c *company) root() *company {
	for c.merged != nil {
		c = c.merged
	}
	return c
}

// leads reports whether the listing (source, id) is the company's lead, or
// comes before it and so becomes its lead.
func (c *company) leads(source int64, listing string) bool {
	return source < c.leadSource || source == c.leadSource && listing <= c.leadListing
}

// resolver finds or makes the companies of one page's listings. It asks the
// database once for all keys of the page and writes all new keys at once.
type resolver struct {
	tx          *Tx
	source      int64
	country     string // of the source
	byID        map[int64]*company
	byKey       map[string]*company
	newKeys     map[string]*company
	numbers     map[string]int64 // of keys that nobody has
	made        []*company       // not yet written
	saveWaiting func() error     // writes what of the page is not yet written: a merge reads it
	created     int
	removed     int    // merged away
	by          string // the key by which the last resolve found a company for a listing that had none; "" = it made one
}

func newResolver(tx *Tx, at PageOf, keys []string) (*resolver, error) {
	r := &resolver{
		tx: tx, source: at.SourceID, country: at.Country,
		byID: map[int64]*company{}, byKey: make(map[string]*company, len(keys)), newKeys: map[string]*company{},
		numbers: make(map[string]int64, len(keys)),
	}
	found, err := findKeys(tx, tx.w.keyHash, keys)
	if err != nil {
		return nil, err
	}
	for i, f := range found {
		if f.company == nil {
			r.numbers[keys[i]] = f.number
			continue
		}
		r.byKey[keys[i]] = r.know(*f.company)
	}
	return r, nil
}

// know returns the one company value for c's id.
func (r *resolver) know(c company) *company {
	if have, ok := r.byID[c.id]; ok {
		return have
	}
	r.byID[c.id] = &c
	return &c
}

// resolve returns the company of listing l, which may already have one (own).
// Companies that turn out to be the same are merged into the one with the
// smallest id.
func (r *resolver) resolve(l *yp.Listing, keys []string, own *company) (*company, error) {
	best, err := r.find(keys, own)
	if err != nil {
		return nil, err
	}
	switch {
	case best == nil:
		best = r.create(l, keys)
	case best.id == 0: // it is not yet written, and takes the listing in
		best.gives = nil
		if web, domain := companyWebsite(l); web != "" && (best.website == "" || web < best.website) {
			best.website, best.domain = web, domain
		}
		if best.leads(r.source, l.ID) {
			best.leadListing, best.lead = l.ID, l
		}
	}
	for _, k := range keys {
		if r.byKey[k] == nil {
			r.byKey[k], r.newKeys[k] = best, best
		}
	}
	return best, nil
}

// find returns the company that own and the owners of the keys make, nil for none.
func (r *resolver) find(keys []string, own *company) (*company, error) {
	r.by = ""
	best := own
	if best != nil {
		best = best.root()
	}
	for _, k := range keys {
		c := r.byKey[k]
		if c == nil || c.root() == best {
			continue
		}
		if best == nil {
			best, r.by = c.root(), k
			continue
		}
		var err error
		if best, err = r.join(best, c.root()); err != nil {
			return nil, err
		}
	}
	return best, nil
}

var insertCompanies = newInsert(
	`
	INSERT INTO companies (name, website, domain, phone_e164, street, city, state, postal_code, lead_source, lead_listing,
		first_seen_at, country)`, 12)

// create makes a company of a listing; it is written later, with others.
func (r *resolver) create(l *yp.Listing, keys []string) *company {
	c := &company{leadSource: r.source, leadListing: l.ID, lead: l, gives: keys}
	c.website, c.domain = companyWebsite(l)
	r.made = append(r.made, c)
	r.created++
	return c
}

// saveCompanies writes the companies that the page has made.
func (r *resolver) saveCompanies() error {
	if len(r.made) == 0 {
		return nil
	}
	args, states := make([]any, 0, len(r.made)*insertCompanies.columns), map[string]int64{}
	for _, c := range r.made {
		l := c.lead
		args = append(args, l.Name, Text(c.website), Text(c.domain), Text(l.PhoneE164), Text(l.Street),
			Text(l.City), Text(l.State), Text(l.PostalCode), c.leadSource, l.ID, r.tx.Now, r.country)
		states[l.State]++
	}
	first, err := insertCompanies.run(r.tx, args)
	if err != nil {
		return err
	}
	for i, c := range r.made {
		c.id, c.lead = first+int64(i), nil
		r.byID[c.id] = c
	}
	r.made = r.made[:0]
	return countCompanies(r.tx, states)
}

const addCompanies = `INSERT INTO company_totals VALUES (?, ?) ON CONFLICT DO UPDATE SET companies = companies + excluded.companies`

// countCompanies adds new companies to the totals of their states.
func countCompanies(tx *Tx, states map[string]int64) error {
	for state, n := range states {
		if err := tx.Run(addCompanies, state, n); err != nil {
			return err
		}
	}
	return nil
}

// refresh brings the company's fields up to date after listing l was stored;
// left is the website it had before and has no more, "" when it has none such.
func (r *resolver) refresh(c *company, l *yp.Listing, left string) (err error) {
	c = c.root()
	leads := c.leads(r.source, l.ID)
	web, domain := companyWebsite(l)
	switch {
	case left != "" && left == c.website:
		err = c.chooseWebsite(r.tx)
	case web != "" && (c.website == "" || web < c.website):
		c.website, c.domain = web, domain
	case !leads:
		return nil
	}
	if leads {
		c.leadSource, c.leadListing = r.source, l.ID
	}
	if err != nil {
		return err
	}
	return c.save(r.tx)
}

const (
	selectLead = `
	SELECT name, ifnull(phone_e164, ''), ifnull(street, ''), ifnull(postal_code, ''), country FROM listings
	WHERE source_id = ? AND listing_id = ?`
	saveCompany = `
	UPDATE companies SET (lead_source, lead_listing, name, phone_e164, street, city, state, postal_code, country) = (
			SELECT source_id, listing_id, name, phone_e164, street, city, state, postal_code, country FROM listings
			WHERE source_id = ?2 AND listing_id = ?3),
		website = ?4, domain = iif(website IS ?4, domain, ?5)
	WHERE id = ?1`
	firstListing    = `SELECT source_id, listing_id FROM listings WHERE company_id = ? ORDER BY source_id, listing_id LIMIT 1`
	firstSeen       = `UPDATE companies SET first_seen_at = (SELECT min(first_seen_at) FROM listings WHERE company_id = ?1) WHERE id = ?1`
	companyWebsites = `SELECT DISTINCT website, ifnull(domain, '') FROM listings WHERE company_id = ? AND website IS NOT NULL ORDER BY website`
)

// save writes the row of a company, by its lead and its website.
func (c *company) save(tx *Tx) error {
	lead, country := yp.Listing{Website: c.website}, ""
	err := tx.Get(selectLead, []any{c.leadSource, c.leadListing}, &lead.Name, &lead.PhoneE164, &lead.Street, &lead.PostalCode, &country)
	if err != nil {
		return fmt.Errorf("find the first listing of company %d: %w", c.id, err)
	}
	c.gives = yp.CompanyKeys(&lead, country)
	if err := writeOutKeys(tx, c.id, c.gives); err != nil {
		return err
	}
	return tx.Run(saveCompany, c.id, c.leadSource, c.leadListing, Text(c.website), Text(c.domain))
}

// recompute makes all that a company's row says from its listings, of which it must have one
// at least: the first of them leads.
func (c *company) recompute(tx *Tx) error {
	if err := tx.Get(firstListing, []any{c.id}, &c.leadSource, &c.leadListing); err != nil {
		return fmt.Errorf("find the first listing of company %d: %w", c.id, err)
	}
	if err := c.chooseWebsite(tx); err != nil {
		return err
	}
	if err := c.save(tx); err != nil {
		return err
	}
	return tx.Run(firstSeen, c.id)
}

// chooseWebsite takes the smallest website of the company's listings.
func (c *company) chooseWebsite(tx *Tx) error {
	all, err := All(tx, companyWebsites, []any{c.id}, func(l *yp.Listing) []any { return []any{&l.Website, &l.Domain} })
	c.website, c.domain = "", ""
	for i := 0; i < len(all) && c.website == ""; i++ {
		c.website, c.domain = companyWebsite(&all[i])
	}
	return err
}

// companyWebsite is the listing's website unless its host is shared by many
// businesses: a page on facebook.com says nothing of the company's own site.
func companyWebsite(l *yp.Listing) (website, domain string) {
	if l.Website == "" {
		return "", ""
	}
	if w, ok := yp.CanonicalWebsite(l.Website); !ok || w.Shared {
		return "", ""
	}
	return l.Website, l.Domain
}

// join merges two companies because of a key that they share, and returns the survivor. Merges are rare, so what
// is done here may cost something; a page without one pays nothing.
func (r *resolver) join(a, b *company) (*company, error) {
	if err := r.saveWaiting(); err != nil {
		return nil, err
	}
	keep, removed := a, b
	if removed.id < keep.id {
		keep, removed = removed, keep
	}
	if err := r.merge(keep, removed); err != nil {
		return nil, fmt.Errorf("merge company %d into %d: %w", removed.id, keep.id, err)
	}
	return keep, nil
}

const (
	moveListings = `UPDATE listings SET company_id = ?1 WHERE company_id = ?2`
	moveKeys     = `UPDATE company_keys SET company_id = ?1 WHERE company_id = ?2 AND key IS NOT NULL`
	dropCompany  = `DELETE FROM companies WHERE id = ?2`
)

// merge makes removed a part of keep. Keys that are not yet written find keep by themselves: see company.root.
func (r *resolver) merge(keep, removed *company) error {
	if err := writeOutKeys(r.tx, removed.id, nil); err != nil {
		return err
	}
	for _, query := range []string{moveListings, moveKeys, dropCompany} {
		if err := r.tx.Run(query, keep.id, removed.id); err != nil {
			return err
		}
	}
	if err := keep.recompute(r.tx); err != nil {
		return err
	}
	removed.merged = keep
	r.removed++
	return nil
}
