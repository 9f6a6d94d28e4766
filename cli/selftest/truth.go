package selftest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"ypcrawl/crawl/demo"
	"ypcrawl/yp"
)

// listingColumns lists the columns of the fields of a listing, but for its id.
func listingColumns() (all []string) {
	for i := range yp.ListingFields {
		if column := yp.ListingFields[i].ColumnName(); column == yp.ListingFields[i].Name {
			all = append(all, column)
		}
	}
	return all
}

// detailColumns lists the columns of the fields of yp.Detail, but for its id and its name: that stays the card's.
func detailColumns() (all []string) {
	for f := range reflect.TypeFor[yp.Detail]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "id" && name != "name" {
			all = append(all, name)
		}
	}
	return all
}

// completed gives listings what their cards lack and their own pages say, and what JSON leaves out.
const completed = `
	UPDATE temp.listing SET sponsored = ifnull(sponsored, 0);
	UPDATE temp.listing AS l SET phone = d.phone, phone_e164 = d.phone_e164 FROM temp.detail d WHERE d.id = l.id AND l.phone IS NULL AND l.phone_e164 IS NULL;
	UPDATE temp.listing AS l SET website_url = d.website_url, website = d.website, domain = d.domain FROM temp.detail d WHERE d.id = l.id AND l.website_url IS NULL AND l.website IS NULL;
	UPDATE temp.listing AS l SET hours = ifnull(l.hours, d.hours), years_in_business = ifnull(l.years_in_business, d.years_in_business) FROM temp.detail d WHERE d.id = l.id`

// writeTruth writes the truth into temporary tables, with the columns of a crawl's database.
func writeTruth(ctx context.Context, db *sql.DB, t *demo.Truth) error {
	x := demo.Changes{}
	if t.Changes != nil {
		x = *t.Changes
	}
	for _, table := range []struct {
		name, id string // of a row of JSON
		columns  []string
		rows     any
	}{
		{"listing", "value->>'id'", listingColumns(), t.Listings},
		{"detail", "value->>'id'", detailColumns(), t.Details},
		{"company", "value->>'$.listings[0]'", []string{"name", "listings"}, t.Companies},
		{"search", "value->>'city' || '/' || (value->>'category')", []string{"pages"}, t.Searches},
		{"city", "value->>'slug'", []string{"name", "state"}, t.Cities},
		{"gone", "value", nil, append(x.Dropped, x.Retired...)},
		{"held", "value", nil, append(x.Unconfirmed, x.Ads...)},
	} {
		var rows bytes.Buffer
		enc := json.NewEncoder(&rows)
		enc.SetEscapeHTML(table.name == "detail") // as the database has the lists of each
		if err := enc.Encode(table.rows); err != nil {
			return err
		}
		columns, from := "id PRIMARY KEY", table.id
		for _, c := range table.columns {
			columns, from = columns+", "+c, from+", value->>'"+c+"'"
		}
		_, err := db.ExecContext(ctx, fmt.Sprintf("CREATE TEMP TABLE %[1]s (%[2]s); INSERT OR IGNORE INTO temp.%[1]s SELECT %[3]s FROM json_each(?) WHERE value IS NOT NULL", table.name, columns, from), rows.String())
		if err != nil {
			return fmt.Errorf("table %s: %w", table.name, err)
		}
	}
	_, err := db.ExecContext(ctx, completed)
	return err
}
