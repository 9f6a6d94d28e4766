package yp

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestPolicies holds the table to docs/health.md, section 2, written out by hand:
// the error code, the retries, the wait before each, whether a retry needs another
// proxy, what the source feels, and how the attempt ends.
func TestPolicies(t *testing.T) {
	want := map[Cause]string{
		CauseRateLimited:   "RATE_LIMITED, up to 5 retries, told, slow, then fail: http_429",
		CauseBlocked:       "BLOCKED_PROXY, up to 3 retries, rotate, penalty, then fail: http_403 cf_challenge",
		CauseProxy:         "NETWORK_ERROR, up to 3 retries, rotate, then release:",
		CauseUnrecognised:  "BLOCKED_PROXY, up to 1 retries, exponential, penalty, then fail:",
		CauseAuth:          "AUTH_FAILED, up to 0 retries, pause, then fail: auth_error",
		CauseTimeout:       "TIMEOUT, up to 3 retries, exponential, then fail: timeout",
		CauseNetwork:       "NETWORK_ERROR, up to 3 retries, exponential, then fail: dns tls connection_refused http_5xx",
		CauseLayout:        "HTML_CHANGED, up to 0 retries, alarm, then fail:",
		CauseBroken:        "PARSE_ERROR, up to 1 retries, exponential, then fail: parse_error",
		CauseEmpty:         "NO_LISTINGS, up to 0 retries, then last_page:",
		CauseMissing:       "NO_LISTINGS, up to 0 retries, then park:",
		CauseDisallowed:    "UNKNOWN_ERROR, up to 0 retries, then park:",
		CauseOther:         "UNKNOWN_ERROR, up to 1 retries, exponential, then fail: unknown",
		CauseInternalError: "UNKNOWN_ERROR, up to 0 retries, then fail:",
	}
	seen := map[Cause]bool{}
	for _, p := range Policies() {
		if seen[p.Cause] {
			t.Errorf("%s stands in the table twice", p.Cause)
		}
		seen[p.Cause] = true
		if got := sentence(p); got != want[p.Cause] {
			t.Errorf("%s:\n%s\nwant\n%s", p.Cause, got, want[p.Cause])
		}
		if got := sentence(p.Cause.Policy()); got != want[p.Cause] {
			t.Errorf("%s finds the row\n%s", p.Cause, got)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%d rows, want %d", len(seen), len(want))
	}
	if DefaultRetryAfter != 30*time.Second {
		t.Errorf("a 429 without Retry-After costs %s, want 30 s", DefaultRetryAfter)
	}
}

func sentence(p Policy) string {
	s := fmt.Sprintf("%s, up to %d retries, ", p.Code, p.Retries)
	if p.Wait != WaitNone {
		s += string(p.Wait) + ", "
	}
	if p.Is(Rotates) {
		s += "rotate, "
	}
	if p.Effect != EffectNone {
		s += string(p.Effect) + ", "
	}
	s += "then " + string(p.Final) + ":"
	for _, c := range p.Classes {
		s += " " + string(c)
	}
	return s
}

func TestPolicyOfUnknownCause(t *testing.T) {
	for _, c := range []Cause{CauseNone, "nonsense"} {
		if p := c.Policy(); p.Cause != CauseOther {
			t.Errorf("%q has the policy of %s, want other", c, p.Cause)
		}
	}
}

// TestPoliciesIsACopy: no caller can change the rules for the others.
func TestPoliciesIsACopy(t *testing.T) {
	Policies()[0].Retries = 99
	if got := CauseRateLimited.Policy().Retries; got != 5 {
		t.Errorf("the table was changed through a copy: %d retries", got)
	}
}

// TestClasses: every class of a request is one cause, but for our own deferral.
func TestClasses(t *testing.T) {
	rows := map[ErrorClass][]Cause{}
	for _, p := range Policies() {
		for _, c := range p.Classes {
			rows[c] = append(rows[c], p.Cause)
		}
	}
	for _, c := range ErrorClasses() {
		switch {
		case c == ClassRateLimited:
			if len(rows[c]) != 0 || c.Cause() != CauseRateLimited {
				t.Errorf("our own deferral stands in rows %v and means %s", rows[c], c.Cause())
			}
		case len(rows[c]) != 1 || rows[c][0] != c.Cause():
			t.Errorf("%s stands in rows %v and means %s, want one row", c, rows[c], c.Cause())
		}
		delete(rows, c)
	}
	if len(rows) > 0 {
		t.Errorf("rows name classes that there are not: %v", rows)
	}
	for _, c := range []ErrorClass{"", "nonsense"} {
		if got := c.Cause(); got != CauseOther {
			t.Errorf("class %q means %s, want other", c, got)
		}
	}
}

// TestPolicyCodes: every way to fail has its code, and no failure is a success.
func TestPolicyCodes(t *testing.T) {
	var codes []ErrorCode
	for _, p := range Policies() {
		codes = append(codes, p.Code)
		if !slices.Contains(ErrorCodes(), p.Code) {
			t.Errorf("%s: ErrorCodes does not list %s", p.Cause, p.Code)
		}
		if p.Retries > 0 != (p.Wait != WaitNone || p.Is(Rotates)) {
			t.Errorf("%s: %d retries, wait %q, rotate %t: what comes before a retry?", p.Cause, p.Retries, p.Wait, p.Is(Rotates))
		}
		if _, ok := InProgress.Next(p.Final); !ok {
			t.Errorf("%s ends by %s, which no target in progress can", p.Cause, p.Final)
		}
	}
	for _, c := range ErrorCodes() {
		if slices.Contains(codes, c) != (c != CodeSuccess) {
			t.Errorf("%s: in the table %t", c, slices.Contains(codes, c))
		}
	}
}

func TestRetryDelay(t *testing.T) {
	const base = 2 * time.Second
	almost := 1 - 1e-12
	for _, c := range []struct {
		n      int
		lowest time.Duration // half of the step; the highest is one and a half
	}{
		{-1, base / 2},
		{0, base / 2},
		{1, base / 2},
		{2, base},
		{3, 2 * base},
		{4, 4 * base},
		{17, base << 15},
		{18, base << 15}, // doubled no further
		{1 << 30, base << 15},
	} {
		if got := RetryDelay(base, c.n, 0); got != c.lowest {
			t.Errorf("retry %d waits at least %s, want %s", c.n, got, c.lowest)
		}
		if got := RetryDelay(base, c.n, 0.5); got != 2*c.lowest {
			t.Errorf("retry %d waits %s in the middle, want %s", c.n, got, 2*c.lowest)
		}
		if got := RetryDelay(base, c.n, almost); got > 3*c.lowest || got < 3*c.lowest-time.Second/100 {
			t.Errorf("retry %d waits at most %s, want %s", c.n, got, 3*c.lowest)
		}
	}
	if got := RetryDelay(0, 3, 0.9); got != 0 {
		t.Errorf("no base: %s", got)
	}
}
