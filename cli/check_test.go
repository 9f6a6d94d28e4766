package cli

import (
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// calm are measures of a crawl under way that is well.
func calm(now time.Time) *report.Measures {
	before := func(d time.Duration) time.Time { return now.Add(-d) }
	return &report.Measures{
		Now: now,
		Runs: []report.RunMeasure{
			{Alive: true, Host: "vps", PID: 7, Started: before(time.Hour), Heartbeat: before(20 * time.Second), Held: 3, HeldSince: new(before(50 * time.Minute))},
		},
		Sources: []report.SourceMeasure{
			{Name: "demo", Availability: store.SourceOpen},
			{Name: "two", Availability: store.SourceOpen},
			{Name: "three", Availability: store.SourceHeld, Until: new(now.Add(time.Hour)), Reason: "Retry-After"},
			{Name: "four", Availability: store.SourceDisabled},
		},
		Targets: []report.TargetMeasure{
			{KindCounts: report.KindCounts{Kind: yp.KindSearch, Targets: 400, Done: 171, Parked: 1}, Due: 100},
			{KindCounts: report.KindCounts{Kind: yp.KindDetail, Targets: 400, Parked: 9}},
		},
		Attempts: []report.AttemptMeasure{{Code: yp.CodeSuccess, Hour: 18, Day: 90}, {Code: yp.CodeTimeout, Hour: 2, Day: 200}},
		Claims:   report.ClaimMeasure{Claims: 50, Retries: 10, Share: new(0.2)},
		LastPage: new(before(12 * time.Second)),
		LastWell: new(before(20 * time.Hour)),
	}
}

// TestJudge: each rule, at its limit and beyond.
func TestJudge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	usual := limits{dead: 10, retries: 0.2, failed: 0.1, noPage: 30 * time.Minute}
	within := func(d time.Duration) limits { l := usual; l.age = d; return l }
	for name, c := range map[string]struct {
		change func(m *report.Measures)
		limits limits
		want   string
	}{
		"all is well": {func(*report.Measures) {}, usual, "OK 2 sources open, 1 source held, 1 source disabled, 43% of 400 targets done, last page 12s ago"},
		"nothing yet": {func(m *report.Measures) { *m = report.Measures{Now: now} }, usual, "OK nothing was planned or crawled yet"},
		"quarantined": {
			func(m *report.Measures) {
				s := &m.Sources[0]
				s.Availability, s.Reason, s.Until = store.SourceQuarantined, "cf_challenge", new(now.Add(20*time.Minute))
			}, usual, "CRITICAL demo is quarantined until 12:20:00Z (in 20m00s): cf_challenge; then one page is requested, to see whether it answers",
		},
		"layout alarm": {
			func(m *report.Measures) {
				s := &m.Sources[0]
				s.Availability, s.Code, s.Reason = store.SourcePaused, yp.CodeHTMLChanged, "name | is\x1b[31m\nmissing"
			}, usual, `CRITICAL layout alarm: demo is paused: name / is\x1b[31m missing`,
		},
		"refused": {
			func(m *report.Measures) {
				s := &m.Sources[0]
				s.Availability, s.Code, s.Reason = store.SourcePaused, yp.CodeAuthFailed, "401"
			}, usual, "CRITICAL demo is paused: 401",
		},
		"a heartbeat of 3 minutes": {func(m *report.Measures) { m.Runs[0].Heartbeat = now.Add(-3 * time.Minute) }, usual, "OK "},
		"no heartbeat": {
			func(m *report.Measures) { m.Runs[0].Heartbeat = now.Add(-3*time.Minute - time.Second) }, usual,
			"CRITICAL the run of process 7 on vps has sent no heartbeat for 3m01s",
		},
		"a dead run has none": {
			func(m *report.Measures) {
				m.Runs[0].Alive, m.Runs[0].Held, m.Runs[0].Heartbeat = false, 0, now.Add(-time.Hour)
			}, usual, "OK ",
		},
		"a page 30 minutes ago": {func(m *report.Measures) { m.LastPage = new(now.Add(-30 * time.Minute)) }, usual, "OK "},
		"no page for longer": {
			func(m *report.Measures) { m.LastPage = new(now.Add(-30*time.Minute - time.Second)) }, usual,
			"CRITICAL no page for 30m01s, while process 7 on vps holds 3 targets",
		},
		"no page ever":                     {func(m *report.Measures) { m.LastPage = nil }, usual, "CRITICAL no page for 50m00s, while process 7 on vps holds 3 targets"},
		"no page, but claimed just now":    {func(m *report.Measures) { m.LastPage, m.Runs[0].HeldSince = nil, new(now.Add(-time.Minute)) }, usual, "OK "},
		"no page, but nothing is held":     {func(m *report.Measures) { m.LastPage, m.Runs[0].HeldSince, m.Runs[0].Held = nil, nil, 0 }, usual, "OK "},
		"no page, but nobody asks":         {func(m *report.Measures) { m.LastPage = nil }, limits{dead: 10, retries: 1, failed: 1}, "OK "},
		"no page, of a run that died":      {func(m *report.Measures) { m.LastPage, m.Runs[0].Alive = nil, false }, usual, "OK "},
		"an old run, and nobody asks":      {func(m *report.Measures) { m.LastWell = nil }, usual, "OK "},
		"a run within its age":             {func(*report.Measures) {}, within(20 * time.Hour), "OK "},
		"a run that is too old":            {func(*report.Measures) {}, within(19 * time.Hour), "CRITICAL the last run that succeeded ended 20h00m ago; --max-age is 19h"},
		"no run at all":                    {func(m *report.Measures) { m.LastWell = nil }, within(26 * time.Hour), "CRITICAL no run has succeeded yet; --max-age is 26h"},
		"a dead letter more than allowed":  {func(m *report.Measures) { m.Targets[1].Parked++ }, usual, "WARNING 11 dead letters (`ypcrawl targets list --status PARKED`)"},
		"claims that found it busy":        {func(m *report.Measures) { m.Claims.Share = new(0.21) }, usual, "WARNING 21.0% of claims found the database busy"},
		"of a few claims nothing is said":  {func(m *report.Measures) { m.Claims = report.ClaimMeasure{Claims: 19, Share: new(1.0)} }, usual, "OK "},
		"attempts failed in the hour":      {func(m *report.Measures) { m.Attempts[1].Hour = 3 }, usual, "WARNING 14.3% of attempts failed in the last hour"},
		"few in the hour, more in the day": {func(m *report.Measures) { m.Attempts[0].Hour = 17 }, usual, "WARNING 69.0% of attempts failed in the last 24 hours"},
		"few attempts in all": {
			func(m *report.Measures) {
				m.Attempts = []report.AttemptMeasure{{Code: yp.CodeTimeout, Hour: 19, Day: 19}}
			}, usual, "OK ",
		},
		"orphans of 10 minutes": {
			func(m *report.Measures) {
				m.Runs = append(m.Runs, report.RunMeasure{Dead: true, Heartbeat: now.Add(-10 * time.Minute), Held: 2})
			}, usual, "OK ",
		},
		"orphans that nobody takes": {
			func(m *report.Measures) {
				m.Runs = append(m.Runs, report.RunMeasure{Dead: true, Heartbeat: now.Add(-11 * time.Minute), Held: 2})
			}, usual, "WARNING 2 targets held by a run that died: the next run or `ypcrawl recover` recovers them",
		},
		"the worst comes first": {
			func(m *report.Measures) { m.Targets[1].Parked++; m.LastWell = nil }, within(time.Hour),
			"CRITICAL no run has succeeded yet; --max-age is 1h; 11 dead letters (`ypcrawl targets list --status PARKED`)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := calm(now)
			c.change(m)
			v := judge(m, c.limits)
			if got := v.Status + " " + v.Text; got != c.want && (!strings.HasSuffix(c.want, " ") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%s, want %s", got, c.want)
			}
			if want := map[string]int{"OK": 0, "WARNING": 1, "CRITICAL": 2}[v.Status]; v.Code != want || (len(v.Problems) == 0) != (want == 0) {
				t.Errorf("code %d with %d problems of %s", v.Code, len(v.Problems), v.Status)
			}
		})
	}
}

// TestJudgeMany: a line names ten problems, and counts the others.
func TestJudgeMany(t *testing.T) {
	t.Parallel()
	m := &report.Measures{}
	for range 13 {
		m.Sources = append(m.Sources, report.SourceMeasure{Name: "demo", Availability: store.SourcePaused, Reason: "401"})
	}
	v := judge(m, limits{})
	if n := strings.Count(v.Text, "demo is paused"); n != 10 || !strings.HasSuffix(v.Text, "; and 3 more") || len(v.Problems) != 13 {
		t.Errorf("%d named of %d: %s", n, len(v.Problems), v.Text)
	}
}
