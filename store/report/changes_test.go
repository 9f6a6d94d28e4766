package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// told is a database with one change of every kind, an hour apart, the first at noon.
func told(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, 1, "CA")
	execute(t, b.DB(),
		`INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (7, 'Acme', 1, 'a', 'x'), (8, 'Best', 1, 'b', 'x')`,
		`INSERT INTO listings (id, source_id, listing_id, company_id, name, city, state, found_state, fingerprint, first_seen_at, last_seen_at, dropped_at) VALUES
			(1, 1, 'a', 7, 'Acme', 'Oakland', 'CA', 'CA', 0, '2026-11-20T12:00:00.000Z', '2026-11-20T13:00:00.000Z', NULL),
			(2, 1, 'b', 8, 'Best', NULL, NULL, 'NV', 0, '2026-11-20T12:00:00.000Z', '2026-11-20T12:00:00.000Z', '2026-11-20T14:00:00.000Z')`,
		`INSERT INTO staged_listings (source_id, listing_id, target_id, page, reasons, listing, first_seen_at, last_seen_at)
			VALUES (1, 'c', 1, 1, '["no name"]', '{"id":"c","name":"","state":"OR"}', 'x', 'x')`,
		`INSERT INTO listing_events (at, kind, source_id, listing, listings, listing_id, company_id, run_id, what) VALUES
			('2026-11-20T12:00:00.000Z', 'new', 1, 1, 2, NULL, NULL, 1, '{"1":"web:best.com"}'),
			('2026-11-20T13:00:00.000Z', 'changed', 1, 1, 1, NULL, 7, NULL,
				'{"changes":[{"field":"street","old":"1 Main St","new":null},{"field":"phone","old":null,"new":"555"}],"completed":["rating"]}'),
			('2026-11-20T13:30:00.000Z', 'completed', 1, 1, 1, NULL, 7, NULL, '{"completed":["hours"]}'),
			('2026-11-20T14:00:00.000Z', 'dropped', 1, 2, 1, NULL, 8, 1, NULL),
			('2026-11-20T15:00:00.000Z', 'restored', 1, 2, 1, NULL, 8, 1, NULL),
			('2026-11-20T16:00:00.000Z', 'rejected', 1, NULL, 1, 'c', NULL, 1, '{"reasons":["no name","id: odd"]}')`)
	return b
}

func noon(hours int) time.Time { return time.Date(2026, 11, 20, 12+hours, 0, 0, 0, time.UTC) }

func TestChanges(t *testing.T) {
	t.Parallel()
	b := told(t)
	all := []string{"16 rejected c", "15 restored b", "14 dropped b", "13 changed a", "12 new b", "12 new a"}
	of := func(name string, words ...string) map[string]any { return map[string]any{name: words} }
	since := func(at time.Time) map[string]any { return map[string]any{"since": report.ChangesSince(at, nil)} }
	for name, c := range map[string]struct {
		values map[string]any
		filter report.ChangeFilter
		want   []string
	}{
		"all, the newest first":       {nil, report.ChangeFilter{}, all},
		"since, inclusive":            {since(noon(1)), report.ChangeFilter{Since: noon(1)}, all[:4]},
		"since, just after":           {since(noon(1).Add(time.Millisecond)), report.ChangeFilter{Since: noon(1).Add(time.Millisecond)}, all[:3]},
		"kinds":                       {of("kind", "dropped", "new"), report.ChangeFilter{Kinds: []store.Event{store.EventDropped, store.EventNew}}, []string{"14 dropped b", "12 new b", "12 new a"}},
		"the listing's own state":     {of("states", "CA"), report.ChangeFilter{Scope: store.Scope{States: []string{"CA"}}}, []string{"13 changed a", "12 new a"}},
		"the state that was searched": {of("states", "NV"), report.ChangeFilter{Scope: store.Scope{States: []string{"NV"}}}, []string{"15 restored b", "14 dropped b", "12 new b"}},
		"the state as it was staged":  {of("states", "OR"), report.ChangeFilter{Scope: store.Scope{States: []string{"OR"}}}, []string{"16 rejected c"}},
		"what lasts":                  {map[string]any{"lasting": true}, report.ChangeFilter{Lasting: true}, []string{"16 rejected c", "15 restored b", "13 changed a", "12 new b", "12 new a"}},
		"what lasts, of a kind":       {map[string]any{"lasting": true, "kind": []string{"dropped"}}, report.ChangeFilter{Lasting: true, Kinds: []store.Event{store.EventDropped}}, nil},
		"what lasts, in a state":      {map[string]any{"lasting": true, "states": []string{"NV"}}, report.ChangeFilter{Lasting: true, Scope: store.Scope{States: []string{"NV"}}}, []string{"15 restored b", "12 new b"}},
		"a run":                       {map[string]any{"run": 1}, report.ChangeFilter{Run: 1}, []string{"16 rejected c", "15 restored b", "14 dropped b", "12 new b", "12 new a"}},
		"one listing":                 {map[string]any{"listing": `{"row": 2, "source": 1, "id": "b"}`}, report.ChangeFilter{Run: -1}, []string{"15 restored b", "14 dropped b", "12 new b"}},
		"one that was rejected":       {map[string]any{"listing": `{"row": 0, "source": 1, "id": "c"}`}, report.ChangeFilter{Run: -1}, []string{"16 rejected c"}},
	} {
		var got rows
		noErr(t, b.List(t.Context(), report.Find("changes"), report.Choice{Values: c.values, Columns: []string{"at", "kind", "listing_id"}}, &got))
		for i, row := range got.texts {
			got.texts[i] = strings.ReplaceAll(row[11:13]+row[24:], "|", " ")
		}
		if diff := cmp.Diff(c.want, got.texts); diff != "" {
			t.Error(name, diff)
		}
		counts, err := b.CountChanges(t.Context(), c.filter)
		var n int64
		for _, m := range counts {
			n += m
		}
		if err != nil || c.filter.Run >= 0 && n != int64(len(c.want)) {
			t.Errorf("%s: counted %d of %v, %v", name, n, counts, err)
		}
	}
	// Field changes are those of its own moment, in their order; the company is that of now.
	got := listed(t, b.Reader, "changes", report.Choice{Values: of("kind", "changed", "rejected"), Columns: strings.Fields("listing name city state what company_id run reasons reparsed")})
	want := "demo/c||<nil>|OR|no name; id: odd|<nil>|1|[\"no name\",\"id: odd\"]|0 demo/a|Acme|Oakland|CA|street: 1 Main St → –; phone: – → 555|7|<nil>|[]|0"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSaidOfPages: what a page brings is told of in the order in which it came.
func TestSaidOfPages(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.save(t, place("1", "Acme", phone1, "", "CA"), place("2", "Best", "", "", "CA"))
	d.save(t, place("1", "Acme Two", phone1, "", "CA"))
	const want = "changed|1|Acme Two|name: Acme → Acme Two new|2|Best|<nil> new|1|Acme Two|<nil>"
	if got := listed(t, d.Reader, "changes", report.Choice{Columns: strings.Fields("kind listing_id name what")}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
