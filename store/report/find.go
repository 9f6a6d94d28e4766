package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const sourceID = `SELECT id FROM sources WHERE name = ?`

// SourceID returns the id of a source; 0 when the database does not have it.
func (k *Reader) SourceID(ctx context.Context, name string) (id int64, err error) {
	_, err = k.one(ctx, "look for the source "+name, sourceID, []any{name}, &id)
	return id, err
}

// ofSource cuts the name of a source off a word like "demo/12", and sets id to it; a word
// that begins with no source, or with another than id chooses, is returned whole.
func (k *Reader) ofSource(ctx context.Context, word string, id *int64) (string, error) {
	name, rest, ok := strings.Cut(word, "/")
	if !ok || name == "" || rest == "" {
		return word, nil
	}
	known, err := k.SourceID(ctx, name)
	if err != nil || known == 0 || *id != 0 && *id != known {
		return word, err
	}
	*id = known
	return rest, nil
}

const (
	citiesNamed = `
	SELECT id FROM cities
	WHERE lower(name) IN (SELECT lower(value) FROM json_each(?1)) OR slug IN (SELECT lower(value) FROM json_each(?1))`
	categoriesNamed = `
	SELECT id FROM categories
	WHERE lower(name) IN (SELECT lower(value) FROM json_each(?1)) OR slug IN (SELECT lower(value) FROM json_each(?1))`
)

// SearchScope narrows a scope to the searches of cities and categories, by name or slug in
// any letter case. A name that nothing is searched under selects nothing.
func (k *Reader) SearchScope(ctx context.Context, scope store.Scope, cities, categories []string) (store.Scope, error) {
	for _, part := range []struct {
		what, query string
		names       []string
		ids         *[]int64
	}{
		{"look for cities", citiesNamed, cities, &scope.CityIDs},
		{"look for categories", categoriesNamed, categories, &scope.CategoryIDs},
	} {
		if len(part.names) == 0 {
			continue
		}
		ids, err := list(ctx, k, part.what, part.query, []any{store.JSONTexts(part.names)}, value[int64])
		if err != nil {
			return scope, err
		}
		if *part.ids = ids; len(ids) == 0 {
			*part.ids = []int64{0}
		}
	}
	return scope, nil
}

// NotFoundError says that words name nothing that the database has, or several things.
type NotFoundError struct {
	What string
	Hint string // what was probably meant, or what to do; may be empty
}

func (e *NotFoundError) Error() string {
	if e.Hint == "" {
		return e.What
	}
	return e.What + ": " + e.Hint
}

const (
	targetByID = `SELECT id, source_id FROM targets WHERE id = ?1 AND (?2 = 0 OR source_id = ?2)`
	// The unique key of targets, in its own order.
	targetBySlugs = `
	SELECT t.id, s.name FROM sources s CROSS JOIN cities c CROSS JOIN categories k
		CROSS JOIN targets t ON t.kind = 'search' AND t.source_id = s.id AND t.city_id = c.id AND t.category_id = k.id
	WHERE c.slug = ?1 AND k.slug = ?2 AND (?3 = 0 OR s.id = ?3) ORDER BY s.name`
)

// FindTarget returns the id of the target that word names: its id, or
// "los-angeles-ca/plumbers", both also behind the name of its source, "demo/12".
// sourceID chooses among sources, 0 = any. The error is a *NotFoundError for no target or several.
func (k *Reader) FindTarget(ctx context.Context, word string, sourceID int64) (int64, error) {
	what := fmt.Sprintf("find target %q", word)
	name, err := k.ofSource(ctx, word, &sourceID)
	if err != nil {
		return 0, err
	}
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		found, err := k.one(ctx, what, targetByID, []any{id, sourceID}, &id, &sourceID)
		if err == nil && !found {
			err = &NotFoundError{What: fmt.Sprintf("no target %q", name), Hint: "`ypcrawl targets list` lists them"}
		}
		return id, err
	}
	city, category, ok := strings.Cut(strings.ToLower(name), "/")
	if !ok {
		return 0, &NotFoundError{What: fmt.Sprintf("no target %q", word), Hint: "give an id, or city/category like los-angeles-ca/plumbers"}
	}
	type named struct {
		id     int64
		source string
	}
	found, err := list(ctx, k, what, targetBySlugs, []any{city, category, sourceID}, func(n *named) []any { return []any{&n.id, &n.source} })
	switch {
	case err != nil:
		return 0, err
	case len(found) == 0:
		if err := k.CheckNames(ctx, []string{city}, []string{category}); err != nil {
			return 0, err
		}
		return 0, &NotFoundError{What: fmt.Sprintf("no target %q", word), Hint: "it is not planned; `ypcrawl plan` adds searches"}
	case len(found) > 1:
		if slices.ContainsFunc(found[1:], func(n named) bool { return n.source == found[0].source }) {
			return 0, &NotFoundError{
				What: fmt.Sprintf("%s has several targets %q, in several states", found[0].source, word),
				Hint: fmt.Sprintf("name one by its id, such as %d: `ypcrawl targets list --cities %s` shows them", found[0].id, city),
			}
		}
		hint := "add"
		for i, n := range found {
			if i > 0 {
				hint += " or"
			}
			hint += " --source " + n.source
		}
		return 0, &NotFoundError{What: fmt.Sprintf("several sources have the target %q", word), Hint: hint}
	}
	return found[0].id, nil
}

// Search is a search as `run` takes it.
type Search struct {
	ID                                    int64
	Target, Source, City, State, Category string
}

const doneSearches = `
	SELECT id, target, source, city, state, category FROM v_targets
	WHERE id IN (SELECT value FROM json_each(?)) AND kind = 'search' AND status = 'DONE' AND schedule <> 'DUE' ORDER BY id`

// DoneSearches are those of these targets that are DONE, and not due again: `reset` has nothing to do with them.
func (k *Reader) DoneSearches(ctx context.Context, ids []int64) ([]Search, error) {
	return list(ctx, k, "look for targets that are done", doneSearches, []any{store.JSONInts(ids)}, fields[Search])
}

// ListingName is what a listing is called by: its source and the source's own id.
type ListingName struct {
	SourceID int64
	Source   string
	ID       string
	Row      int64
	Company  int64
}

const listingsByID = `
	SELECT s.id, s.name, l.listing_id, l.id, l.company_id FROM sources s CROSS JOIN listings l ON l.source_id = s.id AND l.listing_id = ?1
	WHERE ?2 = 0 OR s.id = ?2 ORDER BY s.name`

// FindListings returns the listings that word names, "400110158" or "demo/400110158": one
// of each source that has it. sourceID chooses among sources, 0 = any.
func (k *Reader) FindListings(ctx context.Context, word string, sourceID int64) (all []ListingName, err error) {
	of := sourceID
	id, err := k.ofSource(ctx, word, &of)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("find listing %q", word)
	all, err = list(ctx, k, what, listingsByID, []any{id, of}, fields[ListingName])
	if err == nil && len(all) == 0 && id != word { // an id may hold a slash itself
		all, err = list(ctx, k, what, listingsByID, []any{word, sourceID}, fields[ListingName])
	}
	return all, err
}

const (
	unknownCity = `
	SELECT j.value FROM json_each(?) j
	WHERE NOT EXISTS (SELECT 1 FROM cities WHERE lower(name) = lower(j.value) OR slug = lower(j.value))
		AND NOT EXISTS (SELECT 1 FROM listings WHERE lower(city) = lower(j.value))
	LIMIT 1`
	unknownCategory = `
	SELECT j.value FROM json_each(?) j
	WHERE NOT EXISTS (SELECT 1 FROM categories WHERE lower(name) = lower(j.value) OR slug = lower(j.value))
		AND NOT EXISTS (SELECT 1 FROM listings l, json_each(l.categories) v WHERE lower(v.value) = lower(j.value))
	LIMIT 1`
	cityNames     = `SELECT name FROM cities UNION SELECT slug FROM cities`
	categoryNames = `SELECT name FROM categories UNION SELECT slug FROM categories`
)

// CheckNames returns a *NotFoundError when a filter names a city or a category that nothing was
// planned for and no listing has: it would select nothing.
func (k *Reader) CheckNames(ctx context.Context, cities, categories []string) error {
	for _, part := range []struct {
		what, unknown, known string
		words                []string
	}{{"city", unknownCity, cityNames, cities}, {"category", unknownCategory, categoryNames, categories}} {
		var word string
		if len(part.words) == 0 {
			continue
		}
		found, err := k.one(ctx, "look for a "+part.what, part.unknown, []any{store.JSONTexts(part.words)}, &word)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		all, err := list(ctx, k, "look for a "+part.what, part.known, nil, value[string])
		e := &NotFoundError{What: fmt.Sprintf("no %s like %q", part.what, word), Hint: "nothing is planned for it, and no listing has it"}
		if near, ok := yp.Nearest(word, all); ok {
			e.Hint = "did you mean " + near + "?"
		}
		return cmp.Or[error](err, e)
	}
	return nil
}

// RunMark is a run as a point in time.
type RunMark struct {
	ID      int64
	Started time.Time
}

const (
	runByID = `SELECT id, started_at FROM runs WHERE id = ?`
	lastRun = `SELECT id, started_at FROM runs ORDER BY id DESC LIMIT 1`
)

// FindRun returns the run that word names: its number, or "last". The error is a *NotFoundError when there is none.
func (k *Reader) FindRun(ctx context.Context, word string) (r RunMark, err error) {
	missing := &NotFoundError{What: "there is no run yet", Hint: "`ypcrawl run` starts one"}
	query, args := lastRun, []any(nil)
	if !strings.EqualFold(word, "last") {
		missing = &NotFoundError{What: fmt.Sprintf("no run %q", word), Hint: "give its number, or last; `ypcrawl runs list` lists them"}
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return r, missing
		}
		query, args = runByID, []any{id}
	}
	found, err := k.one(ctx, "look for a run", query, args, &r.ID, at(&r.Started))
	if err == nil && !found {
		err = missing
	}
	return r, err
}
