package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"ypcrawl/yp"
)

// ColumnKind says what the values of a column are.
type ColumnKind int

// Kinds of columns. The values of every kind may be absent, which is nil.
const (
	TextColumn    ColumnKind = iota // string
	ListColumn                      // string: a JSON array of texts
	IntegerColumn                   // int64
	RealColumn                      // float64
)

// Column is what can be told of a listing.
type Column struct {
	Name string
	Kind ColumnKind
	sql  string // over listings l, details d, the searched target x; empty = made of events
	made making // of what sql gives
}

// Stored reports whether the column is kept with a listing, so that one may lack it.
func (c Column) Stored() bool { return c.made != byEvents && c.made != openOrClosed }

// making says how the value of a column comes about.
type making int

const (
	asIs making = iota
	firstOf
	dayOf
	openOrClosed
	sourceName
	cityName
	categoryName
	byEvents
)

// ListingColumns lists every column, those first that a file has unless others are named.
func ListingColumns() []Column {
	text := func(name, sql string) Column { return Column{name, TextColumn, sql, asIs} }
	date := func(name, sql string) Column { return Column{name, TextColumn, sql, dayOf} }
	list := func(name, sql string) Column { return Column{name, ListColumn, sql, asIs} }
	return []Column{
		{"change", TextColumn, "", byEvents},
		text("name", "l.name"),
		text("email", "d.email"),
		text("phone", "ifnull(l.phone, d.phone)"),
		text("website", "ifnull(l.website, d.website)"),
		text("street", "l.street"),
		text("city", "l.city"),
		text("state", "l.state"),
		text("postal_code", "l.postal_code"),
		{"category", TextColumn, "l.categories", firstOf},
		list("categories", "l.categories"),
		{"rating", RealColumn, "l.rating", asIs},
		{"review_count", IntegerColumn, "l.review_count", asIs},
		list("hours", "ifnull(d.hours, l.hours)"),
		{"status", TextColumn, "l.dropped_at", openOrClosed},
		{"changed_fields", ListColumn, "", byEvents},
		date("first_seen", "l.first_seen_at"),
		date("last_seen", "l.last_seen_at"),
		date("closed_on", "l.dropped_at"),
		{"searched_city", TextColumn, "x.city_id", cityName},
		text("searched_state", "l.found_state"),
		{"searched_category", TextColumn, "x.category_id", categoryName},
		{"company_id", IntegerColumn, "l.company_id", asIs},
		{"source", TextColumn, "l.source_id", sourceName},
		text("listing_id", "l.listing_id"),
		text("profile_url", "l.profile_url"),
		date("details_read_on", "d.fetched_at"),
		{"lat", RealColumn, "d.lat", asIs},
		{"lon", RealColumn, "d.lon", asIs},

		text("phone_e164", "ifnull(l.phone_e164, d.phone_e164)"),
		text("domain", "ifnull(l.domain, d.domain)"),
		text("service_area", "l.service_area"),
		text("price_range", "l.price_range"),
		text("snippet", "l.snippet"),
		text("image_url", "l.image_url"),
		{"years_in_business", IntegerColumn, "ifnull(l.years_in_business, d.years_in_business)", asIs},
		{"founded", IntegerColumn, "d.founded", asIs},
		{"claimed", IntegerColumn, "l.claimed", asIs},
		{"sponsored", IntegerColumn, "l.sponsored", asIs},
		list("payment", "d.payment"),
		list("social", "d.social"),
		list("services", "d.services"),
		list("languages", "d.languages"),
		list("neighborhoods", "d.neighborhoods"),
		list("aka", "d.aka"),
		text("about", "d.about"),
		text("first_seen_at", "l.first_seen_at"),
		text("last_seen_at", "l.last_seen_at"),
		text("closed_at", "l.dropped_at"),
		text("details_read_at", "d.fetched_at"),
	}
}

// DefaultColumns is how many of ListingColumns a file has unless others are named.
const DefaultColumns = 29

// ListingColumn finds a column by its name.
func ListingColumn(name string) (Column, error) {
	all := ListingColumns()
	names := make([]string, len(all))
	for i, c := range all {
		if names[i] = c.Name; c.Name == name {
			return c, nil
		}
	}
	if near, ok := yp.Nearest(name, names); ok {
		return Column{}, fmt.Errorf("unknown column %q: did you mean %s?", name, near)
	}
	return Column{}, fmt.Errorf("unknown column %q: want one of %s", name, strings.Join(names, ", "))
}

// Texts reads the value of a ListColumn.
func Texts(value any) (items []string) {
	text, _ := value.(string)
	text = strings.ReplaceAll(text, `\u0026`, "&")                                       // nearly the only escape there is
	if plain, ok := strings.CutPrefix(text, `["`); ok && !strings.Contains(plain, `\`) { // most are, and this takes a tenth of the time
		return strings.Split(strings.TrimSuffix(plain, `"]`), `","`)
	}
	if text == "" || json.Unmarshal([]byte(text), &items) != nil {
		return nil
	}
	return items
}
