package store

import "ypcrawl/yp"

// company is what the resolver must know of a company that a page touches.
type company struct {
	id          int64 // 0 = made by this page, and not yet written
	leadSource  int64
	leadListing string
	website     string
	merged      *company // the survivor, once this one was merged away

	// Of one that is not yet written, what its row will say.
	lead   *yp.Listing
	domain string
	gives  []string // keys of which it is known that its row gives them
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
	tx      *Tx
	source  int64
	byID    map[int64]*company
	byKey   map[string]*company
	newKeys map[string]*company
	numbers map[string]int64 // of keys that nobody has
	made    []*company       // not yet written
	settle  func() error     // writes what of the page is not yet written: a merge reads it
	created int
	removed int    // merged away
	by      string // the key by which the last resolve found a company for a listing that had none; "" = it made one
}

func newResolver(tx *Tx, source int64, keys []string) (*resolver, error) {
	r := &resolver{
		tx: tx, source: source,
		byID: map[int64]*company{}, byKey: make(map[string]*company, len(keys)), newKeys: map[string]*company{}, numbers: make(map[string]int64, len(keys)),
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
// smallest id. Those that an operator took apart stay apart: then the listing
// keeps its own company, else it goes to the one of its strongest key.
func (r *resolver) resolve(l *yp.Listing, keys []string, own *company) (*company, error) {
	best, err := r.find(keys, own)
	if err != nil {
		return nil, err
	}
	switch {
	case best == nil:
		best = r.create(l, keys)
	case best.id == 0:
		r.absorb(best, l)
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
		if best, err = r.join(best, c.root(), k); err != nil {
			return nil, err
		}
	}
	return best, nil
}

var insertCompanies = newInsert(
	`INSERT INTO companies (name, website, domain, phone_e164, street, city, state, postal_code, lead_source, lead_listing, first_seen_at)`, 11)

// create makes a company of a listing; it is written later, with others.
func (r *resolver) create(l *yp.Listing, keys []string) *company {
	c := &company{leadSource: r.source, leadListing: l.ID, lead: l, gives: keys}
	c.website, c.domain = companyWebsite(l)
	r.made = append(r.made, c)
	r.created++
	return c
}

// absorb brings listing l into a company that is not yet written.
func (r *resolver) absorb(c *company, l *yp.Listing) {
	c.gives = nil
	if web, domain := companyWebsite(l); web != "" && (c.website == "" || web < c.website) {
		c.website, c.domain = web, domain
	}
	if c.leads(r.source, l.ID) {
		c.leadListing, c.lead = l.ID, l
	}
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
			Text(l.City), Text(l.State), Text(l.PostalCode), c.leadSource, l.ID, r.tx.Now)
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

const (
	adoptLead = `
	UPDATE companies SET (lead_source, lead_listing) = (?, ?),
		(name, phone_e164, street, city, state, postal_code) =
			(SELECT name, phone_e164, street, city, state, postal_code FROM listings WHERE source_id = ? AND listing_id = ?)
	WHERE id = ?`
	adoptWebsite = `UPDATE companies SET website = ?, domain = ? WHERE id = ?`
	selectLead   = `
	SELECT name, ifnull(phone_e164, ''), ifnull(street, ''), ifnull(postal_code, ''), website FROM listings WHERE source_id = ? AND listing_id = ?`
)

func (r *resolver) setLead(c *company, source int64, listing string) error {
	c.leadSource, c.leadListing, c.gives = source, listing, nil
	err := beforeChange(r.tx, c.id, func(row *yp.Listing) error {
		into := keyed(row)
		into[len(into)-1] = new(any) // the website does not come from the lead
		return r.tx.Get(selectLead, []any{source, listing}, into...)
	})
	if err != nil {
		return err
	}
	return r.tx.Run(adoptLead, source, listing, source, listing, c.id)
}

// refresh brings the company's fields up to date after listing l was stored;
// left is the website it had before and has no more, "" when it has none such.
func (r *resolver) refresh(c *company, l *yp.Listing, left string) error {
	c = c.root()
	var err error
	if left != "" && left == c.website {
		c.gives = nil
		c.website, err = chooseWebsite(r.tx, c.id)
	} else if web, domain := companyWebsite(l); web != "" && (c.website == "" || web < c.website) {
		c.website, c.gives = web, nil
		err = setWebsite(r.tx, c.id, web, domain)
	}
	if err == nil && c.leads(r.source, l.ID) {
		err = r.setLead(c, r.source, l.ID)
	}
	return err
}

const companyWebsites = `SELECT DISTINCT website, ifnull(domain, '') FROM listings WHERE company_id = ? AND website IS NOT NULL ORDER BY website`

// chooseWebsite gives a company the smallest website of its listings, and returns it.
func chooseWebsite(tx *Tx, company int64) (web string, err error) {
	all, err := All(tx, companyWebsites, []any{company}, func(l *yp.Listing) []any { return []any{&l.Website, &l.Domain} })
	domain := ""
	for i := 0; i < len(all) && web == ""; i++ {
		web, domain = companyWebsite(&all[i])
	}
	if err != nil {
		return "", err
	}
	return web, setWebsite(tx, company, web, domain)
}

func setWebsite(tx *Tx, company int64, website, domain string) error {
	err := beforeChange(tx, company, func(row *yp.Listing) error {
		row.Website = website
		return nil
	})
	if err != nil {
		return err
	}
	return tx.Run(adoptWebsite, Text(website), Text(domain), company)
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
