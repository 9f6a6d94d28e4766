package store

import (
	"encoding/json"
	"fmt"
	"strconv"

	"ypcrawl/yp"
)

// change is a field whose value is another than before.
type change struct {
	Field string  `json:"field"`
	Old   *string `json:"old"` // nil = nothing
	New   *string `json:"new"`
}

func changeOf(field, before, now string) change {
	some := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return change{field, some(before), some(now)}
}

// diff is what a page says otherwise of a listing than what is stored.
type diff struct {
	Changed   []change `json:"changes,omitempty"`   // another value, or one where the same target saw none before
	Completed []string `json:"completed,omitempty"` // fields that are known now, because this page shows more
}

// Fields that count as changes, in the order of selectBefore and told by valuesOf.
// Left out is what changes without meaning anything: rank, an ad or not, addresses
// of the profile and of images, and how a website or a phone is written.
var countedFields = [...]string{
	"name", "phone", "street", "city", "state", "postal_code", "service_area", "website", "categories", "rating",
	"review_count", "years_in_business", "price_range", "snippet", "hours", "claimed",
}

// phone is the place of the phone in countedFields.
const phone = 1

const selectBefore = `
	SELECT l.id, ifnull(l.phone_e164, ''), l.name, ifnull(l.phone, ''), ifnull(l.street, ''), ifnull(l.city, ''), ifnull(l.state, ''),
		ifnull(l.postal_code, ''), ifnull(l.service_area, ''), ifnull(l.website, ''), ifnull(l.categories, ''), ifnull(l.rating, 0),
		ifnull(l.review_count, 0), ifnull(l.years_in_business, 0), ifnull(l.price_range, ''), ifnull(l.snippet, ''), ifnull(l.hours, ''),
		CASE l.claimed WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE '' END,
		EXISTS (SELECT 1 FROM sightings s WHERE s.target_id = ?2 AND s.listing = l.id AND s.since < ?3)
	FROM json_each(?1) AS j CROSS JOIN listings l ON l.id = j.value`

type values [len(countedFields)]string

// compare finds what the page says otherwise of the listings that it knows. A value
// where there was none is a change only if an earlier crawl of the same target has met
// the listing: it has the same markup, and showed none. Elsewhere it is completed.
func (s *saver) compare(listings []yp.Listing, stored map[string]known) error {
	at, rows := map[int64]int{}, []int64(nil)
	for _, i := range s.dirty {
		if k, ok := stored[listings[i].ID]; ok {
			at[k.id], rows = i, append(rows, k.id)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	s.diffs = make(map[int]diff, len(rows))
	found, err := s.tx.Query(selectBefore, JSONInts(rows), s.at.TargetID, s.at.Crawl)
	if err != nil {
		return fmt.Errorf("compare listings: %w", err)
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		row, e164, before, again, err := scanBefore(found.Scan)
		if err != nil {
			return fmt.Errorf("compare listings: %w", err)
		}
		l := &listings[at[row]]
		now := valuesOf(l)
		if l.PhoneE164 != "" && l.PhoneE164 == e164 {
			before[phone] = now[phone] // the same number, written in another way
		}
		s.diffs[at[row]] = before.to(&now, again)
	}
	return found.Err()
}

func scanBefore(scan func(...any) error) (row int64, e164 string, v values, again bool, err error) {
	var rating float64
	var reviews, years int64
	err = scan(&row, &e164, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &rating, &reviews, &years, &v[12], &v[13], &v[14], &v[15], &again)
	v[9], v[10], v[11] = decimal(rating), whole(reviews), whole(years)
	return row, e164, v, again, err
}

// to is the difference between what was stored and what a page says now. again tells
// that an earlier crawl of the same target has met the listing.
func (v *values) to(now *values, again bool) (d diff) {
	for i, old := range v {
		switch {
		case now[i] == "" || now[i] == old:
		case old == "" && !again:
			d.Completed = append(d.Completed, countedFields[i])
		default:
			d.Changed = append(d.Changed, changeOf(countedFields[i], old, now[i]))
		}
	}
	return d
}

func valuesOf(l *yp.Listing) values {
	claimed := ""
	if l.Claimed != nil {
		claimed = strconv.FormatBool(*l.Claimed)
	}
	rating := l.Rating
	if stars(rating) == nil {
		rating = 0
	}
	return values{
		l.Name, l.Phone, l.Street, l.City, l.State, l.PostalCode, l.ServiceArea, l.Website, textList(l.Categories), decimal(rating),
		whole(int64(l.ReviewCount)), whole(int64(l.YearsInBusiness)), l.PriceRange, l.Snippet, textList(l.Hours), claimed,
	}
}

// decimal, whole and textList write values as listing_changes has them; "" for nothing.
func decimal(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func whole(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func textList(items []string) string {
	if len(items) == 0 {
		return ""
	}
	b, err := json.Marshal(items)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(b)
}
