package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "Show how sources and targets fare: health, errors, what waits and until when, workers",
		Description: "Sources are rated by the requests of the last hour and day, errors are those of 7 days.\n" +
			"--states narrows targets, waits and workers; sources and errors are always whole.",
		Flags:  []cli.Flag{statesFlag(), onlySourceFlag(), jsonFlag()},
		Action: p.status,
	}
}

// statusReport is what `status` prints as JSON.
type statusReport struct {
	*report.Status
	RolledUp bool `json:"rolled_up"` // the figures of sources are of now; else of their updated_at
}

func (p *Program) status(c *cli.Context) error {
	k, scope, err := p.openFresh(c)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	fresh := p.rollUp(c.Context, k)
	s, err := k.Status(c.Context, scope)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(p.Out, statusReport{s, fresh})
	}
	return p.printStatus(s, fresh)
}

// openFresh opens the database for writing, so that figures can be brought up to
// date, and for reading only where it can't be written.
func (p *Program) openFresh(c *cli.Context) (*database, store.Scope, error) {
	k, scope, err := p.openScoped(c, existing)
	if errors.Is(err, store.ErrReadOnly) {
		return p.openScoped(c, reading)
	}
	return k, scope, err
}

// rollUp rates the sources anew and reports whether it could: a file that is
// read-only or busy is shown as it is.
func (p *Program) rollUp(ctx context.Context, k *database) bool {
	_, err := health.New(k.DB()).RollUp(ctx)
	if err != nil && !errors.Is(err, store.ErrReadOnly) {
		p.note("The sources could not be rated anew: %s", yp.Printable(err.Error()))
	}
	return err == nil
}

func (p *Program) printStatus(s *report.Status, fresh bool) error {
	if len(s.Sources) == 0 {
		p.note("Nothing was planned or crawled yet: start with `ypcrawl run`.")
		return nil
	}
	w := &sections{w: p.Out}
	for _, step := range []func(*sections, *report.Status) error{
		func(w *sections, s *report.Status) error { return p.printConnectivity(w, s, fresh) }, p.printClosed, p.printSchedules, p.printHealth, p.printSummary, p.printRests, p.printHosts, p.printWorkerStatus, printHour,
	} {
		if err := step(w, s); err != nil {
			return err
		}
	}
	if !fresh {
		return w.lines("The database could not be written: the figures of sources are as old as they say.")
	}
	return nil
}

// sections parts what is printed by an empty line.
type sections struct {
	w     io.Writer
	begun bool
}

// next begins a section.
func (s *sections) next() error {
	if !s.begun {
		s.begun = true
		return nil
	}
	_, err := fmt.Fprintln(s.w)
	return err
}

// table is a section of its own, left out when the table is empty.
func (s *sections) table(p *Program, t *table) error {
	if len(t.rows) == 0 {
		return nil
	}
	if err := s.next(); err != nil {
		return err
	}
	return t.flush(&p.Streams, s.w)
}

// lines is a section of plain lines, left out when there are none.
func (s *sections) lines(texts ...string) error {
	if len(texts) == 0 {
		return nil
	}
	if err := s.next(); err != nil {
		return err
	}
	for _, text := range texts {
		if _, err := fmt.Fprintln(s.w, yp.Printable(text)); err != nil {
			return err
		}
	}
	return nil
}

// printConnectivity shows how the sources answer; when they were rated, where that is not
// just now.
func (p *Program) printConnectivity(w *sections, s *report.Status, fresh bool) error {
	header := []string{"source", "gate", "status", "ok 1 h", "of", "ok 24 h", "of", "p50", "p95", "cause"}
	if !fresh {
		header = append(header, "rated")
	}
	t := newTable(header...)
	for _, src := range s.Sources {
		c := src.Profile
		row := []any{
			src.Name, string(src.Availability), orDash(c.Status), percentOf(c.Rate1h, 100), c.Samples1h, percentOf(c.Rate24h, 100), c.Samples24h,
			millis(c.P50), millis(c.P95), orDash(causeOf(c)),
		}
		if !fresh {
			row = append(row, ago(s.Now, c.Updated))
		}
		t.row(row...)
	}
	return w.table(p, t)
}

// causeOf says why a source is not healthy, "" where it is.
func causeOf(c report.Profile) string {
	p := health.Profile{Status: health.Status(c.Status), Class: yp.ErrorClass(c.Class), Samples1h: int(c.Samples1h), OtherStatus: c.Other}
	for _, x := range []struct {
		ms *int64
		to *time.Duration
	}{{c.P50, &p.P50}, {c.P95, &p.P95}} {
		if x.ms != nil {
			*x.to = time.Duration(*x.ms) * time.Millisecond
		}
	}
	if c.Rate1h != nil {
		p.Rate1h = *c.Rate1h
	}
	return p.Cause()
}

// printClosed says of each closed source why it is closed, until when, and what
// opens it.
func (p *Program) printClosed(w *sections, s *report.Status) error {
	var texts []string
	for _, src := range s.Sources {
		if text := remedyText(s.Now, src); text != "" {
			texts = append(texts, text)
		}
	}
	return w.lines(texts...)
}

func closedSourceText(now time.Time, src report.SourceStatus) string {
	if src.Availability == store.SourceOpen {
		return ""
	}
	text, probe := fmt.Sprintf("%s is %s", src.Name, src.Availability), "the next run asks for one page"
	if src.Until.After(now) {
		text += " until " + moment(now, src.Until)
		probe = "then one page is asked for"
	}
	if src.Reason != "" && src.Availability != store.SourceDisabled {
		text += ": " + report.ReasonText(src.Reason)
	}
	if src.Availability == store.SourceQuarantined {
		text += "; " + probe + ", to see whether it answers"
	}
	return text
}

// remedyText is closedSourceText with what is to be done about it.
func remedyText(now time.Time, src report.SourceStatus) string {
	text := closedSourceText(now, src)
	switch {
	case text == "":
		return ""
	case src.Availability == store.SourceDisabled:
		return text + ". Open it with `ypcrawl " + src.Remedy + "`"
	case src.Availability == store.SourcePaused:
		return text + ". When that is mended: `ypcrawl " + src.Remedy + "`"
	case askedToWait(src):
		return text
	}
	return text + ". Wait; " + onlyReset
}

// askedToWait reports whether a source is closed because its host said when to come back.
func askedToWait(src report.SourceStatus) bool {
	return src.Availability == store.SourceHeld && src.Reason != report.Penalty
}

// onlyReset names no command: a site that blocks would only be asked all the more.
const onlyReset = "reset only if the site has lifted the block"

// waitText says how long to wait for a source that its site closed.
func waitText(now time.Time, src report.SourceStatus) string {
	text := "wait for the next run"
	if src.Until.After(now) {
		text = "wait until " + moment(now, src.Until)
	}
	if askedToWait(src) {
		return text + ": the site asked for it"
	}
	return text + "; " + onlyReset
}

// printSchedules counts targets by schedule; a column without any is left out.
func (p *Program) printSchedules(w *sections, s *report.Status) error {
	columns := []struct {
		name string
		of   func(report.ScheduleCounts) int64
	}{
		{"due", func(c report.ScheduleCounts) int64 { return c.Due }},
		{"scheduled", func(c report.ScheduleCounts) int64 { return c.Scheduled }},
		{"degraded", func(c report.ScheduleCounts) int64 { return c.Degraded }},
		{"paused", func(c report.ScheduleCounts) int64 { return c.Paused }},
		{"failed", func(c report.ScheduleCounts) int64 { return c.Failed }},
		{"needs plan", func(c report.ScheduleCounts) int64 { return c.NeedsPlan }},
		{"not scheduled", func(c report.ScheduleCounts) int64 { return c.NotScheduled }},
	}
	header := []string{"schedule", "targets"}
	for _, col := range columns {
		if col.of(s.Schedule) > 0 {
			header = append(header, col.name)
		}
	}
	t := newTable(header...)
	eachAndAll(s, func(name string, src report.SourceStatus) {
		row := []any{name, src.Schedule.Targets}
		for _, col := range columns {
			if col.of(s.Schedule) > 0 {
				row = append(row, col.of(src.Schedule))
			}
		}
		t.row(row...)
	})
	return w.table(p, t)
}

// printHealth counts targets by health; failing are those whose last crawl failed, and
// how often in a row, on the mean over all.
func (p *Program) printHealth(w *sections, s *report.Status) error {
	return w.table(p, tableOf(s.Sources, func(src report.SourceStatus) []any {
		h, f := src.Health, src.HealthFigures
		return []any{src.Name, h.Active, h.Degraded, h.Paused, h.Failed, f.DueNow, f.WithFailures, f.MeanFailures, f.Successes24h}
	}, "health", "active", "degraded", "paused", "failed", "due now", "failing", "in a row", "ok 24 h"))
}

// eachAndAll calls f for each source, and for all of them where there are several.
func eachAndAll(s *report.Status, f func(name string, src report.SourceStatus)) {
	for _, src := range s.Sources {
		f(src.Name, src)
	}
	if len(s.Sources) > 1 {
		f("all", report.SourceStatus{Schedule: s.Schedule, Health: s.Health})
	}
}

func (p *Program) printSummary(w *sections, s *report.Status) error {
	return w.table(p, tableOf(s.Errors, func(e report.ErrorSummary) []any {
		return []any{codeText(e.Code, e.ByProxy), e.Source, e.Occurrences, e.Targets, ago(s.Now, e.LastSeen), millis(e.MeanMS)}
	}, "error in 7 days", "source", "times", "targets", "last seen", "mean time"))
}

func (p *Program) printRests(w *sections, s *report.Status) error {
	return w.table(p, tableOf(s.Backoff, func(b report.BackoffWait) []any {
		level, rest := "first failures", "minutes"
		if b.Level > 0 {
			level, rest = fmt.Sprintf("level %d", b.Level), shortTime(yp.Backoff(b.Level))
		}
		return []any{level, rest, b.Targets, moment(s.Now, b.Next), moment(s.Now, b.Last)}
	}, "resting", "for", "targets", "next is back", "last is back"))
}

func (p *Program) printHosts(w *sections, s *report.Status) error {
	return w.table(p, tableOf(s.Hosts, func(h report.HostPace) []any {
		held, delay := "-", "-"
		if !h.HeldUntil.IsZero() {
			held = moment(s.Now, h.HeldUntil)
		}
		if h.DelayMS > 0 {
			delay = millis(&h.DelayMS)
		}
		return []any{h.Host, h.Source, held, orDash(h.HeldFor), delay, short(orDash(h.DelayReason), p.widthLeft(80)), h.Blocks}
	}, "host", "source", "held until", "for", "delay", "because of", "blocks"))
}

// printWorkerStatus shows the workers that have not stopped.
func (p *Program) printWorkerStatus(w *sections, s *report.Status) error {
	return w.table(p, tableOf(s.Workers, func(m report.WorkerStatus) []any {
		var page, retries any // of the claims, those that met a busy database
		holding, memory := "none", "-"
		if m.TargetID != 0 {
			page, holding = m.Page, fmt.Sprintf("%s in %s, %s", m.Category, m.City, m.State)
		}
		if m.Claims > 0 {
			retries = percent(100 * float64(m.ClaimRetries) / float64(m.Claims))
		}
		if m.RSS > 0 {
			memory = fmt.Sprintf("%d MB", (m.RSS+500_000)/1_000_000)
		}
		process := fmt.Sprintf("%d on %s", m.PID, short(m.Host, 16))
		if !m.Alive {
			process += " (gone)"
		}
		return []any{m.Name, process, short(holding, min(40, p.widthLeft(90))), page, m.Pages, m.Listings, retries, memory, ago(s.Now, m.Heartbeat)}
	}, "worker", "process", "target", "page", "pages", "listings", "retries", "memory", "heartbeat"))
}

// printHour says what the last hour brought.
func printHour(w *sections, s *report.Status) error {
	texts := []string{fmt.Sprintf("Last hour, all states: %s with %s, %s.", plural(s.Pages, "page"), plural(s.Rows, "row"), strings.Replace(plural(s.Listings, "listing"), " listings", " different listings", 1))}
	for _, src := range s.Sources {
		for _, u := range src.Proxies {
			texts = append(texts, fmt.Sprintf("%s via %s: %s, %s failed", src.Name, u.Proxy, plural(u.Requests, "request"), thousands(u.Failures)))
		}
	}
	if text := lastRunText(s.LastRun); text != "" {
		texts = append(texts, text+".")
	}
	return w.lines(texts...)
}
