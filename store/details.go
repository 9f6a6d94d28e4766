package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"

	"ypcrawl/yp"
)

// DetailKey names a worker's claim of a listing's details: every write on it is
// fenced by it.
type DetailKey struct {
	Listing int64 // row id
	Worker  string
	Token   int64
}

// detailSet takes over what a listing's own page says. What the page does not give
// keeps the old value. Its arguments are those of detailArgs.
const (
	detailSet = `
	UPDATE details SET status = 'DONE', claimed_by = NULL, run_id = NULL, heartbeat_at = NULL, recoveries = 0, consecutive_failures = 0,
		backoff_level = 0, last_error_code = NULL, last_error = NULL, fetched_at = ?1, due_at = ?2,
		email = ifnull(?3, email), phone = ifnull(?4, phone), phone_e164 = ifnull(?5, phone_e164), website_url = ifnull(?6, website_url),
		website = ifnull(?7, website), domain = ifnull(?8, domain), hours = ifnull(?9, hours), lat = iif(?10 IS NULL, lat, ?10), lon = iif(?10 IS NULL, lon, ?11),
		payment = ifnull(?12, payment), social = ifnull(?13, social), services = ifnull(?14, services), languages = ifnull(?15, languages),
		neighborhoods = ifnull(?16, neighborhoods), aka = ifnull(?17, aka), founded = ifnull(?18, founded),
		years_in_business = ifnull(?19, years_in_business), about = ifnull(?20, about)`
	saveDetail = detailSet + ` WHERE listing = ?21 AND claimed_by = ?22 AND claim_token = ?23 AND status = 'IN_PROGRESS'`
	// A log never disturbs a crawl, nor what a later claim has read. Older logs do not tell
	// the claim: theirs counts by its time.
	rebuildDetail = detailSet + `, claim_token = max(claim_token, ?22)
	WHERE listing = ?21 AND status <> 'IN_PROGRESS' AND iif(?22 > 0, ?22 > claim_token, ifnull(fetched_at, '') < ?1)`
	insertDetail = `INSERT INTO details (listing, source_id) VALUES (?, ?) ON CONFLICT DO NOTHING`
	findListing  = `SELECT id FROM listings WHERE source_id = ? AND listing_id = ?`
)

// SaveDetail stores what a listing's own page says under the claim of it: the details,
// and in the listing what its cards have never given. due is when the page is to be
// asked for again. With saved false the claim is lost, and nothing was written.
func SaveDetail(tx *Tx, key DetailKey, d *yp.Detail, due string) (saved bool, err error) {
	n, err := tx.Changed(saveDetail, append(detailArgs(tx, d, due), key.Listing, key.Worker, key.Token)...)
	if err != nil {
		return false, fmt.Errorf("save details: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	return true, complete(tx, key.Listing, d)
}

// RebuildDetail stores a detail of a log, read at the transaction's time under a claim's
// token (0 = an older log, which does not tell). With known false the source has no such
// listing; with saved false the same or a later claim's detail is there already.
func RebuildDetail(tx *Tx, source int64, listing string, token int64, d *yp.Detail, due string) (known, saved bool, err error) {
	var row int64
	err = tx.Get(findListing, []any{source, listing}, &row)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	if err == nil {
		_, err = tx.Exec(insertDetail, row, source)
	}
	if err != nil {
		return true, false, fmt.Errorf("rebuild details: %w", err)
	}
	n, err := tx.Changed(rebuildDetail, append(detailArgs(tx, d, due), row, token)...)
	if err != nil {
		return true, false, fmt.Errorf("rebuild details: %w", err)
	}
	if n == 0 {
		return true, false, nil
	}
	return true, true, complete(tx, row, d)
}

func detailArgs(tx *Tx, d *yp.Detail, due string) []any {
	lat, lon := place(d)
	return []any{
		tx.Now, text(due), text(d.Email), text(d.Phone), text(d.PhoneE164), text(d.WebsiteURL), text(d.Website), text(d.Domain), list(d.Hours), lat, lon,
		list(d.Payment), list(d.Social), list(d.Services), list(d.Languages), list(d.Neighborhoods), list(d.AKA), count(d.Founded), count(d.Years), text(d.About),
	}
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
