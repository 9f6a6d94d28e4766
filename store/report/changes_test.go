package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
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

func changesOf(t *testing.T, b *bundle, f report.ChangeFilter, limit int) (out []string) {
	t.Helper()
	err := b.EachChange(t.Context(), f, limit, func(c *report.Change) error {
		out = append(out, fmt.Sprintf("%02d %s %s", c.At.Hour(), c.Kind, c.ListingID))
		return nil
	})
	noErr(t, err)
	return out
}

func noon(hours int) time.Time { return time.Date(2026, 11, 20, 12+hours, 0, 0, 0, time.UTC) }

func TestChanges(t *testing.T) {
	t.Parallel()
	b := told(t)
	all := []string{"12 new a", "12 new b", "13 changed a", "14 dropped b", "15 restored b", "16 rejected c"}
	for name, c := range map[string]struct {
		filter report.ChangeFilter
		limit  int
		want   []string
	}{
		"all, the oldest first": {report.ChangeFilter{}, 0, all},
		"limit":                 {report.ChangeFilter{}, 2, all[:2]},
		"since, inclusive":      {report.ChangeFilter{Since: noon(1)}, 0, all[2:]},
		"since, just after":     {report.ChangeFilter{Since: noon(1).Add(time.Millisecond)}, 0, all[3:]},
		"kinds": {
			report.ChangeFilter{Kinds: []store.Event{store.EventDropped, store.EventNew}},
			0,
			[]string{"12 new a", "12 new b", "14 dropped b"},
		},
		"the listing's own state":     {report.ChangeFilter{Scope: store.Scope{States: []string{"CA"}}}, 0, []string{"12 new a", "13 changed a"}},
		"the state that was searched": {report.ChangeFilter{Scope: store.Scope{States: []string{"NV"}}}, 0, []string{"12 new b", "14 dropped b", "15 restored b"}},
		"the state as it was staged":  {report.ChangeFilter{Scope: store.Scope{States: []string{"OR"}}}, 0, []string{"16 rejected c"}},
		"another source":              {report.ChangeFilter{Scope: store.Scope{SourceID: 99}}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, changesOf(t, b, c.filter, c.limit)); diff != "" {
				t.Error(diff)
			}
			counts, err := b.CountChanges(t.Context(), c.filter)
			var n int64
			for _, m := range counts {
				n += m
			}
			if err != nil || c.limit == 0 && n != int64(len(c.want)) {
				t.Errorf("counted %d of %v, %v", n, counts, err)
			}
		})
	}
}

func TestChangeRow(t *testing.T) {
	t.Parallel()
	b := told(t)
	seven, one, text := int64(7), int64(1), func(s string) *string { return &s }
	want := map[store.Event]report.Change{
		// Field changes are those of its own moment, in their order.
		store.EventChanged: {
			At: noon(1), Kind: store.EventChanged, Source: "demo", ListingID: "a", Name: "Acme", City: "Oakland", State: "CA", CompanyID: &seven,
			Changes: []store.FieldChange{{Field: "street", Old: text("1 Main St")}, {Field: "phone", New: text("555")}}, Reasons: []string{},
		},
		store.EventRejected: {
			At: noon(4), Kind: store.EventRejected, Source: "demo", ListingID: "c", State: "OR", Run: &one,
			Changes: []store.FieldChange{}, Reasons: []string{"no name", "id: odd"},
		},
	}
	got := map[store.Event]report.Change{}
	err := b.EachChange(t.Context(), report.ChangeFilter{}, 0, func(c *report.Change) error {
		if _, ok := want[c.Kind]; ok {
			got[c.Kind] = *c
		}
		if c.Kind == store.EventNew && c.ListingID == "a" && *c.CompanyID != 7 {
			t.Errorf("a new listing's company is %d: want 7, which it has now", *c.CompanyID)
		}
		return nil
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestChangesEnd(t *testing.T) {
	t.Parallel()
	b := told(t)
	stop, n := errors.New("stop"), 0
	err := b.EachChange(t.Context(), report.ChangeFilter{}, 0, func(*report.Change) error {
		n++
		return stop
	})
	if err != stop || n != 1 { //nolint:errorlint // as it is, not wrapped
		t.Errorf("%d rows, %v: want one, and the error as it is", n, err)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	b := told(t)
	h, err := b.History(t.Context(), "demo", "b")
	noErr(t, err)
	var kinds []string
	for _, c := range h.Changes {
		kinds = append(kinds, string(c.Kind))
	}
	if got := strings.Join(kinds, " "); got != "new dropped restored" || h.Name != "Best" || h.Dropped != noon(2) || *h.CompanyID != 8 {
		t.Errorf("got %s, %+v", got, h)
	}
	if h, err = b.History(t.Context(), "demo", "c"); err != nil || len(h.Changes) != 1 || h.CompanyID != nil {
		t.Errorf("a rejected one: %+v, %v", h, err)
	}
	for _, c := range [][2]string{{"demo", "z"}, {"nowhere", "a"}} {
		var unknown *report.NotFoundError
		if _, err := b.History(t.Context(), c[0], c[1]); !errors.As(err, &unknown) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestFindRun(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	execute(t, b.DB(), `INSERT INTO runs (id, uuid, host, pid, command, started_at, heartbeat_at, finished_at, outcome) VALUES
		(20, 'ABCDEFGH', 'h', 1, 'x', '2026-11-20T12:00:00.000Z', 'x', 'x', 'done'), (21, 'ABCDXYZW', 'h', 1, 'x', '2026-11-20T13:00:00.000Z', 'x', 'x', 'dead'),
		(22, '23456ABC', 'h', 1, 'x', '2026-11-20T14:00:00.000Z', 'x', NULL, 'running')`)
	for word, want := range map[string]int64{"20": 20, "ABCDEFGH": 20, "abcde": 20, "abcdx": 21, "23456": 22} {
		if r, err := b.FindRun(t.Context(), word); err != nil || r.ID != want {
			t.Errorf("%s: %+v, %v", word, r, err)
		}
	}
	for word, want := range map[string]string{"99": "no run \"99\"", "abcd": "several", "abc": "number", "a*cde": "number", "zzzzz": "no uuid begins with it", "": "number"} {
		var unknown *report.NotFoundError
		if _, err := b.FindRun(t.Context(), word); !errors.As(err, &unknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", word, err, want)
		}
	}
}

func TestParseChangeKind(t *testing.T) {
	t.Parallel()
	for _, k := range report.ChangeKinds() {
		if got, err := report.ParseChangeKind(strings.ToUpper(string(k))); err != nil || got != k {
			t.Errorf("%s: %s, %v", k, got, err)
		}
	}
	for word, want := range map[string]string{"droped": "did you mean dropped", "x": "want one of new, changed"} {
		if _, err := report.ParseChangeKind(word); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// TestSaidOfPages: what a page brings is told of in the order in which it came.
func TestSaidOfPages(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	c := b.claim(t, 0)
	first := []yp.Listing{{ID: "1", Name: "Acme", Phone: "(512) 555-0100", State: "CA"}, {ID: "2", Name: "Best", State: "CA"}}
	second := []yp.Listing{{ID: "1", Name: "Acme Two", Phone: "(512) 555-0100", State: "CA"}}
	for i, listings := range [][]yp.Listing{first, second} {
		p := yp.Page{Number: i + 1, NextURL: "/next", Raw: len(listings), Listings: listings}
		b.commit(t, c, p)
	}
	var got []string
	err := b.EachChange(t.Context(), report.ChangeFilter{}, 0, func(c *report.Change) error {
		line := fmt.Sprintf("%s %s %s", c.Kind, c.ListingID, c.Name)
		for _, f := range c.Changes {
			line += fmt.Sprintf(" %s: %s > %s", f.Field, *f.Old, *f.New)
		}
		got = append(got, line)
		return nil
	})
	want := []string{"new 1 Acme Two", "new 2 Best", "changed 1 Acme Two name: Acme > Acme Two"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
