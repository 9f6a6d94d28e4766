package yp

import (
	"fmt"
	"strings"
	"time"
)

// Lasting writes a length of time in its two largest units: "3m12s", "2h05m",
// "3d4h"; below a minute in seconds, below zero as "0s".
func Lasting(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%dh", s/86400, s/3600%24)
}

// ShortTime writes a duration as a user would: "90d", "36h", "1h30m", "90ms", "0".
func ShortTime(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return "0"
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Ago writes how long before now t was: "3m12s ago", "never" for the zero
// time, "now" for the future too (clocks differ).
func Ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	if d < time.Second {
		return "now"
	}
	return Lasting(d) + " ago"
}

// Moment writes a time to come, and how far off it is: "14:05:33 UTC (in 22m10s)",
// with its date when that is another one. A time that has passed is "now".
func Moment(now, t time.Time) string {
	d := t.Sub(now)
	if d <= 0 {
		return "now"
	}
	return fmt.Sprintf("%s (in %s)", ClockTime(now, t), Lasting(d))
}

// Millis writes a number of Milliseconds: "420 ms", "1.2 s", "3m12s".
func Millis(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	}
	return Lasting(time.Duration(ms) * time.Millisecond)
}
