package checkpoint_test

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// readsIndex reads an index of so many pages, with its log; killed stops before its
// end is logged.
func (g *logged) readsIndex(t *testing.T, killed bool, pages ...[]string) {
	t.Helper()
	g.clock.Move(8 * 24 * time.Hour)
	if _, err := g.Wake(t.Context(), g.indexes("AZ")); err != nil {
		t.Fatal(err)
	}
	c := g.index(t, len(pages))
	g.log(wal.TargetStart, c, nil, "", yp.InProgress)
	for i, slugs := range pages {
		p := yp.Page{Number: i + 1, Last: i+1 == len(pages), Path: fmt.Sprintf("/state-az?page=%d", i+1), Cities: found(slugs...)}
		if p.Last {
			p.Plan = g.planOf(nil).Searches(0)
		}
		g.log(wal.PageComplete, c, &p, "", yp.InProgress)
		out, err := g.CommitPage(t.Context(), c, p)
		noErr(t, err)
		switch {
		case !p.Last || killed:
		case out.Index.Suspect != "":
			status, _ := yp.InProgress.Next(out.Index.Setback.Event)
			g.log(wal.TargetError, c, nil, yp.CodeHTMLChanged, status)
		default:
			g.log(wal.TargetComplete, c, nil, "", yp.Done)
		}
	}
}

// TestReplayOfIndexes: a replay rebuilds the cities of a source with those that are gone, the
// searches that are planned and retired, and how the crawls of its indexes stand.
func TestReplayOfIndexes(t *testing.T) {
	t.Parallel()
	const (
		cities = `SELECT c.slug, x.slug, x.name, x.found_on, x.matched, x.crawl, x.removed_at IS NOT NULL FROM source_cities x JOIN cities c ON c.id = x.city_id ORDER BY 1`
		all    = `SELECT t.kind, c.slug, t.status, t.priority, t.max_pages, t.page_current, t.raw_count, t.accepted_count, t.crawls, t.complete_at IS NOT NULL, t.retired_at IS NOT NULL,
			t.last_error_code, t.wait_reason FROM targets t LEFT JOIN cities c ON c.id = t.city_id ORDER BY 1, 2`
	)
	for name, crawl := range map[string]func(*testing.T, *logged){
		"one page": func(t *testing.T, g *logged) { g.readsIndex(t, false, []string{"a-az", "b-az"}) },
		"a city shown twice": func(t *testing.T, g *logged) {
			g.readsIndex(t, false, []string{"a-az", "b-az"}, nil, []string{"b-az", "c-az"})
		},
		"one is gone, and comes back": func(t *testing.T, g *logged) {
			g.readsIndex(t, false, []string{"a-az", "b-az", "c-az"})
			g.readsIndex(t, false, []string{"a-az", "c-az", "d-az"})
			g.readsIndex(t, false, []string{"a-az", "b-az", "c-az"})
		},
		"one that is not believed": func(t *testing.T, g *logged) {
			g.readsIndex(t, false, []string{"a-az", "b-az", "c-az"})
			g.readsIndex(t, false, []string{"a-az"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, clock := setupClock(t, 0)
			g := &logged{bundle: b, clock: clock}
			crawl(t, g)
			k := checkpoint.New(storetest.Open(t))
			for range 2 {
				g.replay(t, k, g.events)
				same(t, "cities", table(t, k.DB(), cities), table(t, g.DB(), cities))
				same(t, "targets", table(t, k.DB(), all), table(t, g.DB(), all))
			}
			g.replay(t, g.Keeper, g.events)
			same(t, "cities of the crawl itself", table(t, g.DB(), cities), table(t, k.DB(), cities))
			for _, e := range g.events {
				if held, err := g.Holds(t.Context(), e); err != nil || !held && e.Type != wal.PageComplete && e.Type != wal.TargetError {
					t.Errorf("event %d, %s, is not held: %v", e.Seq, e.Type, err)
				}
			}
		})
	}
	t.Run("the searches that it planned, also where the source is in the sandbox now", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 0)
		g := &logged{bundle: b, clock: clock}
		var slugs []string
		for i := range checkpoint.SandboxTargets + 2 {
			slugs = append(slugs, fmt.Sprintf("c%02d-az", i))
		}
		g.readsIndex(t, false, slugs)
		k := checkpoint.New(storetest.Open(t))
		if _, err := k.AddSource(t.Context(), checkpoint.NewSource{Name: "demo", BaseURL: "http://127.0.0.1:1"}); err != nil {
			t.Fatal(err)
		}
		g.replay(t, k, g.events)
		want(t, k.DB(), `SELECT count(*) FROM targets WHERE kind = 'search'`, fmt.Sprint(len(slugs)))
	})
	t.Run("its end is told by its last page", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 0)
		g := &logged{bundle: b, clock: clock}
		g.readsIndex(t, true, []string{"a-az"}, []string{"b-az"})
		k := checkpoint.New(storetest.Open(t))
		if out := g.replay(t, k, g.events); out.Indexes != 2 || out.Pages != 0 {
			t.Errorf("told %+v", out)
		}
		want(t, k.DB(), `SELECT kind, status, page_current FROM targets ORDER BY id`, "index|DONE|2", "search|PLANNED|0", "search|PLANNED|0")
	})
}
