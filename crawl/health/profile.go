package health

import (
	"cmp"
	"fmt"
	"time"

	"ypcrawl/yp"
)

// Numbers of the quarantine (health rules, section 4).
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

// Profile is how a source fares: a row of connectivity_profiles. The zero value
// is a source that was never rolled up. Times that do not apply are zero.
type Profile struct {
	SourceID int64
	Source   string // its name
	Status   Status
	Class    yp.ErrorClass // why; "" exactly when healthy

	Samples1h, Samples24h int
	Rate1h, Rate24h       float64       // success rate, 0 to 1; 0 without samples
	P50, P95              time.Duration // of the hour
	Dominant              yp.ErrorClass // of the hour, "" = none stands out
	Burst                 bool          // of 429s
	OtherStatus           int           // of the hour's failures of class "unknown", the most frequent; not stored

	FailingSince    time.Time     // failing or quarantined without a break
	QuarantineUntil time.Time     // then one probe
	Cooldown        time.Duration // of the present or the next quarantine
	ProbeUntil      time.Time     // a probe is under way, at most until then
	UpdatedAt       time.Time
}

// Rolled returns the profile after a roll-up of c at now. Doing it twice at one
// time is as good as once, but for a source that has just left quarantine.
func (p Profile) Rolled(c Counts, now time.Time) Profile {
	p = p.sane(now)
	p.Samples1h, p.Rate1h = c.Samples1h, rate(c.OK1h, c.Samples1h)
	p.Samples24h, p.Rate24h = c.Samples24h, rate(c.OK24h, c.Samples24h)
	p.P50, p.P95 = c.P50, c.P95
	p.Dominant, p.Burst, p.OtherStatus = c.Dominant(), c.Burst(), c.OtherStatus
	p.UpdatedAt = now
	if p.Status == Quarantined {
		return p.rolledInQuarantine(c.Base(), now)
	}
	p.Status = c.Base()
	if p.Class == yp.ClassUnknown || p.Class == "" {
		p.Class = c.failures()
	}
	if p.Status != Failing {
		p.FailingSince = time.Time{}
		return p.withClass()
	}
	if p.FailingSince.IsZero() {
		p.FailingSince = now
	}
	if (grave(p.Dominant) || p.Burst) && now.Sub(p.FailingSince) >= QuarantineAfter {
		p.Status, p.QuarantineUntil = Quarantined, now.Add(p.Cooldown)
	}
	return p.withClass()
}

// rolledInQuarantine: only a healthy source whose cooldown is over leaves by a
// roll-up, and then to degraded, with the class that it came in with.
func (p Profile) rolledInQuarantine(base Status, now time.Time) Profile {
	if base == Healthy && !now.Before(p.QuarantineUntil) {
		return p.released()
	}
	return p.withClass()
}

// withClass sets the error class: "" exactly when healthy, else the dominant
// class, else http_429 on a burst, else the previous one or, where there was none,
// the most frequent of the failures that keep it from being healthy, else unknown.
func (p Profile) withClass() Profile {
	if p.Status == Healthy {
		p.Class = ""
		return p
	}
	burst := yp.ErrorClass("")
	if p.Burst {
		burst = yp.ClassHTTP429
	}
	p.Class = cmp.Or(p.Dominant, burst, p.Class, yp.ClassUnknown)
	return p
}

// Cause says for people why the source is not healthy: its error class, or what there is
// to say where that is "unknown". "" = it is healthy, or was never rolled up.
func (p Profile) Cause() string {
	latency, name := p.P95, "p95"
	if p.Samples1h < someSamples {
		latency, name = p.P50, "p50"
	}
	switch {
	case p.Class != yp.ClassUnknown:
		return string(p.Class)
	case p.Samples1h == 0:
		return "no page was reached in the last hour"
	case p.Rate1h*100 < healthyPercent && p.OtherStatus > 0:
		return fmt.Sprintf("HTTP status %d", p.OtherStatus)
	case p.Rate1h*100 < healthyPercent:
		return "failures of no known class"
	case latency > healthyLatency:
		return fmt.Sprintf("slow: %s %.1f s", name, latency.Seconds())
	}
	return string(p.Class)
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
	if p.FailingSince.IsZero() {
		p.FailingSince = now
	}
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

func rate(ok, samples int) float64 {
	if samples == 0 {
		return 0
	}
	return float64(ok) / float64(samples)
}
