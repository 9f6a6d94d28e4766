package report_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// questions are all that a Reader answers, by the names of its methods.
func questions(ctx context.Context, r *report.Reader, target int64) map[string]func() error {
	scope := store.Scope{SourceID: 1}
	return map[string]func() error{
		"Measure":        func() error { _, err := r.Measure(ctx, ""); return err },
		"MeasureSlowly":  func() error { _, err := r.MeasureSlowly(ctx); return err },
		"OwnBeat":        func() error { _, err := r.OwnBeat(ctx); return err },
		"Progress":       func() error { _, err := r.Progress(ctx, scope); return err },
		"Overall":        func() error { _, err := r.Overall(ctx, scope); return err },
		"Abandoned":      func() error { _, err := r.Abandoned(ctx, scope); return err },
		"Status":         func() error { _, err := r.Status(ctx, scope); return err },
		"Count":          func() error { _, err := r.Count(ctx, scope); return err },
		"InGap":          func() error { _, _, err := r.InGap(ctx, scope); return err },
		"Trouble":        func() error { _, err := r.Trouble(ctx, scope, time.Time{}); return err },
		"CoverageTotals": func() error { _, err := r.CoverageTotals(ctx, scope); return err },
		"TimeLeft": func() error {
			_, err := r.TimeLeft(ctx, scope, time.Time{}, []report.Work{{SourceID: 1, Details: 1}})
			return err
		},
		"Work":         func() error { _, err := r.Work(ctx, scope, report.Rate{}); return err },
		"CountChanges": func() error { _, err := r.CountChanges(ctx, report.ChangeFilter{Scope: scope}); return err },
		"History":      func() error { _, err := r.History(ctx, "demo", "a"); return err },
		"Target":       func() error { _, err := r.Target(ctx, target, 0); return err },
		"Next":         func() error { _, err := r.Next(ctx, target); return err },
		"Company":      func() error { _, err := r.Company(ctx, 1); return err },
		"DetailTotals": func() error { _, err := r.DetailTotals(ctx, 0, nil); return err },
		"Detail":       func() error { _, err := r.Detail(ctx, 1); return err },
		"Discoveries":  func() error { _, err := r.Discoveries(ctx, scope); return err },
		"FindTarget":   func() error { _, err := r.FindTarget(ctx, "demo/city-0-ca/plumbers", 0); return err },
		"FindListings": func() error { _, err := r.FindListings(ctx, "demo/a", 0); return err },
		"CheckNames": func() error {
			var unknown *report.NotFoundError
			if err := r.CheckNames(ctx, []string{"x"}, nil); !errors.As(err, &unknown) {
				return fmt.Errorf("a city that is not there: %w", err)
			}
			return r.CheckNames(ctx, nil, nil)
		},
		"EachListing": func() error {
			_, err := r.EachListing(ctx, report.ListingQuery{Columns: report.ListingColumns, Since: &report.Since{}}, func([]any) error { return nil })
			return err
		},
		"Listing":          func() error { _, err := r.Listing(ctx, 1); return err },
		"SearchScope":      func() error { _, err := r.SearchScope(ctx, scope, []string{"x"}, []string{"x"}); return err },
		"FindRun":          func() error { _, err := r.FindRun(ctx, "1"); return err },
		"LastPasses":       func() error { _, err := r.LastPasses(ctx, scope); return err },
		"Figures":          func() error { _, err := r.Figures(ctx, scope); return err },
		"Passes":           func() error { _, err := r.Passes(ctx, scope); return err },
		"Sources":          func() error { _, err := r.Sources(ctx); return err },
		"SourceID":         func() error { _, err := r.SourceID(ctx, "demo"); return err },
		"HostAvailability": func() error { _, err := r.HostAvailability(ctx, "h"); return err },
		"RunHolders":       func() error { _, err := r.RunHolders(ctx); return err },
		"Closures":         func() error { _, err := r.Closures(ctx, []int64{1}); return err },
		"ParkedSince":      func() error { _, err := r.ParkedSince(ctx, []int64{1}, time.Time{}); return err },
		"Closings":         func() error { _, err := r.Closings(ctx, time.Time{}); return err },
		"Standing":         func() error { _, err := r.Standing(ctx, scope); return err },
		"Overview":         func() error { _, err := r.Overview(ctx, scope); return err },
		"StateTable":       func() error { _, err := r.StateTable(ctx, 0, "CA", 5); return err },
		"States": func() error {
			for _, m := range report.StateMeasures {
				if _, err := r.States(ctx, scope, m); err != nil {
					return err
				}
			}
			return nil
		},
		"Snapshot":     func() error { return r.Snapshot(ctx, func(*report.Reader) error { return nil }) },
		"WordsLacking": func() error { _, err := r.WordsLacking(ctx); return err },
		"Query":        func() error { return r.Query(ctx, `SELECT * FROM targets`, &rows{}) },
		"List": func() error {
			for _, l := range report.Lists {
				if err := r.List(ctx, l, report.Choice{}, &rows{}); err != nil {
					return err
				}
			}
			return nil
		},
		"Run": func() error { _, err := r.Run(ctx, 1); return err },
	}
}

// TestWritesNothing: every question of a database with a bit of everything is answered by one
// that was opened to be read only, and the files are afterwards what they were.
func TestWritesNothing(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	if _, err := b.WantDetails(t.Context(), b.scope.SourceID, []string{"CA", "TX"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	c := b.claim(t, 0)
	p := page(false, "a", "b")
	p.Listings[0].ProfileURL = "http://127.0.0.1:1/a"
	b.commit(t, c, p)
	execute(t, b.DB(), `UPDATE cities SET slug = lower(slug)`,
		`INSERT INTO targets (source_id, kind, state, population, priority, max_pages, created_at) VALUES (1, 'index', 'CA', 0, 0, 3, 'x')`,
		`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'h', '`+ahead(time.Hour)+`', 'Retry-After', 'x')`)

	db := storetest.OpenConfig(t, store.Config{Path: b.DB().Path(), ReadOnly: true})
	all := questions(t.Context(), report.New(db), c.TargetID)
	before := sums(t, db.Path())
	for name, ask := range all {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := sums(t, db.Path()); after != before {
		t.Error("the files of the database have changed")
	}
	for i, r := 0, reflect.TypeFor[*report.Reader](); i < r.NumMethod(); i++ {
		if name := r.Method(i).Name; all[name] == nil {
			t.Errorf("nobody asked %s", name)
		}
	}
}

// sums are checksums of the database file and its journal.
func sums(t *testing.T, path string) (all [2][sha256.Size]byte) {
	t.Helper()
	for i, name := range []string{path, path + "-wal"} {
		content, err := os.ReadFile(name)
		noErr(t, err)
		all[i] = sha256.Sum256(content)
	}
	return all
}
