package store

import (
	"cmp"
	"fmt"

	"ypcrawl/yp"
)

// saveDetail takes over what a listing's own page says. What the page does not give
// keeps the old value.
const saveDetail = `
	INSERT INTO details (listing, fetched_at, email, phone, phone_e164, website_url, website, domain, hours, lat, lon,
		payment, social, services, languages, neighborhoods, aka, founded, years_in_business, about)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET fetched_at = excluded.fetched_at,
		email = ifnull(excluded.email, email), phone = ifnull(excluded.phone, phone), phone_e164 = ifnull(excluded.phone_e164, phone_e164),
		website_url = ifnull(excluded.website_url, website_url), website = ifnull(excluded.website, website), domain = ifnull(excluded.domain, domain),
		hours = ifnull(excluded.hours, hours), lat = ifnull(excluded.lat, lat), lon = ifnull(excluded.lon, lon),
		payment = ifnull(excluded.payment, payment), social = ifnull(excluded.social, social), services = ifnull(excluded.services, services),
		languages = ifnull(excluded.languages, languages), neighborhoods = ifnull(excluded.neighborhoods, neighborhoods), aka = ifnull(excluded.aka, aka),
		founded = ifnull(excluded.founded, founded), years_in_business = ifnull(excluded.years_in_business, years_in_business),
		about = ifnull(excluded.about, about)`

// SaveDetail stores what a listing's own page says, read at the transaction's time: the
// details, and in the listing, by its row id, what its cards have never given.
func SaveDetail(tx *Tx, listing int64, d *yp.Detail) error {
	lat, lon := place(d)
	_, err := tx.Exec(saveDetail, listing, tx.Now, text(d.Email), text(d.Phone), text(d.PhoneE164), text(d.WebsiteURL), text(d.Website), text(d.Domain),
		list(d.Hours), lat, lon, list(d.Payment), list(d.Social), list(d.Services), list(d.Languages), list(d.Neighborhoods), list(d.AKA),
		count(d.Founded), count(d.Years), text(d.About))
	if err != nil {
		return fmt.Errorf("save details: %w", err)
	}
	return complete(tx, listing, d)
}

// place is where the business is; a point that is none on Earth, or 0 with 0, which
// is what programs write for "unknown", is no point.
func place(d *yp.Detail) (lat, lon any) {
	if d.Lat == 0 && d.Lon == 0 || !(d.Lat >= -90 && d.Lat <= 90 && d.Lon >= -180 && d.Lon <= 180) {
		return nil, nil
	}
	return d.Lat, d.Lon
}

const (
	selectLacking = `
	SELECT l.source_id, l.listing_id, l.name, ifnull(l.phone, ''), ifnull(l.phone_e164, ''), ifnull(l.street, ''), ifnull(l.postal_code, ''),
		ifnull(l.website_url, ''), ifnull(l.website, ''), ifnull(l.domain, ''), l.hours IS NULL, l.years_in_business IS NULL,
		c.id, c.lead_source, c.lead_listing, ifnull(c.website, '')
	FROM listings l JOIN companies c ON c.id = l.company_id WHERE l.id = ?`
	// The fingerprint is that of the last card and stays: what was completed is no change
	// of the listing, and a card that gives a value of its own wins.
	completeListing = `
	UPDATE listings SET phone = ifnull(phone, ?), phone_e164 = ifnull(phone_e164, ?), website_url = ifnull(website_url, ?), website = ifnull(website, ?),
		domain = ifnull(domain, ?), hours = ifnull(hours, ?), years_in_business = ifnull(years_in_business, ?) WHERE id = ?`
)

// lacking is a listing as far as its own page can complete it.
type lacking struct {
	row          int64
	source       int64
	now          yp.Listing
	hours, years bool // lack
	company      company
}

func (l *lacking) read(tx *Tx) error {
	n, c := &l.now, &l.company
	return tx.Get(selectLacking, []any{l.row}, &l.source, &n.ID, &n.Name, &n.Phone, &n.PhoneE164, &n.Street, &n.PostalCode,
		&n.WebsiteURL, &n.Website, &n.Domain, &l.hours, &l.years, &c.id, &c.leadSource, &c.leadListing, &c.website)
}

// gains returns what the page adds to the listing, in the fields of a listing, and
// whether that is anything. A phone and a website are taken whole or not at all.
func (l *lacking) gains(d *yp.Detail) (g yp.Listing, more bool) {
	if l.now.Phone == "" && l.now.PhoneE164 == "" {
		g.Phone, g.PhoneE164 = d.Phone, d.PhoneE164
	}
	if l.now.WebsiteURL == "" && l.now.Website == "" {
		g.WebsiteURL, g.Website, g.Domain = d.WebsiteURL, d.Website, d.Domain
	}
	if l.hours {
		g.Hours = d.Hours
	}
	if l.years {
		g.YearsInBusiness = d.Years
	}
	return g, g.Phone != "" || g.PhoneE164 != "" || g.WebsiteURL != "" || g.Website != "" || len(g.Hours) > 0 || g.YearsInBusiness > 0
}

// complete gives a listing what its own page says and its cards have never said.
func complete(tx *Tx, row int64, d *yp.Detail) error {
	l := lacking{row: row}
	if err := l.read(tx); err != nil {
		return fmt.Errorf("complete listing: %w", err)
	}
	g, more := l.gains(d)
	if !more {
		return nil
	}
	_, err := tx.Exec(completeListing, text(g.Phone), text(g.PhoneE164), text(g.WebsiteURL), text(g.Website), text(g.Domain), list(g.Hours),
		count(g.YearsInBusiness), row)
	if err != nil {
		return fmt.Errorf("complete listing %s: %w", l.now.ID, err)
	}
	if g.PhoneE164 == "" && g.Website == "" {
		return nil
	}
	l.now.PhoneE164, l.now.Website, l.now.Domain = cmp.Or(l.now.PhoneE164, g.PhoneE164), cmp.Or(l.now.Website, g.Website), cmp.Or(l.now.Domain, g.Domain)
	return l.resolve(tx)
}

// resolve finds the listing's company again, by the keys that it has now, as a page
// that gave all of this would.
func (l *lacking) resolve(tx *Tx) error {
	keys := yp.CompanyKeys(&l.now)
	r, err := newResolver(tx, l.source, keys)
	if err != nil {
		return err
	}
	r.settle = func() error { return nil } // the listing is stored, and so is its company
	c, err := r.resolve(&l.now, keys, r.know(l.company))
	if err != nil {
		return err
	}
	if err := r.refresh(c, &l.now, ""); err != nil {
		return err
	}
	return r.flush()
}
