package checkpoint_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// found are cities of Arizona as an index page shows them.
func found(slugs ...string) []checkpoint.FoundCity {
	var all []checkpoint.FoundCity
	for _, s := range slugs {
		all = append(all, checkpoint.FoundCity{
			City:    checkpoint.City{Slug: s, Name: s, State: "AZ", Population: 1000, Lat: 33, Lon: -112, Tier: 3},
			Address: s, Shown: s, Matched: "slug",
		})
	}
	return all
}

func (b *bundle) plannedWalk(t *testing.T, pages int) *checkpoint.Walk {
	t.Helper()
	todo, err := b.PlanWalks(t.Context(), b.scope.SourceID, []checkpoint.StateIndex{{State: "AZ", Pages: pages}})
	if err != nil || !slices.Equal(todo, []string{"AZ"}) {
		t.Fatalf("to do: %v, %v", todo, err)
	}
	return b.beginWalk(t)
}

func (b *bundle) beginWalk(t *testing.T) *checkpoint.Walk {
	t.Helper()
	w, err := b.BeginWalk(t.Context(), b.run.ID, b.scope.SourceID, "AZ")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (b *bundle) commitIndex(t *testing.T, w *checkpoint.Walk, cities ...checkpoint.FoundCity) {
	t.Helper()
	p := checkpoint.IndexPage{Number: w.PagesDone + 1, Path: fmt.Sprintf("/state-az?page=%d", w.PagesDone+1), Cities: cities}
	if err := b.CommitIndex(t.Context(), w, p); err != nil {
		t.Fatal(err)
	}
}

// walkAll walks an index of one page that shows these cities.
func (b *bundle) walkAll(t *testing.T, slugs ...string) checkpoint.WalkEnd {
	t.Helper()
	w := b.plannedWalk(t, 1)
	b.commitIndex(t, w, found(slugs...)...)
	cities, err := b.FoundCities(t.Context(), w, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Plan(t.Context(), b.planOf(cities)); err != nil {
		t.Fatal(err)
	}
	end, err := b.EndWalk(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	recount(t, b.DB())
	return end
}

func (b *bundle) planOf(cities []checkpoint.City) checkpoint.Plan {
	return checkpoint.Plan{
		SourceID: b.scope.SourceID, Cities: cities, TierPages: [4]int{0, 3, 2, 1},
		Categories: []checkpoint.Category{{Slug: "plumbers", Name: "Plumbers"}},
	}
}

func want(t *testing.T, db *store.DB, query string, rows ...string) {
	t.Helper()
	if got := table(t, db, query); !slices.Equal(got, rows) {
		t.Errorf("%s:\n got %q\nwant %q", query, got, rows)
	}
}

const (
	walkRow    = `SELECT status, pages_done, cities, added, gone FROM discoveries`
	cityRows   = `SELECT c.slug, x.gone_at IS NOT NULL FROM source_cities x JOIN cities c ON c.id = x.city_id ORDER BY 1`
	retiredRow = `SELECT c.slug, t.retired_at IS NOT NULL FROM targets t JOIN cities c ON c.id = t.city_id ORDER BY 1`
)

func TestWalkGone(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	t.Run("a city that is gone keeps its row, and its targets are retired", func(t *testing.T) {
		b.walkAll(t, "a-az", "b-az", "c-az")
		if end := b.walkAll(t, "a-az", "b-az", "d-az"); end.Gone != 1 || end.Retired != 1 {
			t.Errorf("%+v", end)
		}
		want(t, b.DB(), walkRow, "DONE|1|3|1|1")
		want(t, b.DB(), cityRows, "a-az|0", "b-az|0", "c-az|1", "d-az|0")
		want(t, b.DB(), retiredRow, "a-az|0", "b-az|0", "c-az|1", "d-az|0")
	})
	t.Run("a plan neither brings it back nor plans more in it", func(t *testing.T) {
		p := b.planOf([]checkpoint.City{found("c-az")[0].City, found("a-az")[0].City})
		p.Categories = append(p.Categories, checkpoint.Category{Slug: "dentists", Name: "Dentists"})
		p.Explicit = true
		out, err := b.Plan(t.Context(), p)
		if err != nil || out.Added != 1 {
			t.Errorf("%+v, %v: want the dentists of a-az alone", out, err)
		}
		want(t, b.DB(), `SELECT count(*), sum(retired_at IS NOT NULL) FROM targets t JOIN cities c ON c.id = t.city_id WHERE c.slug = 'c-az'`, "1|1")
	})
	t.Run("its targets come back with it", func(t *testing.T) {
		if end := b.walkAll(t, "a-az", "b-az", "c-az", "d-az"); end.Gone != 0 {
			t.Errorf("%+v", end)
		}
		want(t, b.DB(), walkRow, "DONE|1|4|1|0")
		want(t, b.DB(), `SELECT count(*) FROM targets WHERE retired_at IS NOT NULL`, "0")
	})
	t.Run("a claim forms addresses with the source's slug", func(t *testing.T) {
		w := b.plannedWalk(t, 1)
		c := found("a-az", "b-az", "c-az", "d-az")
		for i := range c {
			c[i].Address = "own-" + c[i].Address
		}
		b.commitIndex(t, w, c...)
		got, err := b.Claim(t.Context(), b.worker(1), checkpoint.Scope{SourceID: b.scope.SourceID, States: []string{"AZ"}}, 5)
		if err != nil || got.Place.CitySlug != "own-"+"a-az" {
			t.Errorf("claimed %+v, %v", got, err)
		}
	})
}

func TestWalkSuspect(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		then []string
		bad  bool
	}{
		"half of the cities are believed":       {[]string{"a-az", "b-az"}, false},
		"fewer than half are not":               {[]string{"a-az"}, true},
		"none is not":                           {nil, true},
		"new cities don't stand for those lost": {[]string{"a-az", "x-az", "y-az", "z-az"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 0)
			b.walkAll(t, "a-az", "b-az", "c-az", "d-az")
			end := b.walkAll(t, tt.then...)
			if (end.Suspect != "") != tt.bad {
				t.Fatalf("%+v", end)
			}
			status, gone := "DONE", "2"
			if tt.bad {
				status, gone = "FAILED", "0"
			}
			want(t, b.DB(), `SELECT status, gone, (SELECT count(*) FROM source_cities WHERE gone_at IS NOT NULL), (SELECT count(*) FROM targets WHERE retired_at IS NOT NULL) FROM discoveries`,
				fmt.Sprintf("%s|%s|%s|%s", status, gone, gone, gone))
			b.walkAll(t, "a-az", "b-az", "c-az", "d-az") // begins anew
			want(t, b.DB(), `SELECT status, pages_done, last_error IS NULL FROM discoveries`, "DONE|1|1")
		})
	}
	t.Run("nothing before and nothing now is a state without cities", func(t *testing.T) {
		t.Parallel()
		if end := setup(t, 0).walkAll(t); end.Suspect != "" {
			t.Errorf("%+v", end)
		}
	})
}

func TestWalkFence(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	w := b.plannedWalk(t, 2)
	ctx := t.Context()
	page := checkpoint.IndexPage{Number: 1, Path: "/state-az", Cities: found("a-az")}
	t.Run("a page that is not the next one", func(t *testing.T) {
		if err := b.CommitIndex(ctx, w, checkpoint.IndexPage{Number: 2, Cities: page.Cities}); !errors.Is(err, checkpoint.ErrClaimLost) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("another token, another run", func(t *testing.T) {
		late, stranger := *w, *w
		late.Token--
		stranger.RunID++
		for _, w := range []*checkpoint.Walk{&late, &stranger} {
			w.Requests = []store.Request{indexRequest(b)}
			if err := b.CommitIndex(ctx, w, page); !errors.Is(err, checkpoint.ErrClaimLost) {
				t.Errorf("commit: %v", err)
			}
			if _, err := b.EndWalk(ctx, w); !errors.Is(err, checkpoint.ErrClaimLost) {
				t.Errorf("end: %v", err)
			}
			if err := b.ReleaseWalk(ctx, w); !errors.Is(err, checkpoint.ErrClaimLost) {
				t.Errorf("release: %v", err)
			}
			if err := b.FailWalk(ctx, w, yp.CodeTimeout, "late"); !errors.Is(err, checkpoint.ErrClaimLost) {
				t.Errorf("fail: %v", err)
			}
			if len(w.Requests) != 1 {
				t.Error("the requests were forgotten")
			}
		}
	})
	t.Run("nothing was written", func(t *testing.T) {
		want(t, b.DB(), `SELECT (SELECT count(*) FROM cities), (SELECT count(*) FROM source_cities), (SELECT count(*) FROM requests)`, "0|0|0")
	})
	t.Run("an end before the last page", func(t *testing.T) {
		if _, err := b.EndWalk(ctx, w); !errors.Is(err, checkpoint.ErrClaimLost) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a page takes its requests along", func(t *testing.T) {
		w.Requests = []store.Request{indexRequest(b)}
		b.commitIndex(t, w, page.Cities...)
		want(t, b.DB(), `SELECT type, page FROM requests`, "state_index|1")
		want(t, b.DB(), walkRow, "IN_PROGRESS|1|1|1|0")
	})
	t.Run("nobody else begins it", func(t *testing.T) {
		if _, err := b.BeginWalk(ctx, b.run.ID, b.scope.SourceID, "AZ"); !errors.Is(err, checkpoint.ErrWalked) {
			t.Errorf("got %v", err)
		}
	})
}

func indexRequest(b *bundle) store.Request {
	return store.Request{
		SourceID: b.scope.SourceID, Page: 1, Correlation: "1.x.1", Type: yp.RequestStateIndex, URL: "http://x/state-az", Started: b.DB().Now(), Status: 200,
	}
}

func TestWalkResume(t *testing.T) {
	t.Parallel()
	t.Run("a city on two pages counts once", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 0)
		w := b.plannedWalk(t, 2)
		b.commitIndex(t, w, found("a-az", "b-az")...)
		b.commitIndex(t, w, found("b-az", "c-az")...)
		want(t, b.DB(), walkRow, "IN_PROGRESS|2|3|3|0")
		want(t, b.DB(), `SELECT slug, found_on FROM source_cities ORDER BY 1`, "a-az|/state-az?page=1", "b-az|/state-az?page=2", "c-az|/state-az?page=2")
	})
	t.Run("released, it goes on; too old, it starts over", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 0)
		w := b.plannedWalk(t, 3)
		began := w.StartedAt
		b.commitIndex(t, w, found("a-az")...)
		if err := b.ReleaseWalk(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		clock.move(checkpoint.WalkRest - time.Minute)
		if w = b.plannedWalk(t, 3); w.PagesDone != 1 || w.StartedAt != began || w.Cities != 1 {
			t.Errorf("resumed %+v", w)
		}
		if err := b.FailWalk(t.Context(), w, yp.CodeTimeout, "slow"); err != nil {
			t.Fatal(err)
		}
		want(t, b.DB(), `SELECT status, last_error_code, last_error, gone FROM discoveries`, "FAILED|TIMEOUT|slow|0")
		if w = b.plannedWalk(t, 3); w.PagesDone != 1 {
			t.Errorf("a walk that failed was not resumed: %+v", w)
		}
		if err := b.ReleaseWalk(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		clock.move(2 * time.Minute)
		if w = b.plannedWalk(t, 3); w.PagesDone != 0 || w.StartedAt == began || w.Cities != 0 {
			t.Errorf("an old walk was resumed: %+v", w)
		}
	})
	t.Run("another number of pages starts over", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 0)
		w := b.plannedWalk(t, 3)
		b.commitIndex(t, w, found("a-az")...)
		if err := b.ReleaseWalk(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		if w = b.plannedWalk(t, 2); w.PagesDone != 0 || w.Pages != 2 {
			t.Errorf("resumed %+v", w)
		}
	})
	t.Run("a clock that was set back marks nothing as gone that was met", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 0)
		b.walkAll(t, "a-az", "b-az", "c-az")
		clock.move(-time.Hour)
		w := b.plannedWalk(t, 2)
		b.commitIndex(t, w, found("a-az")...)
		clock.move(-time.Hour)
		b.commitIndex(t, w, found("b-az")...)
		if end, err := b.EndWalk(t.Context(), w); err != nil || end.Gone != 1 {
			t.Errorf("%+v, %v", end, err)
		}
		want(t, b.DB(), cityRows, "a-az|0", "b-az|0", "c-az|1")
	})
}

func TestWalkRound(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 0)
	ctx := t.Context()
	plan := func(states ...string) []string {
		t.Helper()
		var list []checkpoint.StateIndex
		for _, s := range states {
			list = append(list, checkpoint.StateIndex{State: s, Pages: 1})
		}
		todo, err := b.PlanWalks(ctx, b.scope.SourceID, list)
		if err != nil {
			t.Fatal(err)
		}
		return todo
	}
	expect := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("to do: %v, want %v", got, want)
		}
	}
	expect(plan("AZ", "NV", "UT"), "AZ", "NV", "UT")
	w := b.beginWalk(t)
	expect(plan("AZ", "NV", "UT"), "NV", "UT") // AZ is being walked
	b.commitIndex(t, w)
	if _, err := b.EndWalk(ctx, w); err != nil {
		t.Fatal(err)
	}
	expect(plan("AZ", "NV", "UT"), "NV", "UT") // the round goes on
	expect(plan("AZ"), "AZ")                   // asked for by itself, it has nothing left
	w = b.beginWalk(t)
	b.commitIndex(t, w)
	if _, err := b.EndWalk(ctx, w); err != nil {
		t.Fatal(err)
	}
	clock.move(checkpoint.WalkRest + time.Minute)
	expect(plan("AZ", "NV", "UT"), "AZ", "NV", "UT") // what the round did is too old
	w = b.beginWalk(t)
	if err := b.FailWalk(ctx, w, yp.CodeTimeout, "slow"); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"NV", "UT"} {
		if w, err := b.BeginWalk(ctx, b.run.ID, b.scope.SourceID, state); err != nil {
			t.Fatal(err)
		} else if b.commitIndex(t, w); err == nil {
			if _, err := b.EndWalk(ctx, w); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect(plan("AZ", "NV", "UT"), "AZ") // what failed is tried again, by itself
	if err := b.FailWalk(ctx, b.beginWalk(t), yp.CodeNoListings, "no such state"); err != nil {
		t.Fatal(err)
	}
	expect(plan("AZ", "NV", "UT"), "AZ", "NV", "UT") // the round is over
}

func TestRecoverWalks(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	ctx := t.Context()
	other, err := b.StartRun(ctx, b.scope.SourceID, "discover", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.PlanWalks(ctx, b.scope.SourceID, []checkpoint.StateIndex{{State: "AZ", Pages: 2}}); err != nil {
		t.Fatal(err)
	}
	w, err := b.BeginWalk(ctx, other.ID, b.scope.SourceID, "AZ")
	if err != nil {
		t.Fatal(err)
	}
	b.commitIndex(t, w, found("a-az")...)
	if n, err := b.RecoverWalks(ctx); n != 0 || err != nil {
		t.Fatalf("the walk of a living run was taken: %d, %v", n, err)
	}
	if err := other.Finish(ctx, checkpoint.OutcomeError, 0); err != nil { // its lock is free, its walk in progress
		t.Fatal(err)
	}
	if n, err := b.RecoverWalks(ctx); n != 1 || err != nil {
		t.Fatalf("recovered %d, %v", n, err)
	}
	again := b.beginWalk(t)
	if again.PagesDone != 1 || again.Token != w.Token+1 || again.StartedAt != w.StartedAt {
		t.Errorf("resumed %+v after %+v", again, w)
	}
	if err := b.CommitIndex(ctx, w, checkpoint.IndexPage{Number: 2}); !errors.Is(err, checkpoint.ErrClaimLost) {
		t.Errorf("the dead run's page: %v", err)
	}
}

// TestWalkTwoAddresses: one place under two addresses has one row, and which of them
// does not depend on chance.
func TestWalkTwoAddresses(t *testing.T) {
	t.Parallel()
	c := found("a-az", "a-az", "a-az")
	c[0].Address, c[0].Matched = "a-1-az", "name"
	c[1].Address, c[1].Matched = "a-2-az", "name"
	for name, tt := range map[string]struct {
		cities []checkpoint.FoundCity
		want   string
	}{
		"the gazetteer's own slug":  {[]checkpoint.FoundCity{c[0], c[2], c[1]}, "a-az|slug"},
		"the first of equal claims": {[]checkpoint.FoundCity{c[0], c[1]}, "a-1-az|name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 0)
			for range 2 { // a second walk comes to the same end
				w := b.plannedWalk(t, 1)
				b.commitIndex(t, w, tt.cities...)
				if w.Cities != 1 {
					t.Errorf("%d cities", w.Cities)
				}
				if _, err := b.EndWalk(t.Context(), w); err != nil {
					t.Fatal(err)
				}
				want(t, b.DB(), `SELECT slug, matched FROM source_cities`, tt.want)
			}
		})
	}
}

// TestWalkUnknownCity: a city that the gazetteer does not know is crawled with its
// state like any other.
func TestWalkUnknownCity(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	w := b.plannedWalk(t, 1)
	c := found("nowhere-az")
	c[0].Population, c[0].Lat, c[0].Lon, c[0].Matched = 0, 0, 0, "none"
	b.commitIndex(t, w, c...)
	want(t, b.DB(), `SELECT population, lat IS NULL, lon IS NULL, tier FROM cities`, "0|1|1|3")
	for least, n := range map[int]int{0: 1, 1: 0} {
		if got, err := b.FoundCities(t.Context(), w, least); err != nil || len(got) != n {
			t.Errorf("at least %d people: %v, %v", least, got, err)
		}
	}
	if _, err := b.Plan(t.Context(), b.planOf([]checkpoint.City{c[0].City})); err != nil {
		t.Fatal(err)
	}
	got, err := b.Claim(t.Context(), b.worker(1), checkpoint.Scope{SourceID: b.scope.SourceID, States: []string{"AZ"}}, 5)
	if err != nil || got.Place.CitySlug != "nowhere-az" {
		t.Errorf("claimed %+v, %v", got, err)
	}
}

func TestDiscoveries(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	b.walkAll(t, "a-az", "b-az")
	b.walkAll(t, "a-az", "c-az")
	got, err := b.Discoveries(t.Context(), checkpoint.Scope{SourceID: b.scope.SourceID, States: []string{"AZ"}})
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	d := got[0]
	if d.Source != "demo" || d.Cities != 2 || d.New != 1 || d.Gone != 1 || d.BySlug != 2 || d.Targets != 2 || d.Retired != 1 || d.Status != yp.Done || d.LastDone.IsZero() {
		t.Errorf("%+v", d)
	}
	if none, err := b.Discoveries(t.Context(), checkpoint.Scope{States: []string{"TX"}}); err != nil || none == nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}
