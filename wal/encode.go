package wal

import (
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	if e.Edit != nil {
		b = appendValue(append(b, `,"edit":`...), reflect.ValueOf(e.Edit).Elem())
	}
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
	return appendFields(append(b, ']'), reflect.ValueOf(p).Elem(), pageRest)
}

// jsonField is a field of a struct whose JSON form follows from its tags.
type jsonField struct {
	key      string // with what stands before the value: `,"name":`
	index    []int
	optional bool
}

// fieldsOf lists the fields of a struct, those of embedded ones among them. It is kept per
// type: reading tags allocates.
func fieldsOf(t reflect.Type) []jsonField {
	if kept, ok := fieldLists.Load(t); ok {
		return kept.([]jsonField)
	}
	var fields []jsonField
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, jsonField{`,"` + name + `":`, f.Index, options == "omitempty"})
		}
	}
	fieldLists.Store(t, fields)
	return fields
}

var (
	fieldLists sync.Map // reflect.Type to []jsonField
	// pageRest are the fields that most pages have nothing of.
	pageRest = func() []jsonField {
		all := fieldsOf(reflect.TypeFor[yp.Page]())
		return all[slices.IndexFunc(all, func(f jsonField) bool { return f.key == `,"site_total":` }):]
	}()
)

// appendFields writes fields of a struct, each with a comma before it.
func appendFields(b []byte, v reflect.Value, fields []jsonField) []byte {
	for i := range fields {
		f := v.FieldByIndex(fields[i].index)
		empty := f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0
		switch {
		case f.Kind() == reflect.Float64:
			b = appendFloat(b, fields[i].key, f.Float())
		case !empty || !fields[i].optional:
			b = appendValue(append(b, fields[i].key...), f)
		}
	}
	return b
}

// appendValue writes what stands in a line seldom, or alone: its tags say how.
func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return appendString(b, v.String())
	case reflect.Int:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Pointer:
		return appendValue(b, v.Elem())
	case reflect.Slice, reflect.Array:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, v.Index(i))
		}
		return append(b, ']')
	case reflect.Struct:
		if l, ok := v.Addr().Interface().(*yp.Listing); ok {
			return appendListing(b, l)
		}
		start := len(b)
		b = appendFields(b, v, fieldsOf(v.Type()))
		b[start] = '{' // in place of the first comma
		return append(b, '}')
	}
	panic("a field of kind " + v.Kind().String() + ": teach appendValue")
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
