package report_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

type townReader struct {
	*report.Reader
	db *store.DB
}

// town is a database of nine listings whose history is told in the comments. Listing n was
// seen first on day n of January.
func town(t *testing.T) *townReader {
	t.Helper()
	db := storetest.Open(t)
	storetest.World{
		Sources:    []storetest.Source{{Name: "one", BaseURL: "http://one"}, {Name: "two", BaseURL: "http://two"}},
		Cities:     []yp.City{{Slug: "oakland-ca", Name: "Oakland", State: "CA", Population: 1000, Tier: 1}, {Slug: "reno-nv", Name: "Reno", State: "NV", Population: 1000, Tier: 1}},
		Categories: storetest.Categories("Plumbers", "Pet Stores"),
		Planned:    func(city, category, source int) bool { return city == category && source == 0 },
	}.Plant(t, db)
	row := func(id, company int, name, more string) string {
		fields := map[string]string{"source_id": "1", "city": "'Oakland'", "state": "'CA'", "found_state": "'CA'"}
		for _, f := range strings.Split(more, ";") {
			if k, v, ok := strings.Cut(f, "="); ok {
				fields[k] = v
			}
		}
		keys, values := "", ""
		for k, v := range fields {
			keys, values = keys+", "+k, values+", "+v
		}
		return fmt.Sprintf(`INSERT INTO listings (id, listing_id, company_id, name, fingerprint, first_seen_at, last_seen_at%s)
			VALUES (%d, 'l%d', %d, '%s', 0, '2026-01-%02dT10:00:00.000Z', '2026-02-%02dT10:00:00.000Z'%s)`, keys, id, id, company, name, id, id, values)
	}
	for i := range 8 {
		storetest.Execute(t, db, fmt.Sprintf(`INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (%d, 'c', 1, 'l', 'x')`, i+1))
	}
	storetest.Execute(t, db,
		row(1, 1, "Acme Plumbing", `phone='(510) 555-0100';rating=4.5;review_count=7;website='https://acme.example';categories='["Plumbers","Heating \u0026 Air"]'`),
		row(2, 1, "Acme again", `source_id=2;rating=3.0`),
		row(3, 2, "Best Pets", `city=NULL;state=NULL;found_state='NV'`),        // its page says neither city nor state
		row(4, 3, "Dropped long ago", `dropped_at='2026-01-05T00:00:00.000Z'`), // dropped by event 5
		row(5, 4, "Drops", `dropped_at='2026-01-12T00:00:00.000Z'`),            // dropped by event 8
		row(6, 5, "Changes", `rating=2.0`),                                     // changed by events 9 and 10
		row(7, 6, "Comes back", ``),                                            // dropped by 6, restored by 11
		row(8, 7, "Blinks", ``),                                                // dropped and restored after the mark
		row(9, 8, "Café O''Neil", `categories='["Caf\u00e9s \"x\""]'`),         // new after the mark
		row(10, 8, "Came and went", `dropped_at='2026-01-12T00:00:00.000Z'`),   // new and dropped after the mark
		`INSERT INTO sightings (target_id, listing, page, rank, seen_at) VALUES (1, 1, 1, 0, 'x'), (2, 1, 1, 0, 'x'), (2, 3, 1, 1, 'x'), (1, 2, 1, 2, 'x')`,
		`UPDATE listings SET own_page_at = '2026-01-03T00:00:00.000Z' WHERE id IN (1, 2)`,
		`UPDATE listings SET email = 'a@acme.example', lat = 37.8, lon = -122.25, hours = '["Mo-Fr 08:00-17:00"]' WHERE id = 1`,
		`INSERT INTO listing_events (id, at, kind, source_id, listing, listings, company_id, what) VALUES
			(1, '2026-01-01T10:00:00.000Z', 'new', 1, 1, 3, NULL, NULL), (2, '2026-01-04T10:00:00.000Z', 'new', 1, 4, 5, NULL, NULL),
			(3, '2026-01-05T00:00:00.000Z', 'changed', 1, 6, 1, 5, '{"changes":[{"field":"phone","old":null,"new":"x"}]}'),
			(4, '2026-01-05T00:00:00.000Z', 'completed', 1, 8, 1, 7, '{"completed":["phone"]}'),
			(5, '2026-01-05T00:00:00.000Z', 'dropped', 1, 4, 1, 3, NULL), (6, '2026-01-05T00:00:00.000Z', 'dropped', 1, 7, 1, 6, NULL),
			(7, '2026-01-10T00:00:00.000Z', 'new', 1, 9, 2, NULL, NULL),
			(8, '2026-01-12T00:00:00.000Z', 'dropped', 1, 5, 1, 4, NULL),
			(9, '2026-01-12T00:00:00.000Z', 'changed', 1, 6, 1, 5, '{"changes":[{"field":"rating","old":"1","new":"2"},{"field":"phone","old":"x","new":"y"}]}'),
			(10, '2026-01-12T00:00:00.000Z', 'changed', 1, 6, 1, 5, '{"changes":[{"field":"phone","old":"y","new":"z"}]}'),
			(11, '2026-01-12T00:00:00.000Z', 'restored', 1, 7, 1, 6, NULL),
			(12, '2026-01-12T00:00:00.000Z', 'dropped', 1, 8, 1, 7, NULL), (13, '2026-01-13T00:00:00.000Z', 'restored', 1, 8, 1, 7, NULL),
			(14, '2026-01-12T00:00:00.000Z', 'dropped', 1, 10, 1, 8, NULL), (15, '2026-01-13T00:00:00.000Z', 'completed', 1, 1, 1, 1, '{"completed":["phone"]}')`,
	)
	return &townReader{report.New(db), db}
}

// ask returns the rows of a query, a line each.
func ask(t *testing.T, r *townReader, q report.ListingQuery) (lines []string) {
	t.Helper()
	_, err := r.EachListing(t.Context(), q, func(row []any) error {
		words := make([]string, len(row))
		for i, v := range row {
			if words[i] = fmt.Sprint(v); v == nil {
				words[i] = "-"
			}
		}
		lines = append(lines, strings.Join(words, "|"))
		return nil
	})
	storetest.NoError(t, err)
	return lines
}

func TestListingColumns(t *testing.T) {
	t.Parallel()
	r := town(t)
	q := report.ListingQuery{Columns: report.ListingColumns[:report.DefaultColumns], Since: &report.Since{Event: 7}}
	want := []string{
		`changed|Acme Plumbing|a@acme.example|(510) 555-0100|https://acme.example|-|Oakland|CA|-|Plumbers|["Plumbers","Heating \u0026 Air"]|4.5|7|["Mo-Fr 08:00-17:00"]|open|["phone"]|` +
			`2026-01-01T10:00:00.000Z|2026-02-01T10:00:00.000Z|-|Oakland|CA|Plumbers|1|one|l1|-|2026-01-03T00:00:00.000Z|37.8|-122.25`,
		`-|Acme again|-|-|-|-|Oakland|CA|-|Plumbers|-|3|-|-|open|-|2026-01-02T10:00:00.000Z|2026-02-02T10:00:00.000Z|-|Oakland|CA|Plumbers|1|two|l2|-|2026-01-03T00:00:00.000Z|-|-`,
		`-|Best Pets|-|-|-|-|-|-|-|Pet Stores|-|-|-|-|open|-|2026-01-03T10:00:00.000Z|2026-02-03T10:00:00.000Z|-|Reno|NV|Pet Stores|2|one|l3|-|-|-|-`,
	}
	if diff := cmp.Diff(want, ask(t, r, q)[:3]); diff != "" {
		t.Error(diff)
	}
	// Every column can be asked for, alone too.
	for _, c := range report.ListingColumns {
		if got := ask(t, r, report.ListingQuery{Columns: []string{c}, Since: &report.Since{}, Dropped: report.DroppedYes}); len(got) != 10 {
			t.Errorf("%s: %d rows", c, len(got))
		}
	}
	// What the table holds can be exported, but for the address of a website as it was linked.
	for i := range yp.ListingFields {
		if name := yp.ListingFields[i].ColumnName(); yp.ListingFields[i].Table != yp.NoTable && name != "website_url" && !slices.Contains(report.ListingColumns, name) {
			t.Errorf("%s: a field of yp.ListingFields needs a word in ListingColumns", name)
		}
	}
	if got, _ := report.Texts(`["a\\u0026b"]`); !slices.Equal(got, []string{`a\u0026b`}) {
		t.Errorf("a list with a backslash: %q", got)
	}
	if got, _ := report.Texts(`["Caf\u00e9s \"x\"","A \u0026 B"]`); !slices.Equal(got, []string{`Cafés "x"`, "A & B"}) {
		t.Errorf("a list with escapes: %q", got)
	}
}

// TestListingFilter: what an export leaves out; TestListingsList has the filters that a list has, too.
func TestListingFilter(t *testing.T) {
	t.Parallel()
	r := town(t)
	storetest.NoError(t, r.db.IndexWords(t.Context()))
	for name, c := range map[string]struct {
		filter report.ListingQuery
		want   string
	}{
		"open ones":                {report.ListingQuery{}, "l1 l2 l3 l6 l7 l8 l9"},
		"dropped too":              {report.ListingQuery{Dropped: report.DroppedYes}, "l1 l2 l3 l4 l5 l6 l7 l8 l9 l10"},
		"dropped only":             {report.ListingQuery{Dropped: report.DroppedOnly}, "l4 l5 l10"},
		"a city, its own":          {report.ListingQuery{Values: map[string]any{"cities": []string{"oakland"}, "states": []string{"CA", "NV"}, "source": "two"}}, "l2"},
		"a word":                   {report.ListingQuery{Values: map[string]any{"search": []string{"ACME"}}}, "l1 l2"},
		"with an accent, without":  {report.ListingQuery{Values: map[string]any{"search": []string{"cafe o'neil"}}}, "l9"},
		"the searched city's name": {report.ListingQuery{Values: map[string]any{"search": []string{"reno pets"}}}, "l3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, r, report.ListingQuery{Values: c.filter.Values, Dropped: c.filter.Dropped, Columns: []string{"listing_id"}})
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s, want %s", strings.Join(got, " "), c.want)
			}
		})
	}
}

func TestListingChanges(t *testing.T) {
	t.Parallel()
	r := town(t)
	columns := []string{"listing_id", "change", "changed_fields"}
	since := report.Since{Event: 6}
	all := []string{`l1|changed|["phone"]`, "l2|-|-", "l3|-|-", "l5|dropped|-", `l6|changed|["phone","rating"]`, "l7|restored|-", "l8|-|-", "l9|new|-", "l10|dropped|-"}
	for name, c := range map[string]struct {
		query report.ListingQuery
		want  []string
	}{
		"what was dropped since is told":  {report.ListingQuery{Since: &since}, all},
		"by time":                         {report.ListingQuery{Since: &report.Since{At: time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)}}, all},
		"dropped only, whenever":          {report.ListingQuery{Since: &since, Dropped: report.DroppedOnly}, []string{"l4|-|-", "l5|dropped|-", "l10|dropped|-"}},
		"without those dropped":           {report.ListingQuery{Since: &since, Dropped: report.DroppedNo}, []string{`l1|changed|["phone"]`, "l2|-|-", "l3|-|-", `l6|changed|["phone","rating"]`, "l7|restored|-", "l8|-|-", "l9|new|-"}},
		"only some":                       {report.ListingQuery{Since: &since, Only: []report.ChangeWord{report.WordNew, report.WordRestored}}, []string{"l7|restored|-", "l9|new|-"}},
		"only changed, where none is new": {report.ListingQuery{Since: &report.Since{Event: 8}, Only: []report.ChangeWord{report.WordChanged}}, []string{`l1|changed|["phone"]`, `l6|changed|["phone","rating"]`}},
		"from the beginning all are new":  {report.ListingQuery{Since: &report.Since{}, Only: []report.ChangeWord{report.WordNew}}, []string{"l1|new|-", "l2|new|-", "l3|new|-", "l6|new|-", "l7|new|-", "l8|new|-", "l9|new|-"}},
		"nothing after the last event":    {report.ListingQuery{Since: &report.Since{Event: 15}, Only: report.ChangeWords()}, nil},
		"no mark, no changes":             {report.ListingQuery{Values: map[string]any{"states": []string{"NV"}}}, []string{"l3|-|-"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.query.Columns = columns
			if diff := cmp.Diff(c.want, ask(t, r, c.query)); diff != "" {
				t.Error(diff)
			}
		})
	}
	mark, err := r.EachListing(t.Context(), report.ListingQuery{Columns: columns}, func([]any) error { return nil })
	if err != nil || mark.Event != 15 {
		t.Errorf("read up to event %d, %v", mark.Event, err)
	}
	stop := errors.New("stop")
	if _, err := r.EachListing(t.Context(), report.ListingQuery{Columns: columns}, func([]any) error { return stop }); err != stop { //nolint:errorlint // as it was given
		t.Errorf("an error of the reader: %v", err)
	}
}

// The index of words is caught up with what came and what changed, and nothing is in it twice.
func TestIndexWords(t *testing.T) {
	t.Parallel()
	r := town(t)
	find := func(words string) string {
		return strings.Join(ask(t, r, report.ListingQuery{Values: map[string]any{"search": []string{words}}, Dropped: report.DroppedYes, Columns: []string{"listing_id"}}), " ")
	}
	index := func() {
		t.Helper()
		storetest.NoError(t, r.db.IndexWords(t.Context()))
	}
	if find("acme") != "" {
		t.Error("found before there is an index")
	}
	index()
	index()
	storetest.Execute(t, r.db, `UPDATE listings SET name = 'Renamed' WHERE id = 2`,
		`INSERT INTO listing_events (at, kind, source_id, listing, company_id, what) VALUES ('x', 'changed', 1, 2, 1, '{"changes":[{"field":"name"}]}')`,
		`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at) VALUES (11, 1, 'l11', 1, 'Acme three', 'CA', 0, 'x', 'x')`)
	if got := find("acme"); got != "l1 l2" {
		t.Errorf("before it is caught up: %s", got)
	}
	mark, err := r.EachListing(t.Context(), report.ListingQuery{Values: map[string]any{"search": []string{"acme"}}, Columns: []string{"name"}}, func([]any) error { return nil })
	if err != nil || mark.Event != 15 {
		t.Errorf("what is not indexed counts as told: read up to event %d, %v", mark.Event, err)
	}
	index()
	if got := find("acme") + ", " + find("renam"); got != "l1 l11, l2" {
		t.Errorf("after it: %s", got)
	}
	if rows := storetest.Table(t, r.db, `SELECT count(*) FROM listing_words`); rows[0] != "11" {
		t.Errorf("%s rows in the index of 11 listings", rows[0])
	}
}
