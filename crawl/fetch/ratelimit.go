package fetch

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ypcrawl/yp"
)

// askedWait reads how long an answer asks to be left alone, clamped to [1 s, 1 h]: by Retry-After, which counts on
// every 4xx and 5xx (RFC 9110, 10.2.3, and what servers do) but 404 and 410, which are pages; or, on a 429, by the reset of
// a limit that is used up, and instead then names that header. A Retry-After that can be read is believed
// before the others. One of 0, or of a time that is over, is the shortest wait on a 429 or 503 that says nothing
// else, and none on any other answer. 0 = the answer does not ask.
func askedWait(status int, h http.Header, now time.Time) (d time.Duration, instead string) {
	if status < 400 || carriesPage(status) {
		return 0, ""
	}
	now = sentAt(h, now)
	if d, ok := toldWait(h, now); ok && d > 0 {
		return clampWait(d), ""
	}
	if status == http.StatusTooManyRequests {
		if d, name := limitReset(h, now); d > 0 {
			return clampWait(d), "429 with " + name
		}
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		d, _ = retryAfter(h, now)
	}
	return d, ""
}

func clampWait(d time.Duration) time.Duration { return min(max(d, yp.MinRetryAfter), yp.MaxRetryAfter) }

// limitHeaders are pairs of headers that tell what is left of a limit, and when it is whole again: the usual names, and
// those of the drafts before RateLimit was one header (draft-ietf-httpapi-ratelimit-headers-02).
var limitHeaders = [...]struct{ left, reset string }{
	{"X-RateLimit-Remaining", "X-RateLimit-Reset"},
	{"X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"},
	{"RateLimit-Remaining", "RateLimit-Reset"},
}

// limitReset is the longest time until a limit that is used up is whole again, and the header that says so; 0 = none
// does.
func limitReset(h http.Header, now time.Time) (d time.Duration, name string) {
	for _, pair := range limitHeaders {
		if wait := pairReset(h.Values(pair.left), h.Values(pair.reset), now); wait > d {
			d, name = wait, pair.reset
		}
	}
	if wait := policyReset(strings.Join(h.Values("RateLimit"), ", ")); wait > d {
		d, name = wait, "RateLimit"
	}
	return d, name
}

// pairReset is the longest reset of the limits of which nothing is left. Where some are not used up the values
// belong together by their places, and say nothing when they are not as many.
func pairReset(left, reset []string, now time.Time) (longest time.Duration) {
	left, reset = splitValues(left), splitValues(reset)
	some := false // is left of a limit
	for _, n := range left {
		some = some || !isZero(n)
	}
	if len(left) == 0 || some && len(left) != len(reset) {
		return 0
	}
	for i, value := range reset {
		if !some || isZero(left[i]) {
			longest = max(longest, resetWait(value, now))
		}
	}
	return longest
}

// mostValues is how many values of one header are read.
const mostValues = 20

// splitValues cuts lines into their values: a proxy may have joined some. A date has a comma, too. Nil = there are too many.
func splitValues(lines []string) (all []string) {
	for _, line := range lines {
		if _, isDate := parseMoment(line); isDate {
			all = append(all, line)
		} else if strings.Count(line, ",") < mostValues {
			all = append(all, strings.Split(line, ",")...)
		}
	}
	if len(all) > mostValues {
		return nil
	}
	return all
}

// plainNumber is digits, perhaps with a fraction.
var plainNumber = regexp.MustCompile(`^\+?(\d+(?:\.\d*)?)$`)

func isZero(s string) bool {
	n, ok := numberIn(s)
	return ok && n == 0
}

// numberIn reads a number of any size, perhaps in quotes; one that is too large is infinite.
func numberIn(s string) (float64, bool) {
	m := plainNumber.FindStringSubmatch(strings.Trim(strings.TrimSpace(s), `"'`))
	if m == nil {
		return 0, false
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	return n, true
}

// resetWait reads the value of a reset: a number below 10⁹ is how many seconds it takes, below 10¹¹ the seconds since 1970 at
// which it comes, below 10¹⁴ the milliseconds; or a time, or a number with its unit, as in Retry-After. 0 = it is zero,
// over, or can't be read.
func resetWait(s string, now time.Time) (d time.Duration) {
	n, ok := numberIn(s)
	switch {
	case !ok:
		d, _ = parseOneWait(s, now)
	case n < 1e9:
		d = time.Duration(min(n, 2*yp.MaxRetryAfter.Seconds()) * float64(time.Second))
	case n < 1e11:
		d = time.UnixMilli(int64(n * 1000)).Sub(now)
	case n < 1e14:
		d = time.UnixMilli(int64(n)).Sub(now)
	}
	return max(d, 0)
}

// Parts of structured fields (RFC 9651, 3.3 and 3.1.2).
const (
	bareItem   = `(?:"(?:[ !#-\[\]-~]|\\["\\])*"|[A-Za-z*][A-Za-z0-9!#$%&'*+.^_\x60|~:/-]*|-?\d{1,15}(?:\.\d{1,3})?|:[A-Za-z0-9+/=]*:|\?[01]|@-?\d{1,15})`
	fieldKey   = `[a-z*][a-z0-9_.*-]*`
	fieldParam = `; *(` + fieldKey + `)(?:=(` + bareItem + `))?`
)

var (
	oneParam = regexp.MustCompile(fieldParam)
	// limitItem is a member of RateLimit: the policy's name with its parameters.
	limitItem = regexp.MustCompile(`^` + bareItem + `((?:` + fieldParam + `)*)`)
	// limitPair is a member of RateLimit as it was in draft-ietf-httpapi-ratelimit-headers-07: limit=100, remaining=0, reset=60.
	limitPair = regexp.MustCompile(`^(` + fieldKey + `)=(` + bareItem + `)(?:` + fieldParam + `)*`)
)

// longestRateLimit is in bytes.
const longestRateLimit = 4 << 10

// policyReset is the longest time until a policy of RateLimit that is used up is whole again:
// "default";r=0;t=600 (draft-ietf-httpapi-ratelimit-headers-10, 4). 0 = none is, or the field is malformed.
func policyReset(field string) (longest time.Duration) {
	if len(field) > longestRateLimit {
		return 0
	}
	for _, item := range members(field, limitItem) {
		left, reset := "", ""
		for _, p := range oneParam.FindAllStringSubmatch(item[1], -1) { // of two with one name the last one counts
			switch p[1] {
			case "r":
				left = p[2]
			case "t":
				reset = p[2]
			}
		}
		longest = max(longest, unitsReset(left, reset))
	}
	left, reset := "", ""
	for _, pair := range members(field, limitPair) {
		switch pair[1] {
		case "remaining":
			left = pair[2]
		case "reset":
			reset = pair[2]
		}
	}
	return max(longest, unitsReset(left, reset))
}

// unitsReset is the reset of a limit, both integers of a structured field; 0 unless nothing is left.
func unitsReset(left, reset string) time.Duration {
	n, err := strconv.ParseInt(left, 10, 64)
	seconds, errReset := strconv.ParseInt(reset, 10, 64)
	if err != nil || errReset != nil || n != 0 {
		return 0
	}
	return time.Duration(min(max(seconds, 0), 2*int64(yp.MaxRetryAfter.Seconds()))) * time.Second
}

// members cuts a list of a structured field (RFC 9651, 4.2.1) into its members, which are all of one form, each with the
// form's groups; nil = it is malformed.
func members(field string, form *regexp.Regexp) (all [][]string) {
	for rest := strings.Trim(field, " "); ; {
		m := form.FindStringSubmatch(rest)
		if m == nil {
			return nil
		}
		all = append(all, m)
		rest = strings.TrimLeft(rest[len(m[0]):], " \t")
		if rest == "" {
			return all
		}
		if rest[0] != ',' {
			return nil
		}
		rest = strings.TrimLeft(rest[1:], " \t")
	}
}
