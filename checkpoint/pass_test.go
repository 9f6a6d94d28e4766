package checkpoint_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// recrawl makes what is done due again, in a pass over the whole scope.
func (b *bundle) recrawl(t *testing.T) checkpoint.Pass {
	t.Helper()
	return b.pass(t, b.scope, new(time.Duration(0)))
}

func (b *bundle) pass(t *testing.T, scope store.Scope, again *time.Duration) checkpoint.Pass {
	t.Helper()
	p, err := b.run.BeginPass(t.Context(), scope, again)
	noErr(t, err)
	return p
}

// TestGap: only what waits for the gap and for nothing else is counted.
func TestGap(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 4, "CA") // 8 targets
	at := func(d time.Duration) string { return "'" + yp.FormatTime(clock.Now().Add(d)) + "'" }
	execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x', wait_reason = 'gap', not_before = `+at(time.Minute),
		`UPDATE targets SET not_before = `+at(2*time.Minute)+` WHERE id = 1`,
		`UPDATE targets SET not_before = `+at(2*time.Minute+time.Millisecond)+` WHERE id = 2`, // a clock that was set back
		`UPDATE targets SET wait_reason = 'recrawl', not_before = `+at(time.Minute)+` WHERE id = 3`,
		`UPDATE targets SET enabled = 0 WHERE id = 4`, `UPDATE targets SET paused = 1 WHERE id = 5`, `UPDATE targets SET retired_at = 'x' WHERE id = 6`)
	if trouble, err := b.Trouble(t.Context(), b.scope, clock.Now()); err != nil || trouble.Gap != 3 || trouble.Waiting != 0 {
		t.Errorf("%+v (%v), want 1, 7 and 8 in the gap", trouble, err)
	}
}

// crawl finishes up to n targets of the scope, a minute each, and returns how many there were.
func (b *bundle) crawl(t *testing.T, clock *clock, scope store.Scope, n int) (done int) {
	t.Helper()
	b.wake(t, scope)
	for ; done < n; done++ {
		c, err := b.Claim(t.Context(), b.worker(0), scope, 100)
		if errors.Is(err, checkpoint.ErrNothing) {
			break
		}
		noErr(t, err)
		clock.Move(time.Minute)
		noErr(t, b.Complete(t.Context(), c, "", "", checkpoint.End{How: yp.EndSaid}))
	}
	return done
}

// next is a new run, as another process would start it. The last one ended, or was killed.
func (b *bundle) next(t *testing.T, killed bool) {
	t.Helper()
	var err error
	if killed {
		b.kill(t, b.run)
		_, err = b.RecoverDead(t.Context(), store.Scope{})
		noErr(t, err)
	} else if err = b.run.Finish(t.Context(), checkpoint.OutcomeBudget, 0); err != nil {
		t.Fatal(err)
	}
	b.run, err = b.StartRun(t.Context(), b.scope.SourceID, "again", false)
	noErr(t, err)
}

const doneRows = `SELECT total_successes, count(*) FROM targets GROUP BY 1 ORDER BY 1`

// TestPassOverRuns: the same again goes on with a pass until each of its targets is crawled
// once, whatever ended the runs between; then it begins another one.
func TestPassOverRuns(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 6, "CA", "TX") // 24 targets
	storetest.Equal(t, b.crawl(t, clock, b.scope, 100), 24, "crawled at first")
	clock.Move(time.Hour)
	began := clock.Now()
	for i, want := range []int{5, 5, 5, 5, 4} {
		p := b.recrawl(t)
		if p.GoesOn != (i > 0) || !p.Began.Equal(began) {
			t.Errorf("run %d: %+v, want the pass of %s", i+1, p, stamp(began))
		}
		if i == 2 { // killed in the middle of a crawl, which goes on where it was
			b.claim(t, 1)
		}
		storetest.Equal(t, b.crawl(t, clock, b.scope, 5), want, fmt.Sprintf("run %d crawled", i+1))
		b.next(t, i == 2)
		clock.Move(time.Hour)
	}
	same(t, "crawls", table(t, b.DB(), doneRows), []string{"2|24"})
	began = clock.Now()
	if p := b.recrawl(t); p.GoesOn || p.Recrawl != 24 || !p.Began.Equal(began) {
		t.Errorf("when all is crawled: %+v, want a new pass over all", p)
	}
	same(t, "runs", table(t, b.DB(), `SELECT count(*), count(DISTINCT began_at) FROM run_passes`), []string{"6|2"})
}

// TestPassIsOver: what keeps a pass from its end, and what does not.
func TestPassIsOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, set string // of the last target, that is planned; NOW is the time
		goesOn    bool
	}{
		{"planned", `enabled = 1`, true},
		{"never crawled, and planned before", `last_success_at = NULL`, true},
		{"planned while its run lived", `last_success_at = NULL, created_at = 'NOW'`, true},
		{"planned when its run had ended", `last_success_at = NULL, created_at = 'NOW'`, false},
		{"due again since", `last_success_at = 'NOW'`, false},
		{"a dead letter", `status = 'PARKED', last_error_code = 'TIMEOUT'`, false},
		{"stuck", `status = 'STUCK'`, false},
		{"a first failure that waits", `wait_reason = 'backoff', not_before = 'NOW'`, true},
		{"a first failure that waits, paused", `paused = 1, wait_reason = 'backoff', not_before = 'NOW'`, false},
		{"failed", `status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 1, wait_reason = 'backoff', not_before = 'NOW'`, false},
		{"paused", `paused = 1`, false},
		{"disabled", `enabled = 0`, false},
		{"retired", `retired_at = 'x'`, false},
		{"held by a run", `status = 'IN_PROGRESS', claimed_by = 'w', claimed_at = 'NOW', heartbeat_at = 'NOW', run_id = (SELECT max(id) FROM runs)`, true},
		{"in the gap", `status = 'DONE', finished_at = 'x', wait_reason = 'gap', not_before = 'NOW'`, true},
		{"planned, and a clock set back before the pass began", `enabled = 1`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, clock := setupClock(t, 2, "CA") // 4 targets
			b.crawl(t, clock, b.scope, 9)
			clock.Move(time.Hour)
			b.recrawl(t)
			storetest.Equal(t, b.crawl(t, clock, b.scope, 3), 3, "crawled")
			now := yp.FormatTime(clock.Now())
			if c.name == "in the gap" {
				now = table(t, b.DB(), `SELECT began_at FROM passes`)[0]
			}
			same(t, "left", table(t, b.DB(), `SELECT id FROM targets WHERE status = 'PLANNED'`), []string{"4"})
			if c.name == "planned when its run had ended" {
				noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeBudget, 0))
				clock.Move(time.Second)
				now = yp.FormatTime(clock.Now())
			}
			execute(t, b.DB(), `UPDATE targets SET `+strings.ReplaceAll(c.set, "NOW", now)+` WHERE id = 4`)
			if strings.Contains(c.name, "set back") {
				execute(t, b.DB(), `UPDATE passes SET began_at = '2030-01-01T00:00:00.000Z'`)
			}
			clock.Move(time.Minute)
			storetest.Equal(t, b.recrawl(t).GoesOn, c.goesOn, "it goes on")
		})
	}
}

// TestPassOfDetails: the listings' own pages that are due hold a pass whose runs read them, and no
// other; they are not read again because --recrawl is.
func TestPassOfDetails(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA") // 2 targets
	if _, err := b.WantDetails(t.Context(), b.scope.SourceID, []string{"CA"}); err != nil {
		t.Fatal(err)
	}
	both, now := b.scope, new(time.Duration(0))
	both.Kinds = []yp.Kind{yp.KindSearch, yp.KindDetail}
	read := func(kind yp.Kind, pages ...yp.Page) {
		t.Helper()
		of := b.scope
		of.Kinds = []yp.Kind{kind}
		for _, p := range pages {
			c, err := b.Claim(t.Context(), b.worker(0), of, 5)
			noErr(t, err)
			clock.Move(time.Minute)
			b.save(t, c, p)
		}
	}
	goesOn := func(what string, scope store.Scope, again *time.Duration, want bool, recrawl int) {
		t.Helper()
		clock.Move(time.Hour)
		b.next(t, true)
		if p := b.pass(t, scope, again); p.GoesOn != want || p.Recrawl != recrawl {
			t.Errorf("%s: %+v, want that it goes on: %t", what, p, want)
		}
		b.wake(t, scope)
	}
	search := func(ids ...string) yp.Page {
		p := yp.Page{Number: 1, Last: true, Ending: yp.EndSaid, Raw: len(ids), Listings: cards(ids...)}
		for i := range p.Listings {
			p.Listings[i].ProfileURL = "http://x/" + p.Listings[i].ID
		}
		return p
	}
	detail := func(id string) yp.Page {
		return yp.Page{Number: 1, Last: true, Raw: 1, Own: true, Listings: []yp.Listing{{ID: id}}}
	}

	goesOn("it begins", both, now, false, 0)
	read(yp.KindSearch, search("a", "b"), search("c"))
	read(yp.KindDetail, detail("a"), detail("b"))
	goesOn("one detail is left", both, now, true, 0)
	goesOn("of searches alone", b.scope, now, false, 2)
	read(yp.KindSearch, search("a", "b"), search("c", "d"))
	goesOn("searches alone are read", b.scope, now, false, 2)
	read(yp.KindSearch, search("a", "b"), search("c", "d"))
	goesOn("one detail is left still", both, now, true, 0)
	read(yp.KindDetail, detail("c"))
	goesOn("one was planned before its last run ended", both, now, true, 0)
	read(yp.KindDetail, detail("d"))
	goesOn("all is read", both, now, false, 2)
}

// TestPassesApart: another selection is another pass, and so is another source's.
func TestPassesApart(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 2, "CA", "TX") // 8 targets
	other, err := b.Source(t.Context(), "other", "http://y")
	noErr(t, err)
	b.crawl(t, clock, b.scope, 99)
	clock.Move(time.Hour)
	now, hour := new(time.Duration(0)), new(time.Hour)
	first := b.scope
	first.States, first.CategoryIDs = []string{"CA", "TX"}, b.cats
	b.pass(t, first, now)
	began := clock.Now()
	clock.Move(time.Minute)
	for _, c := range []struct {
		name   string
		change func(s *store.Scope) *time.Duration
		goesOn bool
	}{
		{"the same", func(*store.Scope) *time.Duration { return now }, true},
		{"in another order", func(s *store.Scope) *time.Duration {
			s.States, s.CategoryIDs = []string{"TX", "CA"}, []int64{b.cats[1], b.cats[0]}
			return now
		}, true},
		{"another state", func(s *store.Scope) *time.Duration { s.States = []string{"CA"}; return now }, false},
		{"another category", func(s *store.Scope) *time.Duration { s.CategoryIDs = b.cats[:1]; return now }, false},
		{"a city", func(s *store.Scope) *time.Duration { s.CityIDs = []int64{1}; return now }, false},
		{"a population", func(s *store.Scope) *time.Duration { s.MinPopulation = 1; return now }, false},
		{"another age", func(*store.Scope) *time.Duration { return hour }, false},
		{"what is due", func(*store.Scope) *time.Duration { return nil }, false},
		{"another source", func(s *store.Scope) *time.Duration { s.SourceID = other; return now }, false},
		{"the same, after all of them", func(*store.Scope) *time.Duration { return now }, true},
	} {
		s := first
		again := c.change(&s)
		if p := b.pass(t, s, again); p.GoesOn != c.goesOn || p.GoesOn != p.Began.Equal(began) {
			t.Errorf("%s: %+v, want that it goes on: %t", c.name, p, c.goesOn)
		}
	}
	// Each source of a run has its own pass.
	same(t, "the run's", table(t, b.DB(), `SELECT source_id, began_at FROM run_passes`), []string{"1|" + stamp(began), fmt.Sprintf("%d|%s", other, stamp(clock.Now()))})
}

// TestEveryWeek: who starts a run at the same minute of every week finds all there is to do,
// however long a crawl takes, and crawls each target once.
func TestEveryWeek(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 3, "CA") // 6 targets
	clock.Move(time.Second)
	start := clock.Now()
	for week := range 52 {
		clock.Move(start.Add(time.Duration(week) * 7 * 24 * time.Hour).Sub(clock.Now()))
		p := b.pass(t, b.scope, nil)
		b.wake(t, b.scope)
		for n := 0; ; n++ {
			c, err := b.Claim(t.Context(), b.worker(0), b.scope, 100)
			if errors.Is(err, checkpoint.ErrNothing) {
				if n != 6 || p.GoesOn {
					t.Fatalf("week %d: %d crawled, %+v", week+1, n, p)
				}
				break
			}
			noErr(t, err)
			clock.Move(time.Hour)
			noErr(t, b.Complete(t.Context(), c, "", "", checkpoint.End{How: yp.EndSaid}))
		}
	}
	same(t, "crawls", table(t, b.DB(), doneRows), []string{"52|6"})
}

// TestDueFromTheBegin: a crawl is due nine tenths of its frequency after it began, and never
// within the gap; so it is when the frequency is changed.
func TestDueFromTheBegin(t *testing.T) {
	t.Parallel()
	for every, want := range map[time.Duration]time.Duration{
		yp.RecrawlAfter: 9072 * time.Minute, 24 * time.Hour: 1296 * time.Minute, 10 * time.Minute: 9 * time.Minute, 5 * time.Minute: 270 * time.Second,
		time.Minute: 2 * time.Minute, 0: 0,
	} {
		for name, first := range map[string]bool{"before": true, "after": false} {
			b, clock := setupClock(t, 1, "CA")
			b.scope.CategoryIDs = b.cats[:1]
			set := func() {
				if _, err := b.SetFrequency(t.Context(), b.scope, every); err != nil {
					t.Fatal(err)
				}
			}
			if first {
				set()
			}
			began := clock.Now()
			c := b.claim(t, 0)
			clock.Move(time.Hour)
			noErr(t, b.Complete(t.Context(), c, "", "", checkpoint.End{How: yp.EndSaid}))
			if !first {
				set()
			}
			due := "|"
			if want > 0 {
				due = stamp(began.Add(want)) + "|recrawl"
			}
			same(t, fmt.Sprintf("every %s, set %s", every, name), table(t, b.DB(), `SELECT not_before, wait_reason FROM targets WHERE claim_token > 0`), []string{due})
		}
	}
}
