package store

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"ypcrawl/yp"
)

// PageOf says where the listings of a page were met.
type PageOf struct {
	SourceID int64
	TargetID int64
	State    string // searched, of the target
	Page     int    // from 1
	Crawl    int64  // number of the target's current crawl
	RunID    int64  // 0 = rebuilt from logs

	Others   []string       // ids of listings that were there and are not kept: filtered out, or ads
	Rejected []yp.Rejection // listings that break a rule of their source
}

// Saved counts what a page brought.
type Saved struct {
	New       int // listings never seen before
	Changed   int // seen before, and their source says otherwise now: those that listing_changes tells of
	Unchanged int // seen before and the same, also where this page only made more known of them
	Dropped   int // without a name or an id, or a second time on the page
	Rejected  int // staged, not promoted
	Restored  int // were gone, and are back
	Companies int // companies added, less companies merged away
	Repeated  bool
}

// Kept is the number of listings stored.
func (s Saved) Kept() int { return s.New + s.Changed + s.Unchanged }

// SaveListings stores one page's listings with their companies: new ones are
// added, changed ones updated (a value the page does not give keeps the old
// one), equal ones only marked as seen. What became of each stands in the promotion
// log, and what its source says otherwise in listing_changes. The same page again
// changes nothing and logs nothing. Saved.Repeated tells that this crawl of the
// target met every listing of the page on an earlier page.
func SaveListings(tx *Tx, at PageOf, listings []yp.Listing) (Saved, error) {
	given := len(listings)
	listings = usable(listings)
	s := saver{tx: tx, at: at, rows: make([]int64, len(listings)), saved: &Saved{Dropped: given - len(listings)}}
	for _, step := range []func([]yp.Listing) error{s.save, s.reject, s.met} {
		if err := step(listings); err != nil {
			return *s.saved, err
		}
	}
	return *s.saved, s.log.flush(tx, at)
}

// save stores the listings in good order.
func (s *saver) save(listings []yp.Listing) error {
	if len(listings) == 0 {
		return nil
	}
	stored, err := findKnown(s.tx, s.at.SourceID, listings)
	if err != nil {
		return err
	}
	s.sort(listings, stored)
	if err := s.compare(listings, stored); err != nil {
		return err
	}
	if err := s.tellFilled(listings, stored); err != nil {
		return err
	}
	if err := s.write(listings, stored); err != nil {
		return err
	}
	if err := s.touch(); err != nil {
		return err
	}
	if s.saved.New == 0 && s.at.Page > 1 {
		if s.saved.Repeated, err = s.repeated(); err != nil {
			return err
		}
	}
	if err := s.saveFilled(); err != nil {
		return err
	}
	return s.sight(listings)
}

// usable drops listings without a name or an id, and all but the first of those
// with the same id: one of them must not cost the page its others. A parser
// gives none such; a log that is replayed might.
func usable(listings []yp.Listing) []yp.Listing {
	seen := make(map[string]bool, len(listings))
	drop := func(l yp.Listing) bool {
		if l.ID == "" || l.Name == "" || seen[l.ID] || !utf8.ValidString(l.ID) {
			return true
		}
		seen[l.ID] = true
		return false
	}
	for i := range listings {
		if drop(listings[i]) {
			clear(seen)
			return slices.DeleteFunc(slices.Clone(listings), drop)
		}
	}
	return listings
}

// saver carries one page through its steps.
type saver struct {
	tx     *Tx
	at     PageOf
	rows   []int64    // row id of each listing of the page
	prints []int64    // fingerprint of each listing
	dirty  []int      // indexes of the listings to write
	keys   [][]string // strong keys of each of those
	same   []int64    // row ids of the equal ones
	back   []int64    // row ids of those that were gone
	diffs  map[int]diff
	filled map[int64]string // by row id: listings.filled, where this page changes it
	log    trail
	saved  *Saved
}

// sort tells what must be written from what is stored already.
func (s *saver) sort(listings []yp.Listing, stored map[string]known) {
	s.prints = make([]int64, len(listings))
	for i := range listings {
		l := &listings[i]
		s.prints[i] = fingerprint(l)
		k, ok := stored[l.ID]
		if ok && k.gone {
			s.back = append(s.back, k.id)
		}
		if ok && k.fingerprint == s.prints[i] {
			s.rows[i] = k.id
			s.same = append(s.same, k.id)
			s.saved.Unchanged++
			continue
		}
		s.dirty = append(s.dirty, i)
		if ok {
			s.saved.Changed++
			s.keys = append(s.keys, yp.CompanyKeys(k.with(l)))
		} else {
			s.saved.New++
			s.keys = append(s.keys, yp.CompanyKeys(l))
		}
	}
}

func (s *saver) write(listings []yp.Listing, stored map[string]known) error {
	if len(s.dirty) == 0 {
		return nil
	}
	var all []string
	for _, keys := range s.keys {
		all = append(all, keys...)
	}
	r, err := newResolver(s.tx, s.at.SourceID, all)
	if err != nil {
		return err
	}
	for n, i := range s.dirty {
		if err := s.writeOne(r, &listings[i], i, s.keys[n], stored); err != nil {
			return err
		}
	}
	s.saved.Companies = r.created - r.gone
	return r.flush()
}

func (s *saver) writeOne(r *resolver, l *yp.Listing, i int, keys []string, stored map[string]known) error {
	var own *company
	k, exists := stored[l.ID]
	if exists {
		own = r.know(k.company)
	}
	before := r.created
	c, err := r.resolve(l, keys, own)
	if err != nil {
		return err
	}
	row, changed, err := s.upsert(l, c.id, s.prints[i])
	if err != nil {
		return err
	}
	if exists {
		row = k.id
		if err := s.fill(row, k.filled, s.diffs[i]); err != nil {
			return err
		}
		s.log.update(row, s.diffs[i])
	} else {
		s.log.create(row, l.ID, c, r.by)
	}
	s.rows[i] = row
	if !changed {
		s.same = append(s.same, k.id)
	}
	if exists && len(s.diffs[i].changed) == 0 {
		s.saved.Changed--
		s.saved.Unchanged++
	}
	if r.created > before {
		return nil // made from this very listing
	}
	return r.refresh(c, l, k.left(l))
}

const upsertListing = `
	INSERT INTO listings (source_id, listing_id, company_id, name, profile_url, phone, phone_e164, street, city, state,
		postal_code, service_area, website_url, website, domain, categories, rating, review_count, years_in_business,
		price_range, snippet, image_url, hours, claimed, sponsored, found_state, fingerprint, first_seen_at, last_seen_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?28)
	ON CONFLICT (source_id, listing_id) DO UPDATE SET
		company_id = excluded.company_id, name = excluded.name,
		profile_url = ifnull(excluded.profile_url, profile_url), phone = ifnull(excluded.phone, phone),
		phone_e164 = ifnull(excluded.phone_e164, phone_e164), street = ifnull(excluded.street, street),
		city = ifnull(excluded.city, city), state = ifnull(excluded.state, state),
		postal_code = ifnull(excluded.postal_code, postal_code), service_area = ifnull(excluded.service_area, service_area),
		website_url = ifnull(excluded.website_url, website_url), website = ifnull(excluded.website, website),
		domain = ifnull(excluded.domain, domain), categories = ifnull(excluded.categories, categories),
		rating = ifnull(excluded.rating, rating), review_count = ifnull(excluded.review_count, review_count),
		years_in_business = ifnull(excluded.years_in_business, years_in_business),
		price_range = ifnull(excluded.price_range, price_range), snippet = ifnull(excluded.snippet, snippet),
		image_url = ifnull(excluded.image_url, image_url), hours = ifnull(excluded.hours, hours),
		claimed = ifnull(excluded.claimed, claimed), sponsored = min(sponsored, excluded.sponsored),
		fingerprint = excluded.fingerprint, last_seen_at = excluded.last_seen_at
	WHERE (company_id, name, profile_url, phone, phone_e164, street, city, state, postal_code, service_area, website_url, website, domain,
		categories, rating, review_count, years_in_business, price_range, snippet, image_url, hours, claimed, sponsored)
	IS NOT (excluded.company_id, excluded.name, ifnull(excluded.profile_url, profile_url), ifnull(excluded.phone, phone),
		ifnull(excluded.phone_e164, phone_e164), ifnull(excluded.street, street), ifnull(excluded.city, city),
		ifnull(excluded.state, state), ifnull(excluded.postal_code, postal_code), ifnull(excluded.service_area, service_area),
		ifnull(excluded.website_url, website_url), ifnull(excluded.website, website), ifnull(excluded.domain, domain),
		ifnull(excluded.categories, categories), ifnull(excluded.rating, rating), ifnull(excluded.review_count, review_count),
		ifnull(excluded.years_in_business, years_in_business), ifnull(excluded.price_range, price_range),
		ifnull(excluded.snippet, snippet), ifnull(excluded.image_url, image_url), ifnull(excluded.hours, hours),
		ifnull(excluded.claimed, claimed), min(sponsored, excluded.sponsored))`

// upsert saves the listing. With changed false the row says the same already: a
// page may show less of a listing than is known of it.
func (s *saver) upsert(l *yp.Listing, company, print int64) (row int64, changed bool, err error) {
	res, err := s.tx.Exec(upsertListing, s.at.SourceID, l.ID, company, l.Name, text(l.ProfileURL), text(l.Phone),
		text(l.PhoneE164), text(l.Street), text(l.City), text(l.State), text(l.PostalCode), text(l.ServiceArea),
		text(l.WebsiteURL), text(l.Website), text(l.Domain), list(l.Categories), stars(l.Rating),
		count(l.ReviewCount), count(l.YearsInBusiness), text(l.PriceRange), text(l.Snippet), text(l.ImageURL),
		list(l.Hours), flag(l.Claimed), l.Sponsored, s.at.State, print, s.tx.Now)
	if err != nil {
		return 0, false, fmt.Errorf("save listing %s: %w", l.ID, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, false, err
	}
	row, err = res.LastInsertId()
	return row, n > 0, err
}
