package checkpoint_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// found commits a last page with listings that have a page of their own; an id that
// begins with "-" has none. It returns the target that found them.
func (b *bundle) found(t *testing.T, state string, ids ...string) *checkpoint.Claim {
	t.Helper()
	scope := b.scope
	scope.States = []string{state}
	c, err := b.Claim(t.Context(), b.worker(0), scope, 5)
	noErr(t, err)
	p := yp.Page{Number: 1, Last: true, Raw: len(ids)}
	for _, id := range ids {
		l := yp.Listing{ID: strings.TrimPrefix(id, "-"), Name: "N" + id}
		if l.ID == id {
			l.ProfileURL = "http://127.0.0.1:1/mip/" + id
		}
		p.Listings = append(p.Listings, l)
	}
	b.save(t, c, p)
	return c
}

func (b *bundle) want(t *testing.T, states ...string) int {
	t.Helper()
	n, err := b.WantDetails(t.Context(), b.scope.SourceID, states)
	noErr(t, err)
	return n
}

// details is the scope of the details of some states.
func (b *bundle) details(states ...string) store.Scope {
	return store.Scope{SourceID: b.scope.SourceID, States: states, Kinds: []yp.Kind{yp.KindDetail}}
}

// take plans what is due and claims, and returns the listing's id, "" for nothing.
func (b *bundle) take(t *testing.T, s store.Scope) (*checkpoint.Claim, string) {
	t.Helper()
	b.wake(t, s)
	c, err := b.Claim(t.Context(), b.worker(0), s, 5)
	if errors.Is(err, checkpoint.ErrNothing) {
		return nil, ""
	}
	noErr(t, err)
	return c, c.ListingID
}

// readAll reads what is due until nothing is, and returns the listings' ids.
func (b *bundle) readAll(t *testing.T, s store.Scope) (ids string) {
	t.Helper()
	for {
		c, id := b.take(t, s)
		if c == nil {
			return strings.TrimSpace(ids)
		}
		b.save(t, c, yp.Page{Number: 1, Last: true, Raw: 1, Own: true, Listings: []yp.Listing{{ID: id, Email: id + "@x.example"}}})
		ids += id + " "
	}
}

const detailStatus = `SELECT l.listing_id, t.status FROM targets t JOIN listings l ON l.id = t.listing ORDER BY 1`

// TestDetailsPlanned: the page that brings a listing plans its details in its own
// transaction, where somebody wants them.
func TestDetailsPlanned(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA", "TX")
	first := b.found(t, "CA", "1", "-2", "3")
	storetest.Equal(t, len(table(t, b.DB(), detailStatus)), 0, "details that nobody wants")
	storetest.Equal(t, b.want(t, "CA"), 2, "planned of older listings, those with a page of their own,")
	second := b.found(t, "CA", "3", "4")
	b.found(t, "TX", "5")
	same(t, "planned", table(t, b.DB(), detailStatus), []string{"1|PLANNED", "3|PLANNED", "4|PLANNED"})
	storetest.Equal(t, b.want(t, "CA", "TX"), 1, "more planned, that of 5,")
	storetest.Equal(t, b.want(t, "CA", "TX"), 0, "more were planned the second time")
	b.found(t, "TX", "2") // met again, with a page of its own now
	same(t, "planned", table(t, b.DB(), detailStatus), []string{"1|PLANNED", "2|PLANNED", "3|PLANNED", "4|PLANNED", "5|PLANNED"})
	// A detail belongs to the place and the category of the search that met its listing first.
	for id, of := range map[string]int64{"1": first.TargetID, "3": first.TargetID, "4": second.TargetID} {
		const place = `SELECT t.state, t.city_id, t.category_id, t.population FROM targets t `
		same(t, "the place of "+id, table(t, b.DB(), place+`JOIN listings l ON l.id = t.listing WHERE l.listing_id = ?`, id), table(t, b.DB(), place+`WHERE id = ?`, of))
	}
	recount(t, b.DB())
}

func TestDetailsSweptInSteps(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	b.found(t, "CA", "x")
	execute(t, b.DB(), upTo(5000)+`INSERT INTO listings (source_id, listing_id, company_id, name, profile_url, found_state, fingerprint, first_seen_at, last_seen_at)
		SELECT 1, 'y' || value, 1, 'N', 'http://x', iif(value % 2, 'CA', 'TX'), 0, 'x', 'x' FROM s`)
	storetest.Equal(t, b.want(t, "CA"), 2501, "details were planned")
	recount(t, b.DB())
}

// TestDetailsEvery: a run that says how long a page stays good says it of those that it reads.
func TestDetailsEvery(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	b, clock := setupClock(t, 4, "CA")
	b.want(t, "CA")
	b.found(t, "CA", "1")
	s := b.details("CA")
	const due = `SELECT not_before FROM targets WHERE kind = 'detail' ORDER BY id`
	began := clock.Now()
	s.DetailsEvery = 100 * day
	b.readAll(t, s)
	same(t, "read for 100 days", table(t, b.DB(), due), []string{stamp(began.Add(90 * day))})
	clock.Move(90 * day)
	s.DetailsEvery = 10 * day
	again := clock.Now()
	storetest.Equal(t, b.readAll(t, s), "1", "took")
	same(t, "the next reading", table(t, b.DB(), due), []string{stamp(again.Add(9 * day))})
}

// TestDetailsOfGoneListings: the page of a listing that is gone is not asked for, and is
// again when the listing is back.
func TestDetailsOfGoneListings(t *testing.T) {
	t.Parallel()
	b := oneTarget(t)
	b.want(t, "CA")
	show := func(ids ...string) {
		t.Helper()
		p := yp.Page{Last: true, Ending: yp.EndSaid, Listings: cards(ids...)}
		for i := range p.Listings {
			p.Listings[i].ProfileURL = "http://127.0.0.1:1/mip/" + ids[i]
		}
		b.again(t, p)
	}
	show("a", "b", "c")
	s := b.details("CA")
	c, id := b.take(t, s)
	storetest.Equal(t, id, "a", "took")
	show("c")
	show("c")
	same(t, "gone", table(t, b.DB(), goneRows), []string{"a b"})
	same(t, "their details", table(t, b.DB(), `SELECT l.listing_id, t.retired_at IS NOT NULL FROM targets t JOIN listings l ON l.id = t.listing ORDER BY 1`), []string{"a|1", "b|1", "c|0"})
	storetest.Equal(t, b.ready(t, s, 9), 1, "ready, that of c,")
	if _, err := b.CommitPage(t.Context(), c, yp.Page{Number: 1, Last: true, Raw: 1, Own: true, Listings: []yp.Listing{{ID: "a"}}}); err != nil {
		t.Errorf("one in hand is carried through: %v", err)
	}
	storetest.Equal(t, b.readAll(t, s), "c", "took")
	recount(t, b.DB())
	show("a", "b", "c")
	storetest.Equal(t, b.readAll(t, s), "b", "took when they were back")
	recount(t, b.DB())
}

// TestDetailsOfASelection: who names cities or categories gets the details of the listings
// that their searches found.
func TestDetailsOfASelection(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA", "TX") // two cities a state, two categories
	b.want(t, "CA", "TX")
	of := map[string]*checkpoint.Claim{}
	for _, state := range []string{"CA", "TX"} {
		for _, id := range []string{"1", "2", "3", "4"} {
			of[state+id] = b.found(t, state, state+id)
		}
	}
	city := func(id string) int64 {
		var n int64
		noErr(t, b.DB().Read().QueryRowContext(t.Context(), `SELECT city_id FROM targets WHERE id = ?`, of[id].TargetID).Scan(&n))
		return n
	}
	for _, c := range []struct {
		name   string
		change func(s *store.Scope)
		in     func(id string) bool
	}{
		{"a state", func(s *store.Scope) { s.States = []string{"CA"} }, func(id string) bool { return id[:2] == "CA" }},
		{"a category", func(s *store.Scope) { s.CategoryIDs = b.cats[:1] }, func(id string) bool { return of[id].CategoryID == b.cats[0] }},
		{"a city", func(s *store.Scope) { s.CityIDs = []int64{city("TX1")} }, func(id string) bool { return city(id) == city("TX1") }},
		{"a city and a category", func(s *store.Scope) {
			s.CityIDs, s.CategoryIDs = []int64{city("TX1")}, []int64{of["TX1"].CategoryID}
		}, func(id string) bool { return id == "TX1" }},
		{"a size", func(s *store.Scope) { s.MinPopulation = 1_000_000 }, func(id string) bool { return of[id].Place.City == "City 0" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := b.details("CA", "TX")
			c.change(&s)
			want, got := 0, ""
			for id := range of {
				if c.in(id) {
					want++
				}
			}
			storetest.Equal(t, b.ready(t, s, 99), want, "ready")
			var held []*checkpoint.Claim
			for {
				claim, id := b.take(t, s)
				if claim == nil {
					break
				}
				if got += id + " "; !c.in(id) {
					t.Errorf("took %s", id)
				}
				held = append(held, claim)
			}
			storetest.Equal(t, len(held), want, "took "+got)
			for _, claim := range held {
				noErr(t, b.Release(t.Context(), claim, "stop"))
			}
		})
	}
}

// TestDetailPage: what a page says, and its requests, are stored with its commit.
func TestDetailPage(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	b.want(t, "CA")
	b.found(t, "CA", "1")
	c, _ := b.take(t, b.details("CA"))
	if c.NextPageURL != "http://127.0.0.1:1/mip/1" || c.Kind != yp.KindDetail || c.MaxPages != 1 || c.Place.City != "City 0" || c.Place.State != "CA" {
		t.Errorf("claimed %+v", c)
	}
	c.Requests = []store.Request{{SourceID: 1, TargetID: c.TargetID, ClaimToken: c.Token, Correlation: "x", Type: yp.RequestDetail, URL: "http://x", Started: b.DB().Now(), Results: 1}}
	noErr(t, b.run.Enlist(t.Context(), c.Worker.ID, "amber", checkpoint.Usage{}))
	out, err := b.CommitPage(t.Context(), c, yp.Page{Number: 1, Last: true, Raw: 1, Own: true, Listings: []yp.Listing{{ID: "1", Email: "a@x.example"}}})
	if err != nil || !out.Done {
		t.Fatal(out, err)
	}
	same(t, "target", table(t, b.DB(), `SELECT status, page_current, raw_count, total_attempts, total_successes, last_error_code FROM targets WHERE kind = 'detail'`), []string{"DONE|1|1|1|1|"})
	same(t, "details", table(t, b.DB(), `SELECT email, fetched_at IS NOT NULL FROM details`), []string{"a@x.example|1"})
	same(t, "requests", table(t, b.DB(), `SELECT type, url, target_id = ? FROM requests`, c.TargetID), []string{"detail|http://x|1"})
	same(t, "attempt", table(t, b.DB(), `SELECT ended, error_code, pages FROM crawl_attempts WHERE target_id = ?`, c.TargetID), []string{"done|SUCCESS|1"})
	same(t, "the page counts, and no further target", table(t, b.DB(), `SELECT pages, targets, listings_new FROM runs`), []string{"2|1|1"})
	same(t, "and of the worker", table(t, b.DB(), `SELECT pages, listings FROM workers`), []string{"1|0"})
	recount(t, b.DB())
}

// TestDetailsByID: where own pages are asked for by the listings' ids, those without an address have one, too, also of listings
// that were there before; and no more once they are not.
func TestDetailsByID(t *testing.T) {
	t.Parallel()
	b := setup(t, 6, "CA")
	byID := func(yes bool) {
		t.Helper()
		noErr(t, b.AskByID(t.Context(), b.scope.SourceID, yes))
	}
	planned := func() string {
		return strings.Join(storetest.Table(t, b.DB(), `SELECT l.listing_id FROM targets d JOIN listings l ON l.id = d.listing ORDER BY l.listing_id`), " ")
	}
	b.found(t, "CA", "1", "-2")
	byID(false)
	storetest.Equal(t, b.want(t, "CA"), 1, "with an address")
	b.found(t, "CA", "-3")
	storetest.Equal(t, planned(), "1", "by their addresses")
	byID(true)
	storetest.Equal(t, b.want(t, "CA"), 2, "those that were there")
	b.found(t, "CA", "-4")
	storetest.Equal(t, planned(), "1 2 3 4", "by their ids")
	byID(true)
	byID(false)
	b.found(t, "CA", "-5")
	storetest.Equal(t, planned(), "1 2 3 4", "by their addresses again")
}
