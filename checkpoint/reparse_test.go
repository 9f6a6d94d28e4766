package checkpoint_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// editLog puts pages that are read again into the log of a crawl.
type editLog struct {
	*logged
	synced int
	err    error
}

func (l *editLog) Append(e *wal.Event) error {
	const worker = "worker_0_pid_99"
	l.seqs[worker]++
	e.WorkerID, e.Seq = worker, l.seqs[worker]
	l.events = append(l.events, e)
	return nil
}

func (l *editLog) Sync() error {
	l.synced++
	return l.err
}

func reread(target *wal.Target, p *yp.Page, fetched time.Time) []*wal.Event {
	return []*wal.Event{{Type: wal.PageReparsed, Target: target, Page: p, Reparsed: &wal.Reparsed{FetchedAt: wal.Stamp{Time: fetched}}}}
}

// TestStoreAgain: pages that are read again are logged before they are stored, once; a replay
// brings them back, in any file, and stores none over a later one.
func TestStoreAgain(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	log := &editLog{logged: g}
	c := g.anew(t)
	fetched := g.clock.Now()
	g.page(t, c, true, 1, 2)
	again := func(phone string, ids ...string) checkpoint.Reparsed {
		t.Helper()
		p := &yp.Page{Number: 1}
		for _, id := range ids {
			p.Listings = append(p.Listings, yp.Listing{ID: id, Name: "N" + id, Phone: phone})
		}
		g.clock.Move(time.Minute)
		target := &wal.Target{ID: c.TargetID, ClaimToken: c.Token, Crawl: c.Crawl, Kind: c.Kind, Source: "demo", Place: c.Place}
		var out checkpoint.Reparsed
		noErr(t, g.StoreAgain(t.Context(), log, reread(target, p, fetched), &out))
		return out
	}
	targets := storetest.Table(t, g.DB(), `SELECT * FROM targets`)
	if out := again("7", "l1", "l3"); out != (checkpoint.Reparsed{Stored: 1, New: 1, Changed: 1}) {
		t.Errorf("%+v", out)
	}
	again("8", "l1", "l3")
	n := len(g.events)
	if out := again("8", "l1", "l3"); out != (checkpoint.Reparsed{Same: 1}) || len(g.events) != n || log.synced != 2 {
		t.Errorf("once more: %+v, %d events, %d syncs", out, len(g.events)-n, log.synced)
	}
	storetest.Same(t, "targets", storetest.Table(t, g.DB(), `SELECT * FROM targets`), targets)
	for _, e := range g.events {
		if held, err := g.Holds(t.Context(), e); err != nil || !held {
			t.Errorf("%s is not held (%v)", e.Type, err)
		}
	}
	later := *g.events[n-1]
	later.Reparsed = &wal.Reparsed{Times: 3}
	if held, err := g.Holds(t.Context(), &later); err != nil || held {
		t.Errorf("a later one is held (%v)", err)
	}
	const events = `SELECT kind, reparsed, listing, listings FROM listing_events ORDER BY id`
	before := storetest.Table(t, g.DB(), events)
	g.replay(t, g.Keeper, g.events)
	storetest.Same(t, "events after a replay", storetest.Table(t, g.DB(), events), before)

	fresh := setupOn(t, storetest.Open(t), 0)
	out := g.replay(t, fresh.Keeper, g.events)
	if out.Reparsed != 2 {
		t.Errorf("%+v", out)
	}
	for _, query := range []string{foundRows, events, `SELECT page, times FROM reparsed`} {
		storetest.Same(t, query, storetest.Table(t, fresh.DB(), query), storetest.Table(t, g.DB(), query))
	}
	unknown := &wal.Target{Kind: yp.KindSearch, Source: "demo", Place: yp.Place{CitySlug: "nowhere-zz", CategorySlug: "plumbers"}}
	var got checkpoint.Reparsed
	err := g.StoreAgain(t.Context(), log, reread(unknown, &yp.Page{Number: 1}, fetched), &got)
	if err != nil || got.Unknown != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if !slices.Contains(wal.EventTypes(), wal.PageReparsed) {
		t.Error("the event is no event")
	}
}

var errKilled = errors.New("killed")

// TestStoreAgainKilled: what a kill between the log and the commit left is in a replay as it is
// in the database, when the same reading is stored again before that of another definition.
func TestStoreAgainKilled(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	log := &editLog{logged: g}
	c := g.anew(t)
	fetched := g.clock.Now()
	g.page(t, c, true, 1, 2)
	again := func(want error, listings ...yp.Listing) (out checkpoint.Reparsed) {
		t.Helper()
		g.clock.Move(time.Minute)
		target := &wal.Target{ID: c.TargetID, ClaimToken: c.Token, Crawl: c.Crawl, Kind: c.Kind, Source: "demo", Place: c.Place}
		log.err = want
		err := g.StoreAgain(t.Context(), log, reread(target, &yp.Page{Number: 1, Listings: listings}, fetched), &out)
		if !errors.Is(err, want) {
			t.Fatal(err)
		}
		return out
	}
	first := []yp.Listing{{ID: "l1", Name: "Other", Phone: "1", Snippet: "Open"}, {ID: "l3", Name: "N3"}}
	other := yp.Listing{ID: "l1", Name: "N1", Phone: "1"}
	again(errKilled, first...)
	again(nil, first...)
	if out := again(nil, other); out.Changed != 1 {
		t.Errorf("the other definition: %+v", out)
	}
	fresh := setupOn(t, storetest.Open(t), 0)
	g.replay(t, fresh.Keeper, g.events)
	for _, query := range []string{foundRows, `SELECT page, times FROM reparsed`} {
		storetest.Same(t, query, storetest.Table(t, fresh.DB(), query), storetest.Table(t, g.DB(), query))
	}
}
