package store

import (
	"cmp"
	"fmt"
	"strings"

	"ypcrawl/yp"
)

// detailColumns are the columns of what a listing's own page says.
var detailColumns = []string{
	"email", "phone", "phone_e164", "website_url", "website", "domain", "hours", "lat", "lon", "payment", "social", "services", "languages",
	"neighborhoods", "aka", "founded", "years_in_business", "about",
}

// saveDetail takes over what a listing's own page says. What the page does not give
// keeps the old value. detailAgain does so with a kept page that is read again, where it says otherwise.
var saveDetail, detailAgain = func() (save, again string) {
	columns, kept, keep := strings.Join(detailColumns, ", "), make([]string, len(detailColumns)), ""
	for i, c := range detailColumns {
		kept[i] = "ifnull(excluded." + c + ", " + c + ")"
		keep += ", " + c + " = " + kept[i]
	}
	insert := `INSERT INTO details (listing, fetched_at, ` + columns + `) VALUES (?, ?` + strings.Repeat(", ?", len(detailColumns)) + `)
	ON CONFLICT DO UPDATE SET fetched_at = `
	return insert + `excluded.fetched_at` + keep,
		insert + `max(fetched_at, excluded.fetched_at)` + keep + ` WHERE (` + columns + `) IS NOT (` + strings.Join(kept, ", ") + `)`
}()

const beforeDetail = `SELECT ifnull(d.email, ''), coalesce(d.hours, l.hours, ''), d.listing IS NOT NULL FROM listings l LEFT JOIN details d ON d.listing = l.id WHERE l.id = ?`

// SaveDetail stores what a listing's own page says, read at the transaction's time: the
// details, and in the listing, by its row id, what its cards have never given. An e-mail address or
// hours that the page says otherwise than when it was read before are a change of the listing, also
// where it said none; what it says when it is read for the first time, and what the cards have never
// given, becomes known.
// rows tells, of a kept page that is read again, whether it says otherwise now.
func SaveDetail(tx *Tx, at PageOf, listing int64, d *yp.Detail) (rows int64, err error) {
	var changes diff
	var email, hours string
	var readBefore bool
	if err := tx.Get(beforeDetail, []any{listing}, &email, &hours, &readBefore); err != nil {
		return 0, fmt.Errorf("look for details: %w", err)
	}
	now, _ := said(d.Hours).(string)
	for _, c := range []FieldChange{changeOf("email", email, d.Email), changeOf("hours", hours, now)} {
		switch {
		case *c.New == "" || c.Old != nil && *c.Old == *c.New:
		case !readBefore || c.Old == nil && at.again(): // another definition finds more
			changes.Completed = append(changes.Completed, c.Field)
		default:
			changes.Changed = append(changes.Changed, c)
		}
	}
	// A point that is none on Earth, or 0 with 0, which is what programs write for
	// "unknown", is no point.
	var lat, lon any
	if (d.Lat != 0 || d.Lon != 0) && d.Lat >= -90 && d.Lat <= 90 && d.Lon >= -180 && d.Lon <= 180 {
		lat, lon = d.Lat, d.Lon
	}
	query := saveDetail
	if at.again() {
		query = detailAgain
	}
	rows, err = tx.Changed(query, listing, at.seen(tx), Text(d.Email), Text(d.Phone), Text(d.PhoneE164), Text(d.WebsiteURL), Text(d.Website), Text(d.Domain),
		said(d.Hours), lat, lon, list(d.Payment), list(d.Social), list(d.Services), list(d.Languages), list(d.Neighborhoods), list(d.AKA),
		count(d.Founded), count(d.Years), Text(d.About))
	if err == nil && rows > 0 {
		var known []string
		if known, err = complete(tx, listing, d); err == nil {
			changes.Completed = append(changes.Completed, known...)
		}
	}
	if err == nil {
		var t trail
		t.update(listing, changes)
		err = t.flush(tx, at)
	}
	if err != nil {
		return 0, fmt.Errorf("save details: %w", err)
	}
	return rows, nil
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

// complete gives a listing what its own page says and its cards have never said, and returns which
// fields these are, but for the hours. A phone and a website are taken whole or not at all.
func complete(tx *Tx, row int64, d *yp.Detail) (fields []string, err error) {
	var source int64
	var noHours, noYears bool
	var c company
	var now, add yp.Listing
	err = tx.Get(selectLacking, []any{row}, &source, &now.ID, &now.Name, &now.Phone, &now.PhoneE164, &now.Street, &now.PostalCode,
		&now.WebsiteURL, &now.Website, &now.Domain, &noHours, &noYears, &c.id, &c.leadSource, &c.leadListing, &c.website)
	if err != nil {
		return nil, err
	}
	if now.Phone == "" && now.PhoneE164 == "" && d.Phone+d.PhoneE164 != "" {
		add.Phone, add.PhoneE164 = d.Phone, d.PhoneE164
		fields = append(fields, "phone")
	}
	if now.WebsiteURL == "" && now.Website == "" && d.WebsiteURL+d.Website != "" {
		add.WebsiteURL, add.Website, add.Domain = d.WebsiteURL, d.Website, d.Domain
		fields = append(fields, "website")
	}
	if noHours {
		add.Hours = d.Hours
	}
	if noYears && d.Years > 0 {
		add.YearsInBusiness = d.Years
		fields = append(fields, "years_in_business")
	}
	if len(fields) == 0 && add.Hours == nil {
		return nil, nil
	}
	err = tx.Run(completeListing, Text(add.Phone), Text(add.PhoneE164), Text(add.WebsiteURL), Text(add.Website), Text(add.Domain), said(add.Hours),
		count(add.YearsInBusiness), row)
	if err != nil || add.PhoneE164 == "" && add.Website == "" {
		return fields, err
	}
	// Its company is found again by the keys that it has now, as a page that gave all of this would.
	now.PhoneE164, now.Website, now.Domain = cmp.Or(now.PhoneE164, add.PhoneE164), cmp.Or(now.Website, add.Website), cmp.Or(now.Domain, add.Domain)
	keys := yp.CompanyKeys(&now)
	r, err := newResolver(tx, source, keys)
	if err != nil {
		return nil, err
	}
	r.settle = func() error { return nil } // the listing is stored, and so is its company
	of, err := r.resolve(&now, keys, r.know(c))
	if err != nil {
		return nil, err
	}
	if err := r.refresh(of, &now, ""); err != nil {
		return nil, err
	}
	return fields, r.flush()
}
