package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Plan is what to plan: source × cities × categories.
type Plan struct {
	SourceID   int64
	Cities     []yp.City // in the order in which equal priorities are crawled
	Categories []yp.Category
	TierPages  [4]int  // pages of each tier, by its number; 0 = all
	Explicit   bool    // the operator named the pages: targets planned before take them too
	MaxTargets int     // plan at most so many targets; 0 = all
	Listed     *Listed // whole states are meant: their own index decides on Cities where it is known; nil = Cities as they are

	logged bool // it was made before, and logged: no sandbox limits it
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
	sourceByName = `SELECT id FROM sources WHERE name = ?`

	upsertCategory = `INSERT INTO categories (slug, name) VALUES (?, ?) ON CONFLICT (slug) DO NOTHING`
	categoryID     = `SELECT id FROM categories WHERE slug = ?`

	upsertCities = `
	INSERT INTO cities (slug, name, state, population, lat, lon, tier, country)
	SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7 FROM json_each(?) WHERE true
	ON CONFLICT (slug, state, country) DO NOTHING`
	cityIDs = `
	SELECT c.id FROM json_each(?) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0 AND c.state = j.value ->> 2 AND c.country = j.value ->> 7
	ORDER BY j.key`

	// ?9 limits what is looked at, the last LIMIT, which is planLimit, what is new of it.
	insertTargets = `
	INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at)
	SELECT ?1, p.city, p.category, p.state, p.population, p.tier, CASE p.tier WHEN 1 THEN ?3 WHEN 2 THEN ?4 ELSE ?5 END, ?6
	FROM (
		SELECT c.id AS city, k.value AS category, c.state, c.population, c.tier, j.key AS a, k.key AS b
		FROM json_each(?7) AS j CROSS JOIN cities c ON c.id = j.value CROSS JOIN json_each(?8) AS k
		WHERE NOT EXISTS (SELECT 1 FROM source_cities x WHERE x.source_id = ?1 AND x.city_id = c.id AND x.removed_at IS NOT NULL)
		ORDER BY j.key, k.key LIMIT ?9) AS p
	WHERE NOT EXISTS (
		SELECT 1 FROM targets t
		WHERE t.kind = 'search' AND t.source_id = ?1 AND t.city_id = p.city AND t.category_id = p.category)
	ORDER BY p.a, p.b
	LIMIT (
		SELECT iif(s.stage = 'active', -1,
			?2 - (SELECT count(*) FROM (SELECT 1 FROM targets t WHERE t.kind = 'search' AND t.source_id = s.id LIMIT ?2)))
		FROM sources s
		WHERE s.id = ?1)
	ON CONFLICT DO NOTHING`

	// More pages than before: what is done stays done, and the crawl goes on behind it.
	deepenDone = `
	UPDATE targets SET status = 'PLANNED', not_before = NULL, wait_reason = NULL, finished_at = NULL, max_pages = ?4
	WHERE id IN (
		SELECT t.id
		FROM json_each(?2) AS j
			CROSS JOIN json_each(?3) AS k
			CROSS JOIN targets t ON t.kind = 'search' AND t.source_id = ?1 AND t.city_id = j.value AND t.category_id = k.value
		WHERE t.retired_at IS NULL
		ORDER BY j.key, k.key LIMIT ?5)
		AND status = 'DONE'
		AND next_page_url IS NOT NULL
		AND (?4 = 0 OR page_current < ?4)`
	setPages = `
	UPDATE targets SET max_pages = ?4
	WHERE id IN (
		SELECT t.id
		FROM json_each(?2) AS j
			CROSS JOIN json_each(?3) AS k
			CROSS JOIN targets t ON t.kind = 'search' AND t.source_id = ?1 AND t.city_id = j.value AND t.category_id = k.value
		WHERE t.retired_at IS NULL
		ORDER BY j.key, k.key LIMIT ?5)
		AND max_pages <> ?4`
)

// Source returns the id of a source in the USA, adding it when it is new.
func (k *Keeper) Source(ctx context.Context, name, baseURL string) (id int64, err error) {
	return k.Register(ctx, NewSource{Name: name, BaseURL: baseURL})
}

// Register returns the id of a source that is to be crawled, adding it when it is new. Its definition is not kept.
func (k *Keeper) Register(ctx context.Context, n NewSource) (id int64, err error) {
	err = k.write(ctx, "register source "+n.Name, func(tx *store.Tx) error {
		if err := tx.Run(upsertSource, n.Name, n.BaseURL, tx.Now); err != nil {
			return err
		}
		if err := tx.Get(sourceByName, []any{n.Name}, &id); err != nil {
			return err
		}
		return n.setCountry(tx, id)
	})
	return id, err
}

// Categories returns the ids of the categories, adding the new ones.
func (k *Keeper) Categories(ctx context.Context, cats []yp.Category) (ids []int64, err error) {
	err = k.write(ctx, "register categories", func(tx *store.Tx) error {
		ids, err = saveCategories(tx, cats)
		return err
	})
	return ids, err
}

func saveCategories(tx *store.Tx, cats []yp.Category) ([]int64, error) {
	ids := make([]int64, len(cats))
	for i, c := range cats {
		if err := tx.Run(upsertCategory, c.Slug, c.Name); err != nil {
			return nil, err
		}
		if err := tx.Get(categoryID, []any{c.Slug}, &ids[i]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// CityIDs returns the ids of the cities, adding the new ones.
func (k *Keeper) CityIDs(ctx context.Context, cities []yp.City) (ids []int64, err error) {
	err = k.write(ctx, "register cities", func(tx *store.Tx) error {
		ids, err = saveCities(tx, cities)
		return err
	})
	return ids, err
}

func saveCities(tx *store.Tx, cities []yp.City) ([]int64, error) {
	rows := make([][]any, len(cities))
	for i, c := range cities {
		rows[i] = cityRow(c)
	}
	list := store.JSON(rows)
	if err := tx.Run(upsertCities, list); err != nil {
		return nil, err
	}
	return store.Column[int64](tx, cityIDs, list)
}

// cityRow is a row of upsertCities. A place that the gazetteer does not know has no
// coordinates.
func cityRow(c yp.City) []any {
	var lat, lon any
	if c.Lat != 0 || c.Lon != 0 {
		lat, lon = c.Lat, c.Lon
	}
	return []any{c.Slug, c.Name, c.State, c.Population, lat, lon, c.Tier, cmp.Or(c.Country, yp.DefaultCountry)}
}

// Plan adds the targets that are not there yet, in bulk, and never disturbs
// what is done. Running it again changes nothing. A city that is gone from the source's
// index gets none, and its retired targets stay retired. A source that is not active gets no
// more than PlanLimit allows.
func (k *Keeper) Plan(ctx context.Context, p Plan) (out Planned, err error) {
	if p, err = k.follow(ctx, p); err != nil {
		return out, err
	}
	left, err := k.PlanLimit(ctx, p.SourceID)
	if err != nil || left == 0 {
		return out, err
	}
	most := p.most()
	if out.Selected = most; left > 0 {
		out.Selected = min(most, SandboxTargets)
	}
	cats, err := k.Categories(ctx, p.Categories)
	if err != nil {
		return out, err
	}
	for start := 0; start < len(p.Cities) && most > 0 && left != 0; start += planChunk {
		chunk := p.Cities[start:min(start+planChunk, len(p.Cities))]
		err := k.write(ctx, "plan targets", func(tx *store.Tx) error { return p.chunk(tx, chunk, cats, most, &out) })
		if err != nil {
			return out, err
		}
		most -= len(chunk) * len(cats)
		if left > 0 { // a sandbox that is full takes no cities either
			if left, err = k.PlanLimit(ctx, p.SourceID); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// most is how many targets the plan is about.
func (p Plan) most() int {
	n := len(p.Cities) * len(p.Categories)
	if p.MaxTargets > 0 {
		n = min(n, p.MaxTargets)
	}
	return n
}

func (p Plan) chunk(tx *store.Tx, cities []yp.City, cats []int64, most int, out *Planned) error {
	ids, err := saveCities(tx, cities)
	if err != nil {
		return err
	}
	sandbox := SandboxTargets
	if p.logged {
		sandbox = math.MaxInt32
	}
	added, err := tx.Changed(insertTargets, p.SourceID, sandbox, p.TierPages[1], p.TierPages[2], p.TierPages[3], tx.Now,
		store.JSONInts(ids), store.JSONInts(cats), most)
	if err != nil {
		return err
	}
	out.Added += int(added)
	if !p.Explicit {
		return nil
	}
	args := []any{p.SourceID, store.JSONInts(ids), store.JSONInts(cats), p.TierPages[1], most}
	deepened, err := tx.Changed(deepenDone, args...)
	if err != nil {
		return err
	}
	out.Deepened += int(deepened)
	return tx.Run(setPages, args...)
}

// SandboxTargets is how many targets a source has while it is in the sandbox (or in
// review, from which it goes there).
const SandboxTargets = 10

// planLimit is how many searches may still be planned for source ?1, of which a sandbox has ?2;
// -1 = any number.
const planLimit = `
	SELECT iif(s.stage = 'active', -1, ?2 - (SELECT count(*) FROM (SELECT 1 FROM targets t WHERE t.kind = 'search' AND t.source_id = s.id LIMIT ?2)))
	FROM sources s WHERE s.id = ?1`

// PlanLimit returns how many targets may still be planned for a source: what its
// sandbox still takes, or -1 = any number.
func (k *Keeper) PlanLimit(ctx context.Context, sourceID int64) (n int, err error) {
	if err := k.row(ctx, planLimit, []any{sourceID, SandboxTargets}, &n); err != nil {
		return 0, fmt.Errorf("read the stage of source %d: %w", sourceID, err)
	}
	return n, nil
}

// Listed says that a plan means all cities of some states: where the source's own index
// of a state was read to its end, the index says which those are.
type Listed struct {
	States        []string
	Whole         bool // the source has one index of all states, and States are those of which the cities are meant; none = all
	MinPopulation int  // leaves out cities whose population is smaller, or not known
	Only          bool // states whose index was not read to its end get none: the index plans them
}

const (
	statesRead = `
	SELECT state FROM targets WHERE kind = 'index' AND source_id = ?1 AND complete_at IS NOT NULL AND state IN (SELECT value FROM json_each(?2))`
	listedCities = `
	SELECT c.slug, c.name, c.state, c.population, ifnull(c.lat, 0), ifnull(c.lon, 0), c.tier, iif(c.country = 'US', '', c.country)
	FROM cities c CROSS JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id
	WHERE (?4 OR c.state IN (SELECT value FROM json_each(?2))) AND c.population >= ?3 AND x.removed_at IS NULL
	ORDER BY c.population DESC, c.slug`
)

// follow replaces the plan's cities of every state whose index was read by those of the
// source's index: what is not there would be asked for in vain.
func (k *Keeper) follow(ctx context.Context, p Plan) (Plan, error) {
	if p.Listed == nil {
		return p, nil
	}
	q := k.db.Reader(ctx)
	look := p.Listed.States
	if p.Listed.Whole {
		look = []string{""}
	}
	read, err := store.Column[string](q, statesRead, p.SourceID, store.JSONTexts(look))
	if err != nil {
		return p, fmt.Errorf("look for indexes that were read: %w", err)
	}
	if len(read) == 0 && !p.Listed.Only {
		return p, nil
	}
	all := false
	if p.Listed.Whole && len(read) > 0 {
		read, all = p.Listed.States, len(p.Listed.States) == 0
	}
	listed, err := citiesOf(q, p.SourceID, read, all, p.Listed.MinPopulation)
	if err != nil {
		return p, fmt.Errorf("read the cities of the source: %w", err)
	}
	p.Cities = slices.DeleteFunc(slices.Clone(p.Cities), func(c yp.City) bool {
		return p.Listed.Only || all || slices.Contains(read, c.State)
	})
	p.Cities = append(p.Cities, listed...)
	return p, nil
}

// citiesOf returns the cities that a source's index of some states shows, or of all, the largest first.
func citiesOf(q store.Querier, source int64, states []string, all bool, minPopulation int) ([]yp.City, error) {
	return store.All(q, listedCities, []any{source, store.JSONTexts(states), minPopulation, all}, store.Fields[yp.City])
}

// ListedCities returns the cities that a source's index shows, the largest first; none where the database does not know the source.
func (k *Keeper) ListedCities(ctx context.Context, source string) (cities []yp.City, err error) {
	s, found, err := k.StoredSource(ctx, source)
	if err == nil && found {
		cities, err = citiesOf(k.db.Reader(ctx), s.ID, nil, true, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("read the cities of %s: %w", source, err)
	}
	return cities, nil
}
