package health

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ypcrawl/yp"
)

// inQuarantine is a world whose first source may be probed now.
func inQuarantine(t *testing.T) *world {
	t.Helper()
	w := setup(t)
	authFailures(t, w)
	w.clock.move(Cooldown)
	return w
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
	t.Run("not before the cooldown is over", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
		w.clock.move(-time.Millisecond)
		w.begin(t, false)
		w.clock.move(time.Millisecond)
		w.begin(t, true)
	})
	t.Run("not of a source that is not quarantined", func(t *testing.T) {
		t.Parallel()
		w := setup(t)
		w.begin(t, false) // no row yet
		w.rollUp(t, demo)
		w.begin(t, false)
	})
	t.Run("not of a source that does not exist", func(t *testing.T) {
		t.Parallel()
		w := setup(t)
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
		t.Run("not of a source that is "+name, func(t *testing.T) {
			t.Parallel()
			w := inQuarantine(t)
			must(t, w.db, set)
			w.begin(t, false)
		})
	}
	t.Run("one, of all workers of all processes", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
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
		if n := begun.Load(); n != 1 {
			t.Errorf("%d probes began, want 1", n)
		}
	})
	t.Run("another after 5 minutes", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
		w.begin(t, true)
		w.clock.move(5*time.Minute - time.Millisecond)
		w.begin(t, false)
		w.clock.move(time.Millisecond)
		w.begin(t, true)
	})
	t.Run("after its cooldown, though the clock was set back", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
		w.begin(t, true)
		w.clock.move(-72 * time.Hour)
		w.begin(t, false)
		w.clock.move(Cooldown - time.Millisecond)
		w.begin(t, false)
		w.clock.move(time.Millisecond)
		w.begin(t, true)
	})
}

func TestProbeEnds(t *testing.T) {
	t.Parallel()
	t.Run("failed: quarantined for twice as long", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
		p, err := w.EndProbe(t.Context(), w.begin(t, true), false, yp.ClassChallenge)
		if err != nil || p.Status != Quarantined || p.Class != yp.ClassChallenge || p.Cooldown != time.Hour {
			t.Errorf("%+v, %v", p, err)
		}
		w.clock.move(time.Hour - time.Millisecond)
		w.begin(t, false)
		w.clock.move(time.Millisecond)
		w.begin(t, true)
	})
	lost := func(t *testing.T, w *world, probe Probe, want Status) {
		t.Helper()
		p, err := w.EndProbe(t.Context(), probe, true, "")
		if !errors.Is(err, ErrProbeLost) || p.Status != want {
			t.Errorf("%s, %v, want %s and ErrProbeLost", p.Status, err, want)
		}
	}
	t.Run("not once another has begun", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
		first := w.begin(t, true)
		w.clock.move(ProbeTime)
		second := w.begin(t, true)
		lost(t, w, first, Quarantined)
		if _, err := w.EndProbe(t.Context(), second, true, ""); err != nil {
			t.Error(err)
		}
	})
	t.Run("late, while no other has begun", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
		probe := w.begin(t, true)
		w.clock.move(2 * ProbeTime)
		if p, err := w.EndProbe(t.Context(), probe, true, ""); err != nil || p.Status != Degraded {
			t.Errorf("%s, %v", p.Status, err)
		}
	})
	t.Run("not twice", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
		probe := w.begin(t, true)
		_, err := w.EndProbe(t.Context(), probe, false, yp.ClassAuthError)
		ok(t, err)
		lost(t, w, probe, Quarantined)
	})
	t.Run("not after an operator has let the source out", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
		probe := w.begin(t, true)
		_, err := w.SetEnabled(t.Context(), "demo", true)
		ok(t, err)
		lost(t, w, probe, Degraded)
	})
	t.Run("a roll-up leaves a probe under way alone", func(t *testing.T) {
		t.Parallel()
		w := inQuarantine(t)
		probe := w.begin(t, true)
		w.rollUp(t, demo)
		w.begin(t, false)
		if p, err := w.EndProbe(t.Context(), probe, true, ""); err != nil || p.Status != Degraded {
			t.Errorf("%s, %v", p.Status, err)
		}
	})
}
