package report_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// rows takes an answer as texts.
type rows struct {
	columns []string
	texts   []string
}

func (r *rows) Head(columns []string) error {
	r.columns = columns
	return nil
}

func (r *rows) Row(values []any) error {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = fmt.Sprint(v)
	}
	r.texts = append(r.texts, strings.Join(cells, "|"))
	return nil
}

// listed asks a list, and returns its rows with a space between two.
func listed(t *testing.T, k *report.Reader, name string, choice report.Choice) string {
	t.Helper()
	var r rows
	noErr(t, k.List(t.Context(), report.Find(name), choice, &r))
	return strings.Join(r.texts, " ")
}

// TestLists: what each list shows and asks are columns of its view.
func TestLists(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	for _, l := range report.Lists {
		var all rows
		if err := b.List(t.Context(), l, report.Choice{}, &all); err != nil {
			t.Errorf("%s: %v", l.Name, err)
		}
		if l.Name == "" || l.Usage == "" || l.Noun == "" {
			t.Errorf("%s: no name, usage or noun", l.Name)
		}
		for _, name := range strings.Fields(l.Show) {
			if !slices.Contains(all.columns, name) {
				t.Errorf("%s shows %s, which %s lacks", l.Name, name, l.View)
			}
		}
		for _, f := range l.Narrows() {
			var v any = `{}` // a text that is JSON as well
			switch f.Kind {
			case report.ManyWords:
				v = []string{"x"}
			case report.Number:
				v = 1
			}
			var unknown *report.NotFoundError
			if err := b.List(t.Context(), l, report.Choice{Values: map[string]any{f.Name: v}}, &rows{}); err != nil && !errors.As(err, &unknown) {
				t.Errorf("%s --%s: %v", l.Name, f.Name, err)
			}
		}
		var unknown *report.NotFoundError
		if err := b.List(t.Context(), l, report.Choice{Columns: []string{"1; DROP TABLE runs"}}, &rows{}); !errors.As(err, &unknown) {
			t.Errorf("%s with a column that there isn't: %v", l.Name, err)
		}
	}
}

func TestTargetsList(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	var rest []string
	for id := 11; id <= 32; id++ {
		rest = append(rest, fmt.Sprint(id))
	}
	of := func(name string, words ...string) map[string]any { return map[string]any{name: words} }
	for name, tc := range map[string]struct {
		values map[string]any
		want   string
	}{
		"due":           {of("schedule", "DUE"), strings.Join(rest, " ")},
		"scheduled":     {of("schedule", "SCHEDULED"), "1 9 10"},
		"degraded":      {of("schedule", "DEGRADED"), "3"},
		"paused":        {of("schedule", "PAUSED"), "7 8"},
		"failed":        {of("schedule", "FAILED"), "4 5"},
		"needs plan":    {of("schedule", "NEEDS_PLAN"), "6"},
		"not scheduled": {of("schedule", "NOT_SCHEDULED"), "2"},
		"status":        {of("status", "DONE", "STUCK"), "1 2 6 10"},
		"health":        {of("health", "failed", "paused"), "4 5 7"},
		"error":         {map[string]any{"error": "TIMEOUT"}, "3 4"},
		"both":          {map[string]any{"error": "TIMEOUT", "status": []string{"PARKED"}}, "4"},
		"state":         {map[string]any{"error": "TIMEOUT", "states": []string{"CA"}}, ""},
		"city":          {map[string]any{"cities": []string{"city 0"}, "error": "TIMEOUT"}, "3 4"},
		"since":         {map[string]any{"since": "9"}, ""},
	} {
		if got := listed(t, b.Reader, "targets list", report.Choice{Values: tc.values, Columns: []string{"id"}}); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	row := listed(t, b.Reader, "targets list", report.Choice{
		Values:  of("status", "FAILED"),
		Columns: strings.Fields("target source health wait backoff_level failures error message success_percent enabled last_success_at"),
	})
	if !strings.HasSuffix(row, "in City 0, TX|demo|degraded|backoff|2|4|TIMEOUT|slow|<nil>|1|<nil>") {
		t.Error(row)
	}
	var unknown *report.NotFoundError
	for _, values := range []map[string]any{{"source": "nosite"}, of("cities", "nowhere"), of("categories", "nothing")} {
		if err := b.List(t.Context(), report.Find("targets list"), report.Choice{Values: values}, &rows{}); !errors.As(err, &unknown) {
			t.Errorf("%v: %v", values, err)
		}
	}
}

// TestListingsList: of a listing its own place and categories count, and those that it was searched under.
func TestListingsList(t *testing.T) {
	t.Parallel()
	r := town(t)
	noErr(t, r.db.IndexWords(t.Context()))
	of := func(name string, words ...string) map[string]any {
		return map[string]any{name: words, "status": "open"}
	}
	for name, tc := range map[string]struct {
		values map[string]any
		want   string
	}{
		"open ones":                      {map[string]any{"status": "open"}, "l9 l8 l7 l6 l3 l2 l1"},
		"dropped":                        {map[string]any{"status": "dropped"}, "l10 l5 l4"},
		"restored":                       {map[string]any{"status": "restored"}, "l8 l7"},
		"a source":                       {map[string]any{"status": "open", "source": "two"}, "l2"},
		"its own state, or the searched": {of("states", "NV"), "l3"},
		"a city, searched":               {of("cities", "RENO"), "l3"},
		"a category, searched":           {of("categories", "pet-stores"), "l3 l1"},
		"a category, its own":            {of("categories", "heating & air"), "l1"},
		"filled by its own page":         {of("has", "email", "phone"), "l1"},
		"rated":                          {map[string]any{"status": "open", "min-rating": 3.0}, "l2 l1"},
		"seen lately":                    {map[string]any{"status": "open", "since": "2026-02-07T00:00:00.000Z"}, "l9 l8 l7"},
		"words of several columns":       {of("search", "oakland", "heat"), "l1"},
		"an operator is a word":          {of("search", `acme" OR "best`), ""},
	} {
		if got := listed(t, r.Reader, "listings list", report.Choice{Values: tc.values, Columns: []string{"listing_id"}}); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestQuery: it may read, and nothing else; a password is not to be seen.
func TestQuery(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	execute(t, b.DB(), `INSERT INTO proxies (url, name, created_at) VALUES ('http://me:sekret@h', 'http://me:xxxxx@h', 'x')`)
	var r rows
	if err := b.Query(t.Context(), `SELECT url, name FROM proxies`, &r); err != nil || r.texts[0] != "<nil>|http://me:xxxxx@h" {
		t.Errorf("%v, %v", r.texts, err)
	}
	for _, query := range []string{
		`DELETE FROM sources`, `DROP TABLE runs`, `PRAGMA user_version = 9`, `PRAGMA journal_mode`, `ATTACH 'x.db' AS x`, `VACUUM INTO 'x.db'`, `BEGIN`, `CREATE TEMP TABLE x (y)`,
		`INSERT INTO sources (name) VALUES ('x') RETURNING id`, `SELECT data FROM sqlite_dbpage`,
	} {
		if err := b.Query(t.Context(), query, &rows{}); !errors.Is(err, store.ErrReadsOnly) {
			t.Errorf("%s: %v", query, err)
		}
	}
}
