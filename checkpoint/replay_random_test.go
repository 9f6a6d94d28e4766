package checkpoint_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// story is a crawl of all kinds of targets at random, by several workers that may be killed at any step, with its logs.
type story struct {
	*logged
	*rand.Rand
	t       *testing.T
	claims  map[int]*checkpoint.Claim // by worker
	process map[int]int               // by worker: a worker that was killed comes back in another one
	said    *rand.Rand                // what pages say
	open    map[int64]bool            // targets of whose last page no line says what became of it
}

func (s *story) is(percent int) bool { return s.IntN(100) < percent }

// killed takes the target back, as the next process does; the worker's log ends here.
func (s *story) killed(n int) {
	c := s.claims[n]
	delete(s.claims, n)
	s.process[n]++
	s.open[c.TargetID] = true
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
	case x < 70 && c.Kind == yp.KindSearch:
		code := yp.ErrorCode("")
		if c.PageCurrent == 0 {
			code = yp.CodeNoListings
		}
		err = s.Complete(s.t.Context(), c, code, "", checkpoint.End{How: []yp.Ending{yp.EndSaid, yp.EndNoWord, yp.EndShrunk}[s.IntN(3)], Why: "why"})
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
		e.How = yp.Ending(table(s.t, s.DB(), `SELECT ending FROM targets WHERE id = ?`, c.TargetID)[0])
		e.Why = table(s.t, s.DB(), `SELECT ifnull(end_text, '') FROM targets WHERE id = ?`, c.TargetID)[0]
	}
	delete(s.claims, n)
}

// begin takes a target of some kind.
func (s *story) begin(n int) {
	if s.is(30) { // what is done is due again, whatever rests is over
		execute(s.t, s.DB(), `UPDATE targets SET not_before = '2020-01-01T00:00:00.000Z' WHERE wait_reason = 'backoff'`,
			`UPDATE targets SET wait_reason = 'recrawl', not_before = '2020-01-01T00:00:00.000Z' WHERE status = 'DONE'`)
		s.wake(s.t, s.scope)
	}
	if s.is(10) { // more pages are wanted of what the limit of pages alone has ended
		execute(s.t, s.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL WHERE kind = 'search' AND status = 'DONE' AND next_page_url IS NOT NULL`)
	}
	if s.is(10) {
		o := checkpoint.Reset
		if s.is(50) {
			o = checkpoint.ResetFromPage1
		}
		_, err := s.Operate(s.t.Context(), o, checkpoint.Chosen{Scope: s.scope, Statuses: []yp.Status{yp.Parked}})
		noErr(s.t, err)
	}
	s.take(n, yp.Kinds()[s.IntN(3)])
}

func (s *story) take(n int, kinds ...yp.Kind) {
	scope := s.scope
	scope.Kinds = kinds
	w := checkpoint.Worker{ID: yp.WorkerID(n, 100*n+s.process[n]), RunID: s.run.ID}
	c, err := s.Claim(s.t.Context(), w, scope, 5)
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
	p := yp.Page{Number: c.PageCurrent + 1, Last: s.is(40)}
	some := func(of string, percent int) (chosen []string) {
		for i := range 6 {
			if s.is(percent) {
				chosen = append(chosen, fmt.Sprintf(of, i))
			}
		}
		return chosen
	}
	switch c.Kind {
	case yp.KindIndex:
		p.Last, p.Path = p.Number == c.MaxPages, fmt.Sprint("/state-az?page=", p.Number)
		if p.Cities = found(some("c%d-az", []int{10, 60}[s.IntN(2)])...); p.Last {
			p.Plan = s.planOf(nil).Searches(0)
		}
	case yp.KindDetail:
		p.Last, p.Raw, p.Own, p.Listings = true, 1, true, []yp.Listing{s.says(s.IntN(3), yp.Listing{ID: c.ListingID, Name: "N" + c.ListingID})}
	case yp.KindSearch:
		switch {
		case p.Last && s.is(70):
			p.Ending = yp.EndSaid
		case p.Last:
			p.Ending, p.EndText = yp.EndLimit, "the limit of pages"
			fallthrough
		default:
			p.NextURL = fmt.Sprint("/page/", p.Number+1)
		}
		of := "l%d"
		if n, _ := fmt.Sscanf(c.Place.CitySlug, "c%d-az", new(int)); n == 1 { // that the index has: others don't show these
			of = c.Place.CitySlug + "-%d"
		}
		for _, id := range some(of, 50) {
			l := s.says(s.IntN(2), yp.Listing{ID: id, Name: "N" + id, Rank: len(p.Listings) + 1, ProfileURL: "http://127.0.0.1:1/mip/" + id})
			switch s.IntN(8) {
			case 0:
				p.Others = append(p.Others, id)
			case 1:
				p.Rejected = append(p.Rejected, yp.Rejection{Listing: l, Reasons: []string{"why"}})
			default:
				p.Listings = append(p.Listings, l)
			}
		}
		p.Raw, p.Bad, p.SiteTotal = len(p.Listings), bit(s.is(10)), s.IntN(4)
	}
	p.Accepted = len(p.Listings)
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
	case out.Index.Suspect != "":
		status, _ := yp.InProgress.Next(out.Index.Setback.Event)
		s.log(wal.TargetError, c, nil, yp.CodeHTMLChanged, status)
		delete(s.claims, n)
	case out.Done:
		s.log(wal.TargetComplete, c, nil, "", yp.Done)
		delete(s.claims, n)
	}
}

// says lets a page say something of a listing, in some groups of fields.
func (s *story) says(n int, l yp.Listing) yp.Listing {
	is := func(percent int) bool { return s.said.IntN(100) < percent }
	if is(60) {
		l.Phone, l.PhoneE164 = fmt.Sprint("(310) 555-010", n), []string{fmt.Sprint("+1310555010", n), ""}[s.said.IntN(2)]
	}
	if is(30) {
		l.WebsiteURL, l.Website, l.Domain = fmt.Sprintf("http://%s-%d.com", l.ID, n), fmt.Sprintf("https://%s-%d.com", l.ID, n), fmt.Sprintf("%s-%d.com", l.ID, n)
	}
	if is(30) {
		l.Street, l.City = fmt.Sprint(n, " Main St"), "Mesa"
	}
	if is(30) {
		l.Hours, l.About, l.Lat = []string{fmt.Sprint("Mo 0", n, ":00-10:00")}, fmt.Sprint("about ", n), float64(n)
	}
	if is(50) {
		l.Email = fmt.Sprint(n, "@x.example")
	}
	return l
}

// settle ends all claims, and lets each target that is planned, or of which a kill has left something open, be taken
// once more: what it says of its last commit tells what became of that.
func (s *story) settle() {
	for n := range 3 {
		if s.claims[n] != nil {
			s.killed(n)
		}
	}
	retired := table(s.t, s.DB(), `SELECT id, retired_at FROM targets WHERE retired_at IS NOT NULL`)
	execute(s.t, s.DB(), `UPDATE targets SET retired_at = NULL WHERE retired_at IS NOT NULL`)
	for id := range s.open {
		execute(s.t, s.DB(), fmt.Sprintf(`UPDATE targets SET wait_reason = 'recrawl', not_before = '2020-01-01T00:00:00.000Z' WHERE status = 'DONE' AND id = %d`, id))
	}
	s.wake(s.t, s.scope)
	for n := 10; ; n++ {
		if s.take(n, yp.Kinds()...); s.claims[n] == nil {
			break
		}
		s.end(n, s.claims[n], s.Release(s.t.Context(), s.claims[n], "stop"), wal.Stop, "", yp.Planned)
		execute(s.t, s.DB(), `UPDATE targets SET paused = 1 WHERE id = `+fmt.Sprint(s.events[len(s.events)-1].Target.ID))
	}
	for _, row := range retired {
		id, at, _ := strings.Cut(row, "|")
		execute(s.t, s.DB(), fmt.Sprintf(`UPDATE targets SET retired_at = '%s' WHERE id = %s`, at, id))
	}
}

// storyRows are what is compared: what pages and claims made of a database, by names that mean the same in another one.
var storyRows = []string{
	`SELECT t.kind, c.slug, k.slug, l.listing_id, t.status, t.page_current, t.next_page_url, t.last_listing_id, t.site_total, t.raw_count, t.accepted_count, t.bad_count, t.crawls,
		t.claim_token, t.complete_at, t.finished_at, t.last_success_at, t.last_error_code, t.consecutive_failures, t.backoff_level, t.total_successes, t.retired_at
		FROM targets t LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id LEFT JOIN listings l ON l.id = t.listing WHERE t.claim_token > 0 ORDER BY 1, 2, 3, 4`,
	`SELECT listing_id, name, phone, phone_e164, website_url, website, domain, street, city, hours, email, lat, lon, cards, cards_before, own_page_at, fingerprint,
		first_seen_at, last_seen_at, dropped_at FROM listings ORDER BY 1`,
	`SELECT l.listing_id, about FROM listing_texts JOIN listings l ON l.id = listing ORDER BY 1`,
	`SELECT c.name, c.phone_e164, c.website, c.street, c.lead_listing, (SELECT group_concat(listing_id) FROM (SELECT listing_id FROM listings WHERE company_id = c.id ORDER BY 1))
		FROM companies c ORDER BY c.lead_listing`,
	`SELECT c.slug, k.slug, l.listing_id, s.page, s.rank, s.seen_at, s.since, s.crawl, s.missed FROM sightings s JOIN targets t ON t.id = s.target_id JOIN cities c ON c.id = t.city_id
		JOIN categories k ON k.id = t.category_id JOIN listings l ON l.id = s.listing ORDER BY 1, 2, 3`,
	`SELECT e.at, kind, iif(kind = 'new', listings, ''), ifnull(e.listing_id, l.listing_id), what FROM listing_events e LEFT JOIN listings l ON l.id = e.listing ORDER BY e.id`,
	`SELECT c.slug, x.slug, x.found_on, x.first_seen_at, x.last_seen_at, x.crawl, x.missed, x.removed_at FROM source_cities x JOIN cities c ON c.id = x.city_id ORDER BY 1`,
	`SELECT listing_id, page, reasons, listing, first_seen_at, last_seen_at FROM staged_listings ORDER BY 1`,
}

// TestReplayOfAnything: a database that is built from the logs of any crawl has the targets, the listings and
// their history of the one that was crawled, at their times; so it does after a second replay and after one in two parts, and
// so does the one that was crawled after a replay.
func TestReplayOfAnything(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	t.Run("stories", func(t *testing.T) {
		for seed := range uint64(12) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				s := tell(t, seed)
				for _, what := range table(t, s.DB(), `SELECT DISTINCT kind || ifnull(' ' || (what ->> '$.reasons[0]'), '') FROM listing_events`) {
					seen.Store(what, true)
				}
				for _, e := range s.events {
					seen.Store(strings.TrimSpace(fmt.Sprint(e.Target.Kind, " ", e.Status, " ", e.ErrorCode)), true)
				}
				s.replayed(t)
			})
		}
	})
	for _, what := range []string{
		"new", "changed", "completed", "dropped", "dropped city_left_index", "restored", "rejected why",
		"index DONE", "index PLANNED HTML_CHANGED", "search DONE", "search DONE NO_LISTINGS", "search FAILED TIMEOUT", "detail DONE", "detail PARKED BLOCKED_PROXY",
	} {
		if _, ok := seen.Load(what); !ok {
			t.Errorf("no story has %q", what)
		}
	}
}

// tell makes up a crawl.
func tell(t *testing.T, seed uint64) *story {
	t.Helper()
	b, clock := setupClock(t, 1, "AZ")
	b.planIndexes(t, 2, "AZ")
	b.want(t, "AZ")
	b.scope.Kinds = yp.Kinds()
	s := &story{&logged{bundle: b, clock: clock}, rand.New(rand.NewPCG(seed, 1)), t, map[int]*checkpoint.Claim{}, map[int]int{}, rand.New(rand.NewPCG(seed, 2)), map[int64]bool{}}
	for range 200 {
		s.step(s.IntN(3))
	}
	s.settle()
	return s
}

func (s *story) replayed(t *testing.T) {
	t.Helper()
	var want []string
	for _, q := range storyRows {
		want = append(want, strings.Join(table(t, s.DB(), q), "\n"))
	}
	events := byCommit(t, s.events, nil)
	check := func(what string, k *checkpoint.Keeper, events []*wal.Event) {
		t.Helper()
		_, err := k.Replay(t.Context(), seq(events), s.replayConfig(func(err error) { t.Errorf("damaged: %v", err) }))
		noErr(t, err)
		for i, q := range storyRows {
			if got := strings.Join(table(t, k.DB(), q), "\n"); got != want[i] {
				t.Fatalf("%s: %s\n%s\nwant\n%s", what, q, got, want[i])
			}
		}
		recount(t, k.DB())
	}
	k := checkpoint.New(storetest.Open(t))
	check("rebuilt", k, events)
	check("replayed twice", k, events)
	parts, cut := checkpoint.New(storetest.Open(t)), s.IntN(len(events))
	_, err := parts.Replay(t.Context(), seq(events[:cut]), s.replayConfig(func(error) {}))
	noErr(t, err)
	check(fmt.Sprintf("in two parts, the first of %d events", cut), parts, events)
	check("replayed into the crawl itself", s.Keeper, events)
	for _, e := range events {
		if held, err := k.Holds(t.Context(), e); err != nil || !held && (e.Type != wal.PageComplete || e.Nth > 0) {
			t.Errorf("%s %d of %s is not held (%v)", e.Type, e.Seq, e.WorkerID, err)
		}
	}
}
