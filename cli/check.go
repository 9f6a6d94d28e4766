package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/backup"
	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

const checkDescription = `--check is for Nagios, Icinga and similar monitors: it prints one line and sets the exit code:
0 OK · 1 WARNING · 2 CRITICAL · 3 UNKNOWN (the database can't be read, a flag or a setting is wrong, or this line can't be
written). These are not the exit codes of the other commands. It reads the whole file and changes nothing.

CRITICAL means one of these:

  a source is quarantined or paused (also because its layout changed)
  no page for --crit-no-page, while a run holds targets of an open source
  a run has sent no heartbeat for 3 minutes
  no run succeeded within --max-age

WARNING means one of these:

  more targets were given up (PARKED) than --warn-dead, or a target is STUCK
  more than --warn-retries of the claims found the database busy
  more than --warn-failed of the attempts failed in the last hour
    (in 24 hours, if the last hour has fewer than 20 attempts)
  at least 3 attempts were made in that time, and all failed
  more than a tenth of the cards of a source's last run could not be read
  targets have been held for 10 minutes by a run that died
  a log can't be read, or was removed, moved or cut while it was written

UNKNOWN also means that a run has sent no heartbeat for 3 minutes and its lock can't be checked; it outranks a warning.
Failures are counted by attempts here, not by requests.`

// alertLevel is how bad it is, as monitoring plugins say it, and their exit code.
type alertLevel int

const (
	alertOK alertLevel = iota
	alertWarning
	alertCritical
	alertUnknown
)

func (s alertLevel) String() string { return [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[s] }

// weight orders levels: what nobody knows may be critical, and so comes before a warning.
func (s alertLevel) weight() int { return [...]int{0, 1, 3, 2}[s] }

// limits are those of --check.
type limits struct {
	dead            int64
	retries, failed float64 // shares, 0–1
	noPage, age     time.Duration
}

// Rules that no flag changes.
const (
	fewAttempts    = 20               // fewer say nothing of a share; as many claims, too
	fewestAttempts = 3                // and of so many every one that fails
	orphansAfter   = 10 * time.Minute // a run that lives takes them back within seconds, the next one at its start
)

func checkFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "check", Usage: "print a verdict in one line, and exit with 0, 1, 2 or 3: see above"},
		&cli.Int64Flag{Name: "warn-dead", Value: 10, Usage: "with --check: warn if more than this many `TARGETS` were given up"},
		&cli.GenericFlag{
			Name: "warn-retries", Value: frame.ShareValue(0.2),
			Usage: "with --check: warn when more than this `SHARE` of claims found the database busy",
		},
		&cli.GenericFlag{
			Name: "warn-failed", Value: frame.ShareValue(0.1),
			Usage: "with --check: warn when more than this `SHARE` of attempts failed",
		},
		&cli.GenericFlag{
			Name: "crit-no-page", Value: frame.AgeValue(30 * time.Minute),
			Usage: "with --check: critical after `TIME` without a page; 0 = never",
		},
		&cli.GenericFlag{
			Name: "max-age", Value: frame.AgeValue(0), DefaultText: "not checked",
			Usage: "with --check: critical unless a run did all due work, or used up its budget, within `TIME`: 26h",
		},
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
	var now *report.Standing
	var lost backup.Lost
	var denied *folder.DeniedError // a log that can't be read
	if n := c.Int64("warn-dead"); n < 0 {
		return frame.Usagef("--warn-dead %d: want a number from 0 up", n)
	}
	err := wholeFile(c, "check")
	if err == nil {
		err = p.with(c, reading, func(k *database, _ store.Scope) (err error) {
			meter := meter(c, k)
			if m, err = meter.Measures(); err == nil && c.String("metrics-file") != "" {
				if failed := meter.WriteFile(c.String("metrics-file")); failed != nil {
					p.Note("%s", yp.Printable(failed.Error())) // what was found counts all the same
				}
			}
			if err == nil {
				now, err = k.Standing(c.Context, store.Scope{})
			}
			if err == nil {
				if lost, err = lostLogs(c, k); errors.As(err, &denied) { // what else was found is told, too
					err = nil
				}
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	v := judge(m, now.Sentence(), limits{
		dead: c.Int64("warn-dead"), retries: frame.Value[float64](c, "warn-retries"), failed: frame.Value[float64](c, "warn-failed"),
		noPage: frame.TimeOf(c, "crit-no-page"), age: frame.TimeOf(c, "max-age"),
	}, append(lostLines(&lost), unreadLogs(denied)...)...)
	return p.sayVerdict(v, c.Bool("json"))
}

// sayVerdict writes a verdict, and returns its exit code. One that nobody gets is unknown, also where the reader has
// left: a process that a signal ends tells a monitor nothing.
func (p *Program) sayVerdict(v verdict, asJSON bool) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	var err error
	if asJSON {
		err = frame.WriteJSON(p.Out, v)
	} else {
		_, err = fmt.Fprintln(p.Out, "YPCRAWL "+v.Status+" - "+p.Hints(v.Text))
	}
	switch {
	case err != nil:
		return &exitError{int(alertUnknown), fmt.Errorf("the verdict (%s) can't be written: %w", v.Status, err)}
	case v.Code == 0:
		return nil
	}
	return &exitError{code: v.Code}
}

// judges reports whether the line asks for a judgement: status --check.
func (p *Program) judges() bool {
	return slices.Contains(p.Args, "status") && slices.ContainsFunc(p.Args, func(word string) bool {
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
	v := verdict{Status: alertUnknown.String(), Code: int(alertUnknown), Text: oneLine(p.HideAll(err.Error())), Problems: []problem{}}
	return p.sayVerdict(v, slices.Contains(p.Args, "--json"))
}

// oneLine makes a text fit for the line: what is behind a bar would be figures to a monitor.
func oneLine(s string) string {
	return strings.ReplaceAll(yp.Printable(strings.Join(strings.Fields(frame.RedactURL(s)), " ")), "|", "/")
}

// judge applies the rules; fine is the text when none finds anything. More problems are found beside the database.
func judge(m *report.Measures, fine string, l limits, more ...problem) verdict {
	v := verdict{Problems: append([]problem{}, more...), Metrics: m.Metrics}
	for _, rule := range []func(*report.Measures, limits) []problem{
		closedSources, silentRuns, missingPages, oldRuns,
		deadLetters, stuckTargets, busyClaims, failedAttempts, unreadCards, orphans,
	} {
		v.Problems = append(v.Problems, rule(m, l)...)
	}
	slices.SortStableFunc(v.Problems, func(a, b problem) int { return b.severity.weight() - a.severity.weight() })
	worst, texts := alertOK, []string{oneLine(fine)}
	if len(v.Problems) > 0 {
		texts = nil
	}
	for i := range v.Problems {
		x := &v.Problems[i]
		x.Severity, x.Text, worst = x.severity.String(), oneLine(x.Text), v.Problems[0].severity
		texts = append(texts, x.Text)
	}
	v.Status, v.Code, v.Text = worst.String(), int(worst), strings.Join(texts, "; ")
	return v
}

func found(s alertLevel, rule, format string, args ...any) []problem {
	return []problem{{Rule: rule, Text: fmt.Sprintf(format, args...), severity: s}}
}

// lostLogs looks for what can't be rebuilt from the logs of the database.
func lostLogs(c *cli.Context, k *database) (backup.Lost, error) {
	id, err := k.DB().ID(c.Context)
	if err != nil {
		return backup.Lost{}, err
	}
	return backup.LostLogs(k.DB().Reader(c.Context), id, logDir(c))
}

// lostLines: a log was removed, moved or cut while it was written.
func lostLines(l *backup.Lost) []problem {
	if l.Pages == 0 {
		return nil
	}
	return found(alertWarning, "logs", "the logs lack %s with %s, so the database could not be rebuilt from them (`ypcrawl doctor`)",
		plural(l.Pages, "page"), plural(l.Listings, "listing"))
}

// unreadLogs: nobody can say whether the database could be rebuilt, and each backup by this user fails.
func unreadLogs(denied *folder.DeniedError) []problem {
	if denied == nil {
		return nil
	}
	return found(alertWarning, "logs", "the logs can't be read, so this user can't make a backup: %v", denied)
}

// closedSources: a source that its operator has disabled, or whose host has said when to come
// back, is as it should be.
func closedSources(m *report.Measures, _ limits) (all []problem) {
	for _, s := range m.Sources {
		alarm := m.Value("source_layout_alarm", "source", s.Name)
		switch {
		case s.Availability == store.SourceQuarantined:
			all = append(all, found(alertCritical, "quarantined", "%s", s.Closed(m.Now.Time))...)
		case s.Availability == store.SourcePaused && alarm != nil && *alarm > 0:
			all = append(all, found(alertCritical, "layout", "layout alarm: %s", s.Closed(m.Now.Time))...)
		case s.Availability == store.SourcePaused:
			all = append(all, found(alertCritical, "paused", "%s", s.Closed(m.Now.Time))...)
		}
	}
	return all
}

func silentRuns(m *report.Measures, _ limits) (all []problem) {
	for _, r := range m.Runs {
		age := m.Now.Sub(r.Heartbeat)
		text := fmt.Sprintf("the run of process %d on %s has sent no heartbeat for %s", r.PID, r.Host, lasting(age))
		switch {
		case r.Unseen != nil:
			all = append(all, found(alertUnknown, "heartbeat", "%s, and its lock can't be checked: %v", text, r.Unseen)...)
		case r.Alive && age > store.SilentElsewhere:
			all = append(all, found(alertCritical, "heartbeat", "%s", text)...)
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
			return found(alertCritical, "no_page", "no page for %s, while process %d on %s holds %s", lasting(age), r.PID,
				r.Host, plural(r.Held, "target"))
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
		return found(alertCritical, "max_age", "no run has succeeded yet; --max-age is %s", yp.ShortTime(l.age))
	case m.Now.Sub(done) > l.age:
		return found(alertCritical, "max_age", "the last run that succeeded ended %s; --max-age is %s",
			ago(m.Now.Time, done), yp.ShortTime(l.age))
	}
	return nil
}

func deadLetters(m *report.Measures, l limits) []problem {
	if n := int64(m.Sum("dead_letters", "", "")); n > l.dead {
		return found(alertWarning, "dead_letters", "%s given up (`ypcrawl targets list --status PARKED`)", plural(n, "target"))
	}
	return nil
}

// stuckTargets: what ended a run three times on one page is tried again by nobody.
func stuckTargets(m *report.Measures, _ limits) []problem {
	if n := int64(m.Sum("targets", "status", "stuck")); n > 0 {
		return found(alertWarning, "stuck", "%s stuck (`ypcrawl reset --status STUCK`)", plural(n, "target"))
	}
	return nil
}

func busyClaims(m *report.Measures, l limits) []problem {
	claims := m.Sum("claims", "", "")
	if share := m.Sum("claim_retries", "", "") / max(claims, 1); claims >= fewAttempts && share > l.retries {
		return found(alertWarning, "claim_retries", "%.1f%% of claims found the database busy", 100*share)
	}
	return nil
}

// failedAttempts are those of the last hour, or of 24 hours where that has few of them, unless every one failed.
// That the site has nothing is no failure.
func failedAttempts(m *report.Measures, l limits) []problem {
	for _, x := range [...]struct{ name, empty, span string }{
		{"last_hour_attempts", "last_hour_empty_attempts", "hour"}, {"last_day_attempts", "last_day_empty_attempts", "24 hours"},
	} {
		all := m.Sum(x.name, "", "")
		share := (all - m.Sum(x.name, "error_code", string(yp.CodeSuccess)) - m.Sum(x.empty, "", "")) / all
		if all < fewestAttempts || all < fewAttempts && share < 1 {
			continue
		}
		if share > l.failed {
			return found(alertWarning, "failed", "%.1f%% of attempts failed in the last %s", 100*share, x.span)
		}
		break
	}
	return nil
}

// unreadCards: what a run could not read is not stored, and nobody else would notice.
func unreadCards(m *report.Measures, _ limits) (all []problem) {
	for _, s := range m.Sources {
		if s.Unread != "" && s.Availability != store.SourceDisabled {
			all = append(all, found(alertWarning, "unreadable", "%s: %s", s.Name, s.Unread)...)
		}
	}
	return all
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
	return found(alertWarning, "orphans", "%s held by a run that died; the next run or `ypcrawl recover` releases them",
		plural(held, "target"))
}
