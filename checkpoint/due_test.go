package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// outlook looks at the whole scope.
func (b *bundle) outlook(t *testing.T, limit int, horizon time.Duration) checkpoint.Outlook {
	t.Helper()
	o, err := b.Look(t.Context(), b.scope, limit, horizon)
	noErr(t, err)
	return o
}

func TestLook(t *testing.T) {
	t.Parallel()
	t.Run("counts what is ready, up to the limit", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 3, "CA", "TX") // 12 targets
		for limit, want := range map[int]int{0: 0, 1: 1, 11: 11, 12: 12, 100: 12} {
			if o := b.outlook(t, limit, time.Hour); o.Ready != want || limit > 0 && !o.Next.IsZero() || !o.Availability.Open() {
				t.Errorf("limit %d: %+v, want %d ready", limit, o, want)
			}
		}
		b.scope.States = []string{"TX"}
		b.scope.CategoryIDs = b.cats[:1]
		storetest.Equal(t, b.outlook(t, 100, 0).Ready, 3, "plumbers in TX")
		for i := range 3 { // the state is full for one worker more, and its targets are ready all the same
			b.claim(t, i)
		}
		b.scope.CategoryIDs = nil
		storetest.Equal(t, b.outlook(t, 100, 0).Ready, 3, "with three held")
	})
	t.Run("no such source", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 1, "CA")
		b.scope.SourceID = 99
		if o, err := b.Look(t.Context(), b.scope, 1, time.Hour); err == nil {
			t.Errorf("%+v, want an error", o)
		}
	})
}

// TestNextDue: the earliest that falls due by itself, on both sides of the horizon.
func TestNextDue(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 2, "CA") // 4 targets
	at := func(d time.Duration) string { return "'" + yp.FormatTime(clock.Now().Add(d)) + "'" }
	execute(t, b.DB(), `UPDATE targets SET wait_reason = 'backoff', not_before = `+at(3*time.Minute)+` WHERE id = 1`,
		`UPDATE targets SET status = 'DONE', finished_at = 'x', wait_reason = 'recrawl', not_before = `+at(2*time.Minute)+` WHERE id = 2`,
		`UPDATE targets SET status = 'DONE', finished_at = 'x', wait_reason = 'gap', not_before = `+at(time.Minute)+` WHERE id = 3`,
		`UPDATE targets SET status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 1, wait_reason = 'backoff', not_before = `+at(30*time.Second)+` WHERE id = 4`)
	for i, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute} {
		for horizon, next := range map[time.Duration]time.Time{0: {}, want - time.Millisecond: {}, want: clock.Now().Add(want), time.Hour: clock.Now().Add(want)} {
			if o := b.outlook(t, 1, horizon); o.Ready != 0 || !o.Next.Equal(next) {
				t.Errorf("with %d gone, horizon %s: %+v, want next %s", i, horizon, o, stamp(next))
			}
		}
		if next, err := b.NextDue(t.Context(), b.scope, clock.Now().Add(want)); err != nil || !next.Equal(clock.Now().Add(want)) {
			t.Errorf("with %d gone, the next falls due %s (%v)", i, stamp(next), err)
		}
		execute(t, b.DB(), fmt.Sprintf(`UPDATE targets SET enabled = 0 WHERE id = %d`, []int{4, 3, 2, 1}[i]))
	}
}

// TestClockSetBack: a wait that no rule could have set is the mark of a clock that
// was set back since, and over.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	b.scope.CategoryIDs = b.cats[:1]
	for _, c := range []struct {
		name  string
		set   string
		ahead time.Duration
		free  bool
	}{
		{"the longest backoff", `status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 5, wait_reason = 'backoff', not_before = %s`, 32 * time.Hour, false},
		{"an hour more", `status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 5, wait_reason = 'backoff', not_before = %s`, 33 * time.Hour, false},
		{"no backoff that there is", `status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 5, wait_reason = 'backoff', not_before = %s`, 33*time.Hour + time.Millisecond, true},
		{"a short backoff of another time", `wait_reason = 'backoff', not_before = %s`, 40 * time.Hour, true},
		{"the whole gap", `status = 'DONE', finished_at = 'x', wait_reason = 'gap', not_before = %s`, 2 * time.Minute, false},
		{"no gap that there is", `status = 'DONE', finished_at = 'x', wait_reason = 'gap', not_before = %s`, 2*time.Minute + time.Millisecond, true},
		{"the longest week", `status = 'DONE', finished_at = 'x', wait_reason = 'recrawl', not_before = %s`, 8 * 24 * time.Hour, false},
		{"no week that there is", `status = 'DONE', finished_at = 'x', wait_reason = 'recrawl', not_before = %s`, 8*24*time.Hour + time.Millisecond, true},
		{"a month, of one that is crawled monthly", `status = 'DONE', finished_at = 'x', crawl_frequency_minutes = 43200, wait_reason = 'recrawl', not_before = %s`, 31 * 24 * time.Hour, false},
		{"no month that there is", `status = 'DONE', finished_at = 'x', crawl_frequency_minutes = 43200, wait_reason = 'recrawl', not_before = %s`, 31*24*time.Hour + time.Millisecond, true},
	} {
		execute(t, b.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, wait_reason = NULL, not_before = NULL, backoff_level = 0, crawl_frequency_minutes = 10080`,
			fmt.Sprintf(`UPDATE targets SET `+c.set, "'"+yp.FormatTime(clock.Now().Add(c.ahead))+"'"))
		b.wake(t, b.scope)
		storetest.Equal(t, b.outlook(t, 1, 0).Ready == 1, c.free, c.name+": it is ready")
		if id := strings.Join(b.claimAll(t), " "); (id == "1") != c.free {
			t.Errorf("%s: claimed %q", c.name, id)
		}
		execute(t, b.DB(), `UPDATE targets SET status = 'STUCK', wait_reason = NULL, not_before = NULL, claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL`)
	}
}

// TestWake: after a failure the crawl goes on behind its last page;
// one that is due again begins anew. A pause or a ban is no matter of time.
func TestWake(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 3, "CA") // 6 targets
	past := "'" + yp.FormatTime(clock.Now().Add(-time.Second)) + "'"
	execute(t, b.DB(),
		`UPDATE targets SET page_current = 2, raw_count = 60, next_page_url = '/3', recoveries = 2, total_attempts = 3, crawl_started_at = 'x'`,
		`UPDATE targets SET status = 'FAILED', last_error_code = 'TIMEOUT', consecutive_failures = 3, backoff_level = 1, wait_reason = 'backoff', not_before = `+past+` WHERE id = 1`,
		`UPDATE targets SET consecutive_failures = 1, last_error_code = 'TIMEOUT', wait_reason = 'backoff', not_before = `+past+` WHERE id = 2`,
		`UPDATE targets SET status = 'DONE', finished_at = 'x', wait_reason = 'recrawl', not_before = `+past+` WHERE id = 3`,
		`UPDATE targets SET status = 'FAILED', paused = 1, last_error_code = 'TIMEOUT', backoff_level = 1, wait_reason = 'backoff', not_before = `+past+` WHERE id = 4`,
		`UPDATE targets SET enabled = 0, wait_reason = 'backoff', not_before = `+past+` WHERE id = 5`,
		`UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT' WHERE id = 6`)
	storetest.Equal(t, b.wake(t, b.scope), 5, "targets woken")
	const q = `SELECT status, crawl_status, enabled, consecutive_failures, backoff_level, not_before, page_current, raw_count, next_page_url, recoveries, wait_reason
		FROM targets JOIN (SELECT id, crawl_status FROM v_crawler_status) USING (id) ORDER BY id`
	same(t, "targets", table(t, b.DB(), q), []string{
		"PLANNED|degraded|1|3|1||2|60|/3|0|", "PLANNED|active|1|1|0||2|60|/3|0|", "PLANNED|active|1|0|0||0|0||0|",
		"PLANNED|paused|1|0|1||2|60|/3|0|", "PLANNED|active|0|0|0||2|60|/3|0|", "PARKED|failed|1|0|0||2|60|/3|2|",
	})
	storetest.Equal(t, b.wake(t, b.scope), 0, "targets woken")
	for _, want := range []int64{1, 2, 3} {
		c, err := b.Claim(t.Context(), b.worker(int(want)), b.scope, 5)
		if err != nil || c.TargetID != want {
			t.Errorf("claimed %+v (%v), want target %d", c, err, want)
		}
	}
	b.nothing(t, b.scope)
}

// TestPeek: the place of some target that could be claimed if its source were open.
func TestPeek(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	execute(t, b.DB(), `UPDATE sources SET enabled = 0`, `UPDATE targets SET enabled = 0 WHERE id = 1`)
	c, err := b.Peek(t.Context(), b.scope)
	if want := (yp.Place{City: "City 0", CitySlug: "city-0-ca", State: "CA", Category: "Dentists", CategorySlug: "dentists"}); err != nil || c == nil || c.Place != want || c.Kind != yp.KindSearch {
		t.Errorf("%+v (%v), want %+v", c, err, want)
	}
	b.scope.States = []string{"TX"}
	if c, err := b.Peek(t.Context(), b.scope); err != nil || c != nil {
		t.Errorf("elsewhere: %+v (%v)", c, err)
	}
}

// TestLookInScopes: a look sees what a claim would, whatever the scope is made of.
func TestLookInScopes(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 3, "CA", "TX") // 12 targets of 6 cities
	in := yp.FormatTime(clock.Now().Add(time.Minute))
	execute(t, b.DB(), `INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (2, 'other', 'x', 'x', 'x')`,
		`INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at) SELECT 2, city_id, category_id, state, population, 1, 0, 'x' FROM targets`)
	for _, c := range []struct {
		name   string
		change func(*store.Scope)
		want   int
	}{
		{"all", func(*store.Scope) {}, 12},
		{"no states named", func(s *store.Scope) { s.States = nil }, 12},
		{"a state", func(s *store.Scope) { s.States = []string{"TX"} }, 6},
		{"a state twice", func(s *store.Scope) { s.States = []string{"TX", "TX"} }, 6},
		{"a category", func(s *store.Scope) { s.CategoryIDs = b.cats[:1] }, 6},
		{"a category twice, in a state", func(s *store.Scope) { s.CategoryIDs, s.States = []int64{b.cats[0], b.cats[0]}, []string{"CA"} }, 3},
		{"a category, no states named", func(s *store.Scope) { s.CategoryIDs, s.States = b.cats[:1], nil }, 6},
		{"cities", func(s *store.Scope) { s.CityIDs = []int64{1, 2, 2} }, 4},
		{"cities and a category", func(s *store.Scope) { s.CityIDs, s.CategoryIDs = []int64{1, 2}, b.cats[1:] }, 2},
		{"cities in a state", func(s *store.Scope) { s.CityIDs, s.States = []int64{1, 2}, []string{"CA"} }, 2},
		{"a population", func(s *store.Scope) { s.MinPopulation = 999_999 }, 8},
		{"a population and cities", func(s *store.Scope) { s.MinPopulation, s.CityIDs = 999_999, []int64{1, 5} }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := b.scope
			c.change(&s)
			look := func() checkpoint.Outlook {
				t.Helper()
				o, err := b.Look(t.Context(), s, 100, time.Hour)
				noErr(t, err)
				return o
			}
			storetest.Equal(t, look().Ready, c.want, "ready")
			if c, err := b.Peek(t.Context(), s); err != nil || c == nil {
				t.Errorf("peek: %+v (%v)", c, err)
			}
			execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x', wait_reason = 'gap', not_before = '`+in+`'`)
			if o := look(); o.Ready != 0 || stamp(o.Next) != in {
				t.Errorf("all in their gap: %+v", o)
			}
			execute(t, b.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, wait_reason = NULL, not_before = NULL`)
		})
	}
}
