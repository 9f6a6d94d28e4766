package report

import (
	"strings"
	"time"

	"ypcrawl/yp"
)

// Text says when a target is crawled next, why, and what would change that.
func (n Next) Text(now time.Time) string {
	text := ""
	switch n.When {
	case NextHeld:
		return "now claimed by " + string(n.Held)
	case NextNow:
		return "claimable now: " + n.Why
	case NextLater:
		text = "claimable at " + yp.Moment(now, n.At) + ": " + n.Why
	default:
		text = "never by itself: " + n.Why
	}
	if n.Remedy != "" {
		text += ". `ypcrawl " + n.Remedy + "` changes that"
	}
	return text
}

// Cause is an error's text without the address at its head: in a table of codes the cause
// counts, and it would be cut off.
func Cause(text string) string {
	if address, ok := strings.CutPrefix(text, "fetch http"); ok {
		if _, cause, ok := strings.Cut(address, ": "); ok {
			return strings.TrimPrefix(cause, string(yp.ClassUnknown)+": ") // what robots.txt forbids, say
		}
	}
	return text
}
