package yp

import "time"

// Health says how a target fares (health rules, section 3).
type Health string

// The values of a target's crawl_status.
const (
	Active   Health = "active"
	Degraded Health = "degraded" // three failures in a row or more
	Paused   Health = "paused"   // by an operator
	Dead     Health = "failed"   // PARKED
)

// Healths lists every value of crawl_status.
func Healths() []Health { return []Health{Active, Degraded, Paused, Dead} }

// Numbers of the health rules, section 3.
const (
	MaxBackoffLevel = 5
	MinCrawlGap     = 2 * time.Minute     // between the starts of two crawls of a target
	RecrawlAfter    = 10080 * time.Minute // unless the target has a frequency of its own

	degradedFrom = 3 // failures in a row
	firstBackoff = 2 * time.Hour
	shortBackoff = 2 * time.Minute
)

// Setback is what a failure makes of a target.
type Setback struct {
	Event Event         // EventBackOff, EventFail or EventPark
	Level int           // backoff level, 0–5
	Wait  time.Duration // until it may be claimed again; 0 when it is parked
}

// Fail returns what becomes of a target at backoff level when it fails for the
// n-th time in a row (from 1):
//
//	failure 1, 2        PLANNED, due again after 2 and 4 minutes, up to a quarter more
//	from the third on   FAILED, degraded, one level up: 2, 4, 8, 16, 32 hours
//	at level 5          PARKED, the dead letter
//
// unit is a random number in [0, 1) for the jitter.
func Fail(n, level int, unit float64) Setback {
	switch {
	case level >= MaxBackoffLevel:
		return Setback{EventPark, MaxBackoffLevel, 0}
	case n < degradedFrom && level <= 0:
		d := shortBackoff << (max(n, 1) - 1)
		return Setback{EventBackOff, 0, d + time.Duration(unit*float64(d)/4)}
	}
	level = max(level, 0) + 1
	return Setback{EventFail, level, Backoff(level)}
}

// Backoff is how long a target rests at a backoff level from 1 to 5: 2 h,
// doubled with each.
func Backoff(level int) time.Duration {
	return firstBackoff << (min(max(level, 1), MaxBackoffLevel) - 1)
}

// BeyondBackoff is longer than every backoff: one that ends later is the mark of a clock
// that was set back since, and over.
const BeyondBackoff = 33 * time.Hour
