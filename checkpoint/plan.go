package checkpoint

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// City is a place to plan targets in.
type City = yp.City

// Category is what to search for.
type Category = yp.Category

// Plan is what to plan: source × cities × categories.
type Plan struct {
	SourceID   int64
	Cities     []City // in the order in which equal priorities are crawled
	Categories []Category
	TierPages  [4]int  // pages of each tier, by its number; 0 = all
	Explicit   bool    // the operator named the pages: targets planned before take them too
	MaxTargets int     // plan at most so many targets; 0 = all
	Listed     *Listed // whole states are meant: their own index decides on Cities where it is known; nil = Cities as they are

	sandbox bool // no more than SandboxTargets in all, or errSandboxFull
}

// Planned counts what a plan did.
type Planned struct {
	Selected int `json:"selected"` // source × cities × categories
	Added    int `json:"added"`
	Deepened int `json:"deepened"` // done before, with more pages wanted now
}

// planChunk bounds how long other writers wait behind one planning transaction.
const planChunk = 500

const (
	upsertSource = `
	INSERT INTO sources (name, base_url, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)
	ON CONFLICT (name) DO UPDATE SET base_url = excluded.base_url, updated_at = excluded.updated_at WHERE base_url <> excluded.base_url`
	sourceID = `SELECT id FROM sources WHERE name = ?`

	upsertCategory = `INSERT INTO categories (slug, name) VALUES (?, ?) ON CONFLICT (slug) DO NOTHING`
	categoryID     = `SELECT id FROM categories WHERE slug = ?`

	upsertCities = `
	INSERT INTO cities (slug, name, state, population, lat, lon, tier)
	SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(?) WHERE true
	ON CONFLICT (slug) DO NOTHING`
	cityIDs = `SELECT c.id FROM json_each(?) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0 ORDER BY j.key`

	insertTargets = `
	INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at)
	SELECT ?1, c.id, k.value, c.state, c.population, c.tier, CASE c.tier WHEN 1 THEN ?2 WHEN 2 THEN ?3 ELSE ?4 END, ?5
	FROM json_each(?6) AS j CROSS JOIN cities c ON c.id = j.value CROSS JOIN json_each(?7) AS k
	WHERE NOT EXISTS (SELECT 1 FROM source_cities x WHERE x.source_id = ?1 AND x.city_id = c.id AND x.gone_at IS NOT NULL)
	ORDER BY j.key, k.key LIMIT ?8
	ON CONFLICT DO NOTHING`

	// More pages than before: what is done stays done, and the crawl goes on behind it.
	deepenDone = `
	UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL, max_pages = ?4
	WHERE id IN ` + planned + ` AND status = 'DONE' AND next_page_url IS NOT NULL AND (?4 = 0 OR page_current < ?4)`
	setPages = `UPDATE targets SET max_pages = ?4 WHERE id IN ` + planned + ` AND max_pages <> ?4`
	planned  = `(
		SELECT t.id FROM json_each(?2) AS j CROSS JOIN json_each(?3) AS k
			CROSS JOIN targets t ON t.kind = 'search' AND t.source_id = ?1 AND t.city_id = j.value AND t.category_id = k.value
		WHERE t.retired_at IS NULL ORDER BY j.key, k.key LIMIT ?5)`
)

// Source returns the id of the source, adding it when it is new.
func (k *Keeper) Source(ctx context.Context, name, baseURL string) (id int64, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(upsertSource, name, baseURL, tx.Now); err != nil {
			return err
		}
		return tx.Get(sourceID, []any{name}, &id)
	})
	if err != nil {
		return 0, fmt.Errorf("register source %s: %w", name, err)
	}
	return id, nil
}

// Categories returns the ids of the categories, adding the new ones.
func (k *Keeper) Categories(ctx context.Context, cats []Category) ([]int64, error) {
	ids := make([]int64, len(cats))
	err := k.write(ctx, func(tx *store.Tx) error {
		for i, c := range cats {
			var err error
			if ids[i], err = saveCategory(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("register categories: %w", err)
	}
	return ids, nil
}

func saveCategory(tx *store.Tx, c Category) (id int64, err error) {
	if _, err := tx.Exec(upsertCategory, c.Slug, c.Name); err != nil {
		return 0, err
	}
	return id, tx.Get(categoryID, []any{c.Slug}, &id)
}

// Plan adds the targets that are not there yet, in bulk, and never disturbs
// what is done. Running it again changes nothing. A city that is gone from the source's
// index gets none, and its retired targets stay retired.
func (k *Keeper) Plan(ctx context.Context, p Plan) (Planned, error) {
	p, err := k.follow(ctx, p)
	if err != nil {
		return Planned{}, err
	}
	out := Planned{Selected: len(p.Cities) * len(p.Categories)}
	left := out.Selected
	if p.MaxTargets > 0 {
		left = min(left, p.MaxTargets)
		out.Selected = left
	}
	cats, err := k.Categories(ctx, p.Categories)
	if err != nil {
		return out, err
	}
	for start := 0; start < len(p.Cities) && left > 0; start += planChunk {
		chunk := p.Cities[start:min(start+planChunk, len(p.Cities))]
		err := k.write(ctx, func(tx *store.Tx) error { return p.chunk(tx, chunk, cats, left, &out) })
		if err != nil {
			return out, fmt.Errorf("plan targets: %w", err)
		}
		left -= len(chunk) * len(cats)
	}
	return out, nil
}

func (p Plan) chunk(tx *store.Tx, cities []City, cats []int64, limit int, out *Planned) error {
	ids, err := saveCities(tx, cities)
	if err != nil {
		return err
	}
	added, err := tx.Changed(insertTargets, p.SourceID, p.TierPages[1], p.TierPages[2], p.TierPages[3], tx.Now,
		jsonInts(ids), jsonInts(cats), limit)
	if err != nil {
		return err
	}
	if err := p.fits(tx, added); err != nil {
		return err
	}
	out.Added += int(added)
	if !p.Explicit {
		return nil
	}
	args := []any{p.SourceID, jsonInts(ids), jsonInts(cats), p.TierPages[1], limit}
	deepened, err := tx.Changed(deepenDone, args...)
	if err != nil {
		return err
	}
	out.Deepened += int(deepened)
	_, err = tx.Exec(setPages, args...)
	return err
}

// row is a row of upsertCities. A place that the gazetteer does not know has no
// coordinates.
func cityRow(c City) []any {
	var lat, lon any
	if c.Lat != 0 || c.Lon != 0 {
		lat, lon = c.Lat, c.Lon
	}
	return []any{c.Slug, c.Name, c.State, c.Population, lat, lon, c.Tier}
}

func saveCities(tx *store.Tx, cities []City) ([]int64, error) {
	rows := make([][]any, len(cities))
	for i, c := range cities {
		rows[i] = cityRow(c)
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(upsertCities, string(list)); err != nil {
		return nil, err
	}
	found, err := tx.Query(cityIDs, string(list))
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	ids := make([]int64, 0, len(cities))
	for found.Next() {
		var id int64
		if err := found.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, found.Err()
}

// CityIDs returns the ids of the cities, adding the new ones.
func (k *Keeper) CityIDs(ctx context.Context, cities []City) (ids []int64, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		ids, err = saveCities(tx, cities)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("register cities: %w", err)
	}
	return ids, nil
}

// BaseURL returns the base URL under which the source was last crawled; empty
// when it is not known here.
func (k *Keeper) BaseURL(ctx context.Context, name string) (base string, err error) {
	err = k.db.Read().QueryRowContext(ctx, "SELECT base_url FROM sources WHERE name = ?", name).Scan(&base)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return base, err
}
