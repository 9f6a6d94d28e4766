package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"ypcrawl/yp"
)

// PageOf says where the listings of a page were met.
type PageOf struct {
	SourceID int64
	TargetID int64
	State    string // searched, of the target
	Page     int    // from 1
}

// Saved counts what a page brought.
type Saved struct {
	New       int // listings never seen before
	Changed   int // seen before, with other fields
	Unchanged int
	Dropped   int // without a name or an id, or a second time on the page
	Companies int // companies added, less companies merged away
	Repeated  bool
}

// Kept is the number of listings stored.
func (s Saved) Kept() int { return s.New + s.Changed + s.Unchanged }

// known is a listing of the page that is already stored.
type known struct {
	id          int64
	fingerprint int64
	company     company
	keyed       yp.Listing // the fields that keys are made of
}

const selectKnown = `
	SELECT l.listing_id, l.id, l.fingerprint, c.id, c.lead_source, c.lead_listing, ifnull(c.website, ''),
		ifnull(l.phone_e164, ''), ifnull(l.street, ''), ifnull(l.postal_code, ''), ifnull(l.website, '')
	FROM json_each(?) AS j CROSS JOIN listings l ON l.source_id = ? AND l.listing_id = j.value JOIN companies c ON c.id = l.company_id`

// SaveListings stores one page's listings with their companies: new ones are
// added, changed ones updated (a value the page does not give keeps the old
// one), equal ones only marked as seen. The same page again changes nothing.
// crawlStarted is when the target's current crawl began; Saved.Repeated tells
// that this crawl met every listing of the page on an earlier page.
func SaveListings(tx *Tx, at PageOf, crawlStarted string, listings []yp.Listing) (Saved, error) {
	var saved Saved
	given := len(listings)
	listings = usable(listings)
	saved.Dropped = given - len(listings)
	if len(listings) == 0 {
		return saved, nil
	}
	stored, err := findKnown(tx, at.SourceID, listings)
	if err != nil {
		return saved, err
	}
	s := saver{tx: tx, at: at, rows: make([]int64, len(listings)), saved: &saved}
	if err := s.sort(listings, stored, &saved); err != nil {
		return saved, err
	}
	if err := s.write(listings, stored, &saved); err != nil {
		return saved, err
	}
	if err := s.touch(); err != nil {
		return saved, err
	}
	if saved.New == 0 && at.Page > 1 {
		if saved.Repeated, err = s.repeated(crawlStarted); err != nil {
			return saved, err
		}
	}
	return saved, s.sight(listings)
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

func findKnown(tx *Tx, source int64, listings []yp.Listing) (map[string]known, error) {
	ids := make([]string, len(listings))
	for i := range listings {
		ids[i] = listings[i].ID
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(selectKnown, string(list), source)
	if err != nil {
		return nil, fmt.Errorf("find listings: %w", err)
	}
	defer func() { _ = rows.Close() }()
	stored := make(map[string]known, len(listings))
	for rows.Next() {
		var id string
		var k known
		c := &k.company
		l := &k.keyed
		err := rows.Scan(&id, &k.id, &k.fingerprint, &c.id, &c.leadSource, &c.leadListing, &c.website,
			&l.PhoneE164, &l.Street, &l.PostalCode, &l.Website)
		if err != nil {
			return nil, err
		}
		stored[id] = k
	}
	return stored, rows.Err()
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
	saved  *Saved
}

// sort tells what must be written from what is stored already.
func (s *saver) sort(listings []yp.Listing, stored map[string]known, saved *Saved) error {
	s.prints = make([]int64, len(listings))
	for i := range listings {
		l := &listings[i]
		s.prints[i] = fingerprint(l)
		k, ok := stored[l.ID]
		if ok && k.fingerprint == s.prints[i] {
			s.rows[i] = k.id
			s.same = append(s.same, k.id)
			saved.Unchanged++
			continue
		}
		s.dirty = append(s.dirty, i)
		if ok {
			saved.Changed++
			s.keys = append(s.keys, yp.CompanyKeys(k.with(l)))
		} else {
			saved.New++
			s.keys = append(s.keys, yp.CompanyKeys(l))
		}
	}
	return nil
}

// with returns what the stored listing will be once l is saved, as far as keys
// go: they come from all that is known of it, not from the last page alone.
func (k known) with(l *yp.Listing) *yp.Listing {
	return &yp.Listing{
		Name: l.Name, PhoneE164: cmp.Or(l.PhoneE164, k.keyed.PhoneE164), Street: cmp.Or(l.Street, k.keyed.Street),
		PostalCode: cmp.Or(l.PostalCode, k.keyed.PostalCode), Website: cmp.Or(l.Website, k.keyed.Website),
	}
}

// left returns the website that the listing gives up for that of l, if it does.
func (k known) left(l *yp.Listing) string {
	if l.Website == "" || l.Website == k.keyed.Website {
		return ""
	}
	return k.keyed.Website
}

func (s *saver) write(listings []yp.Listing, stored map[string]known, saved *Saved) error {
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
	saved.Companies = r.created - r.gone
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
	s.rows[i] = row
	if exists {
		s.rows[i] = k.id
	}
	if !changed {
		s.same = append(s.same, k.id)
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

const touchListings = `UPDATE listings SET last_seen_at = ? WHERE id IN (SELECT value FROM json_each(?))`

// touch marks the equal listings as seen, in one statement.
func (s *saver) touch() error {
	if len(s.same) == 0 {
		return nil
	}
	_, err := s.tx.Exec(touchListings, s.tx.Now, intList(s.same))
	if err != nil {
		return fmt.Errorf("mark listings as seen: %w", err)
	}
	return nil
}

const countEarlier = `
	SELECT count(*) FROM json_each(?) AS j CROSS JOIN sightings s ON s.target_id = ? AND s.listing = j.value
	WHERE s.page < ? AND s.seen_at >= ?`

func (s *saver) repeated(crawlStarted string) (bool, error) {
	var n int
	err := s.tx.Get(countEarlier, []any{intList(s.rows), s.at.TargetID, s.at.Page, crawlStarted}, &n)
	if err != nil {
		return false, fmt.Errorf("look for a repeated page: %w", err)
	}
	return n >= len(s.rows), nil
}

// Row id and rank travel as one number, so that a page's sightings are one
// statement over a flat list; ranks beyond 4095 do not occur (pages are capped).
const (
	rankBits     = 12
	saveSighting = `
	INSERT INTO sightings (target_id, listing, page, rank, seen_at)
	SELECT ?, value >> 12, ?, value & 4095, ? FROM json_each(?) WHERE true
	ON CONFLICT DO UPDATE SET page = excluded.page, rank = excluded.rank, seen_at = excluded.seen_at`
)

func (s *saver) sight(listings []yp.Listing) error {
	packed := make([]int64, len(s.rows))
	for i, row := range s.rows {
		packed[i] = row<<rankBits | int64(min(max(listings[i].Rank, 0), 1<<rankBits-1))
	}
	if _, err := s.tx.Exec(saveSighting, s.at.TargetID, s.at.Page, s.tx.Now, intList(packed)); err != nil {
		return fmt.Errorf("save sightings: %w", err)
	}
	return nil
}

// fingerprint hashes what a page says of a listing, less its rank: two pages
// that say the same give the same number. The canonical forms are part of it, so
// that better rules for them reach what was stored under the old ones.
func fingerprint(l *yp.Listing) int64 {
	h := fnv.New64a()
	buf := make([]byte, 0, 1024)
	for _, s := range [...]string{
		l.Name, l.ProfileURL, l.Phone, l.Street, l.City, l.State, l.PostalCode, l.ServiceArea,
		l.WebsiteURL, l.PriceRange, l.Snippet, l.ImageURL, l.PhoneE164, l.Website,
	} {
		buf = append(append(buf, s...), 0)
	}
	for _, part := range [...][]string{l.Categories, l.Hours} {
		for _, s := range part {
			buf = append(append(buf, s...), 1)
		}
		buf = append(buf, 0)
	}
	buf = strconv.AppendFloat(buf, l.Rating, 'g', -1, 64)
	buf = strconv.AppendInt(append(buf, 0), int64(l.ReviewCount), 10)
	buf = strconv.AppendInt(append(buf, 0), int64(l.YearsInBusiness), 10)
	buf = strconv.AppendBool(append(buf, 0), l.Sponsored)
	if l.Claimed != nil {
		buf = strconv.AppendBool(append(buf, 0), *l.Claimed)
	}
	_, _ = h.Write(buf)
	return int64(h.Sum64() & math.MaxInt64) // #nosec: the top bit is dropped on purpose
}

// intList writes numbers as a JSON array for json_each.
func intList(ids []int64) string {
	b := make([]byte, 0, 2+len(ids)*8)
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

func list(items []string) any {
	if len(items) == 0 {
		return nil
	}
	b, err := json.Marshal(items)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(b)
}

// stars stores a rating; one off the scale, or absent, is no rating.
func stars(f float64) any {
	if f >= 0.5 && f <= 5 {
		return f
	}
	return nil
}

func count(n int) any {
	if n <= 0 {
		return nil
	}
	return int64(n)
}

func flag(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}
