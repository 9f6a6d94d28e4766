package selftest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
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

// Compare returns every difference between the rows of a source and the truth, which it writes into
// a file of its own beside the system's temporary ones. Parts that the truth does not have (Companies,
// Details, Cities, Searches nil) are not compared. With Details, listings must have what their own pages
// complete; companies are not compared then, because completed listings join more of them. With Changes,
// the site was crawled in earlier epochs, too: values that it no longer shows may be there, and listings
// that it no longer shows must be among those changes. Addresses of pages and pictures are compared
// without the host if that is this machine: the demo directory may have had several ports.
func Compare(ctx context.Context, db *store.DB, source string, truth *demo.Truth) (found []Difference, err error) {
	if err := db.IntegrityCheck(ctx); err != nil {
		return []Difference{{Damaged, "database", "", "is damaged: " + err.Error()}}, nil
	}
	file, err := os.CreateTemp("", "ypcrawl-truth-")
	if err != nil {
		return nil, fmt.Errorf("make a file for the truth: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if err := errors.Join(file.Close(), writeTruth(ctx, file.Name(), truth)); err != nil {
		return nil, fmt.Errorf("write the truth: %w", err)
	}
	conn, err := db.Read().Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := comparison{ctx: ctx, conn: conn, earlier: truth.Changes != nil}
	if _, err = conn.ExecContext(ctx, "ATTACH ? AS truth", file.Name()); err == nil {
		err = c.compare(source, truth)
		_, detached := conn.ExecContext(context.WithoutCancel(ctx), "DETACH truth")
		err = errors.Join(err, detached)
	}
	if err = errors.Join(err, conn.Close()); err != nil {
		return nil, fmt.Errorf("compare %s with the demo: %w", db.Path(), err)
	}
	return c.found, nil
}

type comparison struct {
	ctx     context.Context //nolint:containedctx // of the one call that it lives for
	conn    *sql.Conn       // the database, with the truth attached
	source  int64
	earlier bool // epochs were crawled before
	found   []Difference
}

// Query runs a query of which ?1 is the source, and ?2 whether earlier epochs were crawled.
func (c *comparison) Query(query string, _ ...any) (*sql.Rows, error) {
	return c.conn.QueryContext(c.ctx, query, c.source, c.earlier)
}

func (c *comparison) compare(source string, truth *demo.Truth) error {
	if err := c.conn.QueryRowContext(c.ctx, "SELECT id FROM sources WHERE name = ?", source).Scan(&c.source); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	for _, part := range []struct {
		wanted           bool
		of, truth, found string
	}{
		{truth.Searches != nil, "search", `
			SELECT id, pages FROM truth.search s WHERE NOT EXISTS (SELECT 1 FROM (` + searches + `) x WHERE x.id = s.id AND iif(x.retired, s.pages = 0, x.status <> 'DONE'))`, `
			SELECT x.id, iif(x.retired, 'retired', x.pages) FROM (` + searches + `) x LEFT JOIN truth.search s ON s.id = x.id WHERE iif(x.retired, s.pages > 0, x.status = 'DONE')`},
		{true, "listing", "SELECT id, " + values(listingColumns(), "") + ", 'open' AS status FROM truth.listing t", `
			SELECT l.listing_id, ` + values(listingColumns(), "l") + `, ` + status + ` FROM listings l LEFT JOIN truth.listing t ON t.id = l.listing_id
			WHERE l.source_id = ?1 AND l.listing_id NOT IN (SELECT id FROM truth.gone UNION ALL SELECT id FROM truth.held) AND NOT (?2 AND t.id IS NULL AND l.dropped_at IS NOT NULL)`},
		{truth.Changes != nil, "listing", `
			SELECT l.listing_id AS id, iif(l.listing_id IN truth.held OR ` + missed + ` < ` + fmt.Sprint(store.DropAfter) + `, 'open', 'dropped') AS status ` + vanished, `
			SELECT l.listing_id, ` + status + vanished},
		{truth.Companies != nil && truth.Details == nil && truth.Changes == nil, "company", "SELECT * FROM truth.company", `
			SELECT ifnull(min(l.listing_id), 'without listings, number ' || c.id), c.name, json_group_array(l.listing_id ORDER BY l.listing_id)
			FROM companies c LEFT JOIN listings l ON l.company_id = c.id WHERE l.id IS NULL OR l.source_id = ?1 GROUP BY c.id`},
		{truth.Details != nil, "details", "SELECT id, " + values(detailColumns(), "") + " FROM truth.details t", `
			SELECT l.listing_id, ` + values(detailColumns(), "d") + ` FROM details d JOIN listings l ON l.id = d.listing LEFT JOIN truth.details t ON t.id = l.listing_id
			WHERE l.source_id = ?1 AND NOT (?2 AND t.id IS NULL)`},
		{truth.Cities != nil, "city", "SELECT * FROM truth.city", `
			SELECT x.slug, x.name, c.state FROM source_cities x JOIN cities c ON c.id = x.city_id WHERE x.removed_at IS NULL AND x.missed = 0 AND x.source_id = ?1`},
	} {
		if !part.wanted {
			continue
		}
		if err := c.part(part.of, part.truth, part.found); err != nil {
			return err
		}
	}
	return c.unfinished(truth)
}

const (
	status   = `iif(l.dropped_at IS NULL, 'open', 'dropped')`
	vanished = ` FROM listings l WHERE l.source_id = ?1 AND (l.listing_id IN truth.gone OR l.listing_id IN truth.held)`

	// missed is how many crawls in a row of the target that is the least sure of it lack a listing, or
	// reads of the index the target's city.
	missed = `(SELECT ifnull(min(max(s.missed, ifnull(x.missed, 0))), 0) FROM sightings s JOIN targets t ON t.id = s.target_id
		LEFT JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id WHERE s.listing = l.id)`

	searches = `SELECT c.slug || '/' || k.slug AS id, t.page_current AS pages, t.status, t.retired_at IS NOT NULL AS retired FROM targets t
		JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id WHERE t.kind = 'search' AND t.source_id = ?1`
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

// part compares the rows of two queries, both ways: an id, and what is compared of it.
func (c *comparison) part(of, truth, found string) error {
	rows, err := c.Query("SELECT 'truth', * FROM (" + truth + " EXCEPT " + found + ") UNION ALL SELECT 'database', * FROM (" + found + " EXCEPT " + truth + ") ORDER BY 2, 1 DESC")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	var all [][]sql.NullString
	for rows.Next() {
		row, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		all = append(all, row)
	}
	for i := 0; i < len(all); i++ {
		row, id := all[i], all[i][1].String
		switch {
		case row[0].String == "database":
			c.add(Doubled, of, id, "is in the database (%s %q), but the site does not show it", columns[2], row[2].String)
		case i+1 < len(all) && all[i+1][1] == row[1]:
			i++
			for n := 2; n < len(columns); n++ {
				if all[i][n] != row[n] {
					c.add(Differs, of, id, "%s is %q, and should be %q", columns[n], all[i][n].String, row[n].String)
				}
			}
		default:
			c.add(Missing, of, id, "is missing: the site shows it (%s %q)", columns[2], row[2].String)
		}
	}
	return rows.Err()
}

func (c *comparison) add(kind Kind, of, id, format string, args ...any) {
	c.found = append(c.found, Difference{kind, of, id, fmt.Sprintf(format, args...)})
}

// unfinished tells which of the searches, and after a first crawl of the details, are not done.
func (c *comparison) unfinished(truth *demo.Truth) error {
	type target struct{ kind, id, text string }
	all, err := store.All(c, `SELECT 'search', id, 'is ' || status || ', with ' || pages || ' pages' FROM (`+searches+`) WHERE status <> 'DONE' AND NOT retired
		UNION ALL SELECT 'details', l.listing_id, 'are ' || t.status FROM targets t JOIN listings l ON l.id = t.listing
		WHERE t.kind = 'detail' AND t.status <> 'DONE' AND t.retired_at IS NULL AND t.source_id = ?1 AND NOT ?2`, nil,
		func(t *target) []any { return []any{&t.kind, &t.id, &t.text} })
	for _, t := range all {
		if t.kind == "search" && truth.Searches != nil || t.kind == "details" && truth.Details != nil {
			c.found = append(c.found, Difference{Unfinished, t.kind, t.id, t.text})
		}
	}
	slices.SortStableFunc(c.found, func(a, b Difference) int {
		return cmp.Compare(slices.Index(Kinds(), a.Kind), slices.Index(Kinds(), b.Kind))
	})
	return err
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
