package cli

import (
	"fmt"
	"strconv"
	"time"

	"ypcrawl/yp"
)

func thousands(n int64) string { return yp.Thousands(n) }

func plural[N int | int64](n N, noun string) string { return yp.Plural(n, noun) }

// lasting writes a length of time in its two largest units: "3m12s", "2h05m",
// "3d4h"; below a minute in seconds, below zero as "0s".
func lasting(d time.Duration) string {
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

// ago writes how long before now t was: "3m12s ago", "never" for the zero
// time, "now" for the future too (clocks differ).
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	if d < time.Second {
		return "now"
	}
	return lasting(d) + " ago"
}

// moment writes a time to come, and how far off it is: "14:05:33Z (in 22m10s)",
// with its date when that is another one. A time that has passed is "now".
func moment(now, t time.Time) string {
	d := t.Sub(now)
	if d <= 0 {
		return "now"
	}
	return fmt.Sprintf("%s (in %s)", yp.ClockTime(now, t), lasting(d))
}

// millis writes a number of milliseconds: "420 ms", "1.2 s", "3m12s"; nil is "-".
func millis(ms *int64) string {
	switch {
	case ms == nil:
		return "-"
	case *ms < 1000:
		return fmt.Sprintf("%d ms", *ms)
	case *ms < 60_000:
		return fmt.Sprintf("%.1f s", float64(*ms)/1000)
	}
	return lasting(time.Duration(*ms) * time.Millisecond)
}

// percentOf is a share as a cell, of which whole is 100 %; nil is "-".
func percentOf(share *float64, scale float64) any {
	if share == nil {
		return nil
	}
	return percent(scale * *share)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// codeText is an error code as people are told it, see yp.ErrorCode.Text.
func codeText(code string, byProxy bool) string { return yp.ErrorCode(code).Text(byProxy) }

// idText is an id as a cell: a name, with no separators, so that it can be typed.
func idText(id int64) string { return strconv.FormatInt(id, 10) }

// widthLeft is how wide the widest text of a table may be, beside so many columns of the
// terminal that the others take.
func (p *Program) widthLeft(others int) int {
	if isTerminal(p.Out) {
		return max(20, widthOf(p.Out)-others)
	}
	return 120
}
