package selftest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
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

// Kinds lists them.
func Kinds() []Kind { return []Kind{Damaged, Unfinished, Missing, Doubled, Differs} }

// Difference is one place in which a database differs from the truth.
type Difference struct {
	Kind Kind   `json:"kind"`
	Of   string `json:"of"` // listing, company, details, search, city or database
	ID   string `json:"id"` // as the site has it; of a search "los-angeles-ca/plumbers"
	Text string `json:"text"`
}

// String is the difference as a sentence.
func (d Difference) String() string {
	return strings.TrimSpace(d.Of+" "+d.ID) + " " + d.Text
}

// Summary counts differences by kind: "3 missing, 1 doubled".
func Summary(all []Difference) string {
	var counts []string
	for _, kind := range Kinds() {
		n := 0
		for _, d := range all {
			if d.Kind == kind {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, yp.Thousands(int64(n))+" "+string(kind))
		}
	}
	return strings.Join(counts, ", ")
}

// Compare returns every difference between the rows of a source and the truth. Parts that the truth does not
// have (Companies, Details, Cities, Searches nil) are not compared. With Details, listings must have what their
// own pages complete; companies are not compared then, because completed listings join more of them. With Changes,
// the site was crawled in earlier epochs, too: values that it no longer shows may be there, and listings
// that it no longer shows must be among those changes. Addresses of pages and pictures are compared
// without the host if that is this machine: the demo directory may have had several ports.
func Compare(ctx context.Context, db *store.DB, source string, truth *demo.Truth) (found []Difference, err error) {
	if err := db.IntegrityCheck(ctx); err != nil {
		return []Difference{{Damaged, "database", "", "is damaged: " + err.Error()}}, nil
	}
	// A connection of its own, for the truth stands in its temporary tables.
	own, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(db.Path()), RawQuery: "mode=ro&_pragma=temp_store(memory)"}).String())
	if err != nil {
		return nil, err
	}
	own.SetMaxOpenConns(1) // others would lack them
	if err = writeTruth(ctx, own, truth); err == nil {
		found, err = compare(ctx, own, source, truth)
	}
	if err = errors.Join(err, own.Close()); err != nil {
		return nil, fmt.Errorf("compare %s with the demo: %w", db.Path(), err)
	}
	slices.SortStableFunc(found, func(a, b Difference) int {
		return cmp.Compare(slices.Index(Kinds(), a.Kind), slices.Index(Kinds(), b.Kind))
	})
	return found, nil
}

// compare takes the rows of each part from those of the other, EXCEPT both ways. ?1 is the source, and ?2
// whether it was crawled in earlier epochs.
func compare(ctx context.Context, db *sql.DB, source string, truth *demo.Truth) (all []Difference, err error) {
	for _, part := range []struct {
		wanted           bool
		of, truth, found string // an id, and what is compared of it
	}{
		{truth.Searches != nil, "search", `
			SELECT id, pages, 'DONE' AS status FROM temp.search WHERE pages > 0 OR id NOT IN (SELECT id FROM (` + searches + `) WHERE retired)`, `
			SELECT id, pages, status FROM (` + searches + `) WHERE NOT retired`},
		{true, "listing", "SELECT id, " + values(listingColumns(), "") + ", 'open' AS status FROM temp.listing t", `
			SELECT l.listing_id, ` + values(listingColumns(), "l") + `, ` + status + ` FROM listings l LEFT JOIN temp.listing t ON t.id = l.listing_id
			WHERE l.source_id = (SELECT id FROM sources WHERE name = ?1) AND l.listing_id NOT IN (SELECT id FROM temp.gone UNION ALL SELECT id FROM temp.held) AND NOT (?2 AND t.id IS NULL AND l.dropped_at IS NOT NULL)`},
		{truth.Changes != nil, "listing", `
			SELECT l.listing_id AS id, iif(l.listing_id IN temp.held OR ` + missed + ` < ` + fmt.Sprint(store.DropAfter) + `, 'open', 'dropped') AS status ` + vanished, `
			SELECT l.listing_id, ` + status + vanished},
		{truth.Companies != nil && truth.Details == nil && truth.Changes == nil, "company", "SELECT * FROM temp.company", `
			SELECT ifnull(min(l.listing_id), 'without listings, number ' || c.id), c.name, json_group_array(l.listing_id ORDER BY l.listing_id)
			FROM companies c LEFT JOIN listings l ON l.company_id = c.id WHERE l.id IS NULL OR l.source_id = (SELECT id FROM sources WHERE name = ?1) GROUP BY c.id`},
		{truth.Details != nil && truth.Changes == nil, "details", "SELECT l.listing_id AS id, 'DONE' AS status" + details, "SELECT l.listing_id, t.status" + details},
		{truth.Details != nil, "details", "SELECT id, " + values(detailColumns(), "") + " FROM temp.detail t", `
			SELECT l.listing_id, ` + values(detailColumns(), "d") + ` FROM details d JOIN listings l ON l.id = d.listing LEFT JOIN temp.detail t ON t.id = l.listing_id
			WHERE l.source_id = (SELECT id FROM sources WHERE name = ?1) AND NOT (?2 AND t.id IS NULL)`},
		{truth.Cities != nil, "city", "SELECT * FROM temp.city", `
			SELECT x.slug, x.name, c.state FROM source_cities x JOIN cities c ON c.id = x.city_id WHERE x.removed_at IS NULL AND x.missed = 0 AND x.source_id = (SELECT id FROM sources WHERE name = ?1)`},
	} {
		if part.wanted && err == nil {
			var rows *sql.Rows
			if rows, err = db.QueryContext(ctx, "SELECT 'truth', * FROM ("+part.truth+" EXCEPT "+part.found+
				") UNION ALL SELECT 'database', * FROM ("+part.found+" EXCEPT "+part.truth+") ORDER BY 2, 1 DESC", source, truth.Changes != nil); err == nil {
				all, err = differences(all, part.of, rows)
			}
		}
	}
	return all, err
}

const (
	status   = `iif(l.dropped_at IS NULL, 'open', 'dropped')`
	vanished = ` FROM listings l WHERE l.source_id = (SELECT id FROM sources WHERE name = ?1) AND (l.listing_id IN temp.gone OR l.listing_id IN temp.held)`
	details  = ` FROM targets t JOIN listings l ON l.id = t.listing WHERE t.kind = 'detail' AND t.retired_at IS NULL AND t.source_id = (SELECT id FROM sources WHERE name = ?1)`
	// missed is how many crawls in a row of the target that is the least sure of it lack a listing, or
	// reads of the index the target's city.
	missed = `(SELECT ifnull(min(max(s.missed, ifnull(x.missed, 0))), 0) FROM sightings s JOIN targets t ON t.id = s.target_id
		LEFT JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id WHERE s.listing = l.id)`
	searches = `SELECT c.slug || '/' || k.slug AS id, t.page_current AS pages, t.status, t.retired_at IS NOT NULL AS retired FROM targets t
		JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id WHERE t.kind = 'search' AND t.source_id = (SELECT id FROM sources WHERE name = ?1)`
)

// values lists columns of a table beside which that of the truth stands as t; "" = of the truth itself.
// After earlier epochs the database may have what the truth lacks.
func values(columns []string, table string) string {
	out := make([]string, len(columns))
	for i, column := range columns {
		v := cmp.Or(table, "t") + "." + column
		if column == "profile_url" || column == "image_url" {
			v = fmt.Sprintf(`iif(%[1]s GLOB 'http://127.0.0.1[:/]*' OR %[1]s GLOB 'http://localhost[:/]*' OR %[1]s GLOB 'http://[[]::1][:/]*',
				substr(%[1]s, 7 + instr(substr(%[1]s, 8), '/')), %[1]s)`, v)
		}
		if table != "" {
			v = fmt.Sprintf("iif(?2 AND t.%s IS NULL, NULL, %s)", column, v)
		}
		out[i] = v + " AS " + column
	}
	return strings.Join(out, ", ")
}

// differences reads rows that only one side has: which one, an id, and its values, the truth's row of an id first.
func differences(all []Difference, of string, rows *sql.Rows) ([]Difference, error) {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return all, err
	}
	var wanted []sql.NullString // the row of the truth before
	add := func(row []sql.NullString, kind Kind, format string, args ...any) {
		all = append(all, Difference{kind, of, row[1].String, fmt.Sprintf(format, args...)})
	}
	missing := func() {
		if wanted != nil {
			add(wanted, Missing, "is missing: the site shows it (%s %q)", columns[2], wanted[2].String)
		}
		wanted = nil
	}
	for rows.Next() {
		row, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return all, err
		}
		if wanted != nil && wanted[1] == row[1] {
			for n := 2; n < len(columns); n++ {
				if kind := Differs; wanted[n] != row[n] {
					if columns[n] == "status" && of != "listing" {
						kind = Unfinished
					}
					add(row, kind, "%s is %q, and should be %q", columns[n], row[n].String, wanted[n].String)
				}
			}
			wanted = nil
			continue
		}
		if missing(); row[0].String == "truth" {
			wanted = row
			continue
		}
		add(row, Doubled, "is in the database (%s %q), but the site does not show it", columns[2], row[2].String)
	}
	missing()
	return all, rows.Err()
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
	type row struct {
		id      int64
		url     string
		details bool
	}
	rows, err := store.All(q, `SELECT id, base_url, EXISTS (SELECT 1 FROM targets WHERE kind = 'detail' AND source_id = s.id) FROM sources s WHERE name = ?`,
		[]any{source}, func(r *row) []any { return []any{&r.id, &r.url, &r.details} })
	if err != nil || len(rows) == 0 {
		return x, cmp.Or(err, fmt.Errorf("%s was not crawled into %s: name the database of a crawl with --source %s", source, db.Path(), source))
	}
	x.BaseURL, x.Details = rows[0].url, rows[0].details
	x.Searches, err = store.All(q, `SELECT c.slug, k.slug, t.max_pages FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
		WHERE t.kind = 'search' AND t.source_id = ?`, []any{rows[0].id}, store.Fields[demo.Search])
	if err == nil {
		x.States, err = store.Column[string](q, `SELECT state FROM targets WHERE kind = 'index' AND source_id = ?`, rows[0].id)
	}
	return x, err
}
