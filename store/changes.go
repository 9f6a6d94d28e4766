package store

import (
	"database/sql"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// FieldChange is a field of a listing before and after; nil = nothing.
type FieldChange struct {
	Field string  `json:"field"`
	Old   *string `json:"old"`
	New   *string `json:"new"`
}

func changeOf(field, before, now string) FieldChange {
	c := FieldChange{Field: field, New: &now} // what has no value now is no change
	if before != "" {
		c.Old = &before
	}
	return c
}

// diff is what a page says otherwise of a listing than what is stored.
type diff struct {
	Changed   []FieldChange `json:"changes,omitempty"`   // another value, or one where the same target saw none before
	Completed []string      `json:"completed,omitempty"` // fields that are known now, because this page shows more
}

// values are the texts of a listing's fields that count as changes, and of their canonical
// forms, in the order of yp.ListingFields. Left out is what changes without meaning
// anything: rank, an ad or not, addresses of the profile and of images, and how a website
// or a phone is written.
type values [len(yp.ListingFields)]string

// compared are the places in yp.ListingFields of the fields that values has, and formOf
// those of their canonical forms; -1 = none.
var compared, formOf = func() (places []int, forms [len(yp.ListingFields)]int) {
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		forms[i] = yp.ListingFieldAt(f.Form)
		isForm := slices.ContainsFunc(yp.ListingFields[:], func(other yp.ListingField) bool { return other.Form == f.Name })
		if f.Table == yp.InListings && (f.Is(yp.Counted) || isForm) {
			places = append(places, i)
		}
	}
	return places, forms
}()

// beforeColumns are the columns of the listings l that values.into takes. The driver gives numbers as database/sql writes
// them, which is as yp.ListingField.Text does: "ifnull(l.name, ”), ifnull(l.phone, ”), ...".
var beforeColumns = func() string {
	var columns strings.Builder
	for _, i := range compared {
		f := &yp.ListingFields[i]
		column := "l." + f.ColumnName()
		if _, ok := f.At(&yp.Listing{}).(**bool); ok {
			column = "CASE " + column + " WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
		}
		columns.WriteString(", ifnull(" + column + ", '')")
	}
	return columns.String()[2:]
}()

func (v *values) into() (into []any) {
	for _, i := range compared {
		into = append(into, &v[i])
	}
	return into
}

var selectBefore = `
	SELECT l.id, EXISTS (SELECT 1 FROM sightings s WHERE s.target_id = ?2 AND s.listing = l.id AND s.since < ?3), ` + beforeColumns + `
	FROM json_each(?1) AS j CROSS JOIN listings l ON l.id = j.value`

// compare finds what the page says otherwise of the listings that it knows. A value
// where there was none is a change only if an earlier crawl of the same target has seen
// the listing: it has the same markup, and showed none. Elsewhere it is completed, and so known
// to the pages that come after.
func (s *saver) compare() error {
	at, rows := map[int64]int{}, []int64(nil)
	for _, i := range s.dirty {
		if k, ok := s.stored[s.page.listings[i].ID]; ok {
			at[k.id], rows = i, append(rows, k.id)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	s.diffs = make(map[int]diff, len(rows))
	return Each(s.tx, selectBefore, []any{JSONInts(rows), s.at.TargetID, s.at.Crawl}, func(found *sql.Rows) error {
		var row int64
		var before values
		var again bool
		if err := found.Scan(append([]any{&row, &again}, before.into()...)...); err != nil {
			return err
		}
		now := valuesOf(&s.page.listings[at[row]], s.page.gives[at[row]].writes)
		s.diffs[at[row]] = before.to(&now, again && !s.at.reparsed()) // what another definition finds has not changed
		return nil
	})
}

// to is the difference between what was stored and what a page says now. again tells that the same page could have
// said it before: an earlier crawl of the same target has seen the listing, or its own page was read.
func (v *values) to(now *values, again bool) (d diff) {
	for _, i := range compared {
		f, old := &yp.ListingFields[i], v[i]
		form := formOf[i]
		switch {
		case !f.Is(yp.Counted) || now[i] == "" || now[i] == old:
		case form >= 0 && now[form] != "" && now[form] == v[form]: // the same, written in another way
		case old == "" && !again:
			d.Completed = append(d.Completed, f.Name)
		default:
			d.Changed = append(d.Changed, changeOf(f.Name, old, now[i]))
		}
	}
	return d
}

// valuesOf are the values of a listing in the groups that a page writes; of the others it says nothing.
func valuesOf(l *yp.Listing, writes yp.Groups) (v values) {
	for _, i := range compared {
		if f := &yp.ListingFields[i]; f.Group == yp.GroupNone || writes&f.Group.Bit() != 0 {
			v[i] = f.Text(l)
		}
	}
	return v
}
