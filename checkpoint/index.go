package checkpoint

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
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
	UPDATE targets AS t SET max_pages = j.value ->> 1, status = iif(t.status = 'DONE', 'DONE', 'PLANNED'), ` + anew + `
	FROM json_each(?2) AS j
	WHERE t.kind = 'index' AND t.source_id = ?1 AND t.state = j.value ->> 0 AND t.status IN ('PLANNED', 'DONE')
		AND (t.max_pages <> j.value ->> 1 OR t.status = 'PLANNED' AND t.crawl_started_at IS NOT NULL AND t.crawl_started_at NOT BETWEEN ?3 AND ?4)`
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
		FROM json_each(?2) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0
		LEFT JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id
		WHERE x.city_id IS NULL OR x.crawl <> ?3)`
	bringBack = `
	UPDATE targets SET retired_at = NULL WHERE kind = 'search' AND retired_at IS NOT NULL AND source_id = ?1
		AND city_id IN (SELECT c.id FROM json_each(?2) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0)`
	// Two addresses of one place: within a crawl the one whose slug is the gazetteer's
	// stays, else the first. A new crawl decides anew.
	upsertFound = `
	INSERT INTO source_cities (source_id, city_id, slug, name, found_on, matched, first_seen_at, last_seen_at, crawl)
	SELECT ?1, c.id, j.value ->> 7, j.value ->> 8, ?5, j.value ->> 9, ?4, ?4, ?3
	FROM json_each(?2) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0 WHERE true ORDER BY j.key
	ON CONFLICT (source_id, city_id) DO UPDATE SET slug = excluded.slug, name = excluded.name, found_on = excluded.found_on,
		matched = excluded.matched, last_seen_at = excluded.last_seen_at, crawl = excluded.crawl, removed_at = NULL
	WHERE crawl <> ?3 OR slug = excluded.slug OR matched <> 'slug' AND excluded.matched = 'slug'`
)

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

// IndexEnd is what a complete index made of what was known before.
type IndexEnd struct {
	Planned int    // searches that are new
	Dropped int    // cities known before and not seen
	Retired int    // their searches
	Suspect string // why the index is not believed; "" = it is
}

const (
	// missing are the cities of the state that this crawl has not seen.
	missing = `source_id = ?1 AND removed_at IS NULL AND crawl <> ?3 AND city_id IN (SELECT c.id FROM cities c WHERE c.state = ?2)`

	countMissing  = `SELECT count(*) FROM source_cities WHERE ` + missing
	markRemoved   = `UPDATE source_cities SET removed_at = ?4 WHERE ` + missing
	retireRemoved = `
	UPDATE targets SET retired_at = ?3 WHERE kind = 'search' AND source_id = ?1 AND retired_at IS NULL AND city_id IN (
		SELECT x.city_id FROM cities c CROSS JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id
		WHERE c.state = ?2 AND x.removed_at IS NOT NULL)`
	startOver  = `UPDATE targets SET ` + anew + ` WHERE id = ?1`
	indexWhole = `UPDATE targets SET complete_at = ? WHERE id = ?`
)

// CompleteIndex ends the crawl of an index whose pages are all committed: the searches of
// the cities that it saw are planned, cities of the state that it did not see are marked
// as removed and their searches retired; nothing is deleted, and one in progress finishes its
// page. Where fewer than half of the known cities were seen, the index is more likely
// to be broken than the cities to be removed: the target fails, nothing is marked, and
// IndexEnd.Suspect says why. The next crawl starts over then. (An operator who knows better
// has no way past that valve yet but time: cities come and go by a few.)
func (k *Keeper) CompleteIndex(ctx context.Context, c *Claim, plan Plan, minPopulation int) (end IndexEnd, set yp.Setback, err error) {
	if c.PageCurrent < c.MaxPages {
		return end, set, fmt.Errorf("complete target %d: only %d of the %d pages of the index were read", c.TargetID, c.PageCurrent, c.MaxPages)
	}
	err = k.end(ctx, c, "complete", func(tx *store.Tx) (done store.AttemptEnd, err error) {
		if end, err = c.endIndex(tx, plan, minPopulation); err != nil {
			return done, err
		}
		if end.Suspect != "" { // it is crawled from its first page
			if done, err = c.failed(tx, yp.CodeHTMLChanged, end.Suspect, &set); err != nil {
				return done, err
			}
			return done, tx.Run(startOver, c.TargetID)
		}
		if err := c.complete(tx, "", ""); err != nil {
			return done, err
		}
		return store.AttemptEnd{Ended: store.EndedDone, Code: yp.CodeSuccess}, tx.Run(indexWhole, tx.Now, c.TargetID)
	})
	return end, set, err
}

// endIndex does what the end of an index brings beside its own status.
func (c *Claim) endIndex(tx *store.Tx, plan Plan, minPopulation int) (end IndexEnd, err error) {
	of := []any{c.SourceID, c.Place.State, c.Crawl}
	if err := tx.Get(countMissing, of, &end.Dropped); err != nil {
		return end, err
	}
	if end.Suspect = suspect(c.Seen-c.Accepted, end.Dropped); end.Suspect != "" {
		end.Dropped = 0
		return end, nil
	}
	if err := tx.Run(markRemoved, append(of, tx.Now)...); err != nil {
		return end, err
	}
	plan.SourceID = c.SourceID // the searches of the others
	if plan.Cities, err = citiesOf(tx, c.SourceID, []string{c.Place.State}, minPopulation); err != nil {
		return end, err
	}
	var out Planned
	cats, err := saveCategories(tx, plan.Categories)
	if err == nil && plan.most() > 0 {
		err = plan.chunk(tx, plan.Cities, cats, plan.most(), &out)
	}
	if err != nil {
		return end, err
	}
	end.Planned = out.Added
	n, err := tx.Changed(retireRemoved, c.SourceID, c.Place.State, tx.Now)
	end.Retired = int(n)
	return end, err
}

// Searches is the part of a plan that says which searches the cities of an index get.
func (p Plan) Searches(minPopulation int) *yp.SearchPlan {
	return &yp.SearchPlan{
		Categories: p.Categories, TierPages: p.TierPages, Explicit: p.Explicit, MaxTargets: p.MaxTargets, MinPopulation: minPopulation,
	}
}

// suspect says why an index that shows so many of the cities known before, and misses so
// many, is not believed; "" = it is.
func suspect(seen, missed int) string {
	switch before := seen + missed; {
	case missed <= seen:
		return ""
	case seen == 0:
		return fmt.Sprintf("the index shows none of the %d known cities: no city is marked as removed", before)
	default:
		return fmt.Sprintf("the index shows only %d of the %d known cities: no city is marked as removed", seen, before)
	}
}
