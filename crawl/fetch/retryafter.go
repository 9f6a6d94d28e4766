package fetch

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/yp"
)

// longestRetryAfter is in bytes: no form that is read needs more, a list of several included.
const longestRetryAfter = 300

// retryAfter reads the Retry-After of an answer, clamped to [1 s, 1 h]: seconds or an
// HTTP date (RFC 9110, 10.2.3), and what servers write in their place. ok is false when
// there is none or it makes no sense. Of several, the longest wait counts. A time is
// measured against the server's own Date when it sends one, so that a wrong clock here does
// no harm.
func retryAfter(h http.Header, now time.Time) (d time.Duration, ok bool) {
	if d, ok = toldWait(h, sentAt(h, now)); !ok {
		return 0, false
	}
	return clampWait(d), true
}

// RetryAfter is how long the header of an answer asks to wait, and ok false where it doesn't: of an answer whose body says
// that the site is asked too often, whatever its status.
func RetryAfter(h http.Header, now time.Time) (d time.Duration, ok bool) { return retryAfter(h, now) }

// sentAt is the Date of an answer, else now.
func sentAt(h http.Header, now time.Time) time.Time {
	if sent, ok := parseMoment(h.Get("Date")); ok {
		return sent
	}
	return now
}

// toldWait is the wait of Retry-After as it is told; of a time that is over, not above zero.
func toldWait(h http.Header, now time.Time) (d time.Duration, ok bool) {
	for _, line := range h.Values("Retry-After") {
		if wait, readable := parseWait(line, now); readable {
			d, ok = max(d, wait), true
		}
	}
	return d, ok
}

// parseWait reads one line: a wait, a time, or a list of them (a proxy has joined two lines)
// that can be read to its end. The wait is below zero for a time that is over.
func parseWait(line string, now time.Time) (d time.Duration, ok bool) {
	if line = strings.TrimSpace(line); len(line) > longestRetryAfter && !isDigits(line) {
		return 0, false
	}
	if d, ok = parseOneWait(line, now); ok {
		return d, true
	}
	first := true
	for part := range strings.SplitSeq(line, ",") {
		if isWeekday(strings.ToUpper(strings.TrimSpace(part))) {
			continue // of the date behind it
		}
		wait, ok := parseOneWait(part, now)
		if !ok {
			return 0, false
		}
		if first || wait > d {
			d, first = wait, false
		}
	}
	return d, !first
}

func parseOneWait(s string, now time.Time) (time.Duration, bool) {
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	if d, ok := parseSpan(s, now); ok {
		return d, true
	}
	at, ok := parseMoment(s)
	return at.Sub(now), ok
}

// span is a number, perhaps with a fraction and a unit: 120, +120, 120.5, 120s, 2 minutes.
var span = regexp.MustCompile(`^\+?(\d+(?:\.\d*)?) ?([a-z]*)$`)

// spanUnits are in seconds.
var spanUnits = map[string]float64{
	"": 1, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
	"ms": 0.001, "msec": 0.001, "millis": 0.001, "millisecond": 0.001, "milliseconds": 0.001,
	"m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
	"h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400,
}

// parseSpan reads how long: a number of any size, or units joined as in 1h30m and PT1H30M.
func parseSpan(s string, now time.Time) (time.Duration, bool) {
	s = strings.ToLower(s)
	m := span.FindStringSubmatch(s)
	if m == nil {
		d, err := time.ParseDuration(strings.TrimPrefix(s, "pt"))
		return d, err == nil && s[0] != '-' && d >= 0
	}
	unit, ok := spanUnits[m[2]]
	n, _ := strconv.ParseFloat(m[1], 64) // one that is too large is infinite
	if m[2] == "" {
		if at, ok := epoch(n, now); ok {
			return at.Sub(now), true
		}
	}
	return time.Duration(min(n*unit, 2*yp.MaxRetryAfter.Seconds()) * float64(time.Second)), ok
}

// epoch reads a number as seconds or milliseconds since 1970 where that is within a year
// of now: as a wait it would be decades.
func epoch(n float64, now time.Time) (time.Time, bool) {
	const year = 366 * 24 * time.Hour
	for _, perSecond := range []float64{1, 1000} {
		if secs := n / perSecond; secs > 1e8 && secs < 1e11 {
			at := time.UnixMilli(int64(secs * 1000))
			if d := at.Sub(now).Abs(); d <= year {
				return at, true
			}
		}
	}
	return time.Time{}, false
}

// momentLayouts are the forms of parseMoment, without weekday and zone. Seconds may have a fraction.
var momentLayouts = []string{
	"2 Jan 2006 15:04:05", "2-Jan-2006 15:04:05", "2 Jan 06 15:04:05", "2-Jan-06 15:04:05", // RFC 1123, 850
	"Jan 2 15:04:05 2006", "Jan 2 15:04:05 UTC 2006", "Jan 2 15:04:05 GMT 2006", // asctime, date(1)
	"Jan 2 2006 15:04:05", "Jan 2, 2006 15:04:05", // JavaScript
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "20060102T150405", // ISO 8601
}

// offset is a numeric zone behind a time of day, perhaps after or before its name.
var offset = regexp.MustCompile(`^(.*\d) ?(?:GMT|UTC|UT|Z)? ?([+-])(\d\d):?([0-5]\d)?(?: (?:GMT|UTC|UT))?$`)

// parseMoment reads a time in the forms of RFC 9110, 5.6.7, and those that are sent in their
// place: another name of GMT, a numeric zone, no weekday, ISO 8601. One without a zone is in
// GMT, as all times of HTTP are; in a zone of another name it can't be read.
func parseMoment(s string) (time.Time, bool) {
	if len(s) > longestRetryAfter {
		return time.Time{}, false
	}
	s, _, _ = strings.Cut(strings.ToUpper(strings.Join(strings.Fields(s), " ")), " (") // JavaScript tells the zone's name so
	s = withoutWeekday(s)
	s, ahead, ok := cutZone(s)
	if !ok {
		return time.Time{}, false
	}
	for _, layout := range momentLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Add(-ahead), true
		}
	}
	return time.Time{}, false
}

// cutZone takes the zone from the end, and tells how far it is ahead of GMT; 14 hours are
// the most that there are.
func cutZone(s string) (rest string, ahead time.Duration, ok bool) {
	m := offset.FindStringSubmatch(s)
	if m == nil {
		for _, name := range []string{"GMT", "UTC", "UT", "Z"} {
			if before, found := strings.CutSuffix(s, name); found {
				return strings.TrimSpace(before), 0, true
			}
		}
		return s, 0, true
	}
	hours, _ := strconv.Atoi(m[3])
	minutes, _ := strconv.Atoi(m[4]) // none are 0
	ahead = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if m[2] == "-" {
		ahead = -ahead
	}
	return m[1], ahead, ahead.Abs() <= 14*time.Hour
}

// withoutWeekday takes "FRI, " or "FRIDAY " from the front; a wrong one does no harm.
func withoutWeekday(s string) string {
	if word, rest, ok := strings.Cut(s, " "); ok && isWeekday(strings.TrimSuffix(word, ",")) {
		return rest
	}
	return s
}

var weekdays = []string{"SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"}

// isWeekday knows names in capitals, cut to three letters or more.
func isWeekday(s string) bool {
	return len(s) >= 3 && slices.ContainsFunc(weekdays, func(day string) bool { return strings.HasPrefix(day, s) })
}

func isDigits(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
