package yp

import (
	"fmt"
	"slices"
	"strings"
)

// NoticeEvent names what somebody who does not look is notified of.
type NoticeEvent string

// The events of notices.
const (
	NoticeQuarantine    NoticeEvent = "quarantine"     // a source is not asked any more, until a probe succeeds
	NoticeLayout        NoticeEvent = "layout"         // layout alarm: a source waits for an operator
	NoticeDeadLetters   NoticeEvent = "dead_letters"   // targets were parked: no run crawls them again automatically
	NoticeDropped       NoticeEvent = "dropped"        // many listings were dropped
	NoticeClaimRetries  NoticeEvent = "claim_retries"  // the database is often busy when a worker claims a target
	NoticeFewerListings NoticeEvent = "fewer_listings" // a pass found fewer listings than there were before it
	NoticeRunFailed     NoticeEvent = "run_failed"     // a run ended early: an error, a closed source, no proxies
)

// NoticeTest is the event of a message that somebody sends to try it; nobody chooses it.
const NoticeTest NoticeEvent = "test"

// NoticeEvents lists the events that can be chosen.
func NoticeEvents() []NoticeEvent {
	return []NoticeEvent{
		NoticeQuarantine, NoticeLayout, NoticeDeadLetters, NoticeDropped, NoticeClaimRetries, NoticeFewerListings, NoticeRunFailed,
	}
}

// ParseNoticeEvent returns the event named s, in any letter case and with - for _, or an error
// that names the nearest one.
func ParseNoticeEvent(s string) (NoticeEvent, error) {
	event := NoticeEvent(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_"))
	if slices.Contains(NoticeEvents(), event) {
		return event, nil
	}
	names := make([]string, len(NoticeEvents()))
	for i, e := range NoticeEvents() {
		names[i] = string(e)
	}
	if near, ok := Nearest(s, names); ok {
		return "", fmt.Errorf("unknown event %q: did you mean %s?", s, near)
	}
	return "", fmt.Errorf("unknown event %q: want one of %s", s, strings.Join(names, ", "))
}
