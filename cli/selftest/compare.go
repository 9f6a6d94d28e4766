package selftest

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"ypcrawl/crawl/demo"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// Kind says how a database differs from the truth.
type Kind string

// The kinds, the worst first.
const (
	Damaged    Kind = "damaged"    // SQLite finds the file broken
	Unfinished Kind = "unfinished" // a target is not done
	Missing    Kind = "missing"    // the site shows it, the database does not have it
	Doubled    Kind = "doubled"    // the database has it under an id that the site does not show
	Differs    Kind = "differs"    // a value is another one
)

// Difference is one place in which a database differs from the truth.
type Difference struct {
	Kind Kind   `json:"kind"`
	Of   string `json:"of"` // listing, details, search, city or database
	ID   string `json:"id"` // as the site has it; of a search "los-angeles-ca/plumbers"
	Text string `json:"text"`
}

// String is the difference as a sentence.
func (d Difference) String() string {
	return strings.TrimSpace(d.Of+" "+d.ID) + " " + d.Text
}

// listingColumns and detailColumns list the columns that are compared: of the fields of a listing but for its id, of
// those of its own page but for its id and its name, which stays the card's.
func listingColumns() (all []string) {
	for i := range yp.ListingFields {
		if column := yp.ListingFields[i].ColumnName(); column == yp.ListingFields[i].Name {
			all = append(all, column)
		}
	}
	return all
}

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
	UPDATE listing SET sponsored = ifnull(sponsored, 0);
	UPDATE listing AS l SET phone = d.phone, phone_e164 = d.phone_e164 FROM detail d WHERE d.id = l.id AND l.phone IS NULL AND l.phone_e164 IS NULL;
	UPDATE listing AS l SET website_url = d.website_url, website = d.website, domain = d.domain FROM detail d WHERE d.id = l.id AND l.website_url IS NULL AND l.website IS NULL;
	UPDATE listing AS l SET hours = ifnull(l.hours, d.hours), years_in_business = ifnull(l.years_in_business, d.years_in_business) FROM detail d WHERE d.id = l.id`

// WriteTruth writes the truth into a SQLite file: tables of listings, details, searches and cities with the columns
// of a crawl's database, of gone listings, of those that may be gone, and of whether there were earlier epochs.
func WriteTruth(ctx context.Context, path string, t *demo.Truth) (err error) {
	x, since := demo.Changes{}, []string{}
	if t.Changes != nil {
		x, since = *t.Changes, []string{"earlier epochs"}
	}
	db, err := sql.Open("sqlite", fileURL(path, "_pragma=synchronous(off)&_pragma=journal_mode(off)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, table := range []struct {
		name, id string // of a row of JSON
		columns  []string
		rows     any
	}{
		{"listing", "value->>'id'", listingColumns(), t.Listings},
		{"detail", "value->>'id'", detailColumns(), t.Details},
		{"search", "value->>'city' || '/' || (value->>'category')", []string{"pages"}, t.Searches},
		{"city", "value->>'slug'", []string{"name", "state"}, t.Cities},
		{"gone", "value", nil, append(x.Dropped, x.Retired...)},
		{"held", "value", nil, append(x.Unconfirmed, x.Ads...)},
		{"since", "value", nil, since},
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
		_, err := db.ExecContext(ctx, fmt.Sprintf("CREATE TABLE %[1]s (%[2]s); INSERT OR IGNORE INTO %[1]s SELECT %[3]s FROM json_each(?) WHERE value IS NOT NULL", table.name, columns, from), rows.String())
		if err != nil {
			return fmt.Errorf("table %s: %w", table.name, err)
		}
	}
	_, err = db.ExecContext(ctx, completed)
	return err
}

func fileURL(path, query string) string {
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query}).String()
}

// Compare returns every difference between the rows of a source and the truth in a file of WriteTruth: the rows of
// either are taken from those of the other, EXCEPT both ways. Details, cities and searches of which the truth has none are
// not compared. With details, listings must have what their own pages complete. With earlier epochs, values that the site
// no longer shows may be there, and listings that it no longer shows must be among the changes. Addresses of pages and
// pictures are compared without the host if that is this machine: the demo directory may have had several ports.
func Compare(ctx context.Context, db *store.DB, source, truth string) (found []Difference, err error) {
	if err := db.IntegrityCheck(ctx); err != nil {
		return []Difference{{Damaged, "database", "", "is damaged: " + err.Error()}}, nil
	}
	both, err := sql.Open("sqlite", fileURL(db.Path(), "mode=ro"))
	if err != nil {
		return nil, err
	}
	both.SetMaxOpenConns(1) // others would lack the truth
	defer func() { err = errors.Join(err, both.Close()) }()
	if _, err = both.ExecContext(ctx, `ATTACH ? AS truth`, fileURL(truth, "mode=ro")); err != nil {
		return nil, err
	}
	asked, err := store.Column[string](store.ReaderOf(ctx, both), `
		SELECT 'listing' UNION SELECT 'search' FROM truth.search UNION SELECT 'detail' FROM truth.detail UNION SELECT 'city' FROM truth.city UNION SELECT 'since' FROM truth.since`)
	if err != nil {
		return nil, err
	}
	since := slices.Contains(asked, "since")
	for _, part := range []struct{ of, table, truth, found string }{ // an id, and what is compared of it
		{"search", "search", `
			SELECT id, pages, 'DONE' AS status FROM truth.search WHERE pages > 0 OR id NOT IN (SELECT id FROM (` + searches + `) WHERE retired)`, `
			SELECT id, pages, status FROM (` + searches + `) WHERE NOT retired`},
		{"listing", "listing", "SELECT id, " + values(listingColumns(), "", since) + ", 'open' AS status FROM truth.listing t", `
			SELECT l.listing_id, ` + values(listingColumns(), "l", since) + `, ` + status + ` FROM listings l LEFT JOIN truth.listing t ON t.id = l.listing_id
			WHERE l.source_id = ` + sourceID + ` AND l.listing_id NOT IN (SELECT id FROM truth.gone UNION ALL SELECT id FROM truth.held) AND NOT (?2 AND t.id IS NULL AND l.dropped_at IS NOT NULL)`},
		{"listing", "since", `
			SELECT l.listing_id AS id, iif(l.listing_id IN truth.held OR ` + missed + ` < ` + fmt.Sprint(store.DropAfter) + `, 'open', 'dropped') AS status ` + vanished, `
			SELECT l.listing_id, ` + status + vanished},
		{"details", "detail", "SELECT l.listing_id AS id, 'DONE' AS status" + details, "SELECT l.listing_id, t.status" + details},
		{"details", "detail", "SELECT id, " + values(detailColumns(), "", since) + " FROM truth.detail t", `
			SELECT l.listing_id, ` + values(detailColumns(), "d", since) + ` FROM details d JOIN listings l ON l.id = d.listing LEFT JOIN truth.detail t ON t.id = l.listing_id
			WHERE l.source_id = ` + sourceID + ` AND NOT (?2 AND t.id IS NULL)`},
		{"city", "city", "SELECT * FROM truth.city", `
			SELECT x.slug, x.name, c.state FROM source_cities x JOIN cities c ON c.id = x.city_id WHERE x.removed_at IS NULL AND x.missed = 0 AND x.source_id = ` + sourceID},
	} {
		if !slices.Contains(asked, part.table) {
			continue
		}
		rows, err := both.QueryContext(ctx, "SELECT 'truth', * FROM ("+part.truth+" EXCEPT "+part.found+
			") UNION ALL SELECT 'database', * FROM ("+part.found+" EXCEPT "+part.truth+") ORDER BY 2, 1 DESC", source, since)
		if err == nil {
			found, err = differences(found, part.of, rows)
		}
		if err != nil {
			return nil, fmt.Errorf("compare %s with the demo: %w", db.Path(), err)
		}
	}
	worst := []Kind{Unfinished, Missing, Doubled, Differs}
	slices.SortStableFunc(found, func(a, b Difference) int { return slices.Index(worst, a.Kind) - slices.Index(worst, b.Kind) })
	return found, nil
}

const (
	sourceID = `(SELECT id FROM sources WHERE name = ?1)`
	status   = `iif(l.dropped_at IS NULL, 'open', 'dropped')`
	vanished = ` FROM listings l WHERE l.source_id = ` + sourceID + ` AND (l.listing_id IN truth.gone OR l.listing_id IN truth.held)`
	details  = ` FROM targets t JOIN listings l ON l.id = t.listing WHERE t.kind = 'detail' AND t.retired_at IS NULL AND NOT ?2 AND t.source_id = ` + sourceID
	// missed is how many crawls in a row of the target that is the least sure of it lack a listing, or
	// reads of the index the target's city.
	missed = `(SELECT ifnull(min(max(s.missed, ifnull(x.missed, 0))), 0) FROM sightings s JOIN targets t ON t.id = s.target_id
		LEFT JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id WHERE s.listing = l.id)`
	searches = `SELECT c.slug || '/' || k.slug AS id, t.page_current AS pages, t.status, t.retired_at IS NOT NULL AS retired FROM targets t
		JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id WHERE t.kind = 'search' AND t.source_id = ` + sourceID
)

// values lists columns of a table beside which that of the truth stands as t; "" = of the truth itself.
// After earlier epochs the database may have what the truth lacks.
func values(columns []string, table string, since bool) string {
	out := make([]string, len(columns))
	for i, column := range columns {
		v := cmp.Or(table, "t") + "." + column
		if column == "profile_url" || column == "image_url" {
			v = fmt.Sprintf(`iif(%[1]s GLOB 'http://127.0.0.1[:/]*' OR %[1]s GLOB 'http://localhost[:/]*' OR %[1]s GLOB 'http://[[]::1][:/]*',
				substr(%[1]s, 7 + instr(substr(%[1]s, 8), '/')), %[1]s)`, v)
		}
		if table != "" && since {
			v = fmt.Sprintf("iif(t.%s IS NULL, NULL, %s)", column, v)
		}
		out[i] = v + " AS " + column
	}
	return strings.Join(out, ", ")
}

// differences adds rows that only one side has: which one, an id, and its values, the truth's row of an id first.
func differences(all []Difference, of string, rows *sql.Rows) ([]Difference, error) {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	var only [][]sql.NullString
	for err == nil && rows.Next() {
		row, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		err = rows.Scan(into...)
		only = append(only, row)
	}
	for i := 0; i < len(only); i++ {
		row, id := only[i], only[i][1].String
		switch {
		case i+1 < len(only) && only[i+1][1] == row[1]:
			i++
			for n, is := range only[i] {
				kind := Differs
				if columns[n] == "status" && of != "listing" {
					kind = Unfinished
				}
				if n > 1 && is != row[n] {
					all = append(all, Difference{kind, of, id, fmt.Sprintf("%s is %q, and should be %q", columns[n], is.String, row[n].String)})
				}
			}
		case row[0].String == "truth":
			all = append(all, Difference{Missing, of, id, fmt.Sprintf("is missing: the site shows it (%s %q)", columns[2], row[2].String)})
		default:
			all = append(all, Difference{Doubled, of, id, fmt.Sprintf("is in the database (%s %q), but the site does not show it", columns[2], row[2].String)})
		}
	}
	return all, errors.Join(err, rows.Err())
}

// Crawled is what a database says of the crawl of a source: where the site stood, and what the
// truth has to be asked for to be compared with it.
type Crawled struct {
	BaseURL  string
	Searches []demo.Search // Pages is the limit of each
	Details  bool
	States   []string // whose indexes were read
}

// CrawledOf reads it.
func CrawledOf(ctx context.Context, db *store.DB, source string) (x Crawled, err error) {
	q := db.Reader(ctx)
	rows, err := store.All(q, `SELECT base_url, EXISTS (SELECT 1 FROM targets WHERE kind = 'detail' AND source_id = s.id) FROM sources s WHERE name = ?`,
		[]any{source}, func(r *Crawled) []any { return []any{&r.BaseURL, &r.Details} })
	if err != nil || len(rows) == 0 {
		return x, cmp.Or(err, fmt.Errorf("%s was not crawled into %s: name the database of a crawl with --source %s", source, db.Path(), source))
	}
	x = rows[0]
	x.Searches, err = store.All(q, `SELECT c.slug, k.slug, t.max_pages FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
		WHERE t.kind = 'search' AND t.source_id = `+sourceID, []any{source}, store.Fields[demo.Search])
	if err == nil {
		x.States, err = store.Column[string](q, `SELECT state FROM targets WHERE kind = 'index' AND source_id = `+sourceID, source)
	}
	return x, err
}
