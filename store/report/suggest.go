package report

import (
	"context"
	"strings"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// labels are what a form calls filters, "name@view" of one list alone. Those of time are called by the list's column.
var labels = map[string]string{
	"states": "States", "cities": "Cities", "categories": "Categories", "source": "Source", "kind": "Kind", "status": "Status",
	"health": "Health", "schedule": "Schedule", "error": "Error", "name": "Name contains", "min-listings": "Listings, at least",
	"lasting": "Without what was undone later", "search": "Words", "min-rating": "Rating, at least",
	"all@v_run_workers": "Those that ended, too", "all@v_coverage": "Those not read yet, too", "error@v_targets": "Last error",
	"last_seen_at": "Seen since", "finished_at": "Finished since", "started_at": "Started since", "at": "Since",
}

// Label is what a form calls a filter of a list.
func (l List) Label(f ListFilter) string {
	if f.Kind == Moment {
		return labels[l.Time]
	}
	if own, ok := labels[f.Name+"@"+l.View]; ok {
		return own
	}
	return labels[f.Name]
}

// Suggestion is a value that a filter may have, and what it is called where that is another text.
type Suggestion struct{ Value, Name string }

const (
	suggestSources    = `SELECT name, '' FROM sources WHERE ?1 = 0 OR id = ?1 ORDER BY name LIMIT 200`
	suggestCategories = `SELECT name, '' FROM categories ORDER BY name LIMIT 200`
)

// Suggestions are values that the database has for a filter without Values: none of a text that is free. A value that an address
// could not have, or that would be read as several, is none, nor one outside the scope.
func (k *Reader) Suggestions(ctx context.Context, f ListFilter, scope store.Scope) (all []Suggestion, err error) {
	var found []Suggestion
	switch f.Name {
	case "states":
		return k.suggestStates(ctx, scope)
	case "source":
		found, err = list(ctx, k, "suggest sources", suggestSources, []any{scope.SourceID}, fields[Suggestion])
	case "categories":
		found, err = list(ctx, k, "suggest categories", suggestCategories, nil, fields[Suggestion])
	}
	for _, s := range found {
		if yp.Printable(s.Value) == s.Value && len(s.Value) <= 100 && (f.Kind != ManyWords || !strings.Contains(s.Value, ",")) {
			all = append(all, s)
		}
	}
	return all, err
}

const suggestStates = `
	SELECT DISTINCT state, '' FROM target_totals
	WHERE (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))
	ORDER BY state LIMIT 200`

// suggestStates are the states of the targets, with their names.
func (k *Reader) suggestStates(ctx context.Context, scope store.Scope) (all []Suggestion, err error) {
	known, err := k.KnownStates(ctx, scope.SourceID)
	if err != nil {
		return nil, err
	}
	codes, err := list(ctx, k, "suggest states", suggestStates, placesOf(scope), fields[Suggestion])
	for _, s := range codes {
		if s.Name = known.Name(s.Value); s.Value != "" && !strings.Contains(s.Value, ",") && yp.Printable(s.Value+s.Name) == s.Value+s.Name {
			all = append(all, s)
		}
	}
	return all, err
}
