package checkpoint_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

const month = checkpoint.DetailsEvery

// found commits a last page with listings that have a page of their own; an id that
// begins with "-" has none.
func (b *bundle) found(t *testing.T, state string, ids ...string) {
	t.Helper()
	scope := b.scope
	scope.States = []string{state}
	c, err := b.Claim(t.Context(), b.worker(0), scope, 5)
	if err != nil {
		t.Fatal(err)
	}
	p := checkpoint.Page{Number: 1, Last: true, Raw: len(ids)}
	for _, id := range ids {
		l := yp.Listing{ID: strings.TrimPrefix(id, "-"), Name: "N" + id}
		if l.ID == id {
			l.ProfileURL = "http://127.0.0.1:1/mip/" + id
		}
		p.Listings = append(p.Listings, l)
	}
	if _, err := b.CommitPage(t.Context(), c, p); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) want(t *testing.T, states ...string) int {
	t.Helper()
	n, err := b.WantDetails(t.Context(), b.scope.SourceID, states, month)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// details is a queue over states, with what claims from it.
func (b *bundle) details(states ...string) *detailQueue {
	return &detailQueue{b.Details(b.scope.SourceID, states), b}
}

type detailQueue struct {
	*checkpoint.Details
	b *bundle
}

// next claims, and returns the listing's id, "" for nothing.
func (q *detailQueue) next(t *testing.T) (*checkpoint.DetailClaim, string) {
	t.Helper()
	c, err := q.Claim(t.Context(), q.b.worker(0))
	if errors.Is(err, checkpoint.ErrNothing) {
		return nil, ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, c.ListingID
}

// save claims the next and saves it.
func (q *detailQueue) save(t *testing.T) string {
	t.Helper()
	c, id := q.next(t)
	if c == nil {
		return ""
	}
	if err := q.b.SaveDetail(t.Context(), c, &yp.Detail{ID: id, Email: id + "@x.example"}, month, nil); err != nil {
		t.Fatal(err)
	}
	return id
}

func (q *detailQueue) all(t *testing.T) (ids string) {
	t.Helper()
	for {
		id := q.save(t)
		if id == "" {
			return strings.TrimSpace(ids)
		}
		ids += id + " "
	}
}

const detailStatus = `SELECT l.listing_id, d.status, ifnull(d.last_error_code, '') FROM details d JOIN listings l ON l.id = d.listing ORDER BY 1`

func TestDetailsPlanned(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA", "TX")
	b.found(t, "CA", "1", "-2", "3")
	if n := len(table(t, b.DB(), detailStatus)); n != 0 {
		t.Fatalf("%d details are planned that nobody wants", n)
	}
	if n := b.want(t, "CA"); n != 2 {
		t.Errorf("%d details of older listings were planned, want those of 2 with a page of their own", n)
	}
	b.found(t, "CA", "3", "4")
	b.found(t, "TX", "5")
	same(t, "planned", table(t, b.DB(), detailStatus), []string{"1|PLANNED|", "3|PLANNED|", "4|PLANNED|"})
	if n := b.want(t, "CA", "TX"); n != 1 {
		t.Errorf("%d more were planned, want that of 5", n)
	}
	if n := b.want(t, "CA", "TX"); n != 0 {
		t.Errorf("%d more were planned the second time, want none", n)
	}
	b.found(t, "TX", "2") // met again, with a page of its own now
	same(t, "planned", table(t, b.DB(), detailStatus), []string{"1|PLANNED|", "2|PLANNED|", "3|PLANNED|", "4|PLANNED|", "5|PLANNED|"})
}

func TestDetailsSweptInSteps(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	b.found(t, "CA", "x")
	execute(t, b.DB(), upTo(5000)+`INSERT INTO listings (source_id, listing_id, company_id, name, profile_url, found_state, fingerprint, first_seen_at, last_seen_at)
		SELECT 1, 'y' || value, 1, 'N', 'http://x', iif(value % 2, 'CA', 'TX'), 0, 'x', 'x' FROM s`)
	if n := b.want(t, "CA"); n != 2501 {
		t.Errorf("%d details were planned, want 2501", n)
	}
}

func TestDetailClaim(t *testing.T) {
	t.Parallel()
	t.Run("those never asked for first, then what has waited longest", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 4, "CA")
		b.want(t, "CA")
		b.found(t, "CA", "1", "2", "3")
		q := b.details("CA")
		if got := q.all(t); got != "1 2 3" {
			t.Errorf("took %s, want 1 2 3", got)
		}
		clock.move(month - time.Minute)
		if got := q.all(t); got != "" {
			t.Errorf("took %s before the month is over", got)
		}
		execute(t, b.DB(), `UPDATE details SET due_at = '2026-12-01T00:00:00.000Z' WHERE listing = 3`)
		b.found(t, "CA", "4")
		clock.move(2 * time.Minute)
		if got := q.all(t); got != "4 3 1 2" {
			t.Errorf("took %s, want 4 3 1 2", got)
		}
	})
	t.Run("never one of a listing that is gone or of another state, however many there are", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 2, "CA", "TX")
		b.want(t, "CA", "TX")
		b.found(t, "CA", "a")
		execute(t, b.DB(), upTo(1200)+`INSERT INTO listings (source_id, listing_id, company_id, name, profile_url, found_state,
				fingerprint, first_seen_at, last_seen_at, gone_at) SELECT 1, 'y' || value, 1, 'N', 'http://x', iif(value % 2, 'CA', 'TX'), 0, 'x', 'x', iif(value % 2, 'x', NULL) FROM s`,
			`INSERT OR IGNORE INTO details (listing, source_id) SELECT id, 1 FROM listings`)
		b.found(t, "CA", "b")
		q := b.details("CA")
		if got := q.all(t); got != "a b" {
			t.Errorf("took %q, want a b", got)
		}
		if o, err := q.Look(t.Context(), 10, time.Hour); err != nil || o.Ready != 0 {
			t.Errorf("%d are ready, want 0 (%v)", o.Ready, err)
		}
		execute(t, b.DB(), `UPDATE details SET due_at = '2026-11-20T00:00:00.000Z'`, `UPDATE details SET due_at = '2026-11-20T00:00:01.000Z' WHERE status = 'DONE'`)
		clock.move(time.Minute)
		q = b.details("CA")
		if o, err := q.Look(t.Context(), 10, time.Hour); err != nil || o.Ready != 2 {
			t.Errorf("%d are ready, want 2 (%v)", o.Ready, err)
		}
		if got := q.all(t); got != "a b" {
			t.Errorf("took %q, want a b", got)
		}
		if got := len(strings.Fields(b.details().all(t))); got != 600 {
			t.Errorf("%d of all states could be claimed, want the 600 that are not gone", got)
		}
	})
	t.Run("only while the source is open", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 1, "CA")
		b.want(t, "CA")
		b.found(t, "CA", "1")
		execute(t, b.DB(), `UPDATE sources SET enabled = 0`)
		if _, id := b.details().next(t); id != "" {
			t.Errorf("took %s of a disabled source", id)
		}
		execute(t, b.DB(), `UPDATE sources SET enabled = 1`)
		if _, id := b.details().next(t); id != "1" {
			t.Errorf("took %q, want 1", id)
		}
	})
	t.Run("what a clock that was set back left far ahead", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 1, "CA")
		b.want(t, "CA")
		b.found(t, "CA", "1", "2")
		q := b.details()
		clock.move(400 * 24 * time.Hour)
		q.save(t)
		c, _ := q.next(t)
		if _, err := b.FailDetail(t.Context(), c, yp.CodeTimeout, "slow", nil); err != nil {
			t.Fatal(err)
		}
		clock.move(-400 * 24 * time.Hour)
		if err := b.WakeDetails(t.Context(), b.scope.SourceID, month); err != nil {
			t.Fatal(err)
		}
		if got := q.all(t); got != "1 2" {
			t.Errorf("took %q, want 1 2", got)
		}
	})
	t.Run("no two workers take the same", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 1, "CA")
		b.want(t, "CA")
		var ids []string
		for i := range 60 {
			ids = append(ids, fmt.Sprint(i))
		}
		b.found(t, "CA", ids...)
		q := b.details("CA")
		var mu sync.Mutex
		var wg sync.WaitGroup
		taken := map[string]int{}
		for i := range 4 {
			wg.Go(func() {
				for {
					c, err := q.Claim(t.Context(), b.worker(i))
					if err != nil {
						if !errors.Is(err, checkpoint.ErrNothing) {
							t.Error(err)
						}
						return
					}
					mu.Lock()
					taken[c.ListingID]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(taken) != 60 {
			t.Errorf("%d of 60 were taken", len(taken))
		}
		for id, n := range taken {
			if n != 1 {
				t.Errorf("%s was taken %d times", id, n)
			}
		}
	})
}

func TestDetailSaved(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	b.want(t, "CA")
	b.found(t, "CA", "1")
	q := b.details()
	c, _ := q.next(t)
	requests := []store.Request{{SourceID: 1, Correlation: "x", Type: yp.RequestDetail, URL: "http://x", Started: clock.now(), Results: 1}}
	first := &yp.Detail{ID: "1", Email: "a@x.example", Hours: []string{"Mo 9:00-10:00"}, Lat: 1.5, Lon: -2.5, Payment: []string{"cash"}, Founded: 1990}
	if err := b.SaveDetail(t.Context(), c, first, month, requests); err != nil {
		t.Fatal(err)
	}
	clock.move(month)
	c, _ = q.next(t)
	if err := b.SaveDetail(t.Context(), c, &yp.Detail{ID: "1", Email: "b@x.example", Lat: 91, Lon: 3}, month, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "what a later page does not give keeps the old value, and a place off the globe is none",
		table(t, b.DB(), `SELECT status, email, hours, lat, lon, payment, founded, total_attempts, fetched_at, due_at, last_error_code, claimed_by FROM details`),
		[]string{`DONE|b@x.example|["Mo 9:00-10:00"]|1.5|-2.5|["cash"]|1990|2|2026-12-20T12:00:00.000Z|2027-01-19T12:00:00.000Z||`})
	same(t, "requests", table(t, b.DB(), `SELECT type, url, target_id FROM requests`), []string{"detail|http://x|"})
}

// TestDetailFence: a claim that was lost writes nothing at all.
func TestDetailFence(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	b.want(t, "CA")
	b.found(t, "CA", "1")
	q := b.details()
	old, _ := q.next(t)
	if _, err := b.RecoverStale(t.Context(), checkpoint.Scope{}, -time.Hour); err != nil {
		t.Fatal(err)
	}
	mine, _ := q.next(t)
	if mine == nil || mine.Token != old.Token+1 {
		t.Fatalf("claimed %+v after %+v, want the next token", mine, old)
	}
	before := table(t, b.DB(), `SELECT d.*, l.* FROM details d, listings l`)
	requests := []store.Request{{SourceID: 1, Correlation: "x", Type: yp.RequestDetail, URL: "http://x"}}
	for name, write := range map[string]func() error{
		"save": func() error {
			return b.SaveDetail(bg, old, &yp.Detail{ID: "1", Email: "late", Website: "https://late.example"}, month, requests)
		},
		"release": func() error { return b.ReleaseDetail(bg, old, requests) },
		"park":    func() error { return b.ParkDetail(bg, old, yp.CodeNoListings, "late", requests) },
		"fail":    func() error { _, err := b.FailDetail(bg, old, yp.CodeTimeout, "late", requests); return err },
	} {
		if err := write(); !errors.Is(err, checkpoint.ErrClaimLost) {
			t.Errorf("%s: got %v, want ErrClaimLost", name, err)
		}
	}
	same(t, "rows", table(t, b.DB(), `SELECT d.*, l.* FROM details d, listings l`), before)
	if n := len(table(t, b.DB(), `SELECT id FROM requests`)); n != 0 {
		t.Errorf("%d requests were written", n)
	}
}

// TestDetailFails: the ladder of failures is that of targets, and what was read stays.
func TestDetailFails(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	b.want(t, "CA")
	b.found(t, "CA", "1", "2")
	q := b.details()
	if q.save(t) != "1" {
		t.Fatal("1 comes first")
	}
	if c, _ := q.next(t); b.ParkDetail(t.Context(), c, yp.CodeNoListings, "the source has no such page", nil) != nil {
		t.Fatal("not parked")
	}
	clock.move(month)
	for i, want := range []struct {
		status yp.Status
		level  int
		wait   time.Duration
	}{
		{yp.Planned, 0, 0},
		{yp.Planned, 0, 0},
		{yp.Failed, 1, 2 * time.Hour},
		{yp.Failed, 2, 4 * time.Hour},
		{yp.Failed, 3, 8 * time.Hour},
		{yp.Failed, 4, 16 * time.Hour},
		{yp.Failed, 5, 32 * time.Hour},
		{yp.Parked, 5, 0},
	} {
		c, id := q.next(t)
		if id != "1" {
			t.Fatalf("failure %d: took %q, want 1", i+1, id)
		}
		set, err := b.FailDetail(t.Context(), c, yp.CodeTimeout, "slow", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := table(t, b.DB(), `SELECT status, backoff_level, email FROM details WHERE listing = 1`)[0]
		if got != fmt.Sprintf("%s|%d|1@x.example", want.status, want.level) || want.wait > 0 && set.Wait != want.wait {
			t.Errorf("failure %d: %s for %s, want %v", i+1, got, set.Wait, want)
		}
		clock.move(set.Wait - time.Second)
		if _, id := q.next(t); id != "" {
			t.Fatalf("failure %d: taken again before its time", i+1)
		}
		clock.move(time.Second)
	}
	same(t, "parked", table(t, b.DB(), detailStatus), []string{"1|PARKED|TIMEOUT", "2|PARKED|NO_LISTINGS"})
	ids, err := b.DetailsToRetry(t.Context(), checkpoint.DetailRetry{Statuses: []yp.Status{yp.Parked}})
	if err != nil || len(ids) != 2 {
		t.Fatalf("%d to retry, want 2 (%v)", len(ids), err)
	}
	if n, err := b.RetryDetails(t.Context(), ids); err != nil || n != 2 {
		t.Fatalf("%d taken back, want 2 (%v)", n, err)
	}
	if got := q.all(t); got != "1 2" {
		t.Errorf("took %q, want 1 2", got)
	}
}

func TestDetailRecovered(t *testing.T) {
	t.Parallel()
	t.Run("what a dead run held is planned again, three times", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 1, "CA")
		b.want(t, "CA")
		b.found(t, "CA", "1", "2")
		q := b.details()
		q.save(t)
		for i := range yp.MaxRecoveries {
			r, err := b.StartRun(bg, b.scope.SourceID, "dies", false)
			if err != nil {
				t.Fatal(err)
			}
			c, err := q.Claim(bg, checkpoint.Worker{ID: "other", RunID: r.ID})
			if err != nil || c.ListingID != "2" {
				t.Fatalf("claimed %+v (%v), want 2", c, err)
			}
			if _, id := q.next(t); id != "" {
				t.Fatalf("took %s while it is held", id)
			}
			b.kill(t, r)
			rec, err := b.RecoverDead(bg, checkpoint.Scope{})
			if err != nil || rec.Details != 1 || rec.DetailsStuck != i/2 || rec.Total() != 0 {
				t.Errorf("recovered %+v (%v)", rec, err)
			}
		}
		same(t, "details", table(t, b.DB(), detailStatus), []string{"1|DONE|", "2|STUCK|"})
		ids, err := b.DetailsToRetry(t.Context(), checkpoint.DetailRetry{Statuses: []yp.Status{yp.Stuck}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.RetryDetails(bg, ids); err != nil {
			t.Fatal(err)
		}
		if got := q.all(t); got != "2" {
			t.Errorf("took %q, want 2", got)
		}
	})
	t.Run("a living run keeps its own, and hands it back at its end", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 1, "CA")
		b.want(t, "CA")
		b.found(t, "CA", "1")
		q := b.details()
		q.next(t)
		clock.move(time.Hour)
		if held, err := b.run.Heartbeat(bg, 0, 0); err != nil || held != 1 {
			t.Errorf("the heartbeat is for %d, want 1 (%v)", held, err)
		}
		for name, rec := range map[string]func() (checkpoint.Recovered, error){
			"dead":  func() (checkpoint.Recovered, error) { return b.RecoverDead(bg, checkpoint.Scope{}) },
			"stale": func() (checkpoint.Recovered, error) { return b.RecoverStale(bg, checkpoint.Scope{}, time.Minute) },
		} {
			if out, err := rec(); err != nil || out.Details != 0 {
				t.Errorf("%s: recovered %+v (%v)", name, out, err)
			}
		}
		if err := b.run.Finish(bg, checkpoint.OutcomeDone, 0); err != nil {
			t.Fatal(err)
		}
		same(t, "details", table(t, b.DB(), detailStatus), []string{"1|PLANNED|"})
	})
	t.Run("stale", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 1, "CA")
		b.want(t, "CA")
		b.found(t, "CA", "1")
		b.details().next(t)
		clock.move(time.Hour)
		if out, err := b.RecoverStale(bg, checkpoint.Scope{}, time.Minute); err != nil || out.Details != 1 {
			t.Errorf("recovered %+v (%v), want 1", out, err)
		}
	})
}

// TestDetailsLeft: what a run has before it, and nothing that it could not claim.
func TestDetailsLeft(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA", "TX")
	b.found(t, "CA", "a", "b", "c", "-none")
	b.found(t, "TX", "x")
	b.want(t, "CA", "TX")
	left := func(want int64, states ...string) {
		t.Helper()
		if n, err := b.DetailsLeft(t.Context(), b.scope.SourceID, states); err != nil || n != want {
			t.Errorf("%d left in %v (%v), want %d", n, states, err, want)
		}
	}
	left(4)
	left(3, "CA")
	q := b.details("CA")
	if _, id := q.next(t); id != "a" { // in hand
		t.Fatalf("claimed %q", id)
	}
	left(3, "CA")
	q.save(t) // b
	left(2, "CA")
	execute(t, b.DB(), `UPDATE listings SET gone_at = 'x' WHERE listing_id = 'c'`)
	left(1, "CA")
	clock.move(month)
	left(2, "CA") // b is due again
	if n, err := b.DetailsLeft(t.Context(), 99, nil); err != nil || n != 0 {
		t.Errorf("of another source: %d (%v)", n, err)
	}
}
