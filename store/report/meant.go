package report

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// synonyms are names that people type for those that we use, in the order in which they are looked for.
var synonyms = map[string][]string{
	"address": {"street"}, "business": {"name", "listings"}, "businesses": {"listings"}, "closed": {"dropped", "dropped_at"},
	"closed_at": {"dropped_at"}, "code": {"error_code", "error"}, "county": {"state"}, "date": {"at", "started_at", "last_seen_at"},
	"description": {"about", "snippet"}, "duration": {"duration_ms", "took_seconds", "mean_duration_ms"}, "firm": {"company", "name"},
	"given_up": {"parked"}, "homepage": {"website"}, "image": {"image_url"}, "latency": {"latency_p50_ms"}, "latitude": {"lat"},
	"link": {"profile_url", "website"}, "lng": {"lon"}, "logo": {"image_url"}, "long": {"lon"}, "longitude": {"lon"}, "mail": {"email"},
	"memory": {"memory_bytes"}, "mobile": {"phone"}, "number": {"phone"}, "opening_hours": {"hours"}, "photo": {"image_url"},
	"postcode": {"postal_code"}, "province": {"state"}, "reason": {"reasons", "message"}, "region": {"state"}, "review": {"review_count"},
	"reviews": {"review_count"}, "search": {"target"}, "searches": {"targets"}, "stars": {"rating"}, "tel": {"phone"},
	"telephone": {"phone"}, "time": {"at", "started_at", "last_seen_at"}, "title": {"name"}, "town": {"city"}, "url": {"profile_url", "website", "base_url"},
	"web": {"website"}, "zip": {"postal_code"}, "zip_code": {"postal_code"}, "zipcode": {"postal_code"},
}

// nearest is what was probably meant by a word: another name for the same, or one that is typed almost so.
func nearest(word string, all []string) (string, bool) {
	for _, name := range synonyms[strings.ReplaceAll(strings.ToLower(word), "-", "_")] {
		if slices.Contains(all, name) {
			return name, true
		}
	}
	return yp.Nearest(word, all)
}

// Meant is a hint: what was probably meant, or all that there is.
func Meant(word string, all []string) string {
	if near, ok := nearest(word, all); ok {
		return "did you mean " + near + "?"
	}
	return "want one of " + strings.Join(all, ", ")
}

// QuestionError says what is wrong with a question of somebody else, and what may be meant.
type QuestionError struct {
	Text string // of SQLite, without the codes around it
	Hint string // "did you mean listings?"; "" = none
	Err  error
}

// Error implements error.
func (e *QuestionError) Error() string {
	if e.Hint == "" {
		return e.Text
	}
	return e.Text + " (" + e.Hint + ")"
}

// Unwrap implements errors.Unwrap.
func (e *QuestionError) Unwrap() error { return e.Err }

var (
	// sqliteText is what SQLite says, within what its driver adds: "SQL logic error: no such table: listngs (1)". It has
	// one code for all that is wrong with a question.
	sqliteText = regexp.MustCompile(`(?s)^(?:SQL logic error: )?(.*?)(?: \(\d+\))?$`)
	// unknownName is what it says of a name.
	unknownName = regexp.MustCompile(`^no such (table|column): "?(?:\w+\.)*(\w+)`)
	word        = regexp.MustCompile(`\w+`)
)

const (
	questionTables  = `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' ORDER BY type = 'table', name`
	questionColumns = `SELECT DISTINCT c.name FROM json_each(?) t, pragma_table_info(t.value) c`
)

// asked makes a *QuestionError of what SQLite says of a question.
func (k *Reader) asked(ctx context.Context, query string, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrReadsOnly) || errors.Is(err, store.ErrStatements) {
		return err
	}
	e := &QuestionError{Text: sqliteText.FindStringSubmatch(err.Error())[1], Err: err}
	name := unknownName.FindStringSubmatch(e.Text)
	if name == nil {
		return e
	}
	names, failed := list(ctx, k, "tables and views", questionTables, nil, value[string])
	if name[1] == "column" {
		used := word.FindAllString(query, -1)
		names = slices.DeleteFunc(names, func(table string) bool {
			return !slices.ContainsFunc(used, func(w string) bool { return strings.EqualFold(w, table) })
		})
		e.Hint = fmt.Sprintf("`ypcrawl query 'SELECT * FROM %s LIMIT 1'` shows the columns", append(names, "v_targets")[0])
		names, failed = list(ctx, k, "columns", questionColumns, []any{store.JSONTexts(names)}, value[string])
	} else {
		e.Hint = "`ypcrawl query 'SELECT name FROM sqlite_schema'` lists tables and views"
	}
	if near, ok := nearest(name[2], names); ok && failed == nil {
		e.Hint = "did you mean " + near + "?"
	}
	return e
}
