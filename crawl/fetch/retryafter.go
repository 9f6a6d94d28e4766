package fetch

import (
	"net/http"
	"strings"
	"time"
)

// Bounds of a Retry-After that we honour, and what a 429 without one costs
// (health rules, section 2).
const (
	minRetryAfter     = time.Second
	maxRetryAfter     = time.Hour
	defaultRetryAfter = 30 * time.Second
)

// retryAfter reads the Retry-After of an answer: seconds or an HTTP date,
// clamped to [1 s, 1 h]. ok is false when there is none or it makes no sense.
// A date is measured against the server's own Date when it sends one, so that
// a wrong clock here does no harm.
func retryAfter(h http.Header, now time.Time) (d time.Duration, ok bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0, false
	}
	if secs, ok := digits(v); ok {
		return clampRetry(time.Duration(secs) * time.Second), true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	return clampRetry(at.Sub(now)), true
}

func clampRetry(d time.Duration) time.Duration {
	return min(max(d, minRetryAfter), maxRetryAfter)
}

// digits reads an unsigned decimal of any length, saturating far above any
// bound that matters. Signs and fractions are no delta-seconds (RFC 9110).
func digits(s string) (n int64, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = min(n*10+int64(s[i]-'0'), 1<<31)
	}
	return n, s != ""
}
