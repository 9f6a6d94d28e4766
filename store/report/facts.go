package report

import (
	"fmt"
	"time"

	"ypcrawl/yp"
)

// Fact is something that is known of a thing: commands and the page show the same.
type Fact struct{ Name, Text string }

// Facts tells all that is known of a target; what is empty is not known, or means nothing here.
func (t *TargetDetail) Facts(now time.Time) []Fact {
	since := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return yp.Ago(now, at)
	}
	health, lastError, says, failures := string(t.Health), "", "", ""
	if !t.Enabled {
		health = "disabled"
	}
	if code := t.ErrorText(); code != "" {
		lastError = code + ": " + Cause(t.Error)
	}
	if t.SiteTotal != nil {
		says = yp.Plural(*t.SiteTotal, "listing")
	}
	if t.Status == yp.Done && t.ErrorCode == string(yp.CodeNoListings) {
		says = "no listings here"
	}
	if t.Failures > 0 || t.BackoffLevel > 0 {
		failures = fmt.Sprintf("%d in a row, backoff level %d of %d", t.Failures, t.BackoffLevel, yp.MaxBackoffLevel)
	}
	pages, again := fmt.Sprintf("%d done, all wanted", t.Page), "never"
	if t.MaxPages > 0 {
		pages = fmt.Sprintf("%d done of at most %d", t.Page, t.MaxPages)
	}
	if t.FrequencyMin > 0 {
		again = yp.Lasting(time.Duration(t.FrequencyMin) * time.Minute)
	}
	found := Fact{"listings", fmt.Sprintf("%s accepted of %s, %s unreadable", yp.Thousands(int64(t.Accepted)), yp.Thousands(int64(t.Raw)), yp.Thousands(int64(t.Bad)))}
	if t.Kind == yp.KindIndex {
		found = Fact{"cities", fmt.Sprintf("%s, %s new", yp.Thousands(int64(t.Raw)), yp.Thousands(int64(t.Accepted)))}
	}
	attempts := fmt.Sprintf("%s, %s succeeded", yp.Thousands(int64(t.Attempts)), yp.Thousands(int64(t.Successes)))
	if t.SuccessRate != nil {
		attempts += fmt.Sprintf(" (%.1f%%)", *t.SuccessRate)
	}
	return []Fact{
		{"name", t.Name},
		{"source", t.Source},
		{"status", fmt.Sprintf("%s, %s, %s", t.Status, t.Schedule, health)},
		{"next", t.Next.Text(now)},
		{"last error", lastError},
		{"pages", pages},
		found,
		{"the site says", says},
		{"attempts", attempts},
		{"failures", failures},
		{"crawl began", since(t.Started)},
		{"ended", since(t.Finished)},
		{"last success", since(t.LastSuccess)},
		{"heartbeat", since(t.Heartbeat)},
		{"planned", since(t.Created)},
		{"again after", again},
		{"priority", fmt.Sprintf("%d (%s people)", t.Priority, yp.Thousands(int64(t.Population)))},
	}
}
