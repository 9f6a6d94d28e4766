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
		return "now claimed by " + string(n.Held)
	case NextNow:
		return "claimable now: " + n.Why
	case NextLater:
		text = "claimable at " + yp.Moment(now, n.At.Time) + ": " + n.Why
	default:
		text = "never by itself: " + n.Why
	}
	if n.Remedy != "" {
		text += ". `ypcrawl " + n.Remedy + "` changes that"
	}
	return text
}

// Text counts what did not go well: "2 targets failed, 1 parked"; empty where all is well.
func (t Trouble) Text() (text string) {
	for _, part := range []struct {
		n    int64
		word string
	}{{t.Waiting, "to be tried again in minutes"}, {t.Failed, "failed"}, {t.Parked, "parked"}, {t.Stuck, "stuck"}} {
		switch {
		case part.n == 0:
		case text == "":
			text = yp.Plural(part.n, "target") + " " + part.word
		default:
			text += ", " + yp.Thousands(part.n) + " " + part.word
		}
	}
	return text
}

// Remedy is the command that plans what stands still again; empty where nothing does. What waits or failed is tried
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
	text := "refused by the site (HTTP " + status + ")"
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
		return sentence(s.Waiting())
	case !s.NextDue.IsZero() && s.NextDue.After(s.Now.Time):
		return fmt.Sprintf("Waiting until %s: no target is due before that.", yp.ClockTime(s.Now.Time, s.NextDue))
	}
	text := "A run crawls "
	if s.Live > 1 {
		text = fmt.Sprintf("%d runs crawl ", s.Live)
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
		text += " Whether another one is can't be told: " + s.Unsure() + "."
	}
	return text
}

// Unsure says why nobody knows whether a run lives; "" = of each it is known.
func (p *Progress) Unsure() string {
	if p.Unknown == 0 {
		return ""
	}
	return fmt.Sprintf("one that has not ended sent its last heartbeat at %s, and its lock can't be looked at (%s)",
		yp.ClockTime(p.Now.Time, p.unseen.Heartbeat), yp.Printable(p.unseen.Why.Error()))
}

// nobody is the sentence where no run is under way.
func (s *Standing) nobody() string {
	switch {
	case s.Unknown > 0:
		return "Whether a run is under way can't be told: " + s.Unsure() + "."
	case s.Last == nil && s.Overall.Targets == 0:
		return "Nothing is planned, and nothing was crawled yet."
	case s.Last == nil:
		return "No run was started yet; " + yp.Plural(s.Overall.Targets, "target") + " planned."
	}
	at := yp.ClockTime(s.Now.Time, s.Last.At)
	switch {
	case s.Last.Elsewhere:
		return fmt.Sprintf("No run is under way on this machine. A run on %s has not ended; its last heartbeat was at %s.", s.Last.Host, at)
	case s.Last.Outcome == "running":
		return fmt.Sprintf("No run is under way. The last one was killed; its last heartbeat was at %s. The same command resumes it.", at)
	}
	text := fmt.Sprintf("No run is under way. The last one ended at %s: %s.", at, OutcomeText(s.Last.Outcome))
	t := s.indexTrouble()
	t.Add(Trouble{Failed: s.Overall.Failed, Parked: s.Overall.Parked, Stuck: s.Overall.Stuck})
	if trouble := t.Text(); trouble != "" {
		text += " " + sentence(trouble)
	}
	if s.NextDue.After(s.Now.Time) {
		text += fmt.Sprintf(" The next target is due at %s.", yp.ClockTime(s.Now.Time, s.NextDue))
	}
	return text
}

// OutcomeText is how a run ended, for people.
func OutcomeText(outcome string) string {
	switch outcome {
	case "done":
		return "nothing more was due"
	case "interrupted":
		return "it was interrupted; the same command resumes it"
	case "budget":
		return "a budget is used up; the same command resumes it"
	case "blocked":
		return "the source was closed"
	case "no_proxies":
		return "no proxy is left"
	case "layout":
		return "the layout of the site has changed"
	case "dead":
		return "it was killed; the same command resumes it"
	case "running":
		return "it has not ended"
	}
	return "an error"
}

// Waiting says for what everything waits, and until when: "waiting until 14:05:33Z: the source
// is held: Retry-After"; empty when nothing does.
func (p *Progress) Waiting() string {
	switch {
	case p.WaitingFor == "":
		return ""
	case p.WaitingUntil.IsZero():
		return "waiting: " + p.WaitingFor
	}
	return fmt.Sprintf("waiting until %s: %s", yp.ClockTime(p.Now.Time, p.WaitingUntil.Time), p.WaitingFor)
}

// Speed says how fast it goes: "0.18 pages/s".
func (l *Lately) Speed() string { return fmt.Sprintf("%.2f pages/s", l.Pace) }

// Pacing says how fast it goes, and how long it takes.
func (p *Progress) Pacing() string {
	if p.WaitingFor != "" {
		return p.Speed() + ", " + p.Waiting()
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
			lines = append(lines, fmt.Sprintf("%s is asked every %s: %s", p.Hosts.Value(h, "host"), yp.Millis(ms), p.Hosts.Value(h, "delay_reason")))
		}
	}
	words := map[any]string{"backoff": "waiting after a failure", "gap": "waiting because they were crawled a moment ago"}
	for _, w := range p.Waits.Rows {
		text := cmp.Or(words[w[0]], fmt.Sprint(w[0]))
		if n, ok := w[1].(int64); ok { // else workers wait
			text += ": " + yp.Plural(n, "target")
		}
		var next time.Time
		if at(&next).Scan(w[2]) == nil && !next.IsZero() {
			text += ", the first until " + yp.ClockTime(p.Now.Time, next)
		}
		lines = append(lines, text)
	}
	return lines
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

// paceLines say it of each host: "a.com: one request in 75 s: delay between requests".
func paceLines(paces *Table) (lines []string) {
	for i, h := range paces.Rows {
		if i == mostPaces {
			return append(lines, yp.Plural(int64(len(paces.Rows)-i), "more host")+" at a pace: `ypcrawl hosts list` shows them")
		}
		ms, _ := paces.Value(h, "pace_ms").(int64)
		text := fmt.Sprintf("%s: one request in %s s", paces.Value(h, "host"), strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64))
		if why, known := paces.Value(h, "pace_reason").(string); known {
			text += ": " + why
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

// Text says which pass it is, in a line: "pass of source demo from 2026-11-20 03:00 to 04:10Z over NH, 3
// runs, finished".
func (p Pass) Text() string {
	const day, clock = time.DateOnly, "15:04"
	began, ended := p.Began.UTC(), p.Ended.UTC()
	when, how := "", ""
	switch {
	case p.State == PassUnknown:
		when = "since " + began.Format(day+" "+clock+"Z")
	case p.State == PassRunning:
		when = "in progress since " + began.Format(day+" "+clock+"Z")
	case began.Format(day) == ended.Format(day):
		when = "from " + began.Format(day+" "+clock) + " to " + ended.Format(clock+"Z")
	default:
		when = "from " + began.Format(day+" "+clock) + " to " + ended.Format(day+" "+clock+"Z")
	}
	switch p.State {
	case PassFinished:
		how = ", finished"
		if p.Failed > 0 {
			how += ", " + yp.Thousands(p.Failed) + " failed"
		}
		if p.Unseen > 0 {
			how += " (" + yp.Plural(p.Unseen, "listing") + " unseen)"
		}
	case PassStopped:
		how = ", not finished"
	case PassUnknown:
		how = "; whether one is under way can't be told"
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
			text += ", " + yp.Thousands(part.n) + " " + string(part.kind)
		}
	}
	return sentence(text)
}

// PassLines tell of passes, a line each.
func PassLines(passes []Pass) (lines []string) {
	for _, pass := range passes {
		lines = append(lines, pass.Sentence())
	}
	return lines
}

// Text says how much of what the sites list was seen: "32.0% of what the site lists was seen".
func (t CoverageTotals) Text() string {
	measured := t.All() - t.Untold - t.AgainWhole
	switch {
	case t.Targets == 0 && t.Again == 0:
		return "no page was read yet"
	case t.Percent != nil && measured < t.All():
		return fmt.Sprintf("%s of what the site lists in %s of %s was seen", yp.Share(*t.Percent), yp.Thousands(measured),
			yp.Plural(t.All(), "target"))
	case t.Percent != nil && t.Unread.Targets == 0 && t.SeenOfKnown < t.SiteTotal:
		return yp.Share(*t.Percent) + " of what the site lists was seen, each list to its end: sites count some listings twice, and ads"
	case t.Percent != nil:
		return yp.Share(*t.Percent) + " of what the site lists was seen"
	case t.Targets == 0:
		return "nothing of what the site lists was seen again yet"
	case t.Unread.Targets == 0:
		return "every page that the site offers was read; the site does not say how much it lists"
	}
	return "the site does not say how much it lists"
}

// Line is what commands say beside their own answer; `coverage` says more. of says what is
// counted: "this selection".
func (t CoverageTotals) Line(of string) string {
	text, open := t.Text()+" ("+of+")", t.Unread.noWord()
	if n := t.Unread.Targets - open; n > 0 && t.Targets+t.Again > 0 {
		text += fmt.Sprintf("; %s of %s not read to the end", yp.Thousands(n), yp.Plural(t.All(), "target"))
	}
	if text = sentence(text); open > 0 {
		text += " " + NoWord
	}
	return text
}

// NoWord is said once of sources whose lists end without a word of the site.
const NoWord = "Lists were read as far as the site leads; it does not say where they end, so nothing counts as dropped by them: `last:` or `next: none` in its definition would."

// endWords say how lists ended that the site does not confirm.
var endWords = map[yp.Ending]string{
	yp.EndLimit: "are as long as page_cap", yp.EndUnfollowed: "lead on by nothing that can be followed",
	yp.EndLaterPage: "name a later page that nothing leads to",
	yp.EndTooFew:    "show fewer than the site counts", yp.EndUnreadable: "have cards that could not be read",
	yp.EndOrder:   "changed their order meanwhile",
	yp.EndRepeats: "repeat an earlier page", yp.EndGone: "lead to a page that is not there", yp.EndShrunk: "are shorter than before",
	yp.EndElsewhere: "lead to the list of another place or category",
	yp.EndAlias:     "have another name, and few of their listings", yp.EndBoth: "say that nothing was found, and show listings",
}

// lines say how the lists ended that the site does not confirm, a line each.
func (u *Unread) lines() (lines []string) {
	for _, e := range u.Ends {
		words := endWords[e.Ending]
		if words == "" {
			continue
		}
		line := "lists that " + words + ": " + yp.Thousands(e.Targets)
		if e.Example != "" {
			line += ", as: " + yp.Printable(e.Example)
		}
		lines = append(lines, sentence(line))
	}
	return lines
}

// Lines say more than Line: why something was not seen, and how it is counted.
func (t CoverageTotals) Lines(of string) []string {
	lines := []string{t.Line(of)}
	var why []string
	u := t.Unread
	for _, part := range []struct {
		n    int64
		text string
	}{
		{u.MaxPages, "by --max-pages"},
		{u.Failed, "failed"},
		{u.Begun, "begun"},
		{u.Never, "not yet crawled"},
		{u.Again, "waiting for the next crawl"},
		{u.Unconfirmed - u.noWord(), "without a confirmed end"},
	} {
		if part.n > 0 {
			why = append(why, yp.Thousands(part.n)+" "+part.text)
		}
	}
	if len(why) > 0 {
		lines = append(lines, "Not read to the end: "+strings.Join(why, ", ")+".")
	}
	lines = append(lines, u.lines()...)
	if t.PagesLeft > 0 {
		lines = append(lines, "About "+yp.Plural(t.PagesLeft, "page")+" beyond --max-pages.")
	}
	text := yp.Plural(t.Seen, "listing") + " seen"
	if t.Percent != nil {
		text = yp.Thousands(t.SeenOfKnown) + " of " + yp.Plural(t.SiteTotal, "listing") + " seen"
	}
	return append(lines, text+", counted by city and category: one that two searches show counts twice.")
}

// ReasonText is the reason of a closed source or a held host as people are told it:
// "penalty: 3 blocks in a row" is "a wait after 3 blocks in a row", and an answer of 401 is "HTTP 401".
func ReasonText(reason string) string {
	if reason == Penalty {
		return "a wait after blocks"
	}
	if blocks, ok := strings.CutPrefix(reason, Penalty+": "); ok {
		return "a wait after " + blocks
	}
	why := Cause(reason)
	if status := httpStatus.FindStringSubmatch(why); status != nil && strings.HasPrefix(why, string(yp.ClassAuthError)+": ") {
		return "HTTP " + status[1]
	}
	return why
}

// httpStatus is what the errors of fetches say of an answer: "auth_error: status 401 Unauthorized".
var httpStatus = regexp.MustCompile(`\bstatus ([1-5][0-9]{2})\b`)

// ClosedText says in a few words what closes a source and until when: "paused until 14:30:00Z: HTTP 401"; empty when it is open.
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
func (src *SourceStatus) Why() string { return ReasonText(src.Reason) }

// Closed says for what a source is closed, and until when: "demo is paused: 401"; empty when it is open.
func (src *SourceStatus) Closed(now time.Time) string {
	if src.Availability == store.SourceOpen {
		return ""
	}
	text, probe := fmt.Sprintf("%s is %s", src.Name, src.Availability), "the next run requests one page"
	if src.Until.After(now) {
		text += " until " + yp.Moment(now, src.Until)
		probe = "then one page is requested"
	}
	if src.Reason != "" && src.Availability != store.SourceDisabled {
		text += ": " + src.Why()
	}
	if src.Availability == store.SourceQuarantined {
		text += "; " + probe + ", to see whether it answers"
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
		return text + ". Open it with `ypcrawl " + src.Remedy + "`"
	case src.Availability == store.SourcePaused:
		return text + ". When that is fixed: `ypcrawl " + src.Remedy + "`"
	case src.Availability == store.SourceHeld && src.Reason != Penalty: // its host said when to come back
		return text
	}
	return text + ". Wait; reset only if the site has lifted the block" // no command: the site would only be asked all the more
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
