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
	"slices"
	"strings"

	"ypcrawl/crawl/demo"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// listingColumns are compared of what cards say, detailColumns of what own pages alone say. The name of a listing stays its card's.
func listingColumns() []string {
	return columns(func(f yp.From) bool { return f&yp.FromCard != 0 }, "id", "rank")
}
func detailColumns() []string { return columns(func(f yp.From) bool { return f == yp.FromOwn }) }

// columns are the names of the fields from some pages.
func columns(from func(yp.From) bool, but ...string) (all []string) {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; from(f.From) && !slices.Contains(but, f.Name) {
			all = append(all, f.Name)
		}
	}
	return all
}

// byOwnPages gives listings those groups of fields that their own pages say and no card said since they were read before.
const byOwnPages = `
	UPDATE listing AS l SET (%[1]s) = (SELECT %[1]s FROM detail d WHERE d.id = l.id)
	WHERE id IN (
		SELECT d.id
		FROM detail d JOIN crawled.listings x ON x.listing_id = d.id AND x.source_id = (SELECT id FROM sources WHERE name = ?1)
		WHERE x.own_page_at IS NOT NULL AND (x.cards | x.cards_before) & %[2]d = 0 AND coalesce(%[3]s, NULL) IS NOT NULL)`

// complete makes the truth of listings whose own pages the database has read.
func complete(ctx context.Context, both *sql.DB, source string) error {
	groups := map[yp.Group][]string{}
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.From == yp.FromBoth && f.Group != yp.GroupNone {
			groups[f.Group] = append(groups[f.Group], f.Name)
		}
	}
	for g, names := range groups {
		query := fmt.Sprintf(byOwnPages, strings.Join(names, ", "), g.Bit(), "d."+strings.Join(names, ", d."))
		if _, err := both.ExecContext(ctx, query, source); err != nil {
			return err
		}
	}
	_, err := both.ExecContext(ctx, `UPDATE listing SET sponsored = ifnull(sponsored, 0)`) // JSON leaves it out
	return err
}

// loadTable looks like "CREATE TABLE city (id PRIMARY KEY, name, state); INSERT OR IGNORE INTO city SELECT value->>'slug', ...".
const loadTable = `
	CREATE TABLE %[1]s (%[2]s);
	INSERT OR IGNORE INTO %[1]s SELECT %[3]s FROM json_each(?) WHERE value IS NOT NULL`

// load writes the truth into tables of listings, details, searches and cities with the columns of a crawl's database,
// and of listings that the site showed in earlier epochs alone: gone ones, and those that may still be there.
func load(ctx context.Context, db *sql.DB, t *demo.Truth) error {
	x := cmp.Or(t.Changes, &demo.Changes{})
	for _, table := range []struct {
		name, id string // of a row of JSON
		columns  []string
		rows     any
	}{
		{"listing", "value->>'id'", listingColumns(), t.Listings},
		{"detail", "value->>'id'", columns(func(f yp.From) bool { return f&yp.FromOwn != 0 }, "id", "name"), t.Details},
		{"search", "value->>'city' || '/' || (value->>'category')", []string{"pages"}, t.Searches},
		{"city", "value->>'slug'", []string{"name", "state"}, t.Cities},
		{"gone", "value", nil, slices.Concat(x.Dropped, x.Retired)},
		{"held", "value", nil, slices.Concat(x.Unconfirmed, x.Ads)},
	} {
		var rows bytes.Buffer
		enc := json.NewEncoder(&rows)
		enc.SetEscapeHTML(false) // as the database has the lists
		if err := enc.Encode(table.rows); err != nil {
			return err
		}
		columns, from := "id PRIMARY KEY", table.id
		for _, c := range table.columns {
			columns, from = columns+", "+c, from+", value->>'"+c+"'"
		}
		query := fmt.Sprintf(loadTable, table.name, columns, from)
		if _, err := db.ExecContext(ctx, query, rows.String()); err != nil {
			return err
		}
	}
	return nil
}

func fileURL(path, query string) string {
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query}).String()
}

// Compare returns a sentence about every row that differs between the rows of a source and the truth. Details, cities and searches of
// which the truth has none are not compared. With details, listings must have what their own pages say and their cards
// don't. With changes since earlier epochs, values and listings that the site no longer shows may be there, the latter as
// dropped once they were missed often enough. Addresses are compared without the host if that is this machine: the demo
// directory may have had several ports.
func Compare(ctx context.Context, db *store.DB, source string, truth *demo.Truth) (found []string, err error) {
	if err := db.IntegrityCheck(ctx); err != nil {
		return nil, err
	}
	both, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	both.SetMaxOpenConns(1) // others would lack the truth
	defer func() { err = errors.Join(err, both.Close()) }()
	if err := load(ctx, both, truth); err != nil {
		return nil, fmt.Errorf("write the truth: %w", err)
	}
	if _, err := both.ExecContext(ctx, `ATTACH ? AS crawled`, fileURL(db.Path(), "mode=ro")); err != nil {
		return nil, err
	}
	if err := complete(ctx, both, source); err != nil {
		return nil, fmt.Errorf("complete the truth: %w", err)
	}
	since := truth.Changes != nil
	for _, part := range []struct {
		of           string
		asked        bool
		columns      []string // that are compared, beside the id
		truth, found string
	}{
		{"search", truth.Searches != nil, []string{"pages", "status"}, trueSearches, foundSearches},
		{"listing", true, append(listingColumns(), "status"), trueListings(since), foundListings(since)},
		{"listing", since, []string{"status"}, trueVanished, foundVanished},
		{"details", truth.Details != nil, append(detailColumns(), "status"), trueDetails(), foundDetails()},
		{"city", truth.Cities != nil, []string{"name", "state"}, trueCities, foundCities},
	} {
		if !part.asked {
			continue
		}
		query := differences(part.of, part.columns, part.truth, part.found)
		some, err := store.Column[string](store.ReaderOf(ctx, both), query, source, since, store.DropAfter)
		if err != nil {
			return nil, fmt.Errorf("compare %s with the demo: %w", db.Path(), err)
		}
		found = append(found, some...)
	}
	return found, nil
}

// The rows that both sides must have: of source ?1, with changes since earlier epochs if ?2. A listing that vanished is open until ?3
// crawls in a row of each of its targets lack it, or reads of the index its city.
const (
	trueSearches = `
	SELECT id, pages, 'DONE' AS status FROM search
	WHERE pages > 0 OR id NOT IN (
		SELECT c.slug || '/' || k.slug
		FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
		WHERE t.kind = 'search' AND t.retired_at IS NOT NULL AND t.source_id = (SELECT id FROM sources WHERE name = ?1))`
	foundSearches = `
	SELECT c.slug || '/' || k.slug AS id, t.page_current AS pages, t.status
	FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
	WHERE t.kind = 'search' AND t.retired_at IS NULL AND t.source_id = (SELECT id FROM sources WHERE name = ?1)`

	trueVanished = `
	SELECT l.listing_id AS id, iif(l.listing_id IN held OR (
		SELECT ifnull(min(max(s.missed, ifnull(x.missed, 0))), 0)
		FROM sightings s
			JOIN targets t ON t.id = s.target_id
			LEFT JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id
		WHERE s.listing = l.id) < ?3, 'open', 'dropped') AS status
	FROM listings l
	WHERE l.source_id = (SELECT id FROM sources WHERE name = ?1) AND (l.listing_id IN gone OR l.listing_id IN held)`
	foundVanished = `
	SELECT l.listing_id AS id, iif(l.dropped_at IS NULL, 'open', 'dropped') AS status FROM listings l
	WHERE l.source_id = (SELECT id FROM sources WHERE name = ?1) AND (l.listing_id IN gone OR l.listing_id IN held)`

	trueCities  = `SELECT id, name, state FROM city`
	foundCities = `
	SELECT x.slug AS id, x.name, c.state
	FROM source_cities x JOIN cities c ON c.id = x.city_id
	WHERE x.removed_at IS NULL AND x.missed = 0 AND x.source_id = (SELECT id FROM sources WHERE name = ?1)`

	crawledSearches = `
	SELECT c.slug, k.slug, t.max_pages
	FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
	WHERE t.kind = 'search' AND t.source_id = (SELECT id FROM sources WHERE name = ?1)`
	crawledIndexes = `SELECT state FROM targets WHERE kind = 'index' AND source_id = (SELECT id FROM sources WHERE name = ?1)`
)

// trueListings, foundListings, trueDetails and foundDetails have the columns of yp.ListingFields.
func trueListings(since bool) string {
	return fmt.Sprintf(`SELECT id, %s, 'open' AS status FROM listing t`, values(listingColumns(), "", since))
}

func foundListings(since bool) string {
	return fmt.Sprintf(`
	SELECT l.listing_id AS id, %s, iif(l.dropped_at IS NULL, 'open', 'dropped') AS status
	FROM listings l LEFT JOIN listing t ON t.id = l.listing_id
	WHERE l.source_id = (SELECT id FROM sources WHERE name = ?1)
		AND l.listing_id NOT IN (SELECT id FROM gone UNION ALL SELECT id FROM held)
		AND NOT (?2 AND t.id IS NULL AND l.dropped_at IS NOT NULL)`, values(listingColumns(), "l", since))
}

func trueDetails() string {
	return fmt.Sprintf(`SELECT id, %s, 'DONE' AS status FROM detail t`, values(detailColumns(), "", false))
}

func foundDetails() string {
	return fmt.Sprintf(`
	SELECT l.listing_id AS id, %s, t.status
	FROM targets t JOIN listings l ON l.id = t.listing LEFT JOIN listing_texts m ON m.listing = l.id
	WHERE t.kind = 'detail' AND t.retired_at IS NULL AND t.source_id = (SELECT id FROM sources WHERE name = ?1)`,
		strings.Join(detailColumns(), ", "))
}

// differences is the statement that says in a sentence what one of two statements has alone. It looks like
//
//	SELECT concat('city ', id, ' is in the database alone: ', json_object('name', name, ...)) FROM (SELECT ... EXCEPT SELECT ...)
//	UNION ALL SELECT concat('city ', id, ' is in the truth alone: ', ...) FROM (...) ORDER BY 1
func differences(of string, columns []string, truth, found string) string {
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = "'" + c + "', " + c
	}
	return fmt.Sprintf(`
	SELECT concat('%[1]s ', id, ' is in the database alone: ', json_object(%[2]s)) FROM (%[3]s EXCEPT %[4]s)
	UNION ALL
	SELECT concat('%[1]s ', id, ' is in the truth alone: ', json_object(%[2]s)) FROM (%[4]s EXCEPT %[3]s)
	ORDER BY 1`, of, strings.Join(row, ", "), found, truth)
}

// values lists columns of a table beside the truth's, t; "" = of the truth. After earlier epochs the database may have more.
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

// Crawled is what a database says of the crawl of a source: where the site stood, and what was to be crawled.
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
		return x, cmp.Or(err, fmt.Errorf("%s has not been crawled into %s; name the database of a crawl with --source %s", source, db.Path(), source))
	}
	x = rows[0]
	x.Searches, err = store.All(q, crawledSearches, []any{source}, store.Fields[demo.Search])
	if err == nil {
		x.States, err = store.Column[string](q, crawledIndexes, source)
	}
	return x, err
}
