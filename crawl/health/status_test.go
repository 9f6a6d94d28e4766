package health

import (
	"testing"
	"time"

	"ypcrawl/yp"
)

type classes = map[yp.ErrorClass]int

// counts are the hour's samples with failures spread over classes.
func counts(samples, failed int, fail classes) Counts {
	return Counts{Samples1h: samples, OK1h: samples - failed, Failures: fail}
}

func TestBase(t *testing.T) {
	t.Parallel()
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
		// A class that is dominant takes 20 %, and the rate with it under 0.90; only what was
		// parsed after all can leave it above.
		{"dominant tls", Counts{Samples1h: 25, OK1h: 24, Failures: classes{yp.ClassTLS: 5}}, Failing},
		{"dominant dns", Counts{Samples1h: 25, OK1h: 24, Failures: classes{yp.ClassDNS: 5}}, Failing},
		{"dominant auth_error", Counts{Samples1h: 25, OK1h: 24, Failures: classes{yp.ClassAuthError: 5}}, Failing},
		{"dominant cf_challenge", Counts{Samples1h: 25, OK1h: 24, Failures: classes{yp.ClassChallenge: 5}}, Failing},
		{"dominant timeout", Counts{Samples1h: 25, OK1h: 24, Failures: classes{yp.ClassTimeout: 5}}, Degraded},
		{"healthy comes before the dominant class", Counts{Samples1h: 25, OK1h: 25, Failures: classes{yp.ClassTLS: 5}}, Healthy},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.c.Base(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestDominant(t *testing.T) {
	t.Parallel()
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
			t.Parallel()
			for range 20 { // whatever the order of the map
				if got := (Counts{Samples1h: c.samples, Failures: c.fail}).Dominant(); got != c.want {
					t.Fatalf("%q, want %q", got, c.want)
				}
			}
		})
	}
}

func TestBurst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		samples, limited int
		want             bool
	}{
		{0, 0, false},
		{9, 9, false},
		{10, 10, true},
		{1000, 9, false},
		{1000, 10, true},
		{19, 9, false},
		{20, 5, false},
		{20, 6, true},
		{30, 8, false},
		{30, 9, true},
		{31, 9, false},
	} {
		if got := (Counts{Samples10m: c.samples, Limited10m: c.limited}).Burst(); got != c.want {
			t.Errorf("%d of %d: %v, want %v", c.limited, c.samples, got, c.want)
		}
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	for samples, want := range map[int]time.Duration{0: 0, 4: 0, 5: 50, 19: 50, 20: 95, 1000: 95} {
		if got := (Counts{Samples1h: samples, P50: 50, P95: 95}).Latency(); got != want {
			t.Errorf("of %d samples %d counts, want %d", samples, got, want)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	upTo := func(n int) (bars []bar) {
		for i := range n {
			bars = append(bars, bar{latency: time.Duration(i + 1), samples: 1})
		}
		return bars
	}
	for _, c := range []struct{ samples, percent, want int }{
		{0, 50, 0}, {1, 50, 1}, {1, 95, 1}, {2, 50, 1}, {3, 50, 2}, {4, 50, 2}, {19, 95, 19}, {20, 95, 19}, {21, 95, 20}, {100, 95, 95}, {100, 50, 50}, {101, 95, 96},
	} {
		if got := percentile(upTo(c.samples), c.samples, c.percent); got != time.Duration(c.want) {
			t.Errorf("p%d of 1…%d is %d, want %d", c.percent, c.samples, got, c.want)
		}
	}
	if got := percentile([]bar{{latency: 7, samples: 94}, {latency: 9, samples: 6}}, 100, 95); got != 9 {
		t.Errorf("p95 behind a bar of 94 is %d, want 9", got)
	}
	if got := percentile([]bar{{latency: 7, samples: 95}, {latency: 9, samples: 5}}, 100, 95); got != 7 {
		t.Errorf("p95 at the end of a bar of 95 is %d, want 7", got)
	}
}
