package checkpoint_test

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// logged is a crawl with its log, as the engine writes it: the page before its commit.
type logged struct {
	*bundle
	clock  *clock
	events []*wal.Event
}

func (g *logged) log(typ wal.EventType, c *checkpoint.Claim, p *wal.Page, code yp.ErrorCode, status yp.Status) {
	g.clock.move(1000000)
	g.events = append(g.events, &wal.Event{
		Timestamp: g.clock.now(), WorkerID: c.Worker.ID, Type: typ, Page: p, ErrorCode: code, Status: status,
		Target: &wal.Target{ID: c.TargetID, ClaimToken: c.Token, Source: "demo", Place: c.Place, Priority: c.Priority, MaxPages: c.MaxPages},
	})
	g.clock.move(1000000)
}

func (g *logged) page(t *testing.T, c *checkpoint.Claim, last bool, ids ...int) {
	t.Helper()
	p := checkpoint.Page{Number: c.PageCurrent + 1, Last: last, Raw: len(ids) + 1, Bad: 1}
	if !last {
		p.NextURL = fmt.Sprint("/page/", p.Number+1)
	}
	for i, id := range ids {
		l := yp.Listing{ID: fmt.Sprint("l", id), Name: fmt.Sprint("N", id), Rank: i + 1, Phone: fmt.Sprint(id)}
		if id%3 == 0 {
			l.Website, l.Domain = fmt.Sprintf("https://w%d.com", id%2), fmt.Sprintf("w%d.com", id%2)
		}
		p.Listings = append(p.Listings, l)
	}
	g.log(wal.PageComplete, c, &wal.Page{Number: p.Number, NextURL: p.NextURL, Raw: p.Raw, Accepted: len(ids), Bad: 1, Last: last, Listings: p.Listings}, "", yp.InProgress)
	if _, err := g.CommitPage(t.Context(), c, p); err != nil {
		t.Fatal(err)
	}
}

func (g *logged) take(t *testing.T, n int) *checkpoint.Claim {
	t.Helper()
	c := g.claim(t, n)
	g.log(wal.TargetStart, c, nil, "", yp.InProgress)
	return c
}

// crawl is a small crawl with all that happens to one.
func crawl(t *testing.T) *logged {
	t.Helper()
	b, clock := setupClock(t, 4, "CA")
	g := &logged{bundle: b, clock: clock}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	a, z := g.take(t, 0), g.take(t, 1)
	g.page(t, a, false, 1, 2, 3)
	g.page(t, z, false, 3, 4)
	g.page(t, a, false, 4, 5, 6)
	must(g.Release(ctx, a)) // a stop; another worker goes on
	g.log(wal.Stop, a, nil, "", yp.Planned)
	a = g.take(t, 2)
	g.page(t, a, true, 7, 8, 9)
	g.log(wal.TargetComplete, a, nil, "", yp.Done)
	must(g.Fail(ctx, z, yp.CodeTimeout, "slow"))
	g.log(wal.TargetError, z, nil, yp.CodeTimeout, yp.Failed)
	e := g.take(t, 0)
	must(g.Complete(ctx, e, yp.CodeNoListings, "none"))
	g.log(wal.TargetComplete, e, nil, yp.CodeNoListings, yp.Done)
	p := g.take(t, 0)
	must(g.Park(ctx, p, yp.CodeBlockedProxy, "no"))
	g.log(wal.TargetError, p, nil, yp.CodeBlockedProxy, yp.Parked)
	r := g.take(t, 3) // logged, killed before its commit, and read again
	g.log(wal.PageComplete, r, &wal.Page{Number: 1, NextURL: "/x", Raw: 2, Accepted: 1, Listings: []yp.Listing{{ID: "l10", Name: "N10", Phone: "10"}}}, "", yp.InProgress)
	must(g.Release(ctx, r))
	r = g.take(t, 4)
	g.page(t, r, false, 10)
	must(g.Release(ctx, r))
	return g
}

func (g *logged) replayConfig(damaged func(error)) checkpoint.ReplayConfig {
	return checkpoint.ReplayConfig{
		BaseURL: func(string) string { return "http://127.0.0.1:1" }, Damaged: damaged,
		City: func(string, string, string) (checkpoint.City, bool) { return checkpoint.City{}, false },
	}
}

func seq(events []*wal.Event) iter.Seq2[*wal.Event, error] {
	return func(yield func(*wal.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (g *logged) replay(t *testing.T, k *checkpoint.Keeper, events []*wal.Event) checkpoint.Replayed {
	t.Helper()
	out, err := k.Replay(t.Context(), seq(events), g.replayConfig(func(err error) { t.Errorf("damaged: %v", err) }))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	foundRows = `SELECT source_id, listing_id, name, phone, website, found_state, (SELECT name || ifnull(website, '') || lead_listing FROM companies c WHERE c.id = company_id),
		(SELECT group_concat(k.listing_id) FROM (SELECT listing_id FROM listings o WHERE o.company_id = l.company_id ORDER BY 1) k) FROM listings l ORDER BY 1, 2`
	targetRows = `SELECT c.slug, k.slug, status, page_current, next_page_url, last_listing_id, raw_count, accepted_count, bad_count, last_error_code, total_successes
		FROM targets t JOIN cities c ON c.id = city_id JOIN categories k ON k.id = category_id WHERE status <> 'PLANNED' OR page_current > 0 ORDER BY 1, 2`
)

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	found, targets := table(t, g.DB(), foundRows), table(t, g.DB(), targetRows)
	if len(found) != 10 || len(targets) != 5 {
		t.Fatalf("the crawl found %v under %v", found, targets)
	}
	fresh := func() *checkpoint.Keeper { return checkpoint.New(storetest.Open(t)) }
	t.Run("equals the original", func(t *testing.T) {
		k := fresh()
		out := g.replay(t, k, g.events)
		same(t, "listings", table(t, k.DB(), foundRows), found)
		same(t, "targets", table(t, k.DB(), targetRows), targets)
		if out.Pages != 6 || out.Targets != 5 || out.New != 10 || out.Events != len(g.events) {
			t.Errorf("told %+v", out)
		}
		recount(t, k.DB())
	})
	t.Run("twice changes nothing", func(t *testing.T) {
		k := fresh()
		g.replay(t, k, g.events)
		all := table(t, k.DB(), `SELECT * FROM targets`)
		if out := g.replay(t, k, g.events); out.New != 0 {
			t.Errorf("new the second time: %d", out.New)
		}
		same(t, "listings", table(t, k.DB(), foundRows), found)
		same(t, "targets", table(t, k.DB(), `SELECT * FROM targets`), all)
	})
	t.Run("into the original changes nothing", func(t *testing.T) {
		const everything = `SELECT * FROM targets ORDER BY id`
		before, seen := table(t, g.DB(), everything), table(t, g.DB(), `SELECT * FROM sightings`)
		g.replay(t, g.Keeper, g.events)
		same(t, "targets", table(t, g.DB(), everything), before)
		same(t, "listings", table(t, g.DB(), foundRows), found)
		same(t, "sightings", table(t, g.DB(), `SELECT * FROM sightings`), seen)
	})
	t.Run("every event twice", func(t *testing.T) {
		k := fresh()
		var twice []*wal.Event
		for _, e := range g.events {
			twice = append(twice, e, e)
		}
		g.replay(t, k, twice)
		same(t, "listings", table(t, k.DB(), foundRows), found)
		same(t, "targets", table(t, k.DB(), targetRows), targets)
	})
	t.Run("worker after worker, out of order", func(t *testing.T) {
		k := fresh()
		events := slices.Clone(g.events)
		slices.SortStableFunc(events, func(a, b *wal.Event) int { return cmp.Compare(b.WorkerID, a.WorkerID) })
		g.replay(t, k, events)
		same(t, "listings", table(t, k.DB(), foundRows), found)
	})
	t.Run("any prefix, then all", func(t *testing.T) {
		for n := range g.events {
			k := fresh()
			g.replay(t, k, g.events[:n])
			g.replay(t, k, g.events)
			same(t, fmt.Sprintf("listings after the first %d", n), table(t, k.DB(), foundRows), found)
			same(t, fmt.Sprintf("targets after the first %d", n), table(t, k.DB(), targetRows), targets)
		}
	})
	t.Run("a target held now is not moved", func(t *testing.T) {
		b := setup(t, 4, "CA")
		b.claim(t, 0)
		g.replay(t, b.Keeper, g.events)
		if got := table(t, b.DB(), `SELECT status, page_current FROM targets WHERE claimed_by IS NOT NULL`); !slices.Equal(got, []string{"IN_PROGRESS|0"}) {
			t.Errorf("held: %v", got)
		}
	})
}

// TestReplayDamaged: what can't be read or can't be stored is told, and the rest goes on.
func TestReplayDamaged(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	bad := *g.events[0]
	place := *bad.Target
	place.State, place.CitySlug = "Nowhere", "nowhere"
	bad.Target = &place
	unread := errors.New("line 3 can't be read")
	events := func(yield func(*wal.Event, error) bool) {
		for i, e := range g.events {
			if i == 3 && (!yield(nil, unread) || !yield(&bad, nil) || !yield(&wal.Event{Type: wal.Heartbeat}, nil)) {
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
	var told []error
	k := checkpoint.New(storetest.Open(t))
	out, err := k.Replay(t.Context(), events, g.replayConfig(func(err error) { told = append(told, err) }))
	if err != nil || out.Damaged != 2 || len(told) != 2 || !errors.Is(told[0], unread) {
		t.Errorf("%+v (%v), told %v; want two damaged", out, err, told)
	}
	same(t, "listings", table(t, k.DB(), foundRows), table(t, g.DB(), foundRows))
	same(t, "targets", table(t, k.DB(), targetRows), table(t, g.DB(), targetRows))
	if got := table(t, k.DB(), `SELECT slug FROM cities WHERE slug = 'nowhere'`); len(got) > 0 {
		t.Error("half of the event that was refused is there")
	}
}

// TestReplayRecrawl: a later crawl of a target in the logs begins anew.
func TestReplayRecrawl(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	g.clock.move(checkpoint.RecrawlAfter + 1e9)
	if _, err := g.Wake(t.Context(), g.scope); err != nil {
		t.Fatal(err)
	}
	g.scope.CityIDs, g.scope.CategoryIDs = []int64{1}, g.cats[:1]
	c := g.take(t, 0)
	g.page(t, c, false, 21, 22)
	if err := g.Release(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	k := checkpoint.New(storetest.Open(t))
	g.replay(t, k, g.events)
	const mine = `SELECT status, page_current, next_page_url, raw_count FROM targets t JOIN cities c ON c.id = city_id JOIN categories k ON k.id = category_id
		WHERE c.slug = ? AND k.slug = ?`
	same(t, "target", table(t, k.DB(), mine, c.Place.CitySlug, c.Place.CategorySlug), table(t, g.DB(), mine, c.Place.CitySlug, c.Place.CategorySlug))
	same(t, "listings", table(t, k.DB(), foundRows), table(t, g.DB(), foundRows))
}
