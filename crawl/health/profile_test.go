package health

import (
	"slices"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var (
	good      = Counts{Samples1h: 100, OK1h: 100}
	soSo      = Counts{Samples1h: 100, OK1h: 95, Failures: classes{yp.ClassTimeout: 4}}
	bad       = Counts{Samples1h: 100, OK1h: 50, Failures: classes{yp.ClassTimeout: 50}}
	forbidden = Counts{Samples1h: 100, OK1h: 50, Failures: classes{yp.ClassAuthError: 50}}
	burst     = Counts{Samples1h: 100, OK1h: 50, Failures: classes{yp.ClassHTTP429: 15, yp.ClassTimeout: 35}, Samples10m: 20, Limited10m: 10}
)

// step rolls a profile up and checks status and class.
func step(t *testing.T, p Profile, c Counts, at time.Time, status Status, class yp.ErrorClass) Profile {
	t.Helper()
	p = p.Rolled(c, at)
	if p.Status != status || p.Class != class {
		t.Errorf("at %s: %s (%s), want %s (%s)", at.Format(time.TimeOnly), p.Status, p.Class, status, class)
	}
	if (p.Class == "") != (p.Status == Healthy) || p.FailingSince.IsZero() == (p.Status == Failing || p.Status == Quarantined) ||
		p.QuarantineUntil.IsZero() == (p.Status == Quarantined) {
		t.Errorf("an impossible profile: %+v", p)
	}
	return p
}

func TestRolled(t *testing.T) {
	at := func(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }
	t.Run("a new source without a sample", func(t *testing.T) {
		step(t, Profile{}, Counts{}, noon, Degraded, yp.ClassUnknown)
	})
	t.Run("the class: dominant, burst, previous, most frequent, unknown", func(t *testing.T) {
		slow := Counts{Samples1h: 100, OK1h: 98, P95: 2 * time.Second, Failures: classes{yp.ClassDNS: 2}}
		p := step(t, Profile{}, slow, noon, Degraded, yp.ClassUnknown)
		p = step(t, p, soSo, noon, Degraded, yp.ClassTimeout)
		p = step(t, p, bad, noon, Failing, yp.ClassTimeout)
		p = step(t, p, soSo, noon, Degraded, yp.ClassTimeout)
		p = step(t, p, Counts{Samples1h: 100, OK1h: 80, Samples10m: 20, Limited10m: 6}, noon, Failing, yp.ClassHTTP429)
		p = step(t, p, burst, noon, Failing, yp.ClassTimeout) // a dominant class comes before a burst
		p = step(t, p, good, noon, Healthy, "")
		step(t, p, Counts{}, noon, Degraded, yp.ClassUnknown)
	})
	for name, c := range map[string]struct {
		counts Counts
		class  yp.ErrorClass
	}{
		"auth_error":   {forbidden, yp.ClassAuthError},
		"cf_challenge": {Counts{Samples1h: 100, OK1h: 50, Failures: classes{yp.ClassChallenge: 50}}, yp.ClassChallenge},
		"a 429 burst":  {burst, yp.ClassTimeout},
	} {
		t.Run("quarantined after 30 minutes of "+name, func(t *testing.T) {
			p := step(t, Profile{}, c.counts, noon, Failing, c.class)
			p = step(t, p, c.counts, at(29.99), Failing, c.class)
			p = step(t, p, c.counts, at(30), Quarantined, c.class)
			if want := at(60); !p.QuarantineUntil.Equal(want) {
				t.Errorf("until %s, want %s", p.QuarantineUntil, want)
			}
		})
	}
	for name, c := range map[string]Counts{
		"time-outs": bad,
		"tls":       {Samples1h: 100, OK1h: 50, Failures: classes{yp.ClassTLS: 50}},
		"http_403":  {Samples1h: 100, OK1h: 50, Failures: classes{yp.ClassHTTP403: 50}},
	} {
		t.Run("never quarantined for "+name, func(t *testing.T) {
			p := Profile{}
			for minutes := range 200 {
				p = step(t, p, c, at(float64(minutes)), Failing, c.Dominant())
			}
		})
	}
	t.Run("the 30 minutes count whatever failed before", func(t *testing.T) {
		p := step(t, Profile{}, bad, noon, Failing, yp.ClassTimeout)
		step(t, p, forbidden, at(30), Quarantined, yp.ClassAuthError)
	})
	t.Run("a break starts the 30 minutes anew", func(t *testing.T) {
		p := step(t, Profile{}, forbidden, noon, Failing, yp.ClassAuthError)
		p = step(t, p, soSo, at(20), Degraded, yp.ClassAuthError)
		p = step(t, p, forbidden, at(30), Failing, yp.ClassAuthError)
		p = step(t, p, forbidden, at(59), Failing, yp.ClassAuthError)
		step(t, p, forbidden, at(60), Quarantined, yp.ClassAuthError)
	})
}

// inCooldown is a source quarantined at noon for auth errors.
func inCooldown() Profile {
	return Profile{}.Rolled(forbidden, noon.Add(-30*time.Minute)).Rolled(forbidden, noon)
}

func TestRolledInQuarantine(t *testing.T) {
	early, over := noon.Add(30*time.Minute-time.Millisecond), noon.Add(30*time.Minute)
	for name, c := range map[string]struct {
		counts Counts
		at     time.Time
		want   Status
	}{
		"healthy too early":       {good, early, Quarantined},
		"healthy after":           {good, over, Degraded},
		"degraded after":          {soSo, over, Quarantined},
		"no sample after":         {Counts{}, over, Quarantined},
		"no sample for days":      {Counts{}, over.Add(72 * time.Hour), Quarantined},
		"failing after":           {forbidden, over, Quarantined},
		"failing of other causes": {Counts{Samples1h: 4, OK1h: 1}, over, Quarantined},
	} {
		t.Run(name, func(t *testing.T) {
			step(t, inCooldown(), c.counts, c.at, c.want, yp.ClassAuthError)
		})
	}
	t.Run("degraded keeps its class, also in a burst that is healthy", func(t *testing.T) {
		lively := Counts{Samples1h: 1000, OK1h: 990, Failures: classes{yp.ClassHTTP429: 10}, Samples10m: 300, Limited10m: 10}
		p := step(t, inCooldown(), lively, over, Degraded, yp.ClassAuthError)
		step(t, p, lively, over.Add(5*time.Minute), Healthy, "")
	})
	t.Run("its end is not moved, its class is", func(t *testing.T) {
		p := step(t, inCooldown(), Counts{Samples1h: 10, OK1h: 1, Failures: classes{yp.ClassChallenge: 9}}, noon.Add(10*time.Minute), Quarantined, yp.ClassChallenge)
		if !p.QuarantineUntil.Equal(over) {
			t.Errorf("until %s, want %s", p.QuarantineUntil, over)
		}
	})
}

func TestProbed(t *testing.T) {
	t.Run("success", func(t *testing.T) {
		p := inCooldown()
		p.Cooldown, p.ProbeUntil = 2*time.Hour, noon.Add(time.Hour)
		p = p.Probed(true, "", noon.Add(31*time.Minute))
		want := inCooldown()
		want.Status, want.Cooldown, want.UpdatedAt = Degraded, Cooldown, noon.Add(31*time.Minute)
		want.FailingSince, want.QuarantineUntil = time.Time{}, time.Time{}
		storetest.Diff(t, p, want)
		// The hour's failures are still there: it takes another 30 minutes of them.
		p = step(t, p, forbidden, noon.Add(32*time.Minute), Failing, yp.ClassAuthError)
		p = step(t, p, forbidden, noon.Add(61*time.Minute), Failing, yp.ClassAuthError)
		p = step(t, p, forbidden, noon.Add(62*time.Minute), Quarantined, yp.ClassAuthError)
		storetest.Equal(t, p.Cooldown, Cooldown, "the cooldown is")
	})
	t.Run("failures double the cooldown, at most to 6 hours", func(t *testing.T) {
		p := inCooldown()
		for _, want := range []time.Duration{time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 6 * time.Hour} {
			at := p.QuarantineUntil
			p = p.Probed(false, yp.ClassTimeout, at)
			if p.Status != Quarantined || p.Class != yp.ClassTimeout || p.Cooldown != want || !p.QuarantineUntil.Equal(at.Add(want)) {
				t.Errorf("%s (%s), cooldown %s until %s, want %s", p.Status, p.Class, p.Cooldown, p.QuarantineUntil, want)
			}
		}
	})
	t.Run("a failure without a class keeps the last", func(t *testing.T) {
		if p := inCooldown().Probed(false, "", noon); p.Class != yp.ClassAuthError {
			t.Errorf("class %s, want %s", p.Class, yp.ClassAuthError)
		}
	})
}

func TestClockSetBack(t *testing.T) {
	past := noon.Add(-48 * time.Hour)
	t.Run("a quarantine lasts no longer than its cooldown", func(t *testing.T) {
		p := step(t, inCooldown(), forbidden, past, Quarantined, yp.ClassAuthError)
		if want := past.Add(Cooldown); !p.QuarantineUntil.Equal(want) || p.FailingSince.After(past) {
			t.Errorf("until %s, failing since %s, want at most %s", p.QuarantineUntil, p.FailingSince, want)
		}
	})
	t.Run("a failing source needs another 30 minutes", func(t *testing.T) {
		p := Profile{}.Rolled(forbidden, noon)
		p = step(t, p, forbidden, past, Failing, yp.ClassAuthError)
		p = step(t, p, forbidden, past.Add(29*time.Minute), Failing, yp.ClassAuthError)
		step(t, p, forbidden, past.Add(30*time.Minute), Quarantined, yp.ClassAuthError)
	})
}

type classes = map[yp.ErrorClass]int

// counts are the hour's samples with failures spread over classes.
func counts(samples, failed int, fail classes) Counts {
	return Counts{Samples1h: samples, OK1h: samples - failed, Failures: fail}
}

func TestBase(t *testing.T) {
	slow := func(c Counts, ms int) Counts {
		c.P50, c.P95 = time.Duration(ms)*time.Millisecond/2, time.Duration(ms)*time.Millisecond
		return c
	}
	for _, c := range []struct {
		name string
		c    Counts
		want Status
	}{
		{"no sample", Counts{}, Degraded},
		{"one success", counts(1, 0, nil), Healthy},
		{"one failure", counts(1, 1, classes{yp.ClassTimeout: 1}), Failing},
		{"rate 0.98", counts(100, 2, classes{yp.ClassTimeout: 2}), Healthy},
		{"rate under 0.98", counts(99, 2, classes{yp.ClassTimeout: 2}), Degraded},
		{"latency 1,500 ms", slow(counts(100, 0, nil), 1500), Healthy},
		{"latency over 1,500 ms", slow(counts(100, 0, nil), 1501), Degraded},
		{"rate 0.90", counts(100, 10, classes{yp.ClassTimeout: 10}), Degraded},
		{"rate under 0.90", counts(99, 10, classes{yp.ClassTimeout: 10}), Failing},
		{"rate 0.90 and slow beyond 4,000 ms", slow(counts(100, 10, nil), 4001), Degraded},
		{"rate under 0.90 and quick", slow(counts(100, 11, nil), 10), Failing},
		{"pages that can't be parsed have no class", counts(100, 11, nil), Failing},
		{"healthy comes before the dominant class", Counts{Samples1h: 25, OK1h: 25, Failures: classes{yp.ClassTLS: 5}}, Healthy},
	} {
		storetest.Equal(t, c.c.Base(), c.want, c.name)
	}
	// A class that is dominant takes 20 %, and the rate with it under 0.90; only what was
	// parsed after all can leave it above.
	for _, class := range yp.ErrorClasses() {
		want := Degraded
		if slices.Contains([]yp.ErrorClass{yp.ClassTLS, yp.ClassDNS, yp.ClassAuthError, yp.ClassChallenge}, class) {
			want = Failing
		}
		storetest.Equal(t, (Counts{Samples1h: 25, OK1h: 24, Failures: classes{class: 5}}).Base(), want, "dominant", class)
	}
}

func TestDominant(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples int
		fail    classes
		want    yp.ErrorClass
	}{
		{"nothing", 0, nil, ""},
		{"5 of 25", 25, classes{yp.ClassDNS: 5}, yp.ClassDNS},
		{"4 of 4", 4, classes{yp.ClassDNS: 4}, ""},
		{"5 of 5", 5, classes{yp.ClassDNS: 5}, yp.ClassDNS},
		{"5 of 26 is under 20 %", 26, classes{yp.ClassDNS: 5}, ""},
		{"20 of 100", 100, classes{yp.ClassDNS: 20}, yp.ClassDNS},
		{"19 of 100", 100, classes{yp.ClassDNS: 19}, ""},
		{"the most frequent", 20, classes{yp.ClassDNS: 6, yp.ClassTimeout: 7}, yp.ClassTimeout},
		{"ties by name", 20, classes{yp.ClassTLS: 6, yp.ClassDNS: 6, yp.ClassTimeout: 6}, yp.ClassDNS},
		{"each too few, though together enough", 25, classes{yp.ClassTLS: 4, yp.ClassDNS: 4}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 20 { // whatever the order of the map
				if got := (Counts{Samples1h: c.samples, Failures: c.fail}).Dominant(); got != c.want {
					t.Fatalf("%q, want %q", got, c.want)
				}
			}
		})
	}
}

func TestBurst(t *testing.T) {
	for want, all := range map[bool][][2]int{ // limited of samples
		false: {{0, 0}, {9, 9}, {9, 1000}, {9, 19}, {5, 20}, {8, 30}, {9, 31}},
		true:  {{10, 10}, {10, 1000}, {6, 20}, {9, 30}},
	} {
		for _, c := range all {
			storetest.Equal(t, (Counts{Limited10m: c[0], Samples10m: c[1]}).Burst(), want, c[0], c[1])
		}
	}
}

func TestLatency(t *testing.T) {
	for samples, want := range map[int]time.Duration{0: 0, 4: 0, 5: 50, 19: 50, 20: 95, 1000: 95} {
		storetest.Equal(t, (Counts{Samples1h: samples, P50: 50, P95: 95}).Latency(), want, "latency of samples", samples)
	}
}
