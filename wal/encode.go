package wal

import (
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"ypcrawl/yp"
)

// AppendJSON appends the event as one line of JSON, without a newline, to b.
// The output is valid JSON for any event: invalid UTF-8 becomes U+FFFD, and
// numbers that JSON can't say are left out.
//
// It is written by hand because a page line with 30 listings is the largest
// thing a worker encodes, once a page: reflection costs several times as much.
func (e *Event) AppendJSON(b []byte) []byte {
	b = append(b, `{"timestamp":"`...)
	b = yp.AppendTime(b, e.Timestamp)
	b = append(b, `","worker_id":`...)
	b = appendString(b, e.WorkerID)
	b = append(b, `,"event_type":`...)
	b = appendString(b, string(e.Type))
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, `,"run":`...)
	b = appendString(b, e.Run)
	b = appendText(b, `,"database":`, e.Database)
	b = appendInt(b, `,"run_number":`, e.RunNumber)
	b = appendText(b, `,"status":`, string(e.Status))
	b = appendTarget(b, e.Target)
	b = appendText(b, `,"error_code":`, string(e.ErrorCode))
	b = appendText(b, `,"error":`, e.Error)
	if e.Complete {
		b = append(b, `,"complete":true`...)
	}
	b = appendPage(b, e.Page)
	b = appendEdit(b, e.Edit)
	return append(b, '}')
}

// MarshalJSON is AppendJSON for encoding/json.
func (e *Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

func appendTarget(b []byte, t *Target) []byte {
	if t == nil {
		return b
	}
	b = append(b, `,"target_id":`...)
	b = strconv.AppendInt(b, t.ID, 10)
	b = append(b, `,"claim_token":`...)
	b = strconv.AppendInt(b, t.ClaimToken, 10)
	b = appendInt(b, `,"crawl":`, t.Crawl)
	if t.Kind != yp.KindSearch {
		b = appendText(b, `,"kind":`, string(t.Kind))
	}
	b = append(b, `,"source":`...)
	b = appendString(b, t.Source)
	b = appendText(b, `,"listing_id":`, t.Listing)
	b = append(b, `,"city":`...)
	b = appendString(b, t.City)
	b = append(b, `,"city_slug":`...)
	b = appendString(b, t.CitySlug)
	b = append(b, `,"state":`...)
	b = appendString(b, t.State)
	b = append(b, `,"category":`...)
	b = appendString(b, t.Category)
	b = append(b, `,"category_slug":`...)
	b = appendString(b, t.CategorySlug)
	b = append(b, `,"priority":`...)
	b = strconv.AppendInt(b, int64(t.Priority), 10)
	b = append(b, `,"max_pages":`...)
	return strconv.AppendInt(b, int64(t.MaxPages), 10)
}

func appendPage(b []byte, p *yp.Page) []byte {
	if p == nil {
		return b
	}
	b = append(b, `,"page_number":`...)
	b = strconv.AppendInt(b, int64(p.Number), 10)
	b = append(b, `,"raw_count":`...)
	b = strconv.AppendInt(b, int64(p.Raw), 10)
	b = append(b, `,"accepted_count":`...)
	b = strconv.AppendInt(b, int64(p.Accepted), 10)
	b = append(b, `,"bad_count":`...)
	b = strconv.AppendInt(b, int64(p.Bad), 10)
	b = append(b, `,"last":`...)
	b = strconv.AppendBool(b, p.Last)
	b = appendText(b, `,"next_page_url":`, p.NextURL)
	b = append(b, `,"listings":[`...)
	for i := range p.Listings {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendListing(b, &p.Listings[i])
	}
	return appendRest(append(b, ']'), p)
}

// appendRest writes what most pages have nothing of.
func appendRest(b []byte, p *yp.Page) []byte {
	b = appendInt(b, `,"site_total":`, p.SiteTotal)
	if p.End {
		b = append(b, `,"end":true`...)
	}
	b = appendList(b, `,"others":`, p.Others)
	for i := range p.Rejected {
		b = append(b, opening(i, `,"rejected":[`)...)
		b = append(b, `{"listing":`...)
		b = appendListing(b, &p.Rejected[i].Listing)
		b = appendList(b, `,"reasons":`, p.Rejected[i].Reasons)
		b = append(b, '}')
	}
	if len(p.Rejected) > 0 {
		b = append(b, ']')
	}
	b = appendText(b, `,"path":`, p.Path)
	for i := range p.Cities {
		b = appendCity(append(b, opening(i, `,"cities":[`)...), &p.Cities[i])
	}
	if len(p.Cities) > 0 {
		b = append(b, ']')
	}
	b = appendPlan(b, p.Plan)
	if p.Detail != nil {
		b = appendDetail(append(b, `,"detail":`...), p.Detail)
	}
	return b
}

// appendPlan writes the JSON form that yp.SearchPlan's tags give.
func appendPlan(b []byte, p *yp.SearchPlan) []byte {
	if p == nil {
		return b
	}
	b = append(b, `,"plan":{"categories":[`...)
	for i, c := range p.Categories {
		b = append(b, opening(i, "")...)
		b = appendString(append(b, `{"slug":`...), c.Slug)
		b = appendString(append(b, `,"name":`...), c.Name)
		b = append(b, '}')
	}
	b = append(b, `],"tier_pages":[`...)
	for i, n := range p.TierPages {
		b = strconv.AppendInt(append(b, opening(i, "")...), int64(n), 10)
	}
	b = append(b, ']')
	if p.Explicit {
		b = append(b, `,"explicit":true`...)
	}
	b = appendInt(b, `,"max_targets":`, p.MaxTargets)
	b = appendInt(b, `,"min_population":`, p.MinPopulation)
	return append(b, '}')
}

// appendEdit writes the JSON form that yp.CompanyEdit's tags give.
func appendEdit(b []byte, e *yp.CompanyEdit) []byte {
	if e == nil {
		return b
	}
	b = append(b, `,"edit":{"id":`...)
	b = appendString(b, e.ID)
	b = appendListingKeys(append(b, `,"kept":`...), e.Kept)
	for i, keys := range e.Gone {
		b = appendListingKeys(append(b, opening(i, `,"gone":[`)...), keys)
	}
	if len(e.Gone) > 0 {
		b = append(b, ']')
	}
	if len(e.Out) > 0 {
		b = appendListingKeys(append(b, `,"out":`...), e.Out)
	}
	b = appendList(b, `,"keys":`, e.Keys)
	if m := e.Merge; m != nil {
		b = appendString(append(b, `,"merge":{"at":`...), m.At)
		b = appendString(append(b, `,"by":`...), string(m.By))
		b = appendText(b, `,"key":`, m.Key)
		b = append(appendListingKeys(append(b, `,"listings":`...), m.Listings), '}')
	}
	return append(b, '}')
}

func appendListingKeys(b []byte, keys []yp.ListingKey) []byte {
	b = append(b, '[')
	for i, k := range keys {
		b = append(b, opening(i, "")...)
		b = append(b, `{"source":`...)
		b = appendString(b, k.Source)
		b = append(b, `,"id":`...)
		b = append(appendString(b, k.ID), '}')
	}
	return append(b, ']')
}

// opening is what stands before item i of a list.
func opening(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

// appendCity writes the JSON form that yp.FoundCity's tags give.
func appendCity(b []byte, c *yp.FoundCity) []byte {
	b = append(b, `{"slug":`...)
	b = appendString(b, c.Slug)
	b = append(b, `,"name":`...)
	b = appendString(b, c.Name)
	b = append(b, `,"state":`...)
	b = appendString(b, c.State)
	b = appendInt(b, `,"population":`, c.Population)
	b = appendFloat(b, `,"lat":`, c.Lat)
	b = appendFloat(b, `,"lon":`, c.Lon)
	b = append(b, `,"tier":`...)
	b = strconv.AppendInt(b, int64(c.Tier), 10)
	b = append(b, `,"address":`...)
	b = appendString(b, c.Address)
	b = append(b, `,"shown":`...)
	b = appendString(b, c.Shown)
	b = append(b, `,"matched":`...)
	return append(appendString(b, c.Matched), '}')
}

// appendDetail writes the JSON form that yp.Detail's tags give; a test sets every field
// by reflection, so that a new one can't be forgotten here.
func appendDetail(b []byte, d *yp.Detail) []byte {
	b = append(b, `{"id":`...)
	b = appendString(b, d.ID)
	b = appendText(b, `,"name":`, d.Name)
	b = appendText(b, `,"email":`, d.Email)
	b = appendText(b, `,"phone":`, d.Phone)
	b = appendText(b, `,"phone_e164":`, d.PhoneE164)
	b = appendText(b, `,"website_url":`, d.WebsiteURL)
	b = appendText(b, `,"website":`, d.Website)
	b = appendText(b, `,"domain":`, d.Domain)
	b = appendList(b, `,"hours":`, d.Hours)
	b = appendFloat(b, `,"lat":`, d.Lat)
	b = appendFloat(b, `,"lon":`, d.Lon)
	b = appendList(b, `,"payment":`, d.Payment)
	b = appendList(b, `,"social":`, d.Social)
	b = appendList(b, `,"services":`, d.Services)
	b = appendList(b, `,"languages":`, d.Languages)
	b = appendList(b, `,"neighborhoods":`, d.Neighborhoods)
	b = appendList(b, `,"aka":`, d.AKA)
	b = appendInt(b, `,"founded":`, d.Founded)
	b = appendInt(b, `,"years_in_business":`, d.Years)
	b = appendText(b, `,"about":`, d.About)
	return append(b, '}')
}

// listingKeys are the keys of a listing's fields with what stands before their values, in
// the order of yp.ListingFields.
var listingKeys = func() (keys [len(yp.ListingFields)]string) {
	for i := range yp.ListingFields {
		keys[i] = `,"` + yp.ListingFields[i].Name + `":`
	}
	return keys
}()

// appendListing writes the JSON form that yp.Listing's tags give.
func appendListing(b []byte, l *yp.Listing) []byte {
	start := len(b)
	for i := range yp.ListingFields {
		f, key := &yp.ListingFields[i], listingKeys[i]
		switch v := f.At(l).(type) {
		case *string:
			if *v != "" || f.Absent == yp.Refused {
				b = appendString(append(b, key...), *v)
			}
		case *int:
			b = appendInt(b, key, *v)
		case *float64:
			b = appendFloat(b, key, *v)
		case *[]string:
			b = appendList(b, key, *v)
		case *bool:
			if *v {
				b = append(append(b, key...), "true"...)
			}
		case **bool:
			if *v != nil {
				b = strconv.AppendBool(append(b, key...), **v)
			}
		}
	}
	b[start] = '{' // in place of the first comma
	return append(b, '}')
}

// appendText, appendInt, appendFloat and appendList write a key and its value,
// or nothing for an empty one.
func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, key...), s)
}

func appendInt[T int | int64](b []byte, key string, n T) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), int64(n), 10)
}

func appendFloat(b []byte, key string, f float64) []byte {
	if f == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return b
	}
	format := byte('f')
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1e21 {
		format = 'e'
	}
	return strconv.AppendFloat(append(b, key...), f, format, -1, 64)
}

func appendList(b []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, key...)
	for i, s := range list {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		b = appendString(append(b, sep), s)
	}
	return append(b, ']')
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Runs that need no escape are copied
// whole. Beside what JSON asks for, everything that acts on a terminal or ends
// a line somewhere is escaped (DEL, the C1 controls, bidi and zero-width
// characters, U+2028), so that `cat` and `tail -f` of a log are safe.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if i += safeBytes(s[i:]); i == len(s) {
			break
		}
		c := s[i]
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(s[i:]); plain(r, size) {
				i += size
				continue
			}
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, r)
		i += size
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// safeBytes counts the bytes at the start of s that need no escape and no
// decoding: printable ASCII without the quote and the backslash. It looks at
// eight at a time; in each word the lowest byte that is marked is a true hit.
func safeBytes(s string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		quote, slash, del := x^ones*'"', x^ones*'\\', x^ones*0x7f
		low := (x - ones*' ') | (quote - ones) | (slash - ones) | (del - ones) | x
		if low &= tops; low != 0 {
			return i + bits.TrailingZeros64(low)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// plain reports whether a rune beyond ASCII may stand in a log as it is. An
// invalid byte (RuneError of size 1) may not.
func plain(r rune, size int) bool {
	switch {
	case r < 0xa0: // C1 controls
		return false
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff:
		return false
	case r == 0x61c: // Arabic letter mark
		return false
	}
	return r != utf8.RuneError || size > 1
}

func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', hexDigits[r>>12&0xf], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
}
