package health

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// authFailures rolls up every 5 minutes for 30, over requests that all fail.
func authFailures(t *testing.T, w *world) Profile {
	t.Helper()
	for range 6 {
		w.requests(t, req{n: 10, class: yp.ClassAuthError})
		w.rolls(t, Failing, yp.ClassAuthError)
		w.clock.Move(5 * time.Minute)
	}
	return w.rollUp(t, demo)
}

func TestScenarioAuthFailuresAreQuarantined(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := authFailures(t, w)
	if p.Status != Quarantined || p.Class != yp.ClassAuthError || !p.QuarantineUntil.Equal(noon.Add(time.Hour)) {
		t.Errorf("%s (%s) until %s, want quarantined (auth_error) until %s", p.Status, p.Class, p.QuarantineUntil, noon.Add(time.Hour))
	}
	if p := w.rollUp(t, other); p.Status != Degraded {
		t.Errorf("the other source is %s", p.Status)
	}
}

func TestScenarioAfterCooldownIsDegraded(t *testing.T) {
	t.Parallel()
	inWorld(t, "by its probe", func(t *testing.T, w *world) {
		authFailures(t, w)
		w.clock.Move(30 * time.Minute)
		if p := w.ends(t, w.begin(t, true), nil); p.Status != Degraded || p.Class != yp.ClassAuthError {
			t.Errorf("%s (%s), want degraded (auth_error)", p.Status, p.Class)
		}
	})
	inWorld(t, "by a healthy roll-up", func(t *testing.T, w *world) {
		authFailures(t, w)
		w.clock.Move(61 * time.Minute) // the failures are out of the hour
		w.requests(t, req{n: 100, kind: "probe"})
		w.rolls(t, Degraded, yp.ClassAuthError)
		w.clock.Move(5 * time.Minute)
		w.rolls(t, Healthy, "")
	})
}

// counted returns what a source's requests say now.
func (w *world) counted(t *testing.T, source int64) Counts {
	t.Helper()
	all, err := w.counts(t.Context(), w.clock.Now())
	ok(t, err)
	return all[slices.IndexFunc(all, func(c sourceCounts) bool { return c.source == source })].Counts
}

func TestCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		all  []req
		want Counts
	}{
		{"nothing", nil, Counts{}},
		{"what counts and what does not", []req{
			{n: 1, kind: "listing"},
			{n: 2, kind: "detail"},
			{n: 4, kind: "state_index"},
			{n: 8, kind: "city_index"},
			{n: 16, kind: "probe"},
			{n: 100, kind: "robots"},
			{n: 100, kind: "robots", class: yp.ClassTimeout},
			{n: 100, class: yp.ClassRateLimited},
			{n: 100, class: yp.ClassConnectionRefused, proxy: true},
			{n: 100, source: other},
		}, Counts{Samples1h: 31, OK1h: 31, Samples24h: 31, OK24h: 31, Samples10m: 31}},
		{
			"a page that can't be parsed is no success and has no class",
			[]req{{n: 3}, {n: 2, unread: true}, {n: 1, class: yp.ClassParseError}},
			Counts{Samples1h: 6, OK1h: 3, Samples24h: 6, OK24h: 3, Samples10m: 6, Failures: classes{yp.ClassParseError: 1}},
		},
		{"the windows, on both sides", []req{
			{n: 1, ago: 10*time.Minute - time.Millisecond, class: yp.ClassHTTP429},
			{n: 2, ago: 10 * time.Minute, class: yp.ClassHTTP429},
			{n: 4, ago: time.Hour - time.Millisecond},
			{n: 8, ago: time.Hour},
			{n: 16, ago: 24*time.Hour - time.Millisecond},
			{n: 32, ago: 24 * time.Hour},
		}, Counts{Samples1h: 7, OK1h: 4, Samples24h: 31, OK24h: 28, Samples10m: 1, Limited10m: 1, Failures: classes{yp.ClassHTTP429: 3}}},
		{
			"rows from the future",
			[]req{{n: 1}, {n: 10, ago: -time.Millisecond, class: yp.ClassDNS, latency: 9}, {n: 10, ago: -240 * time.Hour}},
			Counts{Samples1h: 1, OK1h: 1, Samples24h: 1, OK24h: 1, Samples10m: 1},
		},
		{
			"latencies, of failures too",
			[]req{{n: 10, latency: 100}, {n: 8, latency: 300}, {n: 2, latency: 30_000, class: yp.ClassTimeout}},
			Counts{
				Samples1h: 20, OK1h: 18, Samples24h: 20, OK24h: 18, Samples10m: 20, Failures: classes{yp.ClassTimeout: 2},
				P50: 100 * time.Millisecond, P95: 30 * time.Second,
			},
		},
	} {
		inWorld(t, c.name, func(t *testing.T, w *world) {
			w.requests(t, c.all...)
			if c.want.Failures == nil {
				c.want.Failures = classes{}
			}
			storetest.Diff(t, w.counted(t, demo), c.want)
		})
	}
}

// TestPercentiles: of n samples of 1 to n milliseconds, and behind bars of several.
func TestPercentiles(t *testing.T) {
	t.Parallel()
	upTo := func(n int) (all []req) {
		for i := range n {
			all = append(all, req{latency: i + 1, class: []yp.ErrorClass{"", yp.ClassTimeout}[i%2]})
		}
		return all
	}
	for _, c := range []struct {
		all      []req
		p50, p95 int
	}{
		{upTo(1), 1, 1},
		{upTo(2), 1, 2},
		{upTo(3), 2, 3},
		{upTo(4), 2, 4},
		{upTo(19), 10, 19},
		{upTo(20), 10, 19},
		{upTo(21), 11, 20},
		{upTo(100), 50, 95},
		{upTo(101), 51, 96},
		{[]req{{n: 94, latency: 7}, {n: 6, latency: 9}}, 7, 9},
		{[]req{{n: 95, latency: 7}, {n: 5, latency: 9}}, 7, 7},
	} {
		inWorld(t, fmt.Sprint(len(c.all), c.p95), func(t *testing.T, w *world) {
			w.requests(t, append(c.all, req{n: 50, source: other, latency: 1000})...)
			if got := w.counted(t, demo); got.P50 != time.Duration(c.p50)*time.Millisecond || got.P95 != time.Duration(c.p95)*time.Millisecond {
				t.Errorf("p50 %s, p95 %s, want %d, %d ms", got.P50, got.P95, c.p50, c.p95)
			}
		})
	}
}

func TestRollUp(t *testing.T) {
	t.Parallel()
	inWorld(t, "what is returned is what is stored, with the counts", func(t *testing.T, w *world) {
		w.requests(t, req{n: 50, latency: 120}, req{n: 50, class: yp.ClassChallenge, latency: 80}, req{n: 100, ago: 2 * time.Hour})
		w.clock.Move(1234567) // not a whole millisecond
		rolled, err := w.RollUp(t.Context())
		ok(t, err)
		ok(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
			for _, p := range rolled {
				stored, err := loadProfile(tx, p.SourceID)
				ok(t, err)
				if d := cmp.Diff(p, stored); d != "" || len(rolled) != 2 {
					t.Error(d)
				}
			}
			return nil
		}))
		wantRows(t, w.db, `SELECT samples_1h, success_rate_1h, samples_24h, success_rate_24h, latency_p50_ms, latency_p95_ms, dominant_class, burst_429 FROM connectivity_profiles`,
			"100|0.5|200|0.75|80|120|cf_challenge|0", "0||0|||||0") // without samples nothing is known
	})
	inWorld(t, "a disabled source keeps its row and is left alone", func(t *testing.T, w *world) {
		w.rollUp(t, other)
		for name, is := range map[string]bool{"other": true, "nowhere": false} {
			if found, err := w.SetEnabled(t.Context(), name, false); err != nil || found != is {
				t.Fatal(name, found, err)
			}
		}
		w.clock.Move(time.Hour)
		all, err := w.RollUp(t.Context())
		if err != nil || len(all) != 1 {
			t.Errorf("%d sources rolled up, %v", len(all), err)
		}
		wantRows(t, w.db, `SELECT source_id, updated_at FROM connectivity_profiles`, "1|2026-11-20T13:00:00.000Z", "2|2026-11-20T12:00:00.000Z")
	})
	inWorld(t, "a reading that another has overtaken is dropped", func(t *testing.T, w *world) {
		authFailures(t, w)
		w.clock.Move(61 * time.Minute)
		w.requests(t, req{n: 100, kind: "probe"})
		readAt := w.clock.Now()
		early, err := w.counts(t.Context(), readAt) // two processes read
		ok(t, err)
		w.clock.Move(time.Second)
		w.rolls(t, Degraded, yp.ClassAuthError) // one of them is through
		w.clock.Move(time.Second)
		_, err = w.roll(t.Context(), early, readAt) // the other comes late
		ok(t, err)
		wantRows(t, w.db, `SELECT status, updated_at FROM connectivity_profiles WHERE source_id = 1`, "degraded|2026-11-20T13:31:01.000Z")
		w.rolls(t, Healthy, "") // the next reading counts again
	})
	inWorld(t, "a row from before the clock was set back does not stop it", func(t *testing.T, w *world) {
		w.rollUp(t, demo)
		w.clock.Move(-48 * time.Hour)
		w.requests(t, req{n: 10})
		if p := w.rollUp(t, demo); p.Status != Healthy || !p.UpdatedAt.Equal(noon.Add(-48*time.Hour)) {
			t.Errorf("%s at %s, want healthy now", p.Status, p.UpdatedAt)
		}
	})
	inWorld(t, "many at once", func(t *testing.T, w *world) {
		w.requests(t, req{n: 50}, req{n: 50, class: yp.ClassAuthError})
		second := w.open(t)
		var wg sync.WaitGroup
		for i := range 8 {
			m := []*Monitor{w.Monitor, second}[i%2]
			wg.Go(func() {
				for range 5 {
					if _, err := m.RollUp(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		wantRows(t, w.db, `SELECT source_id, status, error_class FROM connectivity_profiles`, "1|failing|auth_error", "2|degraded|unknown")
	})
	inWorld(t, "times that only a clock set back can have left are cut", func(t *testing.T, w *world) {
		must(t, w.db,
			`UPDATE sources SET paused_until = '2026-11-20T18:00:00.001Z', paused_code = 'AUTH_FAILED' WHERE id = 1`,
			`UPDATE sources SET paused_until = '2026-11-20T18:00:00.000Z', paused_code = 'AUTH_FAILED' WHERE id = 2`,
			`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES
				(1, 'a', '2026-11-20T13:30:00.000Z', 'Retry-After', 'x'), (1, 'b', '2026-11-20T13:30:00.000Z', 'penalty', 'x'),
				(1, 'c', '2026-11-20T12:59:00.000Z', 'Retry-After', 'x'), (1, 'd', '2026-11-20T12:29:00.000Z', 'penalty', 'x'), (1, 'e', NULL, NULL, 'x')`)
		w.rollUp(t, demo)
		wantRows(t, w.db, `SELECT paused_until FROM sources`, "2026-11-20T18:00:00.000Z", "2026-11-20T18:00:00.000Z")
		wantRows(t, w.db, `SELECT substr(held_until, 12, 8) FROM hosts`, "13:00:00", "12:30:00", "12:59:00", "12:29:00", "")
	})
}

// inQuarantine is a world whose first source may be probed now.
func inQuarantine(t *testing.T) *world {
	t.Helper()
	w := setup(t)
	authFailures(t, w)
	w.clock.Move(Cooldown)
	return w
}

// quarantined is a subtest with a world of its own in which it is so, beside others.
func quarantined(t *testing.T, name string, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t, inQuarantine(t))
	})
}

// ends ends a probe that has found the source well.
func (w *world) ends(t *testing.T, probe Probe, want error) Profile {
	t.Helper()
	p, err := w.EndProbe(t.Context(), probe, true, "")
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
	return p
}

// lost ends a probe that is another's by now.
func (w *world) lost(t *testing.T, probe Probe, want Status) {
	t.Helper()
	if p := w.ends(t, probe, ErrProbeLost); p.Status != want {
		t.Errorf("%s, want %s", p.Status, want)
	}
}

// begin begins a probe and checks whether it may.
func (w *world) begin(t *testing.T, want bool) Probe {
	t.Helper()
	probe, begun, err := w.BeginProbe(t.Context(), demo)
	if err != nil || begun != want {
		t.Fatalf("probe begun: %v, %v, want %v", begun, err, want)
	}
	return probe
}

func TestProbeBegins(t *testing.T) {
	t.Parallel()
	quarantined(t, "not before the cooldown is over", func(t *testing.T, w *world) {
		w.clock.Move(-time.Millisecond)
		w.begin(t, false)
		w.clock.Move(time.Millisecond)
		w.begin(t, true)
	})
	inWorld(t, "not of a source that is not quarantined", func(t *testing.T, w *world) {
		w.begin(t, false) // no row yet
		w.rollUp(t, demo)
		w.begin(t, false)
	})
	inWorld(t, "not of a source that does not exist", func(t *testing.T, w *world) {
		if _, begun, err := w.BeginProbe(t.Context(), 99); begun || !errors.Is(err, ErrNoSource) {
			t.Errorf("%v, %v", begun, err)
		}
	})
	for name, set := range map[string]string{
		"disabled":             `UPDATE sources SET enabled = 0`,
		"paused":               `UPDATE sources SET paused_until = '2026-11-20T13:30:00.000Z', paused_code = 'AUTH_FAILED'`,
		"stopped by an alarm":  `UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED'`,
		"held by its own host": `INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'x', '2026-11-20T13:30:00.000Z', 'Retry-After', 'x')`,
	} {
		quarantined(t, "not of a source that is "+name, func(t *testing.T, w *world) {
			must(t, w.db, set)
			w.begin(t, false)
		})
	}
	quarantined(t, "one, of all workers of all processes", func(t *testing.T, w *world) {
		second := w.open(t)
		var begun atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			m := []*Monitor{w.Monitor, second}[i%2]
			wg.Go(func() {
				_, mine, err := m.BeginProbe(t.Context(), demo)
				if err != nil {
					t.Error(err)
				}
				if mine {
					begun.Add(1)
				}
			})
		}
		wg.Wait()
		storetest.Equal(t, begun.Load(), 1, "probes began")
	})
	quarantined(t, "another after 5 minutes", func(t *testing.T, w *world) {
		w.begin(t, true)
		w.clock.Move(5*time.Minute - time.Millisecond)
		w.begin(t, false)
		w.clock.Move(time.Millisecond)
		w.begin(t, true)
	})
	quarantined(t, "after its cooldown, though the clock was set back", func(t *testing.T, w *world) {
		w.begin(t, true)
		w.clock.Move(-72 * time.Hour)
		w.begin(t, false)
		w.clock.Move(Cooldown - time.Millisecond)
		w.begin(t, false)
		w.clock.Move(time.Millisecond)
		w.begin(t, true)
	})
}

func TestProbeEnds(t *testing.T) {
	t.Parallel()
	quarantined(t, "failed: quarantined for twice as long", func(t *testing.T, w *world) {
		p, err := w.EndProbe(t.Context(), w.begin(t, true), false, yp.ClassChallenge)
		if err != nil || p.Status != Quarantined || p.Class != yp.ClassChallenge || p.Cooldown != time.Hour {
			t.Errorf("%+v, %v", p, err)
		}
		w.clock.Move(time.Hour - time.Millisecond)
		w.begin(t, false)
		w.clock.Move(time.Millisecond)
		w.begin(t, true)
	})
	quarantined(t, "not once another has begun", func(t *testing.T, w *world) {
		first := w.begin(t, true)
		w.clock.Move(ProbeTime)
		second := w.begin(t, true)
		w.lost(t, first, Quarantined)
		w.ends(t, second, nil)
	})
	quarantined(t, "late, while no other has begun", func(t *testing.T, w *world) {
		probe := w.begin(t, true)
		w.clock.Move(2 * ProbeTime)
		if p := w.ends(t, probe, nil); p.Status != Degraded {
			t.Errorf("%s, want degraded", p.Status)
		}
	})
	quarantined(t, "not twice", func(t *testing.T, w *world) {
		probe := w.begin(t, true)
		_, err := w.EndProbe(t.Context(), probe, false, yp.ClassAuthError)
		ok(t, err)
		w.lost(t, probe, Quarantined)
	})
	quarantined(t, "not after an operator has let the source out", func(t *testing.T, w *world) {
		probe := w.begin(t, true)
		w.enable(t)
		w.lost(t, probe, Degraded)
	})
	quarantined(t, "a roll-up leaves a probe under way alone", func(t *testing.T, w *world) {
		probe := w.begin(t, true)
		w.rollUp(t, demo)
		w.begin(t, false)
		if p := w.ends(t, probe, nil); p.Status != Degraded {
			t.Errorf("%s, want degraded", p.Status)
		}
	})
}
