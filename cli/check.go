package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

const checkDescription = `--check is for Nagios, Icinga and similar monitors: it prints one line and sets the exit code:
0 OK · 1 WARNING · 2 CRITICAL · 3 UNKNOWN (the database can't be read, or a flag or a setting is wrong). These are
not the exit codes of the other commands. It reads the whole file and changes nothing.
Critical: a source is quarantined or paused (also by a layout alarm) · no page for --crit-no-page while a run
holds targets of an open source · a run sends no heartbeat for 3 minutes · no run succeeded within --max-age.
Warning: more dead letters than --warn-dead · more claims than --warn-retries found the database busy · more
attempts than --warn-failed failed (of the last hour, or of 24 hours where that has fewer than 20) ·
targets held for 10 minutes by a run that died.`

// alertLevel is how bad it is, as monitoring plugins say it, and their exit code.
type alertLevel int

const (
	alertOK alertLevel = iota
	alertWarning
	alertCritical
	alertUnknown
)

func (s alertLevel) String() string { return [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[s] }

// limits are those of --check.
type limits struct {
	dead            int64
	retries, failed float64 // shares, 0–1
	noPage, age     time.Duration
}

// Rules that no flag changes.
const (
	fewAttempts  = 20               // fewer say nothing of a share; as many claims, too
	orphansAfter = 10 * time.Minute // a run that lives takes them back within seconds, the next one at its start
	mostProblems = 10               // named in the line
)

func checkFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "check", Usage: "print a verdict in one line and exit with 0, 1, 2 or 3: see above"},
		&cli.Int64Flag{Name: "warn-dead", Value: 10, Usage: "with --check: warn of more `DEAD LETTERS`"},
		&cli.GenericFlag{Name: "warn-retries", Value: shareValue(0.2), Usage: "with --check: warn when more than this `SHARE` of claims found the database busy"},
		&cli.GenericFlag{Name: "warn-failed", Value: shareValue(0.1), Usage: "with --check: warn when more than this `SHARE` of attempts failed"},
		&cli.GenericFlag{Name: "crit-no-page", Value: ageValue(30 * time.Minute), Usage: "with --check: critical after `TIME` without a page; 0 = never"},
		&cli.GenericFlag{Name: "max-age", Value: ageValue(0), DefaultText: "not checked", Usage: "with --check: critical when no run did all due work or used up its budget within `TIME`: 26h"},
	}
}

// problem is something that a rule found.
type problem struct {
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Text     string `json:"text"`

	severity alertLevel
}

// verdict is what --check tells.
type verdict struct {
	Status   string          `json:"status"`
	Code     int             `json:"exit_code"`
	Text     string          `json:"text"`
	Problems []problem       `json:"problems"` // the worst first
	Metrics  []report.Metric `json:"metrics"`  // null = the file can't be read
}

// check is `status --check`.
func (p *Program) check(c *cli.Context) error {
	var m *report.Measures
	if n := c.Int64("warn-dead"); n < 0 {
		return Usagef("--warn-dead %d: want a number from 0 up", n)
	}
	err := wholeFile(c, "check")
	if err == nil {
		err = p.with(c, reading, func(k *database, _ store.Scope) (err error) {
			meter := meter(c, k)
			if m, err = meter.Measures(); err == nil && c.String("metrics-file") != "" {
				if failed := meter.WriteFile(c.String("metrics-file")); failed != nil {
					p.note("%s", yp.Printable(failed.Error())) // what was found stands
				}
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	v := judge(m, limits{
		dead: c.Int64("warn-dead"), retries: flagValue[float64](c, "warn-retries"), failed: flagValue[float64](c, "warn-failed"),
		noPage: timeOf(c, "crit-no-page"), age: timeOf(c, "max-age"),
	})
	return p.sayVerdict(v, c.Bool("json"), performance(m, c))
}

// sayVerdict writes a verdict, with figures where there are any, and returns its exit code.
func (p *Program) sayVerdict(v verdict, asJSON bool, figures string) error {
	var err error
	if asJSON {
		err = writeJSON(p.Out, v)
	} else {
		line := "YPCRAWL " + v.Status + " - " + p.hints(v.Text)
		if figures != "" {
			line += " | " + figures
		}
		_, err = fmt.Fprintln(p.Out, line)
	}
	if err != nil || v.Code == 0 {
		return err
	}
	return &exitError{code: v.Code}
}

// judges reports whether the line asks for a judgement: status --check.
func (p *Program) judges() bool {
	return slices.Contains(p.args, "status") && slices.ContainsFunc(p.args, func(word string) bool {
		yes, err := strconv.ParseBool(strings.TrimPrefix(strings.TrimLeft(word, "-"), "check="))
		return word == "--check" || word == "-check" || strings.HasPrefix(word, "-") && yes && err == nil
	})
}

// asUnknown makes a verdict of whatever kept one from being found, a wrong flag or setting too: the
// exit codes 1 and 2 of the other commands would tell a monitor of a crawl in trouble.
func (p *Program) asUnknown(err error) error {
	if err == nil || errors.As(err, new(*exitError)) || errors.Is(err, context.Canceled) {
		return err
	}
	v := verdict{Status: alertUnknown.String(), Code: int(alertUnknown), Text: oneLine(p.hideAll(err.Error())), Problems: []problem{}}
	return p.sayVerdict(v, slices.Contains(p.args, "--json"), "")
}

// oneLine makes a text fit for the line: what stands behind a bar is figures.
func oneLine(s string) string {
	return strings.ReplaceAll(yp.Printable(strings.Join(strings.Fields(redactURL(s)), " ")), "|", "/")
}

// judge applies the rules.
func judge(m *report.Measures, l limits) verdict {
	v := verdict{Problems: []problem{}, Metrics: m.Metrics}
	for _, rule := range []func(*report.Measures, limits) []problem{closedSources, silentRuns, missingPages, oldRuns, deadLetters, busyClaims, failedAttempts, orphans} {
		v.Problems = append(v.Problems, rule(m, l)...)
	}
	slices.SortStableFunc(v.Problems, func(a, b problem) int { return int(b.severity - a.severity) })
	worst, texts := alertOK, []string(nil)
	for i := range v.Problems {
		x := &v.Problems[i]
		x.Severity, x.Text, worst = x.severity.String(), oneLine(x.Text), max(worst, x.severity)
		if i < mostProblems {
			texts = append(texts, x.Text)
		}
	}
	if more := len(v.Problems) - mostProblems; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	if worst == alertOK {
		texts = []string{standing(m)}
	}
	v.Status, v.Code, v.Text = worst.String(), int(worst), strings.Join(texts, "; ")
	return v
}

func found(s alertLevel, rule, format string, args ...any) []problem {
	return []problem{{Rule: rule, Text: fmt.Sprintf(format, args...), severity: s}}
}

// closedSources: a source that its operator has disabled, or whose host has said when to come
// back, is as it should be.
func closedSources(m *report.Measures, _ limits) (all []problem) {
	for _, s := range m.Sources {
		alarm := m.Value("source_layout_alarm", "source", s.Name)
		switch {
		case s.Availability == store.SourceQuarantined:
			all = append(all, found(alertCritical, "quarantined", "%s", s.Closed(m.Now))...)
		case s.Availability == store.SourcePaused && alarm != nil && *alarm > 0:
			all = append(all, found(alertCritical, "layout", "layout alarm: %s", s.Closed(m.Now))...)
		case s.Availability == store.SourcePaused:
			all = append(all, found(alertCritical, "paused", "%s", s.Closed(m.Now))...)
		}
	}
	return all
}

func silentRuns(m *report.Measures, _ limits) (all []problem) {
	for _, r := range m.Runs {
		if age := m.Now.Sub(r.Heartbeat); r.Alive && age > store.SilentElsewhere {
			all = append(all, found(alertCritical, "heartbeat", "the run of process %d on %s has sent no heartbeat for %s", r.PID, r.Host, lasting(age))...)
		}
	}
	return all
}

// missingPages: a target is held for so long, and nobody has read a page since. A run that has
// nothing to do, or waits for its host, holds none of an open source.
func missingPages(m *report.Measures, l limits) []problem {
	if l.noPage == 0 {
		return nil
	}
	for _, r := range m.Runs {
		if !r.Alive || r.HeldSince.IsZero() {
			continue
		}
		since := r.HeldSince
		if page := timeOfMetric(m, "last_page_timestamp_seconds"); page.After(since) {
			since = page
		}
		if age := m.Now.Sub(since); age > l.noPage {
			return found(alertCritical, "no_page", "no page for %s, while process %d on %s holds %s", lasting(age), r.PID, r.Host, plural(r.Held, "target"))
		}
	}
	return nil
}

// timeOfMetric is a metric that is a time; zero = it is not known.
func timeOfMetric(m *report.Measures, name string) (t time.Time) {
	if v := m.Value(name); v != nil {
		t = time.UnixMilli(int64(math.Round(*v * 1000)))
	}
	return t
}

func oldRuns(m *report.Measures, l limits) []problem {
	switch done := timeOfMetric(m, "last_run_done_timestamp_seconds"); {
	case l.age == 0:
		return nil
	case done.IsZero():
		return found(alertCritical, "max_age", "no run has succeeded yet; --max-age is %s", shortTime(l.age))
	case m.Now.Sub(done) > l.age:
		return found(alertCritical, "max_age", "the last run that succeeded ended %s; --max-age is %s", ago(m.Now, done), shortTime(l.age))
	}
	return nil
}

func deadLetters(m *report.Measures, l limits) []problem {
	if n := int64(m.Sum("dead_letters", "", "")); n > l.dead {
		return found(alertWarning, "dead_letters", "%s (`ypcrawl targets list --status PARKED`)", plural(n, "dead letter"))
	}
	return nil
}

func busyClaims(m *report.Measures, l limits) []problem {
	if share := busyShare(m); share != nil && m.Sum("claims", "", "") >= fewAttempts && *share > l.retries {
		return found(alertWarning, "claim_retries", "%.1f%% of claims found the database busy", 100**share)
	}
	return nil
}

// busyShare is how many tries more a claim took; nil = there was none.
func busyShare(m *report.Measures) *float64 {
	claims := m.Sum("claims", "", "")
	if claims == 0 {
		return nil
	}
	return new(m.Sum("claim_retries", "", "") / claims)
}

func failedAttempts(m *report.Measures, l limits) []problem {
	if share, span := failedShare(m); share != nil && *share > l.failed {
		return found(alertWarning, "failed", "%.1f%% of attempts failed in the last %s", 100**share, span)
	}
	return nil
}

// failedShare is the share of attempts that failed in the last hour, or in 24 hours where that
// has few of them; nil = these have few, too.
func failedShare(m *report.Measures) (share *float64, span string) {
	for _, x := range [...]struct{ name, span string }{{"last_hour_attempts", "hour"}, {"last_day_attempts", "24 hours"}} {
		if all := m.Sum(x.name, "", ""); all >= fewAttempts {
			return new((all - m.Sum(x.name, "error_code", string(yp.CodeSuccess))) / all), x.span
		}
	}
	return nil, ""
}

func orphans(m *report.Measures, _ limits) []problem {
	var held int64
	for _, r := range m.Runs {
		if r.Dead && m.Now.Sub(r.Heartbeat) > orphansAfter {
			held += r.Held
		}
	}
	if held == 0 {
		return nil
	}
	return found(alertWarning, "orphans", "%s held by a run that died: the next run or `ypcrawl recover` recovers them", plural(held, "target"))
}

// standing is the line when all is well.
func standing(m *report.Measures) string {
	if len(m.Sources) == 0 {
		return "nothing was planned or crawled yet"
	}
	var texts []string
	for _, state := range []store.SourceState{store.SourceOpen, store.SourceHeld, store.SourceDisabled} {
		if n := m.Sum("source_availability", "availability", string(state)); n > 0 {
			texts = append(texts, plural(int(n), "source")+" "+string(state))
		}
	}
	count := func(status string) (n float64) {
		for _, s := range m.Sources {
			n += orZero(m.Value("targets", "source", s.Name, "kind", string(yp.KindSearch), "status", status))
		}
		return n
	}
	ended := count("done") + count("parked")
	if all := ended + count("planned") + count("in_progress") + count("failed") + count("stuck"); all > 0 {
		texts = append(texts, fmt.Sprintf("%.0f%% of %s done", 100*ended/all, plural(int(all), "target")))
	}
	if page := timeOfMetric(m, "last_page_timestamp_seconds"); !page.IsZero() {
		texts = append(texts, "last page "+ago(m.Now, page))
	} else {
		texts = append(texts, "no page among the last requests")
	}
	return strings.Join(texts, ", ")
}

// performance writes figures as plugins do: name=value;warning;critical. What is not known is left out.
func performance(m *report.Measures, c *cli.Context) string {
	var parts []string
	add := func(format string, v *float64, more ...any) {
		if v != nil {
			parts = append(parts, fmt.Sprintf(format, append([]any{*v}, more...)...))
		}
	}
	sum := func(name, label, value string) *float64 { return new(m.Sum(name, label, value)) }
	percent := func(v *float64) *float64 {
		if v == nil {
			return nil
		}
		return new(100 * *v)
	}
	add("listings=%.0f", m.Value("listings", "state", "alive"))
	add("with_email=%.0f", m.Value("listings_with_email"))
	add("due=%.0f", sum("targets_due", "", ""))
	add("pages_1h=%.0f", sum("last_hour_pages", "", ""))
	add("dead_letters=%.0f;%d", m.Value("dead_letters"), c.Int64("warn-dead"))
	failed, _ := failedShare(m)
	add("failed=%.1f%%;%g", percent(failed), 100*flagValue[float64](c, "warn-failed"))
	add("claim_retries=%.1f%%;%g", percent(busyShare(m)), 100*flagValue[float64](c, "warn-retries"))
	if site, seen := m.Value("site_listings"), m.Value("site_listings_seen"); site != nil && seen != nil && *site > 0 {
		add("seen=%.1f%%", new(100**seen / *site))
	}
	if page := timeOfMetric(m, "last_page_timestamp_seconds"); !page.IsZero() {
		add("last_page_age=%.0fs", new(max(0, m.Now.Sub(page).Seconds())))
	}
	add("database=%.0fB", m.Value("database_bytes"))
	add("journal=%.0fB", m.Value("database_journal_bytes"))
	add("logs=%.0fB", m.Value("log_bytes"))
	return strings.Join(parts, " ")
}
