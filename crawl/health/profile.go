package health

import (
	"cmp"
	"time"

	"ypcrawl/yp"
)

// Status says how a source answers (docs/health.md, section 4).
type Status string

// The values of a profile's status.
const (
	Healthy     Status = "healthy"
	Degraded    Status = "degraded"    // asked as ever, and watched
	Failing     Status = "failing"     // asked as ever; for 30 minutes, if the cause is grave
	Quarantined Status = "quarantined" // nothing of the source is claimed
)

// Numbers of docs/health.md, section 4. Percentages are of the hour's samples
// unless they say otherwise.
const (
	healthyPercent = 98
	failingPercent = 90 // below it
	healthyLatency = 1500 * time.Millisecond

	dominantSamples = 5
	dominantPercent = 20
	burstLimited    = 10 // in 10 minutes
	burstSamples    = 20 // of the 10 minutes, for the percentage to mean something
	burstPercent    = 30

	fewSamples  = 5  // no latency counts
	someSamples = 20 // the median counts; from here on the 95th percentile
)

// Counts is what the requests of a source say, rolled up. Samples are its
// requests but robots.txt and our own deferrals; OK are those that succeeded and
// whose page was parsed.
type Counts struct {
	Samples1h, OK1h        int
	Samples24h, OK24h      int
	P50, P95               time.Duration         // latency of the hour's samples, nearest rank; 0 = no sample
	Failures               map[yp.ErrorClass]int // of the hour
	Samples10m, Limited10m int                   // Limited are the 429s
}

// Dominant is the failure class that stands out in the hour: at least 5 failures
// and 20 % of the samples. "" = none.
func (c Counts) Dominant() yp.ErrorClass {
	top := c.mostFrequent()
	if n := c.Failures[top]; n < dominantSamples || n*100 < c.Samples1h*dominantPercent {
		return ""
	}
	return top
}

// mostFrequent is the failure class that the hour has most of, ties by name. "" =
// nothing failed.
func (c Counts) mostFrequent() yp.ErrorClass {
	var top yp.ErrorClass
	for class, n := range c.Failures {
		if most := c.Failures[top]; n > most || n == most && class < top {
			top = class
		}
	}
	return top
}

// Burst reports a burst of 429s: at least 10 in 10 minutes, or 30 % of at least
// 20 samples in them.
func (c Counts) Burst() bool {
	return c.Limited10m >= burstLimited ||
		c.Samples10m >= burstSamples && c.Limited10m*100 >= c.Samples10m*burstPercent
}

// Latency is the latency that counts: of fewer than 5 samples none, of fewer than
// 20 the median, else the 95th percentile.
func (c Counts) Latency() time.Duration {
	switch {
	case c.Samples1h < fewSamples:
		return 0
	case c.Samples1h < someSamples:
		return c.P50
	default:
		return c.P95
	}
}

// Base is the status that the counts alone give: the first that fits, in the
// document's order. (What it says of slow sources is never reached: a rate under 0.90 has
// gone before.)
func (c Counts) Base() Status {
	top := c.Dominant()
	switch {
	case c.Samples1h == 0:
		return Degraded
	case c.rateAtLeast(healthyPercent) && c.Latency() <= healthyLatency:
		return Healthy
	case !c.rateAtLeast(failingPercent), grave(top), top == yp.ClassTLS, top == yp.ClassDNS:
		return Failing
	}
	return Degraded
}

// rateAtLeast compares the success rate of the hour in whole numbers, so that a
// rate of exactly 0.98 is one.
func (c Counts) rateAtLeast(percent int) bool { return c.OK1h*100 >= c.Samples1h*percent }

// grave reports whether a failing source is quarantined for class: asking on
// would only make it worse.
func grave(class yp.ErrorClass) bool {
	return class == yp.ClassChallenge || class == yp.ClassAuthError
}

// Numbers of the quarantine (docs/health.md, section 4).
const (
	// QuarantineAfter is how long a source must have been failing for a grave
	// cause before it is quarantined.
	QuarantineAfter = 30 * time.Minute
	// Cooldown is how long a quarantine lasts before its probe; each probe that
	// fails doubles it, up to MaxCooldown.
	Cooldown    = 30 * time.Minute
	MaxCooldown = 6 * time.Hour
	// ProbeTime is how long a probe may take before another may begin.
	ProbeTime = 5 * time.Minute
)

// Profile is how a source fares: what a row of connectivity_profiles holds beside the counts.
// The zero value is a source that was never rolled up. Times that do not apply are zero.
type Profile struct {
	SourceID int64
	Status   Status
	Class    yp.ErrorClass // why; "" exactly when healthy

	FailingSince    time.Time     // failing or quarantined without a break
	QuarantineUntil time.Time     // then one probe
	Cooldown        time.Duration // of the present or the next quarantine
	ProbeUntil      time.Time     // a probe is under way, at most until then
	UpdatedAt       time.Time
}

// Rolled returns the profile after a roll-up of c at now. Doing it twice at one
// time is as good as once, but for a source that has just left quarantine. Its class is ""
// exactly when it is healthy, else the dominant one, else http_429 on a burst, else the
// previous one or, where there was none, the most frequent of the failures that keep it from
// being healthy, else unknown.
func (p Profile) Rolled(c Counts, now time.Time) Profile {
	p = p.sane(now)
	p.UpdatedAt = now
	base, dominant, burst, previous := c.Base(), c.Dominant(), yp.ErrorClass(""), p.Class
	if c.Burst() {
		burst = yp.ClassHTTP429
	}
	if p.Status != Quarantined && (previous == "" || previous == yp.ClassUnknown) && !c.rateAtLeast(healthyPercent) {
		previous = c.mostFrequent()
	}
	switch {
	case p.Status == Quarantined:
		// It leaves by a roll-up only healthy and when its cooldown is over, with its old class.
		if base == Healthy && !now.Before(p.QuarantineUntil) {
			return p.released()
		}
	case base == Failing:
		p.Status, p.FailingSince = Failing, cmp.Or(p.FailingSince, now)
		if (grave(dominant) || burst != "") && now.Sub(p.FailingSince) >= QuarantineAfter {
			p.Status, p.QuarantineUntil = Quarantined, now.Add(p.Cooldown)
		}
	default:
		p.Status, p.FailingSince = base, time.Time{}
	}
	p.Class = cmp.Or(dominant, burst, previous, yp.ClassUnknown)
	if p.Status == Healthy {
		p.Class = ""
	}
	return p
}

// Probed returns the profile after the probe of a quarantine: success takes it to
// degraded, failure (with the class of the probe's request, "" = as before)
// quarantines it again for twice as long. A source let out must fail for another
// 30 minutes to come back.
func (p Profile) Probed(ok bool, class yp.ErrorClass, now time.Time) Profile {
	p = p.sane(now)
	p.UpdatedAt = now
	if ok {
		return p.released()
	}
	p.Status, p.ProbeUntil = Quarantined, time.Time{}
	p.Class = cmp.Or(class, p.Class, yp.ClassUnknown)
	p.Cooldown = min(2*p.Cooldown, MaxCooldown)
	p.QuarantineUntil = now.Add(p.Cooldown)
	return p
}

// released ends a quarantine.
func (p Profile) released() Profile {
	p.Status, p.Cooldown = Degraded, Cooldown
	p.Class = cmp.Or(p.Class, yp.ClassUnknown)
	p.FailingSince, p.QuarantineUntil, p.ProbeUntil = time.Time{}, time.Time{}, time.Time{}
	return p
}

// probeDue reports whether a probe may begin.
func (p Profile) probeDue(now time.Time) bool {
	return p.Status == Quarantined && !now.Before(p.QuarantineUntil) && !now.Before(p.ProbeUntil)
}

// sane cuts what only a clock that was set back can have left: a quarantine or a
// probe that ends later than it may last, a failure that begins in the future.
func (p Profile) sane(now time.Time) Profile {
	p.Cooldown = min(max(p.Cooldown, Cooldown), MaxCooldown)
	p.QuarantineUntil = notAfter(p.QuarantineUntil, now.Add(p.Cooldown))
	p.ProbeUntil = notAfter(p.ProbeUntil, now.Add(ProbeTime))
	p.FailingSince = notAfter(p.FailingSince, now)
	return p
}

// notAfter is the earlier of the two times. A zero t stays zero.
func notAfter(t, limit time.Time) time.Time {
	if t.After(limit) {
		return limit
	}
	return t
}
