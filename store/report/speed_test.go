package report_test

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func TestTimeLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, left     int64
		span, since time.Duration
		want        time.Duration
		ok          bool
	}{
		{0, 10, 0, 0, 0, false},
		{0, 10, time.Minute, 0, 0, false},
		{3, 10, 0, 0, 0, false},
		{10, 30, time.Minute, 0, 3 * time.Minute, true},
		{10, 30, time.Minute, 10 * time.Second, 170 * time.Second, true},
		{10, 1, time.Minute, 10 * time.Second, 0, true},
		{10, 30, time.Minute, 30 * time.Second, 150 * time.Second, true},
		{10, 30, time.Minute, 31 * time.Second, 0, false},                // one every 6 s, and none for 31
		{2, 3, 10 * time.Minute, 15 * time.Minute, 0, true},              // one every 5 minutes: that is long, and usual
		{2, 3, 10 * time.Minute, 20*time.Minute + time.Second, 0, false}, // and that is not
		{1, 1 << 20, time.Second, 0, (1 << 20) * time.Second, true},
	} {
		if got, ok := report.TimeLeft(c.n, c.left, c.span, c.since); got != c.want || ok != c.ok {
			t.Errorf("%d in %s, the last %s ago, %d left: %s, %v; want %s, %v", c.n, c.span, c.since, c.left, got, ok, c.want, c.ok)
		}
	}
}

// TestProgressTimeLeft: what `progress` tells while targets end, while none does although
// all are tried, and while the source is held.
func TestProgressTimeLeft(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 20, "CA") // 40 targets
	tell := func() *report.Progress {
		t.Helper()
		p, err := b.ProgressOfDetails(t.Context(), store.Scope{})
		noErr(t, err)
		if p.Live != 1 {
			t.Errorf("%d runs live, want 1", p.Live)
		}
		return p
	}
	if p := tell(); p.ETASec != -1 {
		t.Errorf("before anything has ended: %f s", p.ETASec)
	}
	for range 10 {
		clock.Move(3 * time.Second)
		noErr(t, b.Complete(t.Context(), b.claim(t, 0), yp.CodeNoListings, "none", true))
	}
	if p := tell(); p.ETASec != 90 {
		t.Errorf("30 left, three seconds each: %f s", p.ETASec)
	}
	was := report.Seconds(90)
	for range 30 { // every try fails, and is made again in minutes
		clock.Move(10 * time.Second)
		if _, err := b.Fail(t.Context(), b.claim(t, 0), yp.CodeTimeout, "slow"); err != nil {
			t.Fatal(err)
		}
		got := tell().ETASec
		if got > was {
			t.Fatalf("it grows from %f to %f s while nothing ends", was, got)
		}
		was = got
	}
	if was != -1 {
		t.Errorf("after 5 minutes without an end: %f s, want unknown", was)
	}
	until := clock.Now().Add(7 * time.Minute)
	// The view that is asked reads the real clock.
	real := time.Now().Add(7 * time.Minute).UTC().Truncate(time.Millisecond)
	execute(t, b.DB(), fmt.Sprintf(`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'h', '%s', 'Retry-After', 'x')`, yp.FormatTime(real)))
	if p := tell(); p.WaitingFor != "the source is held: Retry-After" || !p.WaitingUntil.Equal(real) || p.ETASec != -1 {
		t.Errorf("held until %s: waiting for %q until %s, %f s", yp.FormatTime(until), p.WaitingFor, yp.FormatTime(p.WaitingUntil), p.ETASec)
	}
}

// TestProgressTimeLeftAfterPause: what an earlier run did, and the time between the two, say
// nothing of the speed.
func TestProgressTimeLeftAfterPause(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 20, "CA") // 40 targets
	end := func(n int) {
		t.Helper()
		for range n {
			clock.Move(3 * time.Second)
			noErr(t, b.Complete(t.Context(), b.claim(t, 0), yp.CodeNoListings, "none", true))
		}
	}
	end(10)
	clock.Move(4 * time.Minute)
	execute(t, b.DB(), fmt.Sprintf(`UPDATE runs SET started_at = '%s'`, yp.FormatTime(clock.Now())))
	end(5)
	p, err := b.ProgressOfDetails(t.Context(), store.Scope{})
	if err != nil || p.ETASec != 75 {
		t.Errorf("25 left, three seconds each: %f s (%v)", p.ETASec, err)
	}
}
