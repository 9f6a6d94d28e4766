package cli

import (
	"encoding/json"
	"errors"
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
	m := &report.Measures{
		Now:  yp.Stamp{Time: now},
		Runs: []report.RunHolder{{Alive: true, Host: "vps", PID: 7, Heartbeat: before(20 * time.Second), Held: 3, HeldSince: before(50 * time.Minute)}},
		Sources: []report.SourceStatus{
			{Name: "demo", Availability: store.SourceOpen},
			{Name: "two", Availability: store.SourceOpen},
			{Name: "three", Availability: store.SourceHeld, Until: now.Add(time.Hour), Reason: "Retry-After"},
			{Name: "four", Availability: store.SourceDisabled},
		},
	}
	set(m, "dead_letters", 10)
	set(m, "last_hour_attempts", 18, "error_code", "SUCCESS")
	set(m, "last_hour_attempts", 2, "error_code", "TIMEOUT")
	set(m, "last_day_attempts", 90, "error_code", "SUCCESS")
	set(m, "last_day_attempts", 200, "error_code", "TIMEOUT")
	set(m, "claims", 50)
	set(m, "claim_retries", 10)
	set(m, lastPage, seconds(before(12*time.Second)))
	set(m, lastDone, seconds(before(20*time.Hour)))
	return m
}

const lastPage, lastDone = "last_page_timestamp_seconds", "last_run_done_timestamp_seconds"

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// set gives a metric a value, in place of the one it has.
func set(m *report.Measures, name string, v float64, labels ...string) {
	if old := m.Value(name, labels...); old != nil {
		*old = v
		return
	}
	object := report.Object{}
	for i := 0; i < len(labels); i += 2 {
		object = append(object, report.Named{Name: labels[i], Value: labels[i+1]})
	}
	m.Metrics = append(m.Metrics, report.Metric{Name: name, Labels: json.RawMessage(store.JSON(object)), Value: &v})
}

// unset makes a metric one that is not known.
func unset(m *report.Measures, name string) {
	for i := range m.Metrics {
		if m.Metrics[i].Name == name {
			m.Metrics[i].Value = nil
		}
	}
}

// TestJudge: each rule, at its limit and beyond, where monitoring.txtar does not ask the real program.
func TestJudge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	usual := limits{dead: 10, retries: 0.2, failed: 0.1, noPage: 30 * time.Minute}
	demo := func(is store.SourceState, reason string, until time.Time) func(m *report.Measures) {
		return func(m *report.Measures) {
			s := &m.Sources[0]
			s.Availability, s.Reason, s.Until = is, reason, until
		}
	}
	within := func(d time.Duration) limits { l := usual; l.age = d; return l }
	for name, c := range map[string]struct {
		change func(m *report.Measures)
		limits limits
		want   string
	}{
		"all is well": {func(*report.Measures) {}, usual, `OK A run\x1b[31m crawls demo/two.`},
		"nothing yet": {func(m *report.Measures) { *m = report.Measures{Now: yp.Stamp{Time: now}} }, usual, "OK "},
		"quarantined": {
			demo(store.SourceQuarantined, "cf_challenge", now.Add(20*time.Minute)), usual,
			"CRITICAL demo is quarantined until 12:20:00 UTC (in 20m00s): cf_challenge; then one page is requested as a test",
		},
		"refused":                  {demo(store.SourcePaused, "401", time.Time{}), usual, "CRITICAL demo is paused: 401"},
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
		"nobody knows whether a run lives": {
			func(m *report.Measures) {
				m.Runs[0].Alive, m.Runs[0].Unseen, m.Runs[0].Heartbeat = false, errors.New("permission denied"), now.Add(-195*time.Second)
			}, usual, "UNKNOWN the run of process 7 on vps has sent no heartbeat for 3m15s, and its lock can't be checked: permission denied",
		},
		"that is worse than a warning": {
			func(m *report.Measures) {
				m.Runs[0].Alive, m.Runs[0].Unseen, m.Runs[0].Heartbeat = false, errors.New("permission denied"), now.Add(-time.Hour)
				set(m, "claim_retries", 11)
			}, usual, "UNKNOWN the run of process 7 on vps has sent no heartbeat for 1h00m, and its lock can't be checked: permission denied; 22.0% of claims found the database busy",
		},
		"and better than what is known to be critical": {
			func(m *report.Measures) {
				m.Runs[0].Alive, m.Runs[0].Unseen, m.Runs[0].Heartbeat = false, errors.New("permission denied"), now.Add(-time.Hour)
				m.Sources[0].Availability, m.Sources[0].Reason = store.SourcePaused, "401"
			}, usual, "CRITICAL demo is paused: 401; the run of process 7 on vps has sent no heartbeat for 1h00m, and its lock can't be checked: permission denied",
		},
		"a page 30 minutes ago": {func(m *report.Measures) { set(m, lastPage, seconds(now.Add(-30*time.Minute))) }, usual, "OK "},
		"no page for longer": {
			func(m *report.Measures) { set(m, lastPage, seconds(now.Add(-30*time.Minute-time.Second))) }, usual,
			"CRITICAL no page for 30m01s, while process 7 on vps holds 3 targets",
		},
		"no page ever":                    {func(m *report.Measures) { unset(m, lastPage) }, usual, "CRITICAL no page for 50m00s, while process 7 on vps holds 3 targets"},
		"no page, but claimed just now":   {func(m *report.Measures) { unset(m, lastPage); m.Runs[0].HeldSince = now.Add(-time.Minute) }, usual, "OK "},
		"no page, but nothing is held":    {func(m *report.Measures) { unset(m, lastPage); m.Runs[0].HeldSince, m.Runs[0].Held = time.Time{}, 0 }, usual, "OK "},
		"no page, but nobody asks":        {func(m *report.Measures) { unset(m, lastPage) }, limits{dead: 10, retries: 1, failed: 1}, "OK "},
		"no page, of a run that died":     {func(m *report.Measures) { unset(m, lastPage); m.Runs[0].Alive = false }, usual, "OK "},
		"an old run, and nobody asks":     {func(m *report.Measures) { unset(m, lastDone) }, usual, "OK "},
		"a run within its age":            {func(*report.Measures) {}, within(20 * time.Hour), "OK "},
		"claims that found it busy":       {func(m *report.Measures) { set(m, "claim_retries", 11) }, usual, "WARNING 22.0% of claims found the database busy"},
		"of a few claims nothing is said": {func(m *report.Measures) { set(m, "claims", 19); set(m, "claim_retries", 19) }, usual, "OK "},
		"attempts failed in the hour":     {func(m *report.Measures) { set(m, "last_hour_attempts", 3, "error_code", "TIMEOUT") }, usual, "WARNING 14.3% of attempts failed in the last hour"},
		"the site has nothing": {func(m *report.Measures) {
			set(m, "last_hour_attempts", 30, "error_code", "NO_LISTINGS")
			set(m, "last_hour_empty_attempts", 30)
		}, usual, "OK "},
		"pages that are not there": {func(m *report.Measures) {
			set(m, "last_hour_attempts", 30, "error_code", "NO_LISTINGS")
			set(m, "last_hour_empty_attempts", 25)
		}, usual, "WARNING 14.0% of attempts failed in the last hour"},
		"as many failed as may": {func(m *report.Measures) {
			set(m, "last_hour_attempts", 70, "error_code", "SUCCESS")
			set(m, "last_hour_attempts", 30, "error_code", "TIMEOUT")
		}, limits{dead: 10, retries: 0.2, failed: 0.3}, "OK "},
		"few in the hour, more in the day": {func(m *report.Measures) { set(m, "last_hour_attempts", 17, "error_code", "SUCCESS") }, usual, "WARNING 69.0% of attempts failed in the last 24 hours"},
		"few attempts, which all failed": {func(m *report.Measures) {
			unset(m, "last_hour_attempts")
			set(m, "last_hour_attempts", 3, "error_code", "PARSE_ERROR")
		}, usual, "WARNING 100.0% of attempts failed in the last hour"},
		"few attempts in all": {
			func(m *report.Measures) {
				unset(m, "last_hour_attempts")
				unset(m, "last_day_attempts")
				set(m, "last_hour_attempts", 2, "error_code", "PARSE_ERROR")
				set(m, "last_day_attempts", 2, "error_code", "PARSE_ERROR")
			}, usual, "OK ",
		},
		"orphans of 10 minutes": {
			func(m *report.Measures) {
				m.Runs = append(m.Runs, report.RunHolder{Dead: true, Heartbeat: now.Add(-10 * time.Minute), Held: 2})
			}, usual, "OK ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := calm(now)
			c.change(m)
			v := judge(m, "A run\x1b[31m\ncrawls demo|two.", c.limits)
			if got := v.Status + " " + v.Text; got != c.want && (!strings.HasSuffix(c.want, " ") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%s, want %s", got, c.want)
			}
			if want := map[string]int{"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}[v.Status]; v.Code != want || (len(v.Problems) == 0) != (want == 0) {
				t.Errorf("code %d with %d problems of %s", v.Code, len(v.Problems), v.Status)
			}
		})
	}
}
