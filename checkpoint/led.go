package checkpoint

import (
	"context"
	"slices"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const (
	// The targets of a source that were led to an address that is not theirs: the first, and whether there were others.
	saveLed = `
	INSERT INTO led_to (source_id, address, target_id) VALUES (?1, ?2, ?3)
	ON CONFLICT DO UPDATE SET others = others OR target_id <> ?3`
	ledOthers = `
	SELECT EXISTS (SELECT 1 FROM led_to WHERE source_id = ?1 AND address = ?2 AND (target_id <> ?3 OR others))`
	knowsTopic = `SELECT EXISTS (SELECT 1 FROM categories WHERE slug = ?1)`
	knowsCity  = `
	SELECT EXISTS (SELECT 1 FROM cities WHERE slug = ?2 AND country = (SELECT country FROM sources WHERE id = ?1))
		OR EXISTS (SELECT 1 FROM source_cities WHERE source_id = ?1 AND slug = ?2)`
	saveSaid = `
	INSERT INTO nothing_words (source_id, words, target_id) SELECT ?1, value, ?3 FROM json_each(?2) WHERE true
	ON CONFLICT DO UPDATE SET others = others OR target_id <> ?3`
	selectSaid = `
	SELECT value FROM json_each(?2) WHERE NOT EXISTS (
		SELECT 1 FROM nothing_words w WHERE w.source_id = ?1 AND w.words = value AND (w.target_id <> ?3 OR w.others))`
	savedSaid = `
	SELECT NOT EXISTS (SELECT 1 FROM json_each(?2) WHERE NOT EXISTS (
		SELECT 1 FROM nothing_words w WHERE w.source_id = ?1 AND w.words = value AND (w.target_id = ?3 OR w.others)))`
	isFurniture = `SELECT EXISTS (SELECT 1 FROM nothing_words WHERE source_id = ?1 AND words = ?2 AND others)`
	countMet    = `
	SELECT count(*) FROM listings l JOIN sightings s ON s.target_id = ?1 AND s.listing = l.id
	WHERE l.source_id = ?2 AND l.listing_id IN (SELECT value FROM json_each(?3))`
	mostlyMet = `
	SELECT count(*), ifnull(sum(crawl = ?2 OR listing IN (
		SELECT l.id FROM listings l WHERE l.source_id = ?3 AND l.listing_id IN (SELECT value FROM json_each(?4)))), 0)
	FROM sightings WHERE target_id = ?1 AND since < ?2 AND missed = 0`
	hasListings = `SELECT EXISTS (SELECT 1 FROM listings WHERE source_id = ?)`
	// In the order in which they would be claimed.
	otherCities = `
	SELECT t.city_id FROM targets t
	WHERE t.status = 'PLANNED'
		AND t.enabled = 1
		AND t.paused = 0
		AND t.not_before IS NULL
		AND t.retired_at IS NULL
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))
		AND NOT EXISTS (SELECT 1 FROM listings WHERE source_id = ?1)
		AND t.city_id NOT IN (SELECT city_id FROM targets WHERE id IN (SELECT value FROM json_each(?7)))
	GROUP BY t.city_id ORDER BY min(t.priority << 48 | t.id) LIMIT ?8`
	// What failed for the third time is as the others are: the addresses are to blame.
	planMissing = `
	UPDATE targets SET status = 'PLANNED', not_before = NULL, wait_reason = NULL, finished_at = NULL,
		consecutive_failures = 2, backoff_level = 0
	WHERE status = 'FAILED' AND id IN (SELECT value FROM json_each(?))`
	planLed = `
	UPDATE targets SET status = 'PLANNED', not_before = NULL, wait_reason = NULL, finished_at = NULL, page_current = 0,
		next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0, seen_ids = NULL,
		ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = NULL, recoveries = 0
	WHERE status = 'DONE' AND ending = 'other_list' AND id IN (SELECT value FROM json_each(?))`
)

// Led notes that the claim's target was led to an address that is not its own, and reports whether another one was, too.
func (k *Keeper) Led(ctx context.Context, c *Claim, address string) (others bool, err error) {
	of := []any{c.SourceID, address, c.TargetID}
	if err := k.write(ctx, "note where a search is led", func(tx *store.Tx) error { return tx.Run(saveLed, of...) }); err != nil {
		return false, err
	}
	err = k.row(ctx, ledOthers, of, &others)
	return others, err
}

// KnowsCategory reports whether a category of that slug was ever planned.
func (k *Keeper) KnowsCategory(ctx context.Context, slug string) (known bool, err error) {
	err = k.row(ctx, knowsTopic, []any{slug}, &known)
	return known, err
}

// KnowsCity reports whether a city of that slug was ever planned, or is in the source's index.
func (k *Keeper) KnowsCity(ctx context.Context, source int64, slug string) (known bool, err error) {
	err = k.row(ctx, knowsCity, []any{source, slug}, &known)
	return known, err
}

// Said returns which of the words that say that nothing was found are not furniture: no page of another target
// of the source has shown them beside listings and a total or a next link. proper says that this page is such a
// one, and its words are noted.
func (k *Keeper) Said(ctx context.Context, c *Claim, words []string, proper bool) (left []string, err error) {
	of := []any{c.SourceID, store.JSONTexts(words), c.TargetID}
	if proper {
		var noted bool
		if err = k.row(ctx, savedSaid, of, &noted); err == nil && !noted {
			err = k.write(ctx, "note words of a page", func(tx *store.Tx) error { return tx.Run(saveSaid, of...) })
		}
	}
	if err == nil {
		left, err = store.Column[string](k.db.Reader(ctx), selectSaid, of...)
	}
	return left, err
}

// Furniture reports whether pages of two targets of the source have had the words beside listings.
func (k *Keeper) Furniture(ctx context.Context, c *Claim, words string) (yes bool, err error) {
	err = k.row(ctx, isFurniture, []any{c.SourceID, words}, &yes)
	return yes, err
}

// Met counts those of the listings that this target has shown before.
func (k *Keeper) Met(ctx context.Context, c *Claim, ids []string) (n int, err error) {
	err = k.row(ctx, countMet, []any{c.TargetID, c.SourceID, store.JSONTexts(ids)}, &n)
	return n, err
}

// MostlyMet reports whether this crawl of the target, with the listings of the page in hand, has met most of those that
// it showed before; also when it showed none.
func (k *Keeper) MostlyMet(ctx context.Context, c *Claim, ids []string) (bool, error) {
	var before, met int
	err := k.row(ctx, mostlyMet, []any{c.TargetID, c.Crawl, c.SourceID, store.JSONTexts(ids)}, &before, &met)
	return before == 0 || 2*met > before, err
}

// PlanLed plans targets again that ended at the lists of others.
func (k *Keeper) PlanLed(ctx context.Context, targets []int64) error {
	return k.write(ctx, "plan again what was led elsewhere", func(tx *store.Tx) error {
		return tx.Run(planLed, store.JSONInts(slices.Clone(targets)))
	})
}

// HasListings reports whether the source ever gave a listing.
func (k *Keeper) HasListings(ctx context.Context, source int64) (yes bool, err error) {
	err = k.row(ctx, hasListings, []any{source}, &yes)
	return yes, err
}

// OtherCities returns up to n cities of the searches that a scope may claim, which are none of the targets', of a source
// that never gave a listing.
func (k *Keeper) OtherCities(ctx context.Context, scope store.Scope, targets []int64, n int) ([]int64, error) {
	scope.Kinds = []yp.Kind{yp.KindSearch}
	return store.Column[int64](k.db.Reader(ctx), otherCities, scope.Args(store.JSONInts(targets), n)...)
}

// PlanMissing plans targets again that are FAILED because the source has no page at their addresses.
func (k *Keeper) PlanMissing(ctx context.Context, targets []int64) error {
	return k.write(ctx, "plan again what is not there", func(tx *store.Tx) error {
		return tx.Run(planMissing, store.JSONInts(slices.Clone(targets)))
	})
}
