package health

import (
	"time"

	"ypcrawl/yp"
)

// Status says how a source answers (health rules, section 4).
type Status string

// The values of a profile's status.
const (
	Healthy     Status = "healthy"
	Degraded    Status = "degraded"    // asked as ever, and watched
	Failing     Status = "failing"     // asked as ever; for 30 minutes, if the cause is grave
	Quarantined Status = "quarantined" // nothing of the source is claimed
)

// Statuses lists every status, the best first.
func Statuses() []Status { return []Status{Healthy, Degraded, Failing, Quarantined} }

// Numbers of the health rules, section 4. Percentages are of the hour's samples
// unless they say otherwise.
const (
	healthyPercent = 98
	failingPercent = 90 // below it
	healthyLatency = 1500 * time.Millisecond
	slowLatency    = 4000 * time.Millisecond

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
	OtherStatus            int                   // most frequent HTTP status of those that are "unknown", 0 = none
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

// failures is the class to name where failures keep the source from being healthy, and
// none stands out.
func (c Counts) failures() yp.ErrorClass {
	if c.rateAtLeast(healthyPercent) {
		return ""
	}
	return c.mostFrequent()
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
// document's order. (Its last line, "else failing", is never reached: a rate under
// 0.90 has gone before.)
func (c Counts) Base() Status {
	latency := c.Latency()
	switch {
	case c.Samples1h == 0:
		return Degraded
	case c.rateAtLeast(healthyPercent) && latency <= healthyLatency:
		return Healthy
	case !c.rateAtLeast(failingPercent):
		return Failing
	case failsBy(c.Dominant()):
		return Failing
	case c.rateAtLeast(failingPercent) || latency <= slowLatency:
		return Degraded
	}
	return Failing
}

// rateAtLeast compares the success rate of the hour in whole numbers, so that a
// rate of exactly 0.98 is one.
func (c Counts) rateAtLeast(percent int) bool { return c.OK1h*100 >= c.Samples1h*percent }

// failsBy reports whether a source is failing as soon as class is dominant.
func failsBy(class yp.ErrorClass) bool {
	return grave(class) || class == yp.ClassTLS || class == yp.ClassDNS
}

// grave reports whether a failing source is quarantined for class: asking on
// would only make it worse.
func grave(class yp.ErrorClass) bool {
	return class == yp.ClassChallenge || class == yp.ClassAuthError
}
