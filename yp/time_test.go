package yp

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTime(t *testing.T) {
	t.Run("Form", func(t *testing.T) {
		zone := time.FixedZone("", -8*3600)
		in := time.Date(2026, 11, 20, 15, 50, 0, 999_999, zone)
		if got := FormatTime(in); got != "2026-11-20T23:50:00.000Z" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("Bad", func(t *testing.T) {
		for _, s := range []string{"", "2026-11-20", "2026-11-20T23:50:00Z", "2026-11-20T23:50:00.000+01:00", "2026-13-20T23:50:00.000Z"} {
			if got, err := ParseTime(s); err == nil {
				t.Errorf("ParseTime(%q) = %v", s, got)
			}
		}
	})
	t.Run("RoundTripAndOrder", func(t *testing.T) {
		millis := rapid.Int64Range(0, 253_402_300_799_999) // to the end of the year 9999
		rapid.Check(t, func(t *rapid.T) {
			a, b := time.UnixMilli(millis.Draw(t, "a")), time.UnixMilli(millis.Draw(t, "b"))
			if got, err := ParseTime(FormatTime(a)); err != nil || !got.Equal(a) {
				t.Fatalf("%v came back as %v, %v", a, got, err)
			}
			if a.Before(b) != (FormatTime(a) < FormatTime(b)) {
				t.Fatalf("text order of %v and %v is not time order", a, b)
			}
		})
	})
}

func TestWorkerNames(t *testing.T) {
	if got := WorkerID(0, 12345); got != "worker_0_pid_12345" {
		t.Errorf("WorkerID: %s", got)
	}
	seen := map[string]bool{}
	for n := range 200 {
		name := WorkerName(n)
		if seen[name] {
			t.Errorf("worker %d: name %s is taken", n, name)
		}
		seen[name] = true
	}
	if got := WorkerName(25); got != "amber-2" {
		t.Errorf("WorkerName(25) = %s", got)
	}
}

func TestWorkerPID(t *testing.T) {
	for id, want := range map[string]int{"worker_0_pid_12345": 12345, "worker_17_pid_1": 1} {
		if pid, ok := WorkerPID(id); !ok || pid != want {
			t.Errorf("WorkerPID(%q) = %d, %v", id, pid, ok)
		}
	}
	for _, id := range []string{"", "worker_0", "worker_0_pid_", "worker_0_pid_x", "x_pid_3"} {
		if pid, ok := WorkerPID(id); ok {
			t.Errorf("WorkerPID(%q) = %d, want none", id, pid)
		}
	}
}

func TestWorkerText(t *testing.T) {
	for id, want := range map[string]string{
		WorkerID(0, 7): "amber (7)", WorkerID(26, 12): "birch-2 (12)", "w1": "w1", "": "", "worker_x_pid_7": "worker_x_pid_7", "worker_-1_pid_7": "worker_-1_pid_7",
	} {
		if got := WorkerText(id); got != want {
			t.Errorf("WorkerText(%q) = %q, want %q", id, got, want)
		}
	}
}
