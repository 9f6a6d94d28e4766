package checkpoint_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// story is a crawl at random, by several workers that may be killed at any step, with its logs.
type story struct {
	*logged
	*rand.Rand
	t       *testing.T
	claims  map[int]*checkpoint.Claim // by worker
	process map[int]int               // by worker: a worker that was killed comes back in another one
	open    map[int64]bool            // targets whose last page no line has confirmed
}

func (s *story) is(percent int) bool { return s.IntN(100) < percent }

// killed takes the target back, as the next process does; the worker's log ends here.
func (s *story) killed(n int) {
	c := s.claims[n]
	delete(s.claims, n)
	s.process[n]++
	execute(s.t, s.DB(), fmt.Sprintf(`UPDATE targets SET heartbeat_at = NULL, recoveries = 0 WHERE id = %d AND status = 'IN_PROGRESS'`, c.TargetID))
	_, err := s.RecoverStale(s.t.Context(), store.Scope{}, time.Hour)
	noErr(s.t, err)
	execute(s.t, s.DB(), `UPDATE targets SET heartbeat_at = claimed_at WHERE status = 'IN_PROGRESS'`)
}

// step lets one worker do something.
func (s *story) step(n int) {
	if s.is(10) { // clocks jump
		s.clock.Move(time.Duration(s.IntN(7)-3) * time.Minute)
	}
	c := s.claims[n]
	if c == nil {
		s.begin(n)
		return
	}
	var err error
	switch x := s.IntN(100); {
	case x < 50:
		s.page(n, c)
		return
	case x < 60:
		s.killed(n)
		return
	case x < 70:
		code := yp.ErrorCode("")
		if c.PageCurrent == 0 {
			code = yp.CodeNoListings
		}
		err = s.Complete(s.t.Context(), c, code, "", s.is(50))
		s.end(n, c, err, wal.TargetComplete, code, yp.Done)
	case x < 80:
		err = s.Park(s.t.Context(), c, yp.CodeBlockedProxy, "no")
		s.end(n, c, err, wal.TargetError, yp.CodeBlockedProxy, yp.Parked)
	case x < 90:
		set, failed := s.Fail(s.t.Context(), c, yp.CodeTimeout, "slow")
		status, _ := yp.InProgress.Next(set.Event)
		err = failed
		s.end(n, c, err, wal.TargetError, yp.CodeTimeout, status)
	default:
		err = s.Release(s.t.Context(), c, "stop")
		s.end(n, c, err, wal.Stop, "", yp.Planned)
	}
}

// end logs the end of a claim, unless a kill comes before. What a kill hides that is no page's commit is not
// rebuilt, so there is none.
func (s *story) end(n int, c *checkpoint.Claim, err error, typ wal.EventType, code yp.ErrorCode, status yp.Status) {
	noErr(s.t, err)
	s.log(typ, c, nil, code, status)
	if e := s.events[len(s.events)-1]; typ == wal.TargetComplete {
		e.Complete = table(s.t, s.DB(), `SELECT complete_at IS finished_at FROM targets WHERE id = ?`, c.TargetID)[0] == "1"
	}
	delete(s.claims, n)
}

// begin takes a target.
func (s *story) begin(n int) {
	if s.is(30) { // what is done is due again, whatever rests is over
		s.recrawl(s.t)
		execute(s.t, s.DB(), `UPDATE targets SET not_before = '2020-01-01T00:00:00.000Z' WHERE wait_reason = 'backoff'`)
		s.wake(s.t)
	}
	if s.is(10) { // more pages are wanted of what the limit of pages alone has ended
		execute(s.t, s.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL WHERE status = 'DONE' AND next_page_url IS NOT NULL`)
	}
	if s.is(10) {
		_, err := s.ResetTargets(s.t.Context(), checkpoint.Reset{Statuses: []yp.Status{yp.Parked}, FromPage1: s.is(50)})
		noErr(s.t, err)
	}
	w := checkpoint.Worker{ID: yp.WorkerID(n, 100*n+s.process[n]), RunID: s.run.ID}
	c, err := s.Claim(s.t.Context(), w, s.scope, 5)
	if errors.Is(err, checkpoint.ErrNothing) {
		return
	}
	noErr(s.t, err)
	s.claims[n] = c
	delete(s.open, c.TargetID)
	s.log(wal.TargetStart, c, nil, "", yp.InProgress)
}

// page logs and commits the next page of a claim; a kill may come before the commit, and behind it.
func (s *story) page(n int, c *checkpoint.Claim) {
	p := yp.Page{Number: c.PageCurrent + 1, Raw: 4, Last: s.is(40)}
	if p.End = p.Last && s.is(70); !p.Last || !p.End {
		p.NextURL = fmt.Sprint("/page/", p.Number+1)
	}
	for i := range 8 {
		if s.is(40) {
			p.Listings = append(p.Listings, yp.Listing{ID: fmt.Sprint("l", i), Name: fmt.Sprint("N", i), Phone: fmt.Sprint(s.IntN(2)), Rank: len(p.Listings) + 1})
		}
	}
	p.Raw = len(p.Listings)
	p.Accepted = p.Raw
	logged := p
	s.log(wal.PageComplete, c, &logged, "", yp.InProgress)
	s.clock.Move(-1000000) // of a page before a kill the log has the time of its line
	if s.is(15) {
		s.killed(n)
		return
	}
	out, err := s.CommitPage(s.t.Context(), c, p)
	noErr(s.t, err)
	switch {
	case s.is(20):
		s.killed(n)
		s.open[c.TargetID] = true
	case out.Done:
		s.log(wal.TargetComplete, c, nil, "", yp.Done)
		delete(s.claims, n)
	}
}

// settle ends all claims, and lets each target that is planned be taken once more: what it says of its last commit
// settles what a kill has left open.
func (s *story) settle() {
	for n := range 3 {
		if s.claims[n] != nil {
			s.killed(n)
		}
	}
	for id := range s.open {
		execute(s.t, s.DB(), fmt.Sprintf(`UPDATE targets SET wait_reason = 'recrawl', not_before = '2020-01-01T00:00:00.000Z' WHERE status = 'DONE' AND id = %d`, id))
	}
	s.wake(s.t)
	for n := 10; ; n++ {
		s.begin(n)
		if s.claims[n] == nil {
			break
		}
	}
	for n, c := range s.claims {
		s.end(n, c, s.Release(s.t.Context(), c, "stop"), wal.Stop, "", yp.Planned)
	}
}

const (
	storyTargets = `SELECT k.slug, status, page_current, next_page_url, last_listing_id, raw_count, accepted_count, bad_count, crawls, claim_token, complete_at, finished_at,
		last_success_at, last_error_code, consecutive_failures, backoff_level, total_successes FROM targets t JOIN categories k ON k.id = t.category_id WHERE claim_token > 0 ORDER BY 1`
	storyListings = `SELECT listing_id, name, phone, first_seen_at, last_seen_at, dropped_at FROM listings ORDER BY 1`
	storySights   = `SELECT k.slug, l.listing_id, s.page, s.rank, s.seen_at, s.since, s.crawl, s.missed FROM sightings s JOIN targets t ON t.id = s.target_id JOIN categories k ON k.id = t.category_id
		JOIN listings l ON l.id = s.listing ORDER BY 1, 2`
	storyTrail = `SELECT kind, iif(kind = 'new', listings, ''), ifnull(e.listing_id, l.listing_id), what, e.at FROM listing_events e LEFT JOIN listings l ON l.id = e.listing ORDER BY e.id`
)

// TestReplayOfAnything: a database that is built from the logs of any crawl has the targets, the listings and
// their history of the one that was crawled, at their times; so it does after a second replay and after one in two parts, and
// so does the one that was crawled after a replay.
func TestReplayOfAnything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b, clock := setupClock(t, 1, "CA")
			s := &story{&logged{bundle: b, clock: clock}, rand.New(rand.NewPCG(seed, 1)), t, map[int]*checkpoint.Claim{}, map[int]int{}, map[int64]bool{}}
			for range 80 {
				s.step(s.IntN(3))
			}
			s.settle()
			queries := []string{storyTargets, storyListings, storySights, storyTrail}
			var want []string
			for _, q := range queries {
				want = append(want, strings.Join(table(t, s.DB(), q), "\n"))
			}
			check := func(what string, k *checkpoint.Keeper) {
				t.Helper()
				for i, q := range queries {
					if got := strings.Join(table(t, k.DB(), q), "\n"); got != want[i] {
						t.Fatalf("%s: %s\n%s\nwant\n%s", what, q, got, want[i])
					}
				}
				recount(t, k.DB())
			}
			events := byCommit(t, s.events, nil)
			again := func(k *checkpoint.Keeper, events []*wal.Event) {
				t.Helper()
				_, err := k.Replay(t.Context(), seq(events), s.replayConfig(func(err error) { t.Errorf("damaged: %v", err) }))
				noErr(t, err)
			}
			k := checkpoint.New(storetest.Open(t))
			again(k, events)
			check("rebuilt", k)
			again(k, events)
			check("replayed twice", k)
			parts, cut := checkpoint.New(storetest.Open(t)), s.IntN(len(events))
			again(parts, events[:cut])
			again(parts, events)
			check(fmt.Sprintf("in two parts, the first of %d events", cut), parts)
			again(s.Keeper, events)
			check("replayed into the crawl itself", s.Keeper)
		})
	}
}
