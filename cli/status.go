package cli

import (
	"errors"
	"fmt"
	"slices"
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
		Usage: "Show the health of sources and targets: errors, what waits and until when, workers",
		Description: "Sources are rated by the requests of the last hour and day, errors are those of 7 days.\n" +
			"--states limits targets, waits and workers; sources and errors are always those of the whole file.\n\n" + checkDescription,
		Flags:  slices.Concat([]cli.Flag{statesFlag(), onlySourceFlag()}, checkFlags(), []cli.Flag{metricsOnceFlag(), jsonFlag()}),
		Action: p.status,
	}
}

// statusReport is what `status` prints as JSON.
type statusReport struct {
	*report.Status
	RolledUp bool `json:"rolled_up"` // the figures of sources are of now; else of their updated_at
}

func (p *Program) status(c *cli.Context) error {
	switch {
	case c.Bool("check"):
		return p.asUnknown(p.check(c)) // also where the environment or the settings say it
	case c.String("metrics-file") != "":
		return p.writeMetrics(c)
	}
	show := func(k *database, scope store.Scope) error {
		_, stale := health.New(k.DB()).RollUp(c.Context) // a file that is read-only or busy is shown as it is
		if stale != nil && !errors.Is(stale, store.ErrReadOnly) {
			p.note("The health of the sources could not be updated: %s", yp.Printable(stale.Error()))
		}
		s, err := k.Status(c.Context, scope)
		if err != nil {
			return err
		}
		if len(s.Sources) == 0 && !c.Bool("json") {
			p.note("Nothing was planned or crawled yet: start with `ypcrawl run`.")
			return nil
		}
		return p.tell(c, statusReport{s, stale == nil}, func(w *sections) { p.statusText(w, s, stale == nil) })
	}
	err := p.with(c, existing, show)
	if errors.Is(err, store.ErrReadOnly) {
		return p.with(c, reading, show)
	}
	return err
}

func (p *Program) statusText(w *sections, s *report.Status, fresh bool) {
	now := s.Now
	var closed []string
	sources := tableOf(s.Sources, func(src report.SourceStatus) []any {
		if text := remedyText(now, src); text != "" {
			closed = append(closed, text)
		}
		f := src.Profile
		return []any{
			src.Name, string(src.Availability), orDash(f.Status), percentOf(f.Rate1h, 100), f.Samples1h, percentOf(f.Rate24h, 100), f.Samples24h,
			millis(f.P50), millis(f.P95), orDash(causeOf(f)), ago(now, f.Updated),
		}
	}, "source", "availability", "status", "ok 1 h", "of", "ok 24 h", "of", "p50", "p95", "cause", "rated").without("rated", "p50", "p95", "of", "of", "ok 24 h", "cause", "ok 1 h")
	if fresh {
		sources.hide("rated")
	}
	w.table(sources)
	w.lines(closed...)
	w.table(schedules(s))
	w.table(tableOf(s.Sources, func(src report.SourceStatus) []any { // failing: whose last crawl failed
		h, f := src.Health, src.HealthFigures
		return []any{src.Name, h.Active, h.Degraded, h.Paused, h.Failed, f.DueNow, f.WithFailures, f.MeanFailures, f.Successes24h}
	}, "health", "active", "degraded", "paused", "failed", "due now", "failing", "in a row", "ok 24 h").without("in a row", "failing", "ok 24 h", "due now"))
	w.table(tableOf(s.Kinds, func(k report.KindCounts) []any {
		name := map[yp.Kind]string{yp.KindDetail: "details", yp.KindIndex: "indexes"}[k.Kind]
		return []any{name, k.Source, k.Planned, k.InProgress, k.Done, k.Failed, k.Stuck, k.Parked, k.Retired}
	}, "kind", "source", "planned", "in progress", "done", "failed", "stuck", "parked", "retired").without("retired", "parked", "stuck", "failed", "in progress"))
	w.table(tableOf(s.Errors, func(e report.ErrorSummary) []any {
		return []any{e.Code, e.Source, e.Occurrences, e.Targets, ago(now, e.LastSeen), millis(e.MeanMS)}
	}, "error in 7 days", "source", "times", "targets", "last seen", "mean time").without("mean time", "times", "source"))
	w.table(tableOf(s.Backoff, func(b report.BackoffWait) []any {
		level, rest := "first failures", "minutes"
		if b.Level > 0 {
			level, rest = fmt.Sprintf("level %d", b.Level), shortTime(yp.Backoff(b.Level))
		}
		return []any{level, rest, b.Targets, moment(now, b.Next), moment(now, b.Last)}
	}, "resting", "for", "targets", "next is back", "last is back").without("last is back", "for"))
	w.table(tableOf(s.Hosts, func(h report.HostPace) []any {
		held, delay := "-", "-"
		if !h.HeldUntil.IsZero() {
			held = moment(now, h.HeldUntil)
		}
		if h.DelayMS > 0 {
			delay = millis((*int64)(&h.DelayMS))
		}
		return []any{h.Host, h.Source, held, orDash(h.HeldFor), delay, orDash(h.DelayReason), h.Blocks}
	}, "host", "source", "held until", "for", "delay", "because of", "blocks").without("blocks", "because of", "delay", "source"))
	w.table(p.workers(s))
	hour := fmt.Sprintf("Last hour, all states: %s with %s, %s", plural(s.Pages, "page"), plural(s.Rows, "row"),
		strings.Replace(plural(s.Listings, "listing"), " listings", " different listings", 1))
	if s.OwnPages > 0 {
		hour += fmt.Sprintf("; %s of listings", plural(s.OwnPages, "page"))
	}
	w.lines(hour + ".")
	if s.Left != nil {
		w.more("Time left: " + s.Left.Text(now) + ".")
	}
	for _, src := range s.Sources {
		for _, u := range src.Proxies {
			w.more(fmt.Sprintf("%s via %s: %s, %s failed", src.Name, u.Proxy, plural(u.Requests, "request"), thousands(u.Failures)))
		}
	}
	w.more(passesText(s.Passes, s.LastRun)...)
	if !fresh {
		w.lines("The database could not be written: the figures of sources are not updated, see their times.")
	}
}

// schedules counts targets by schedule, of each source and of all where there are several.
func schedules(s *report.Status) *table {
	t := newTable("schedule", "targets", "due", "scheduled", "degraded", "paused", "failed", "needs plan", "not scheduled").without("not scheduled", "needs plan", "degraded", "scheduled")
	add := func(name string, c report.ScheduleCounts) {
		t.row(name, c.Targets, c.Due, c.Scheduled, c.Degraded, c.Paused, c.Failed, c.NeedsPlan, c.NotScheduled)
	}
	for _, src := range s.Sources {
		add(src.Name, src.Schedule)
	}
	if len(s.Sources) > 1 {
		add("all", s.Schedule)
	}
	t.hideZeros(slices.Clone(t.header[2:])...)
	return t
}

// workers shows those that have not stopped. Retries are the claims that found the database busy.
func (p *Program) workers(s *report.Status) *table {
	return tableOf(s.Workers, func(m report.WorkerStatus) []any {
		var page, retries any
		holding, memory := "none", "-"
		if m.TargetID != 0 {
			page, holding = m.Page, fmt.Sprintf("%s in %s, %s", m.Category, m.City, m.State)
		}
		if m.Claims > 0 {
			retries = percent(100 * float64(m.ClaimRetries) / float64(m.Claims))
		}
		if m.RSS > 0 {
			memory = megabytes(m.RSS)
		}
		host := m.Host
		if !m.Alive {
			host += " (dead)"
		}
		return []any{
			m.Name, host, holding, page, m.Pages, m.Listings, retries, memory, ago(s.Now, m.Heartbeat),
		}
	}, "worker", "host", "target", "page", "pages", "listings", "retries", "memory", "heartbeat").without("retries", "memory", "listings", "host", "heartbeat", "page")
}

// causeOf says why a source is not healthy, "" where it is.
func causeOf(c report.Profile) string {
	ms := func(n *int64) time.Duration { return time.Duration(orZero(n)) * time.Millisecond }
	return health.Profile{
		Status: health.Status(c.Status), Class: yp.ErrorClass(c.Class), Samples1h: int(c.Samples1h), OtherStatus: c.Other,
		Rate1h: orZero(c.Rate1h), P50: ms(c.P50), P95: ms(c.P95),
	}.Cause()
}

func orZero[T any](v *T) (zero T) {
	if v == nil {
		return zero
	}
	return *v
}

func closedSourceText(now time.Time, src report.SourceStatus) string {
	if src.Availability == store.SourceOpen {
		return ""
	}
	text, probe := fmt.Sprintf("%s is %s", src.Name, src.Availability), "the next run requests one page"
	if src.Until.After(now) {
		text += " until " + moment(now, src.Until)
		probe = "then one page is requested"
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
		return text + ". When that is fixed: `ypcrawl " + src.Remedy + "`"
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

// megabytes writes a number of bytes.
func megabytes(n int64) string { return fmt.Sprintf("%d MB", (n+500_000)/1_000_000) }
