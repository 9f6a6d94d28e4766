package checkpoint_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
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

func (g *logged) log(typ wal.EventType, c *checkpoint.Claim, p *yp.Page, code yp.ErrorCode, status yp.Status) {
	g.clock.Move(1000000)
	e := &wal.Event{
		Timestamp: g.clock.Now(), WorkerID: c.Worker.ID, Type: typ, Page: p, ErrorCode: code, Status: status,
		Committed: c.Committed, CommittedAt: yp.Stamp{Time: c.CommittedAt},
		Target: &wal.Target{ID: c.TargetID, ClaimToken: c.Token, Crawl: c.Crawl, Kind: c.Kind, Listing: c.ListingID, Source: "demo", Place: c.Place, Priority: c.Priority, MaxPages: c.MaxPages},
	}
	if typ == wal.TargetStart {
		e.Behind = c.Behind
	}
	if e.Ended = c.Ended; e.Ended > 0 {
		e.Timestamp = c.EndedAt
	}
	g.events = append(g.events, e)
	g.clock.Move(1000000)
}

func (g *logged) page(t *testing.T, c *checkpoint.Claim, last bool, ids ...int) {
	t.Helper()
	p := yp.Page{Number: c.PageCurrent + 1, Last: last, Raw: len(ids) + 1, Bad: 1}
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
	g.log(wal.PageComplete, c, &yp.Page{Number: p.Number, NextURL: p.NextURL, Raw: p.Raw, Accepted: len(ids), Bad: 1, Last: last, Listings: p.Listings}, "", yp.InProgress)
	g.save(t, c, p)
}

func (g *logged) take(t *testing.T, n int) *checkpoint.Claim {
	t.Helper()
	c := g.claim(t, n)
	g.log(wal.TargetStart, c, nil, "", yp.InProgress)
	return c
}

// fail ends the claim, logs what became of its target, and waits until it may be
// claimed again, but for one that rests for hours.
func (g *logged) fail(t *testing.T, c *checkpoint.Claim) yp.Setback {
	t.Helper()
	set, err := g.Fail(t.Context(), c, yp.CodeTimeout, "slow")
	noErr(t, err)
	status, _ := yp.InProgress.Next(set.Event)
	g.log(wal.TargetError, c, nil, yp.CodeTimeout, status)
	if set.Event == yp.EventBackOff {
		g.clock.Move(set.Wait)
		g.wake(t, g.scope)
	}
	return set
}

// logOfOne is a target alone, with its log.
func logOfOne(t *testing.T) *logged {
	t.Helper()
	b, clock := setupClock(t, 1, "CA")
	b.scope.CategoryIDs = b.cats[:1]
	return &logged{bundle: b, clock: clock}
}

// anew makes the target due, and takes it.
func (g *logged) anew(t *testing.T) *checkpoint.Claim {
	t.Helper()
	g.clock.Move(time.Hour)
	g.recrawl(t)
	g.wake(t, g.scope)
	return g.take(t, 0)
}

// crawl is a small crawl with all that happens to one.
func crawl(t *testing.T) *logged {
	t.Helper()
	b, clock := setupClock(t, 4, "CA")
	g := &logged{bundle: b, clock: clock}
	ctx := t.Context()
	a, z := g.take(t, 0), g.take(t, 1)
	g.page(t, a, false, 1, 2, 3)
	g.page(t, z, false, 3, 4)
	g.page(t, a, false, 4, 5, 6)
	noErr(t, g.Release(ctx, a, "stop")) // a stop; another worker goes on
	g.log(wal.Stop, a, nil, "", yp.Planned)
	a = g.take(t, 2)
	g.page(t, a, true, 7, 8, 9)
	g.log(wal.TargetComplete, a, nil, "", yp.Done)
	g.fail(t, z)
	g.fail(t, g.take(t, 1))
	g.fail(t, g.take(t, 1)) // three in a row
	e := g.take(t, 0)
	noErr(t, g.Complete(ctx, e, yp.CodeNoListings, "none", checkpoint.End{How: yp.EndSaid}))
	g.log(wal.TargetComplete, e, nil, yp.CodeNoListings, yp.Done)
	p := g.take(t, 0)
	noErr(t, g.Park(ctx, p, yp.CodeBlockedProxy, "no"))
	g.log(wal.TargetError, p, nil, yp.CodeBlockedProxy, yp.Parked)
	r := g.take(t, 3) // logged, killed before its commit, and read again
	g.log(wal.PageComplete, r, &yp.Page{Number: 1, NextURL: "/x", Raw: 2, Accepted: 1, Listings: []yp.Listing{{ID: "l10", Name: "N10", Phone: "10"}}}, "", yp.InProgress)
	noErr(t, g.Release(ctx, r, "stop"))
	r = g.take(t, 4)
	g.page(t, r, false, 10)
	noErr(t, g.Release(ctx, r, "stop"))
	return g
}

func (g *logged) replayConfig(damaged func(error)) checkpoint.ReplayConfig {
	return checkpoint.ReplayConfig{
		BaseURL: func(string) string { return "http://127.0.0.1:1" }, Damaged: damaged,
		City: func(string, string, string) (yp.City, bool) { return yp.City{}, false },
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

// byCommit writes events into the logs of their workers, each with the time that a clock tells, nil = its own, and
// reads them as a replay does.
func byCommit(t *testing.T, events []*wal.Event, now func(i int) time.Time) (ordered []*wal.Event) {
	t.Helper()
	dir := t.TempDir()
	logs := map[string]*wal.Log{}
	for i, e := range events {
		if logs[e.WorkerID] == nil {
			log, err := wal.Create(wal.Config{Dir: dir, WorkerID: e.WorkerID})
			noErr(t, err)
			logs[e.WorkerID] = log
		}
		e := *e
		if now != nil {
			e.Timestamp = now(i)
		}
		noErr(t, logs[e.WorkerID].Append(&e))
	}
	for _, log := range logs {
		noErr(t, log.Close())
	}
	r, err := wal.OpenReader(dir, wal.Options{ByCommit: true})
	noErr(t, err)
	defer func() { _ = r.Close() }()
	for e, err := range r.Events() {
		noErr(t, err)
		ordered = append(ordered, e)
	}
	return ordered
}

func (g *logged) replay(t *testing.T, k *checkpoint.Keeper, events []*wal.Event) checkpoint.Replayed {
	t.Helper()
	out, err := k.Replay(t.Context(), seq(byCommit(t, events, nil)), g.replayConfig(func(err error) { t.Errorf("damaged: %v", err) }))
	noErr(t, err)
	return out
}

const (
	foundRows = `SELECT source_id, listing_id, name, phone, website, found_state, (SELECT name || ifnull(website, '') || lead_listing FROM companies c WHERE c.id = company_id),
		(SELECT group_concat(k.listing_id) FROM (SELECT listing_id FROM listings o WHERE o.company_id = l.company_id ORDER BY 1) k) FROM listings l ORDER BY 1, 2`
	targetRows = `SELECT c.slug, k.slug, status, page_current, next_page_url, last_listing_id, raw_count, accepted_count, bad_count, last_error_code, total_successes,
		consecutive_failures, backoff_level, paused, wait_reason
		FROM targets t JOIN cities c ON c.id = city_id JOIN categories k ON k.id = category_id
		WHERE status <> 'PLANNED' OR page_current > 0 OR consecutive_failures > 0 ORDER BY 1, 2`
)

func TestReplay(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	found, targets := table(t, g.DB(), foundRows), table(t, g.DB(), targetRows)
	if len(found) != 10 || len(targets) != 5 {
		t.Fatalf("the crawl found %v under %v", found, targets)
	}
	fresh := func() *checkpoint.Keeper { return checkpoint.New(storetest.Open(t)) }
	var twice []*wal.Event
	for _, e := range g.events {
		twice = append(twice, e, e)
	}
	start := g.events[0].Timestamp
	for name, c := range map[string]struct {
		events   []*wal.Event
		now      func(i int) time.Time
		database string
	}{
		"every event twice":         {twice, nil, ""},
		"a clock that goes back":    {g.events, func(i int) time.Time { return start.Add(-time.Duration(i) * time.Second) }, ""},
		"a clock that stands still": {g.events, func(int) time.Time { return start }, ""},
		"clocks a year apart":       {g.events, func(i int) time.Time { return start.AddDate(i%2, 0, 0) }, ""},
		"another database's":        {g.events, nil, "another"},
	} {
		t.Run(name, func(t *testing.T) {
			k, events := fresh(), byCommit(t, c.events, c.now)
			for _, e := range events {
				e.Database = c.database
			}
			for i := range 2 {
				out, err := k.Replay(t.Context(), seq(events), g.replayConfig(func(err error) { t.Errorf("damaged: %v", err) }))
				noErr(t, err)
				same(t, "listings", table(t, k.DB(), foundRows), found)
				same(t, "targets", table(t, k.DB(), targetRows), targets)
				want := checkpoint.Replayed{Events: len(events), Pages: 6, Listings: 13, New: 10 - 10*i, Targets: 5, Known: 5 * i, Uncommitted: 1}
				if len(events) == len(g.events) && out != want {
					t.Errorf("told %+v, want %+v", out, want)
				}
				recount(t, k.DB())
			}
		})
	}
	t.Run("worker after worker, out of order", func(t *testing.T) {
		k := fresh()
		workers := map[string][]*wal.Event{}
		for _, e := range g.events {
			workers[e.WorkerID] = append(workers[e.WorkerID], e)
		}
		for _, w := range slices.Backward(slices.Sorted(maps.Keys(workers))) {
			g.replay(t, k, workers[w])
		}
		same(t, "listings", table(t, k.DB(), foundRows), found)
	})
	t.Run("a target held now is not moved", func(t *testing.T) {
		b := setup(t, 4, "CA")
		b.claim(t, 0)
		g.replay(t, b.Keeper, g.events)
		same(t, "held", table(t, b.DB(), `SELECT status, page_current FROM targets WHERE claimed_by IS NOT NULL`), []string{"IN_PROGRESS|0"})
	})
}

// TestReplayDamaged: what can't be read or can't be stored is told, and the rest goes on.
func TestReplayDamaged(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	page := *g.events[2]
	page.Nth = 1
	bad := page
	place := *bad.Target
	place.State, place.CitySlug = "Nowhere", "nowhere"
	bad.Target = &place
	unread := errors.New("line 3 can't be read")
	long := strings.Repeat("x", yp.MaxName+1)
	named := page
	category := *named.Target
	category.Category, category.CategorySlug = long, "long"
	named.Target = &category
	altered := false
	events := func(yield func(*wal.Event, error) bool) {
		for i, e := range byCommit(t, g.events, nil) {
			if i == 3 && (!yield(nil, unread) || !yield(&bad, nil) || !yield(&named, nil) || !yield(&wal.Event{Type: wal.Heartbeat}, nil)) {
				return
			}
			if e.Type == wal.PageComplete && !altered { // it bears two businesses that no crawl stores
				altered = true
				e.Listings = append([]yp.Listing{{ID: "long-name", Name: long}, {ID: long, Name: "N"}}, e.Listings...)
			}
			if !yield(e, nil) {
				return
			}
		}
	}
	var told []error
	k := checkpoint.New(storetest.Open(t))
	out, err := k.Replay(t.Context(), events, g.replayConfig(func(err error) { told = append(told, err) }))
	if err != nil || out.Damaged != 4 || len(told) != 4 || !errors.Is(told[0], unread) {
		t.Errorf("%+v (%v), told %v; want four damaged", out, err, told)
	}
	same(t, "listings", table(t, k.DB(), foundRows), table(t, g.DB(), foundRows))
	same(t, "targets", table(t, k.DB(), targetRows), table(t, g.DB(), targetRows))
	if got := table(t, k.DB(), `SELECT slug FROM cities WHERE slug = 'nowhere' UNION ALL SELECT slug FROM categories WHERE slug = 'long'`); len(got) > 0 {
		t.Error("half of the event that was refused is there")
	}
}

// TestReplayFull: a full disk ends a replay, and is no fault of the events.
func TestReplayFull(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	for _, e := range g.events {
		if e.Type == wal.PageComplete {
			for i := range e.Listings {
				e.Listings[i].Snippet = strings.Repeat("x", 900)
			}
		}
	}
	want := table(t, g.DB(), foundRows)
	full := 0
	for room := 1; ; room++ {
		k := checkpoint.New(storetest.Open(t))
		noErr(t, k.DB().Write(t.Context(), func(tx *store.Tx) (err error) {
			var pages, n int
			if err = tx.Get("PRAGMA page_count", nil, &pages); err == nil {
				err = tx.Get(fmt.Sprintf("PRAGMA max_page_count = %d", pages+room), nil, &n)
			}
			return err
		}))
		told := 0
		_, err := k.Replay(t.Context(), seq(byCommit(t, g.events, nil)), g.replayConfig(func(error) { told++ }))
		if told > 0 || err != nil && (!errors.Is(err, store.ErrDiskFull) || !store.Fatal(err)) {
			t.Errorf("room for %d pages: %v, %d events are called damaged", room, err, told)
		}
		if err == nil {
			same(t, "listings", table(t, k.DB(), foundRows), want)
			break
		}
		full++
	}
	if full == 0 {
		t.Error("the disk was never full")
	}
}

// TestReplayHealth: a target that fails down to the dead letter is the same in a
// database made from its log, at every step; the log knows no jitter.
func TestReplayHealth(t *testing.T) {
	t.Parallel()
	const rows = `SELECT status, crawl_status, consecutive_failures, backoff_level, auto_disabled, last_error_code, finished_at, backoff_until FROM v_crawler_status WHERE consecutive_failures > 0`
	g := logOfOne(t)
	compare := func(n int, least yp.Setback) {
		t.Helper()
		k := checkpoint.New(storetest.Open(t))
		for range 2 { // and a second time changes nothing
			g.replay(t, k, g.events)
			original, replayed := table(t, g.DB(), rows)[0], table(t, k.DB(), rows)[0]
			failed := g.events[len(g.events)-1].Timestamp
			until := ""
			if least.Wait > 0 {
				until = yp.FormatTime(failed.Add(least.Wait))
			}
			want := strings.Split(original, "|")
			want[6], want[7] = yp.FormatTime(failed), until
			storetest.Equal(t, replayed, strings.Join(want, "|"), fmt.Sprintf("after %d failures the log makes it", n))
			recount(t, k.DB())
		}
	}
	for n := 1; n <= 8; n++ {
		set := g.fail(t, g.take(t, 0))
		compare(n, yp.Fail(n, max(0, n-3), 0))
		if set.Event == yp.EventFail {
			g.clock.Move(set.Wait)
			g.wake(t, g.scope)
		}
	}
	same(t, "the original", table(t, g.DB(), `SELECT status, auto_disabled FROM v_crawler_status WHERE id = 1`), []string{"PARKED|1"})
	t.Run("an operator takes it back, and it ends well", func(t *testing.T) {
		storetest.Equal(t, g.operate(t, checkpoint.Reset, checkpoint.Chosen{Statuses: []yp.Status{yp.Parked}}), 1, "targets changed")
		g.fail(t, g.take(t, 0))
		compare(9, yp.Fail(1, 0, 0))
		g.page(t, g.take(t, 0), true, 1, 2, 3)
		k := checkpoint.New(storetest.Open(t))
		g.replay(t, k, g.events)
		const done = `SELECT status, crawl_status, consecutive_failures, backoff_level, backoff_until, auto_disabled FROM v_crawler_status WHERE page_current > 0`
		same(t, "target", table(t, k.DB(), done), table(t, g.DB(), done))
	})
}

// TestReplayLeavesTheOperator: what an operator set is no business of a log, and a
// crawl that begins in a log takes a dead letter back.
func TestReplayLeavesTheOperator(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	k := checkpoint.New(storetest.Open(t))
	const q = `SELECT status, crawl_status, enabled, page_current FROM v_crawler_status`
	c := g.take(t, 0)
	g.replay(t, k, g.events)
	same(t, "begun", table(t, k.DB(), q), []string{"PLANNED|active|1|0"})
	execute(t, k.DB(), `UPDATE targets SET paused = 1, enabled = 0`)
	g.fail(t, c)
	g.fail(t, g.take(t, 0))
	g.replay(t, k, g.events)
	same(t, "failed while paused", table(t, k.DB(), q), []string{"PLANNED|paused|0|0"})
	c = g.take(t, 0)
	g.page(t, c, false, 1)
	g.replay(t, k, g.events)
	same(t, "crawled while paused", table(t, k.DB(), q), []string{"PLANNED|paused|0|1"})
	// Parked here by a run of this database; the log tells of a crawl since, from page 1.
	execute(t, k.DB(), `UPDATE targets SET status = 'PARKED', paused = 0, not_before = NULL, wait_reason = NULL, backoff_level = 5, total_attempts = 8, finished_at = '`+yp.FormatTime(g.clock.Now())+`'`)
	g.clock.Move(time.Hour)
	c.PageCurrent, c.Token, c.Crawl = 0, c.Token+1, c.Crawl+1
	g.log(wal.PageComplete, c, &yp.Page{Number: 1, NextURL: "/2", Raw: 1, Accepted: 1, Listings: []yp.Listing{{ID: "l1", Name: "N1"}}}, "", yp.InProgress)
	g.replay(t, k, g.events)
	same(t, "planned again", table(t, k.DB(), `SELECT status, crawl_status, auto_disabled, page_current FROM v_crawler_status`), []string{"PLANNED|active|0|1"})
}

// TestReplayWithoutAPage: a crawl of which a page is missing in the logs has not ended. Its
// target is crawled on behind the page before, and is done when that crawl says so.
func TestReplayWithoutAPage(t *testing.T) {
	t.Parallel()
	for _, byPage := range []bool{true, false} { // the last page ends it, or the one behind that
		g := logOfOne(t)
		c := g.take(t, 0)
		g.page(t, c, false, 1, 2)
		g.page(t, c, false, 3, 4)
		g.page(t, c, byPage, 5, 6)
		if !byPage {
			noErr(t, g.Complete(t.Context(), c, "", "", checkpoint.End{How: yp.EndSaid}))
		}
		g.log(wal.TargetComplete, c, nil, "", yp.Done)
		at := slices.IndexFunc(g.events, func(e *wal.Event) bool { return e.Page != nil && e.Page.Number == 2 })
		missing := slices.Delete(slices.Clone(g.events), at, at+1)
		state := `SELECT status, page_current, total_successes, (SELECT count(*) FROM listings) FROM targets`
		// At once, and in two parts: what is missing is remembered between them.
		for _, parts := range [][][]*wal.Event{{missing}, {missing[:len(missing)-1], missing[len(missing)-1:]}} {
			k := checkpoint.New(storetest.Open(t))
			for _, events := range parts {
				g.replay(t, k, events)
			}
			same(t, "without page 2", table(t, k.DB(), state), []string{"PLANNED|1|0|4"})
			g.replay(t, k, missing)
			same(t, "again", table(t, k.DB(), state), []string{"PLANNED|1|0|4"})
			var rest []*wal.Event
			for i, e := range g.events[at:] { // a later claim has read it, and what is behind it
				later, claim := *e, *e.Target
				claim.ClaimToken++
				later.Target = &claim
				later.Committed += int64(min(i, 1) * 100)
				if later.Ended > 0 {
					later.Ended += 100
				}
				rest = append(rest, &later)
			}
			g.replay(t, k, rest)
			same(t, "with it", table(t, k.DB(), state), []string{"DONE|3|1|6"})
		}
	}
}

// TestReplayTellsWhatItSkips: nothing that a log holds is passed over without a word.
func TestReplayTellsWhatItSkips(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	found := table(t, g.DB(), foundRows)
	told := func(t *testing.T, k *checkpoint.Keeper, events []*wal.Event, want checkpoint.Replayed) {
		t.Helper()
		got := g.replay(t, k, events)
		got.Events, got.Listings, got.New, got.Targets = 0, 0, 0, 0
		storetest.Equal(t, got, want, "told")
	}
	t.Run("pages that come late, and those of a later claim alone", func(t *testing.T) {
		k := checkpoint.New(storetest.Open(t))
		last := slices.DeleteFunc(slices.Clone(g.events), func(e *wal.Event) bool { return e.WorkerID != g.worker(2).ID }) // a third page
		told(t, k, last, checkpoint.Replayed{Pages: 1, Late: 1})
		told(t, k, g.events, checkpoint.Replayed{Pages: 6, Late: 3, Uncommitted: 1})
		same(t, "listings", table(t, k.DB(), foundRows), found)
	})
	t.Run("kinds of another program, and lines that no one can read", func(t *testing.T) {
		k := checkpoint.New(storetest.Open(t))
		events := func(yield func(*wal.Event, error) bool) {
			_ = yield(&wal.Event{Type: "from_the_future", Timestamp: time.Now()}, nil) && yield(nil, errors.New("damaged"))
		}
		out, err := k.Replay(t.Context(), events, g.replayConfig(func(error) {}))
		if err != nil || out.Unknown != 1 || out.Damaged != 1 || out.Events != 1 {
			t.Errorf("told %+v (%v)", out, err)
		}
	})
	t.Run("the own page of a listing that no page has brought", func(t *testing.T) {
		e := &wal.Event{
			Type: wal.PageComplete, Timestamp: g.clock.Now(), Nth: 1, Target: &wal.Target{ClaimToken: 1, Crawl: 1, Kind: yp.KindDetail, Source: "demo", Listing: "nowhere"},
			Page: &yp.Page{Number: 1, Last: true, Raw: 1, Accepted: 1, Own: true, Listings: []yp.Listing{{ID: "nowhere"}}},
		}
		out, err := g.Replay(t.Context(), seq([]*wal.Event{e}), g.replayConfig(func(error) {}))
		if err != nil || out.Damaged != 1 || out.Details != 0 {
			t.Errorf("told %+v (%v)", out, err)
		}
	})
}

// TestReplayIntoASandbox: what an index has planned was planned, also where the source may plan no more now.
func TestReplayIntoASandbox(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	var slugs []string
	for i := range checkpoint.SandboxTargets + 2 {
		slugs = append(slugs, fmt.Sprintf("c%02d-az", i))
	}
	e := &wal.Event{
		Type: wal.PageComplete, Timestamp: time.Now(), Nth: 1, Target: &wal.Target{ClaimToken: 1, Crawl: 1, Kind: yp.KindIndex, Source: "demo", Place: yp.Place{State: "AZ"}, MaxPages: 1},
		Page: &yp.Page{Number: 1, Last: true, Path: "/state-az", Cities: found(slugs...), Plan: b.planOf(nil).Searches(0)},
	}
	k := checkpoint.New(storetest.Open(t))
	_, err := k.AddSource(t.Context(), checkpoint.NewSource{Name: "demo", BaseURL: "http://127.0.0.1:1"})
	noErr(t, err)
	if out, err := k.Replay(t.Context(), seq([]*wal.Event{e}), (&logged{bundle: b}).replayConfig(func(error) {})); err != nil || out.Indexes != 1 || out.Damaged > 0 {
		t.Errorf("told %+v (%v)", out, err)
	}
	want(t, k.DB(), `SELECT count(*) FROM targets WHERE kind = 'search'`, fmt.Sprint(len(slugs)))
}

// TestReplayUnknownKind: of a kind of target that this program does not know, what tells of a commit is reported, and what
// tells of none is passed over: a log has a heartbeat of it every few seconds.
func TestReplayUnknownKind(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	of := &wal.Target{ID: 9, ClaimToken: 1, Crawl: 1, Kind: "photos", Source: "demo"}
	event := func(kind wal.EventType, nth int64, page *yp.Page) *wal.Event {
		return &wal.Event{Timestamp: g.clock.Now(), Type: kind, Target: of, Nth: nth, Page: page}
	}
	damaged := 0
	cfg := checkpoint.ReplayConfig{Damaged: func(error) { damaged++ }}
	out, err := g.Replay(t.Context(), func(yield func(*wal.Event, error) bool) {
		for _, e := range []*wal.Event{
			event(wal.Heartbeat, 0, nil), event(wal.ClaimLost, 0, nil), event(wal.Stop, 0, nil),
			event(wal.PageComplete, 0, &yp.Page{Number: 1}), event(wal.PageComplete, 1, &yp.Page{Number: 1}), event(wal.TargetStart, 0, nil),
		} {
			if !yield(e, nil) {
				return
			}
		}
	}, cfg)
	noErr(t, err)
	storetest.Equal(t, out, checkpoint.Replayed{Events: 6, Uncommitted: 1, Damaged: 2}, "replayed")
	storetest.Equal(t, damaged, 2, "reports")
}
