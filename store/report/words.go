package report

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Text says when a target is crawled next, why, and what would change that.
func (n Next) Text(now time.Time) string {
	text := ""
	switch n.When {
	case NextHeld:
		return "being crawled by " + string(n.Held)
	case NextNow:
		return "can be crawled now: " + n.Why
	case NextLater:
		text = "next crawl at " + yp.Moment(now, n.At.Time) + ": " + n.Why
	default:
		text = "not crawled again automatically: " + n.Why
	}
	if n.Remedy != "" {
		text += ". To change that: `ypcrawl " + n.Remedy + "`"
	}
	return text
}

// Text counts what did not go well: "2 searches failed, 1 given up"; empty where all is well.
func (t Trouble) Text() (text string) {
	for _, part := range []struct {
		n    int64
		word string
	}{{t.Waiting, "will be retried within minutes"}, {t.Failed, "failed"}, {t.Parked, "given up"}, {t.Stuck, "stuck"}} {
		switch {
		case part.n == 0:
		case text == "":
			text = yp.Plural(part.n, t.Noun()) + " " + part.word
		default:
			text += ", " + yp.Thousands(part.n) + " " + part.word
		}
	}
	return text
}

// Noun is what those that did not go well are called, and those that wait: of one kind by its name.
func (t Trouble) Noun() string {
	switch {
	case t.Indexes+t.Details == 0:
		return "search"
	case t.Searches+t.Indexes == 0:
		return "own page"
	case t.Searches+t.Details == 0:
		return "index"
	}
	return "target"
}

// Remedy is the command that plans again what was given up or is stuck; empty where nothing is. What waits or failed is tried
// again by itself, and not sooner: the site may have said no.
func (t Trouble) Remedy() string {
	text := ""
	if t.Parked > 0 {
		text += " PARKED"
	}
	if t.Stuck > 0 {
		text += " STUCK"
	}
	switch {
	case text == "":
		return ""
	case t.OwnPages > 0 && t.OwnPages == t.Parked+t.Stuck:
		text += " --kind detail"
	case t.OwnPages > 0: // which reset leaves out unless they are named
		text += " --kind search index detail"
	}
	return "reset --status" + text
}

// Cause is an error's text without the address at its head: in a table of codes the cause
// counts, and it would be cut off. A block is told as what it is: "refused by the site (HTTP 403)", and
// where the status says why, "refused by the site (HTTP 402 Payment Required)".
func Cause(text string) string {
	if address, ok := strings.CutPrefix(text, "fetch http"); ok {
		if _, cause, ok := strings.Cut(address, ": "); ok {
			return strings.TrimPrefix(refusal(cause), string(yp.ClassUnknown)+": ") // what robots.txt forbids, say
		}
	}
	return text
}

// refused is how people are told of a block.
const refused = "refused by the site"

// refusal says a block in words; other causes stay as they are.
func refusal(cause string) string {
	class, rest, _ := strings.Cut(cause, ": status ")
	answer, why, more := strings.Cut(rest, ": ")
	status, _, _ := strings.Cut(answer, " ")
	code, _ := strconv.Atoi(status) // none is 0
	switch {
	case rest == "":
		return cause
	case class == string(yp.ClassHTTP403), class == string(yp.ClassChallenge):
	case class != string(yp.ClassUnknown) || !yp.Refusal(code):
		return cause
	case code == 402, code == 451:
		status = answer // it is the reason
	}
	text := refused + " (HTTP " + status + ")"
	if more {
		text += ": " + why
	}
	return text
}

// Sentence says in one sentence or two what is going on; it changes only when that does.
func (s *Standing) Sentence() string {
	switch {
	case s.Live == 0:
		return s.nobody()
	case s.WaitingFor != "":
		return s.Waiting() + "." // it begins with the name of the source
	case !s.NextDue.IsZero() && s.NextDue.After(s.Now.Time):
		return fmt.Sprintf("Waiting: nothing is due before %s.", yp.ClockTime(s.Now.Time, s.NextDue))
	}
	text := "A run is crawling "
	if s.Live > 1 {
		text = fmt.Sprintf("%d runs are crawling ", s.Live)
	}
	if len(s.Sources) == 0 {
		text += "several sources"
	}
	text += strings.Join(s.Sources, ", ")
	if s.Crawling > 0 {
		text += " with " + yp.Plural(s.Crawling, "worker")
	}
	text += ", since " + yp.ClockTime(s.Now.Time, s.Since) + "."
	if s.Unknown > 0 {
		text += " Another run may be active: " + s.Unsure() + "."
	}
	return text
}

// Unsure says why nobody knows whether a run lives; "" = of each it is known.
func (p *Progress) Unsure() string {
	if p.Unknown == 0 {
		return ""
	}
	return fmt.Sprintf("one that has not ended sent its last heartbeat at %s, and its lock can't be checked (%s)",
		yp.ClockTime(p.Now.Time, p.unseen.Heartbeat), yp.Printable(p.unseen.Why.Error()))
}

// nobody is the sentence where no run is under way.
func (s *Standing) nobody() string {
	switch {
	case s.Unknown > 0:
		return "A run may be active: " + s.Unsure() + "."
	case s.Last == nil && s.Overall.Targets == 0:
		return "Nothing is planned, and nothing has been crawled yet."
	case s.Last == nil:
		return "No run has started yet; " + yp.Plural(s.Overall.Targets, "search") + " planned."
	}
	at := yp.ClockTime(s.Now.Time, s.Last.At)
	switch {
	case s.Last.Elsewhere:
		return fmt.Sprintf("No run is active on this machine. A run on %s has not ended; its last heartbeat was at %s.", s.Last.Host, at)
	case s.Last.Outcome == "running":
		return fmt.Sprintf("No run is active. The last one was killed; its last heartbeat was at %s. Run the same command to resume it.", at)
	}
	text := fmt.Sprintf("No run is active. The last one ended at %s: %s.", at, OutcomeText(s.Last.Outcome))
	t, o := s.indexTrouble(), s.Overall
	t.Add(Trouble{Failed: o.Failed, Parked: o.Parked, Stuck: o.Stuck, Searches: o.Failed + o.Parked + o.Stuck})
	if trouble := t.Text(); trouble != "" {
		text += " " + sentence(trouble)
	}
	if s.NextDue.After(s.Now.Time) {
		text += fmt.Sprintf(" The next crawl is due at %s.", yp.ClockTime(s.Now.Time, s.NextDue))
	}
	return text
}

// OutcomeText is how a run ended, for people.
func OutcomeText(outcome string) string {
	switch outcome {
	case "done":
		return "nothing more was due"
	case "interrupted":
		return "it was interrupted; run the same command to resume it"
	case "budget":
		return "its budget is used up; run the same command to resume it"
	case "blocked":
		return "the site refused it, or the source is paused, quarantined or disabled"
	case "no_proxies":
		return "no proxy is left"
	case "layout":
		return "the site's layout has changed"
	case "dead":
		return "it was killed; run the same command to resume it"
	case "running":
		return "it has not ended"
	}
	return "an error"
}

// Waiting says what everything waits for, and until when: "demo: refused by the site (HTTP 403). Next
// try at 14:05:33 UTC"; empty when nothing does.
func (p *Progress) Waiting() string {
	if p.WaitingFor == "" || p.WaitingUntil.IsZero() {
		return p.WaitingFor
	}
	return fmt.Sprintf("%s. Next try at %s", p.WaitingFor, yp.ClockTime(p.Now.Time, p.WaitingUntil.Time))
}

// Speed says how fast it goes: "0.18 pages/s".
func (l *Lately) Speed() string { return fmt.Sprintf("%.2f pages/s", l.Pace) }

// Pacing says how fast it goes, and how long it takes.
func (p *Progress) Pacing() string {
	if p.WaitingFor != "" {
		return p.Speed() + "; waiting: " + p.Waiting()
	}
	return p.Speed() + ", time left: " + p.Left.Text()
}

// Failures says how many requests failed: "9 of 47 requests failed in the last hour (19.1%)".
func (l *Lately) Failures() string {
	if l.Requests == 0 {
		return "no requests in the last hour"
	}
	return fmt.Sprintf("%s of %s failed in the last hour (%s)", yp.Thousands(l.Failed), yp.Plural(l.Requests, "request"),
		yp.Share(100*float64(l.Failed)/float64(l.Requests)))
}

// Reasons say why it is slow, and what waits: a line each.
func (p *Progress) Reasons() (lines []string) {
	for _, h := range p.Hosts.Rows {
		if ms, slow := p.Hosts.Value(h, "delay_ms").(int64); slow {
			text := fmt.Sprintf("%s is slowed down to one request every %s", p.Hosts.Value(h, "host"), yp.Millis(ms))
			if why := strings.TrimPrefix(fmt.Sprint(p.Hosts.Value(h, "delay_reason")), "slowed down"); why != "" {
				text += " (" + strings.TrimPrefix(why, ": ") + ")"
			}
			lines = append(lines, text)
		}
	}
	for _, w := range p.Waits.Rows {
		lines = append(lines, p.waitText(w))
	}
	return lines
}

// waitNoun is what those are called that wait: of one kind by its name.
func waitNoun(kind any) string {
	switch kind {
	case string(yp.KindSearch):
		return "search"
	case string(yp.KindDetail):
		return "own page"
	case string(yp.KindIndex):
		return "index"
	}
	return "target"
}

// waitText says a row of waits: "3 searches failed; first retry at 14:05:33 UTC". Of workers there is no number.
func (p *Progress) waitText(w []any) string {
	reason := fmt.Sprint(w[0])
	n, counted := w[1].(int64)
	if !counted {
		return reason
	}
	text := yp.Plural(n, waitNoun(w[3])) + " " + reason // paused, disabled
	words, known := map[string][2]string{
		"backoff": {"failed", "; first retry at "}, "gap": {"crawled less than 2 minutes ago", "; due again from "},
	}[reason]
	if known {
		text = yp.Plural(n, waitNoun(w[3])) + " " + words[0]
	}
	var next time.Time
	if at(&next).Scan(w[2]) == nil && !next.IsZero() {
		text += cmp.Or(words[1], "; first until ") + yp.ClockTime(p.Now.Time, next)
	}
	return text
}

// PaceLines say how often hosts are asked while a run is under way, and why not more often.
func (p *Progress) PaceLines() []string {
	if p.Live == 0 {
		return nil
	}
	return paceLines(p.Paces)
}

// mostPaces is of how many hosts people are told the pace.
const mostPaces = 5

// paceLines say it of each host: "a.com: one request every 75 s (delay between requests)".
func paceLines(paces *Table) (lines []string) {
	for i, h := range paces.Rows {
		if i == mostPaces {
			return append(lines, yp.Plural(int64(len(paces.Rows)-i), "more host")+": see `ypcrawl hosts list`")
		}
		ms, _ := paces.Value(h, "pace_ms").(int64)
		text := fmt.Sprintf("%s: one request every %s s", paces.Value(h, "host"), strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64))
		if why, known := paces.Value(h, "pace_reason").(string); known {
			text += " (" + why + ")"
		}
		lines = append(lines, text)
	}
	return lines
}

// Text says it: "4m12s", or "unknown".
func (l Left) Text() string {
	if l.Seconds < 0 {
		return "unknown"
	}
	return yp.Lasting(time.Duration(float64(l.Seconds) * float64(time.Second)))
}

// Text says which pass it is, in a line: "pass of source demo from 2026-11-20 03:00 to 04:10 UTC over NH, 3
// runs, finished".
func (p Pass) Text() string {
	const day, clock, zone = time.DateOnly, "15:04", " UTC"
	began, ended := p.Began.UTC(), p.Ended.UTC()
	when, how := "", ""
	switch {
	case p.State == PassUnknown:
		when = "since " + began.Format(day+" "+clock+zone)
	case p.State == PassRunning:
		when = "in progress since " + began.Format(day+" "+clock+zone)
	case began.Format(day) == ended.Format(day):
		when = "from " + began.Format(day+" "+clock) + " to " + ended.Format(clock+zone)
	default:
		when = "from " + began.Format(day+" "+clock) + " to " + ended.Format(day+" "+clock+zone)
	}
	switch p.State {
	case PassFinished:
		how = ", finished"
		if p.Failed > 0 {
			how += ", " + yp.Thousands(p.Failed) + " failed"
		}
		if p.Unseen > 0 {
			how += " (" + yp.Plural(p.Unseen, "listing") + " not seen)"
		}
	case PassStopped:
		how = ", not finished"
	case PassUnknown:
		how = "; it may still be in progress"
	}
	if p.Of != "" {
		when += " over " + yp.Printable(p.Of)
	}
	text := fmt.Sprintf("pass of source %s %s, %s%s", yp.Printable(p.Source), when, yp.Plural(p.Runs, "run"), how)
	if p.First {
		text = "first " + text
	}
	return text
}

// Sentence says which pass it is and what became of listings since it began.
func (p Pass) Sentence() string {
	if p.PassCounts == nil {
		return sentence(p.Text())
	}
	text := p.Text() + ": " + yp.Thousands(p.New) + " new"
	for _, part := range []struct {
		n    int64
		kind store.Event
	}{{p.Changed, store.EventChanged}, {p.Dropped, store.EventDropped}, {p.Restored, store.EventRestored}, {p.Rejected, store.EventRejected}} {
		if part.n > 0 {
			text += ", " + yp.Thousands(part.n) + " " + EventWord(part.kind)
		}
	}
	return sentence(text)
}

// EventWord is what people call a change of a listing.
func EventWord(kind store.Event) string {
	if kind == store.EventDropped {
		return "closed"
	}
	return string(kind)
}

// PassLines tell of passes, a line each.
func PassLines(passes []Pass) (lines []string) {
	for _, pass := range passes {
		lines = append(lines, pass.Sentence())
	}
	return lines
}

// ReasonText is the reason of a closed source or a held host as people are told it:
// "penalty: 3 blocks in a row" is "refused by the site 3 times in a row", and an answer of 401 is "HTTP 401".
func ReasonText(reason string) string {
	if reason == Penalty {
		return refused
	}
	if blocks, ok := strings.CutPrefix(reason, Penalty+": "); ok {
		return refused + " " + strings.Replace(blocks, "blocks", "times", 1)
	}
	why := Cause(reason)
	if status := httpStatus.FindStringSubmatch(why); status != nil && strings.HasPrefix(why, string(yp.ClassAuthError)+": ") {
		return "HTTP " + status[1]
	}
	return why
}

// httpStatus is what the errors of fetches say of an answer: "auth_error: status 401 Unauthorized".
var httpStatus = regexp.MustCompile(`\bstatus ([1-5][0-9]{2})\b`)

// ClosedText says in a few words what closes a source and until when: "paused until 14:30:00 UTC: HTTP 401"; empty when it is open.
func ClosedText(now time.Time, a store.Availability) string {
	if a.Open() {
		return ""
	}
	text, why := string(a.State), ReasonText(a.Reason)
	if a.Until.After(now) {
		text += " until " + yp.ClockTime(now, a.Until)
	}
	if why != "" {
		text += ": " + why
	}
	return text
}

// Why is the reason of a closed source for people.
func (src *SourceStatus) Why() string { return ReasonText(src.Reason) + src.refusal }

// waits says what a run waits for that crawls this source alone: "demo: refused by the site (HTTP 403)".
func (src *SourceStatus) waits() string {
	if src.Availability == store.SourceHeld && strings.HasPrefix(src.Reason, Penalty) {
		return src.Name + ": " + src.Why()
	}
	return fmt.Sprintf("%s is %s: %s", src.Name, src.Availability, src.Why())
}

// Closed says for what a source is closed, and until when: "demo is paused: 401"; empty when it is open.
func (src *SourceStatus) Closed(now time.Time) string {
	if src.Availability == store.SourceOpen {
		return ""
	}
	text, probe := fmt.Sprintf("%s is %s", src.Name, src.Availability), "; the next run tests it with one page"
	if src.Until.After(now) {
		text += " until " + yp.Moment(now, src.Until)
		probe = "; then one page is requested as a test"
	}
	if src.Reason != "" && src.Availability != store.SourceDisabled {
		text += ": " + src.Why()
	}
	if src.Availability == store.SourceQuarantined {
		text += probe
	}
	return text
}

// WhatToDo is Closed with what is to be done about it.
func (src *SourceStatus) WhatToDo(now time.Time) string {
	text := src.Closed(now)
	switch {
	case text == "":
		return ""
	case src.Availability == store.SourceDisabled:
		return text + ". To enable it: `ypcrawl " + src.Remedy + "`"
	case src.Availability == store.SourcePaused:
		return text + ". Once that is fixed: `ypcrawl " + src.Remedy + "`"
	case src.Availability == store.SourceHeld && src.Reason != Penalty: // its host said when to come back
		return text
	}
	return text + ". Wait. Reset it only if the site no longer refuses you" // no command: the site would only be asked all the more
}

// SourceRemedy is the command that opens a source, without the program's name; empty
// where there is none. What a host itself asked for is kept to, and while a site blocks
// nothing is to be done but to wait: `sources enable` would have it asked all the more.
func SourceRemedy(source string, state store.SourceState) string {
	if state == store.SourceDisabled || state == store.SourcePaused {
		return "sources enable " + source
	}
	return ""
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
