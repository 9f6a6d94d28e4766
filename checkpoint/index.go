package checkpoint

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// IndexRest is how old the crawl of an index may grow: one that began earlier starts over
// instead of being resumed, for pages read a day apart are no picture of one index.
const IndexRest = 24 * time.Hour

// IndexAgain is how often a source's index of a state is read again by itself.
const IndexAgain = 7 * 24 * time.Hour

// StateIndex is a state's index: how many pages it has.
type StateIndex struct {
	State string
	Pages int
}

const (
	insertIndexes = `
	INSERT INTO targets (source_id, kind, state, population, priority, max_pages, crawl_frequency_minutes, created_at)
	SELECT ?1, 'index', value ->> 0, 0, 0, value ->> 1, ?3, ?4 FROM json_each(?2) WHERE true
	ON CONFLICT DO NOTHING`
	// A crawl that ended in its middle goes on there, unless it is too old or the index has
	// another number of pages now. ?5: a clock was set back.
	renewIndexes = `
	UPDATE targets AS t SET max_pages = j.value ->> 1, status = iif(t.status = 'DONE', 'DONE', 'PLANNED'), page_current = 0,
		next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0, seen_ids = NULL,
		ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = NULL, recoveries = 0
	FROM json_each(?2) AS j
	WHERE t.kind = 'index'
		AND t.source_id = ?1
		AND t.state = j.value ->> 0
		AND t.status IN ('PLANNED', 'DONE')
		AND (t.max_pages <> j.value ->> 1 OR t.status = 'PLANNED' AND t.crawl_started_at IS NOT NULL
			AND t.crawl_started_at NOT BETWEEN ?3 AND ?4)`
)

// PlanIndexes plans the indexes of states that are not planned yet; nothing that is done is
// disturbed.
func (k *Keeper) PlanIndexes(ctx context.Context, sourceID int64, indexes []StateIndex) error {
	rows := make([][2]any, len(indexes))
	for i, x := range indexes {
		rows[i] = [2]any{x.State, x.Pages}
	}
	list := store.JSON(rows)
	return k.write(ctx, "plan state indexes", func(tx *store.Tx) error {
		if err := tx.Run(insertIndexes, sourceID, list, int64(IndexAgain/time.Minute), tx.Now); err != nil {
			return err
		}
		return tx.Run(renewIndexes, sourceID, list, yp.FormatTime(tx.At.Add(-IndexRest)), yp.FormatTime(tx.At.Add(IndexRest)))
	})
}

const (
	// What the page brings: cities that this crawl of the index had not seen, and of them
	// those that the source did not have.
	countFound = `
	SELECT count(*), ifnull(sum(fresh), 0) FROM (
		SELECT DISTINCT c.id, x.city_id IS NULL OR x.removed_at IS NOT NULL AS fresh
		FROM json_each(?2) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0 AND c.state = j.value ->> 2 AND c.country = j.value ->> 7
		LEFT JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id
		WHERE x.city_id IS NULL OR x.crawl <> ?3)`
	bringBack = `
	UPDATE targets SET retired_at = NULL WHERE kind = 'search' AND retired_at IS NOT NULL AND source_id = ?1
		AND city_id IN (SELECT c.id FROM json_each(?2) AS j
			CROSS JOIN cities c ON c.slug = j.value ->> 0 AND c.state = j.value ->> 2 AND c.country = j.value ->> 7)`
	// Two addresses of one place: within a crawl the one whose slug is the gazetteer's
	// stays, else the first. A new crawl decides anew.
	upsertFound = `
	INSERT INTO source_cities (source_id, city_id, slug, name, found_on, matched, first_seen_at, last_seen_at, crawl)
	SELECT ?1, c.id, j.value ->> 8, j.value ->> 9, ?5, j.value ->> 10, ?4, ?4, ?3
	FROM json_each(?2) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0 AND c.state = j.value ->> 2 AND c.country = j.value ->> 7
	WHERE true ORDER BY j.key
	ON CONFLICT (source_id, city_id) DO UPDATE SET slug = excluded.slug, name = excluded.name, found_on = excluded.found_on,
		matched = excluded.matched, last_seen_at = excluded.last_seen_at, crawl = excluded.crawl, missed = 0, removed_at = NULL
	WHERE crawl <> ?3 OR slug = excluded.slug OR matched <> 'slug' AND excluded.matched = 'slug'`
)

const showsNothingNew = `
	SELECT EXISTS (SELECT 1 FROM source_cities WHERE source_id = ?1 AND found_on = ?4 AND crawl <> ?3 AND missed = 0 AND removed_at IS NULL)
		AND NOT EXISTS (SELECT 1 FROM json_each(?2) AS j
			LEFT JOIN cities c ON c.slug = j.value ->> 0 AND c.state = j.value ->> 2 AND c.country = j.value ->> 7
			LEFT JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id WHERE x.crawl IS NOT ?3)`

// IndexRepeats reports whether a page of an index, by its path, shows only cities that this read of the
// index has seen already, although the last one found others on it.
func (k *Keeper) IndexRepeats(ctx context.Context, c *Claim, path string, cities []yp.FoundCity) (repeats bool, err error) {
	rows := make([][]any, len(cities))
	for i := range cities {
		rows[i] = cityRow(cities[i].City)
	}
	err = k.row(ctx, showsNothingNew, []any{c.SourceID, store.JSON(rows), c.Crawl, path}, &repeats)
	return repeats, err
}

// saveCities stores the cities of a page of an index. Searches of a city that is back are
// no longer retired.
func (c *Claim) saveCities(tx *store.Tx, p *yp.Page, out *Committed) error {
	rows := make([][]any, len(p.Cities))
	for i, x := range p.Cities {
		rows[i] = append(cityRow(x.City), x.Address, x.Shown, x.Matched)
	}
	of := []any{c.SourceID, store.JSON(rows), c.Crawl, tx.Now, p.Path}
	if err := tx.Run(upsertCities, of[1]); err != nil {
		return err
	}
	if err := tx.Get(countFound, of[:3], &out.Cities, &out.Added); err != nil {
		return err
	}
	if err := tx.Run(bringBack, of[:2]...); err != nil {
		return err
	}
	return tx.Run(upsertFound, of...)
}

// indexes are targets that are a state's index of cities.
type indexes struct{}

func (indexes) save(tx *store.Tx, c *Claim, p *yp.Page, _ *store.Prepared, out *Committed) error {
	return c.saveCities(tx, p, out)
}

func (indexes) adds(_ *yp.Page, out *Committed) added {
	return added{
		seen: out.Cities, accepted: out.Added, listings: out.Cities, changed: out.Added,
		text: fmt.Sprintf("%s, %d new", yp.Plural(out.Cities, "city"), out.Added),
	}
}

func (indexes) complete(tx *store.Tx, c *Claim, p *yp.Page, set []any, out *Committed) (store.AttemptEnd, error) {
	if err := c.change(tx, advancePage, append(set, c.beat(tx)), p.Number); err != nil {
		return store.AttemptEnd{}, err
	}
	end, err := c.completeIndex(tx, p, out)
	c.Dropped = out.Index.Dropped
	return end, err
}

func (indexes) ended(*store.Tx, *Claim, yp.Ending) error { return nil }

func (indexes) counted() bool { return false }

func (indexes) blames(yp.Event, yp.ErrorCode) bool { return true }

const loggedIndex = `
	SELECT id, source_id, claim_token, committed, crawls FROM targets
	WHERE kind = 'index' AND source_id = (SELECT id FROM sources WHERE name = ?) AND state = ?`

func (indexes) find(t *wal.Target) (query string, args []any) {
	return loggedIndex, []any{t.Source, t.State}
}

func (indexes) plan(tx *store.Tx, r *replayer, c *Claim, t *wal.Target) (p plannedLog, err error) {
	p.minutes = int64(IndexAgain.Minutes())
	if t.CitySlug != "" {
		p.city, err = r.city(tx, t, c.SourceID)
	}
	return p, err
}

// Pages of indexes are not kept, but for those that nobody could read.
func (indexes) reparse(*store.Tx, *Claim, *KeptPage) (saved Committed, older int, err error) {
	return saved, 0, nil
}

func (indexes) lost(*store.Tx, *Claim, *yp.Page) ([]yp.Listing, error) { return nil, nil }

func (indexes) count(out *Replayed, _ *yp.Page) { out.Indexes++ }

// IndexEnd is what the last page of an index made of what was known before.
type IndexEnd struct {
	Planned int    // searches that are new
	Removed int    // cities known before that are marked as removed
	Retired int    // their searches
	Dropped int    // listings that only cities showed which the last two reads lack
	Warning string // why cities that it lacks are not marked as removed until the next read agrees
	Suspect string // why the whole index is not believed: the target has failed, with this setback
	Setback yp.Setback
}

const (
	// The cities of the state that this crawl has not seen.
	countMissing = `
	SELECT count(*), ifnull(sum(missed = 0), 0) FROM source_cities
	WHERE removed_at IS NULL
		AND source_id = ?1
		AND crawl <> ?3
		AND city_id IN (SELECT c.id FROM cities c WHERE c.state IN (SELECT value FROM json_each(?2)))`
	countMissed = `
	UPDATE source_cities SET missed = missed + 1
	WHERE missed < 2 AND source_id = ?1 AND crawl <> ?3
		AND city_id IN (SELECT c.id FROM cities c WHERE c.state IN (SELECT value FROM json_each(?2)))`
	// ?5: those that this read is the first to lack are not marked.
	markRemoved = `
	UPDATE source_cities SET removed_at = ?4
	WHERE removed_at IS NULL
		AND missed > ?5
		AND source_id = ?1
		AND crawl <> ?3
		AND city_id IN (SELECT c.id FROM cities c WHERE c.state IN (SELECT value FROM json_each(?2)))`
	retireRemoved = `
	UPDATE targets SET retired_at = ?3 WHERE kind = 'search' AND source_id = ?1 AND retired_at IS NULL AND city_id IN (
		SELECT x.city_id FROM cities c CROSS JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id
		WHERE c.state IN (SELECT value FROM json_each(?2)) AND x.removed_at IS NOT NULL)`
	statesOfCities = `SELECT DISTINCT c.state FROM source_cities x JOIN cities c ON c.id = x.city_id WHERE x.source_id = ?`
	startOver      = `
	UPDATE targets SET page_current = 0, next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0,
		bad_count = 0, seen_ids = NULL, ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = NULL,
		recoveries = 0
	WHERE id = ?1`
	indexWhole = `UPDATE targets SET complete_at = ? WHERE id = ?`
)

// completeIndex ends the read of an index with its last page, in the same transaction: see
// endIndex. An index that is not believed has failed, and the next read starts over.
func (c *Claim) completeIndex(tx *store.Tx, p *yp.Page, out *Committed) (end store.AttemptEnd, err error) {
	plan := p.Plan
	if plan == nil {
		plan = &yp.SearchPlan{}
	}
	x := &out.Index
	if *x, err = c.endIndex(tx, c.Seen+out.Cities-c.Accepted-out.Added, plan); err != nil {
		return end, err
	}
	if x.Suspect != "" {
		if end, err = c.failed(tx, yp.CodeHTMLChanged, x.Suspect, &x.Setback); err != nil {
			return end, err
		}
		return end, tx.Run(startOver, c.TargetID)
	}
	if err := c.complete(tx, "", x.Warning, End{}); err != nil {
		return end, err
	}
	return store.AttemptEnd{Ended: store.EndedDone, Code: yp.CodeSuccess, Message: x.Warning}, tx.Run(indexWhole, tx.Now, c.TargetID)
}

// endIndex does what the end of an index brings beside its own status: the searches of the
// cities that it showed are planned, cities of the state that it lacks are marked as removed
// and their searches retired, and what only cities showed which two reads in a row lack is
// dropped; nothing is deleted, and a search in progress finishes its page. An index that lacks
// many cities at once is more likely to be broken than the cities to be removed: they are not
// marked until the next read lacks them, too. One that shows none of them is not believed at all.
// known is how many of the cities that it showed were known before.
func (c *Claim) endIndex(tx *store.Tx, known int, searches *yp.SearchPlan) (end IndexEnd, err error) {
	var lacks, first int // of them, those that the last read showed
	states, err := c.statesOfIndex(tx)
	if err != nil {
		return end, err
	}
	of := []any{c.SourceID, store.JSONTexts(states), c.Crawl}
	if err := tx.Get(countMissing, of, &lacks, &first); err != nil {
		return end, err
	}
	if known == 0 && lacks > 0 {
		end.Suspect = fmt.Sprintf("the index shows none of the %d known cities, so no city is marked as removed", lacks)
		return end, nil
	}
	if err := tx.Run(countMissed, of...); err != nil {
		return end, err
	}
	least := 0
	if tooMany(first, known+lacks) {
		least = 1
		end.Warning = fmt.Sprintf("the index lacks %d of the %d known cities; they are marked as removed if the next read lacks them, too", first, known+lacks)
	}
	n, err := tx.Changed(markRemoved, append(of, tx.Now, least)...)
	if err != nil {
		return end, err
	}
	end.Removed = int(n)
	if end.Planned, err = c.planSearches(tx, searches); err != nil {
		return end, err
	}
	if n, err = tx.Changed(retireRemoved, c.SourceID, of[1], tx.Now); err != nil {
		return end, err
	}
	end.Retired = int(n)
	end.Dropped, err = store.EndIndex(tx, c.pageOf(), states)
	return end, err
}

// statesOfIndex are the states whose cities the index lists: one, or all that the source has cities in.
func (c *Claim) statesOfIndex(tx *store.Tx) ([]string, error) {
	if c.Place.State != "" {
		return []string{c.Place.State}, nil
	}
	return store.Column[string](tx, statesOfCities, c.SourceID)
}

// planSearches plans the searches of the cities of an index, and returns how many are new.
func (c *Claim) planSearches(tx *store.Tx, p *yp.SearchPlan) (int, error) {
	plan := Plan{
		SourceID: c.SourceID, Categories: p.Categories, TierPages: p.TierPages, Explicit: p.Explicit,
		MaxTargets: p.MaxTargets, logged: c.logged,
	}
	var out Planned
	cats, err := saveCategories(tx, plan.Categories)
	if err == nil {
		states := p.States
		if c.Place.State != "" {
			states = []string{c.Place.State}
		}
		plan.Cities, err = citiesOf(tx, c.SourceID, states, len(states) == 0, p.MinPopulation)
	}
	if err == nil && plan.most() > 0 {
		err = plan.chunk(tx, plan.Cities, cats, plan.most(), &out)
	}
	return out.Added, err
}

// tooMany reports whether an index that is the first to lack so many of the known cities is
// believed only when the next read agrees: more than FewLacking, and more than one in LackingShare of those known.
func tooMany(lacks, known int) bool { return lacks > FewLacking && LackingShare*lacks > known }

// See tooMany.
const (
	FewLacking   = 3
	LackingShare = 10
)

// Searches is the part of a plan that says which searches the cities of an index get.
func (p Plan) Searches(minPopulation int) *yp.SearchPlan {
	s := &yp.SearchPlan{
		Categories: p.Categories, TierPages: p.TierPages, Explicit: p.Explicit, MaxTargets: p.MaxTargets, MinPopulation: minPopulation,
	}
	if p.Listed != nil && p.Listed.Whole {
		s.States = p.Listed.States
	}
	return s
}
