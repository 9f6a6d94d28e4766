package checkpoint_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// All work is claimed, fenced, committed, retried and recovered by the same statements. What
// these tests say of one kind of target they say of all three.

// kindOf is a target of a kind, and how a page of it is committed.
type kindOf struct {
	*bundle
	clock *clock
	kind  yp.Kind
	of    store.Scope
	row   string // condition on its row
}

// eachKind runs a test with one target of every kind, which has three pages if it can.
func eachKind(t *testing.T, test func(t *testing.T, k *kindOf)) {
	t.Helper()
	for _, kind := range yp.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			k := &kindOf{kind: kind, row: `kind = '` + string(kind) + `'`}
			k.bundle, k.clock = setupClock(t, 1, "CA")
			switch kind {
			case yp.KindIndex:
				k.planIndexes(t, 3, "CA")
			case yp.KindDetail:
				k.want(t, "CA")
				k.found(t, "CA", "1")
			case yp.KindSearch:
				k.scope.CategoryIDs = k.cats[:1]
				k.row += ` AND id = 1`
			}
			k.of = k.scope
			k.of.Kinds = []yp.Kind{kind}
			test(t, k)
		})
	}
}

func (k *kindOf) claim(t *testing.T) *checkpoint.Claim {
	t.Helper()
	c, err := k.Claim(t.Context(), k.worker(0), k.of, 1)
	if err != nil || c.Kind != k.kind {
		t.Fatalf("claimed %+v (%v), want one of kind %s", c, err, k.kind)
	}
	return c
}

// commit brings the next page of the claim.
func (k *kindOf) commit(c *checkpoint.Claim) error {
	p := yp.Page{Number: c.PageCurrent + 1, NextURL: "/next", Raw: 1}
	switch k.kind {
	case yp.KindIndex:
		p.Cities, p.Path, p.Last = found("a-az"), "/state-az", p.Number == c.MaxPages
	case yp.KindDetail:
		p.Last, p.Own, p.Listings = true, true, []yp.Listing{{ID: "1", Email: "late@x.example", Website: "https://late.example"}}
	case yp.KindSearch:
		p.Listings = cards(fmt.Sprint("l", p.Number))
	}
	_, err := k.CommitPage(bg, c, p)
	return err
}

// read brings all pages, and the target is done.
func (k *kindOf) read(t *testing.T, c *checkpoint.Claim) {
	t.Helper()
	for c.PageCurrent < c.MaxPages {
		noErr(t, k.commit(c))
	}
	if k.kind == yp.KindSearch {
		noErr(t, k.Complete(bg, c, "", "", checkpoint.End{How: yp.EndSaid}))
	}
}

// all is everything that a write on a claim may change.
func (k *kindOf) all(t *testing.T) string {
	t.Helper()
	text := ""
	for _, name := range []string{"targets", "runs", "workers", "sources", "crawl_attempts", "requests", "listings", "sightings", "listing_texts", "cities", "source_cities"} {
		text += fmt.Sprintln(name, table(t, k.DB(), `SELECT * FROM `+name))
	}
	return text
}

// TestFenceOfKinds: a claim that was lost writes nothing at all, and keeps its requests.
func TestFenceOfKinds(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, k *kindOf) {
		old := k.claim(t)
		k.orphan(t)
		mine := k.claim(t)
		if mine.Token != old.Token+1 || mine.TargetID != old.TargetID {
			t.Fatalf("claimed %+v after %+v, want the next token", mine, old)
		}
		other := *mine
		other.Worker.ID = "another"
		for who, c := range map[string]*checkpoint.Claim{"late": old, "another": &other} {
			c.Requests = []store.Request{{SourceID: 1, Correlation: "x", Type: yp.RequestListing, URL: "http://x", Started: k.clock.Now()}}
			before := k.all(t)
			for name, write := range map[string]func(c checkpoint.Claim) error{
				"commit": func(c checkpoint.Claim) error { return k.commit(&c) },
				"a page out of order": func(c checkpoint.Claim) error {
					c.PageCurrent++
					return k.commit(&c)
				},
				"complete": func(c checkpoint.Claim) error {
					c.PageCurrent = c.MaxPages
					return k.Complete(bg, &c, yp.CodeNoListings, "late", checkpoint.End{How: yp.EndSaid})
				},
				"release": func(c checkpoint.Claim) error { return k.Release(bg, &c, "late") },
				"park":    func(c checkpoint.Claim) error { return k.Park(bg, &c, yp.CodeNoListings, "late") },
				"fail":    func(c checkpoint.Claim) error { _, err := k.Fail(bg, &c, yp.CodeTimeout, "late"); return err },
			} {
				if err := write(*c); !errors.Is(err, checkpoint.ErrClaimLost) {
					t.Errorf("%s, %s: got %v, want ErrClaimLost", who, name, err)
				}
				if after := k.all(t); after != before {
					t.Errorf("%s, %s changed\n%s\nto\n%s", who, name, before, after)
				}
			}
			storetest.Equal(t, len(c.Requests), 1, "requests in hand of "+who)
		}
		noErr(t, errors.Join(k.Record(bg, nil), k.Record(bg, old.Requests)))
		same(t, "its requests", table(t, k.DB(), `SELECT target_id, claim_token, correlation_id FROM requests WHERE correlation_id = 'x'`), []string{"||x"})
		skip := *mine
		skip.PageCurrent++
		if err := k.commit(&skip); !errors.Is(err, checkpoint.ErrClaimLost) {
			t.Errorf("a page that is not the next one: %v", err)
		}
		k.read(t, mine)
	})
}

const healthRow = `SELECT status, crawl_status, consecutive_failures, backoff_level, backoff_until, auto_disabled, last_error_code, last_error,
	total_attempts, total_successes, page_current, claimed_by, (SELECT run_id FROM targets t WHERE t.id = v.id) FROM v_crawler_status v WHERE `

// TestFailuresOfKinds: the ladder of failures is one, what is done is kept on it, and an
// operator takes the target back from its foot.
func TestFailuresOfKinds(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, k *kindOf) {
		pages := 0
		if k.kind != yp.KindDetail { // which has but one
			c := k.claim(t)
			noErr(t, errors.Join(k.commit(c), k.Release(bg, c, "stop")))
			pages = 1
		}
		for i, want := range []struct {
			least, most time.Duration
			status      yp.Status
			health      yp.Health
			level       int
		}{
			{2 * time.Minute, 150 * time.Second, yp.Planned, yp.Active, 0},
			{4 * time.Minute, 5 * time.Minute, yp.Planned, yp.Active, 0},
			{2 * time.Hour, 2 * time.Hour, yp.Failed, yp.Degraded, 1},
			{4 * time.Hour, 4 * time.Hour, yp.Failed, yp.Degraded, 2},
			{8 * time.Hour, 8 * time.Hour, yp.Failed, yp.Degraded, 3},
			{16 * time.Hour, 16 * time.Hour, yp.Failed, yp.Degraded, 4},
			{32 * time.Hour, 32 * time.Hour, yp.Failed, yp.Degraded, 5},
			{0, 0, yp.Parked, yp.Dead, 5},
		} {
			c := k.claim(t)
			set, err := k.Fail(bg, c, yp.CodeTimeout, "slow")
			noErr(t, err)
			if set.Wait < want.least || set.Wait > want.most || (set.Event == yp.EventPark) != (want.status == yp.Parked) {
				t.Errorf("failure %d: %+v, want a wait of %s to %s", i+1, set, want.least, want.most)
			}
			until, dead, ended, wait := "", 1, "parked", ""
			if set.Wait > 0 {
				until, dead, ended, wait = stamp(k.clock.Now().Add(set.Wait)), 0, "failed", fmt.Sprint(set.Wait.Milliseconds())
			}
			same(t, fmt.Sprintf("failure %d", i+1), table(t, k.DB(), healthRow+k.row), []string{
				fmt.Sprintf("%s|%s|%d|%d|%s|%d|TIMEOUT|slow|%d|0|%d||", want.status, want.health, i+1, want.level, until, dead, i+1+pages, pages),
			})
			same(t, "its attempt", table(t, k.DB(), `SELECT attempt_number, ended, error_code, error_message, backoff_delay_ms FROM crawl_attempts WHERE target_id = ? ORDER BY id DESC LIMIT 1`, c.TargetID),
				[]string{fmt.Sprintf("%d|%s|TIMEOUT|slow|%s", i+1+pages, ended, wait)})
			k.clock.Move(set.Wait.Truncate(time.Millisecond) - time.Millisecond)
			if c, _ := k.take(t, k.of); c != nil {
				t.Fatalf("failure %d: taken again before its time", i+1)
			}
			k.clock.Move(time.Millisecond)
			storetest.Equal(t, k.wake(t, k.of), 1-dead, "targets woken")
		}
		same(t, "v_dead_letters", table(t, k.DB(), `SELECT last_error_code, consecutive_failures, auto_disabled FROM v_dead_letters`), []string{"TIMEOUT|8|1"})
		same(t, "the source", table(t, k.DB(), `SELECT consecutive_failures FROM sources`), []string{"8"})
		k.clock.Move(1000 * time.Hour)
		if c, _ := k.take(t, k.of); c != nil {
			t.Error("a dead letter was taken")
		}
		execute(t, k.DB(), `UPDATE targets SET enabled = 1 WHERE `+k.row) // never a trap
		set, err := k.Fail(bg, k.claim(t), yp.CodeTimeout, "slow")
		if err != nil || set.Event != yp.EventBackOff || set.Level != 0 || set.Wait > 150*time.Second {
			t.Errorf("after it was enabled: %+v (%v), want it to begin anew", set, err)
		}
		k.clock.Move(set.Wait)
		k.wake(t, k.of)
		noErr(t, k.Park(bg, k.claim(t), yp.CodeTimeout, "slow"))
		which := checkpoint.Chosen{Scope: store.Scope{Kinds: []yp.Kind{k.kind}}, Statuses: []yp.Status{yp.Parked}}
		storetest.Equal(t, k.chosen(t, checkpoint.Reset, which), 1, "to be taken back")
		for _, other := range yp.Kinds() {
			if n, err := k.Operate(bg, checkpoint.Reset, checkpoint.Chosen{Scope: store.Scope{Kinds: []yp.Kind{other}}, Statuses: which.Statuses}); err != nil || (n == 1) != (other == k.kind) {
				t.Errorf("reset of kind %s: %d taken back (%v)", other, n, err)
			}
		}
		c := k.claim(t)
		storetest.Equal(t, c.PageCurrent, pages, "it goes on behind page")
		noErr(t, k.Park(bg, c, yp.CodeNoListings, "404"))
		same(t, "parked", table(t, k.DB(), `SELECT status, backoff_level, last_error_code FROM targets WHERE `+k.row), []string{"PARKED|0|NO_LISTINGS"})
		storetest.Equal(t, k.operate(t, checkpoint.ResetFromPage1, checkpoint.Chosen{IDs: []int64{c.TargetID}, Statuses: []yp.Status{yp.Parked}}), 1, "targets changed")
		c = k.claim(t)
		storetest.Equal(t, c.PageCurrent, 0, "it goes on behind page")
		k.read(t, c)
		same(t, "done", table(t, k.DB(), `SELECT status, backoff_level, consecutive_failures, last_error FROM targets WHERE `+k.row), []string{"DONE|0|0|"})
		recount(t, k.DB())
	})
}

// TestMissingPages: that a listing's page is not there does not apply to how its source fares;
// of a search or an index it does.
func TestMissingPages(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, k *kindOf) {
		noErr(t, k.Park(bg, k.claim(t), yp.CodeNoListings, "404"))
		want := "1"
		if k.kind == yp.KindDetail {
			want = "0"
		}
		same(t, "failures of the source in a row", table(t, k.DB(), `SELECT consecutive_failures FROM sources`), []string{want})
	})
}

// TestRecoveryOfKinds: what a dead run held is planned again with its pages, three times where its
// page was in hand; a living run keeps its own, and hands it back at its end.
func TestRecoveryOfKinds(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, k *kindOf) {
		status := `SELECT status, recoveries FROM targets WHERE ` + k.row
		for i := -yp.MaxRecoveries; i < yp.MaxRecoveries; i++ {
			r, err := k.StartRun(bg, k.scope.SourceID, "dies", false)
			noErr(t, err)
			c, err := k.Claim(bg, checkpoint.Worker{ID: "other", RunID: r.ID}, k.of, 1)
			noErr(t, err)
			if again, _ := k.take(t, k.of); again != nil {
				t.Fatalf("took %+v, which is held", again)
			}
			r.InHand(3, c)
			if i < 0 {
				r.InHand(3, nil)
			}
			k.kill(t, r)
			want := checkpoint.Recovered{Dead: 1}
			stuck := i == yp.MaxRecoveries-1
			if stuck {
				want.Stuck = 1
			} else {
				want.Planned = 1
			}
			k.recovers(t, store.Scope{}, want)
			if err := k.Release(bg, c, "late"); !errors.Is(err, checkpoint.ErrClaimLost) {
				t.Errorf("the dead run's claim: %v", err)
			}
			same(t, "its attempt", table(t, k.DB(), `SELECT ended FROM crawl_attempts WHERE target_id = ? ORDER BY id DESC LIMIT 1`, c.TargetID), []string{"recovered"})
		}
		same(t, "after three", table(t, k.DB(), status), []string{"STUCK|3"})
		storetest.Equal(t, k.operate(t, checkpoint.Reset, checkpoint.Chosen{Scope: store.Scope{Kinds: []yp.Kind{k.kind}}, Statuses: []yp.Status{yp.Stuck}}), 1, "targets changed")
		c := k.claim(t)
		k.clock.Move(time.Hour)
		if held, err := k.run.Heartbeat(bg, 0, checkpoint.Usage{}); err != nil || held != 1 {
			t.Errorf("the heartbeat is for %d, want 1 (%v)", held, err)
		}
		for name, rec := range map[string]func() (checkpoint.Recovered, error){
			"dead":  func() (checkpoint.Recovered, error) { return k.RecoverDead(bg, store.Scope{}) },
			"stale": func() (checkpoint.Recovered, error) { return k.RecoverStale(bg, store.Scope{}, time.Minute) },
		} {
			if out, err := rec(); err != nil || out != (checkpoint.Recovered{}) {
				t.Errorf("%s: recovered %+v (%v)", name, out, err)
			}
		}
		noErr(t, k.commit(c))
		noErr(t, k.run.Finish(bg, checkpoint.OutcomeDone, 0))
		want := "PLANNED|0" // a page is progress
		if k.kind == yp.KindDetail {
			want = "DONE|0"
		}
		same(t, "at its end", table(t, k.DB(), status), []string{want})
		recount(t, k.DB())
	})
}

// mixedKinds is a database with two indexes, six searches and four details that can be
// claimed, of two states.
func mixedKinds(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, 2, "CA", "TX") // eight searches, two of which find the listings
	b.want(t, "CA", "TX")
	b.found(t, "CA", "1", "2")
	b.found(t, "TX", "3", "4")
	b.planIndexes(t, 1, "CA", "TX")
	return b
}

// TestIndexInNarrowScope: an index is of all cities of its state: no city, category or size
// that a run names keeps it from being read.
func TestIndexInNarrowScope(t *testing.T) {
	t.Parallel()
	for name, narrow := range map[string]func(b *bundle, s *store.Scope){
		"categories": func(b *bundle, s *store.Scope) { s.CategoryIDs = b.cats[:1] },
		"cities":     func(_ *bundle, s *store.Scope) { s.CityIDs = []int64{1} },
		"a size":     func(_ *bundle, s *store.Scope) { s.MinPopulation = 2_000_000 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mixedKinds(t)
			s := b.scope
			s.Kinds = yp.Kinds()
			narrow(b, &s)
			rest := s
			rest.Kinds = []yp.Kind{yp.KindSearch, yp.KindDetail}
			all := b.ready(t, s, 99)
			storetest.Equal(t, b.ready(t, rest, 99), all-2, "ready that are no indexes")
			storetest.Equal(t, b.ready(t, s, 1), 1, "counted, no more than asked for,")
			if p, err := b.Peek(t.Context(), s); err != nil || p == nil || p.Kind != yp.KindIndex {
				t.Errorf("peeked at %+v (%v)", p, err)
			}
			for i := range all {
				if c, err := b.Claim(t.Context(), b.worker(0), s, 99); err != nil || (c.Kind == yp.KindIndex) != (i < 2) {
					t.Fatalf("claim %d: %+v (%v)", i+1, c, err)
				}
			}
			execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x', claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL,
				wait_reason = 'recrawl', not_before = 'x' WHERE kind = 'index'`)
			storetest.Equal(t, b.wake(t, s), 2, "targets woken")
		})
	}
}
