package measure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// ContentType is that of Text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Text writes measures in Prometheus' text form, in base units. database is the file's name: it
// tells several files of one machine apart.
func Text(m *report.Measures, database string) []byte {
	t := &text{database: database}
	t.totals(m)
	t.runs(m)
	t.targets(m)
	t.listings(m)
	t.sources(m)
	t.attempts(m)
	t.files(m)
	return []byte(t.b.String())
}

// text is a text in the making.
type text struct {
	b        strings.Builder
	database string
	name     string // of the metric that is being written
	head     string // its HELP and TYPE, until it has a value
}

// metric begins a metric; one without a value leaves nothing.
func (t *text) metric(name, kind, help string) {
	t.name = "ypcrawl_" + name
	t.head = fmt.Sprintf("# HELP %s %s\n# TYPE %[1]s %[3]s\n", t.name, help, kind)
}

func (t *text) gauge(name, help string)   { t.metric(name, "gauge", help) }
func (t *text) counter(name, help string) { t.metric(name+"_total", "counter", help) }

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// is gives the metric a value; labels are names and values in turn.
func (t *text) is(v float64, labels ...string) {
	t.b.WriteString(t.head)
	t.head = ""
	t.b.WriteString(t.name)
	for i, sep := 0, "{"; i < len(labels)+2; i, sep = i+2, "," {
		pair := append([]string{"db", t.database}, labels...)[i:]
		t.b.WriteString(sep + pair[0] + `="` + escape.Replace(strings.ToValidUTF8(pair[1], "?")) + `"`)
	}
	t.b.WriteString("} " + strconv.FormatFloat(v, 'f', -1, 64) + "\n")
}

// whether gives the metric 1 or 0.
func (t *text) whether(yes bool, labels ...string) {
	v := 0.0
	if yes {
		v = 1
	}
	t.is(v, labels...)
}

// count, real and stamp give it a value that may not be known.
func (t *text) count(v *int64) {
	if v != nil {
		t.is(float64(*v))
	}
}

func (t *text) real(v *float64, labels ...string) {
	if v != nil {
		t.is(*v, labels...)
	}
}

func (t *text) stamp(v *time.Time, labels ...string) {
	if v != nil && !v.IsZero() {
		t.is(float64(v.UnixMilli())/1000, labels...)
	}
}

func (t *text) totals(m *report.Measures) {
	for _, c := range []struct {
		name, help string
		n          int64
	}{
		{"pages", "Pages committed by all runs: of results, of listings, of indexes.", m.Totals.Pages},
		{"requests", "Requests made by all runs; of one that goes on, up to its last heartbeat.", m.Totals.Requests},
		{"targets_finished", "Targets brought to an outcome by all runs.", m.Totals.Targets},
		{"listings_new", "Listings that were new, of all runs.", m.Totals.New},
	} {
		t.counter(c.name, c.help)
		t.is(float64(c.n))
	}
}

func (t *text) runs(m *report.Measures) {
	var alive, dead, held int64
	var oldest *float64
	for _, r := range m.Runs {
		switch {
		case r.Alive:
			alive++
			if oldest == nil || r.AgeSec > *oldest {
				oldest = new(r.AgeSec)
			}
		case r.Dead:
			dead, held = dead+1, held+r.Held
		}
	}
	t.gauge("runs", "Runs under way, including those that died and were not recovered yet.")
	t.is(float64(alive), "state", "alive")
	t.is(float64(dead), "state", "dead")
	t.gauge("run_heartbeat_age_seconds", "Age of the oldest heartbeat of the runs under way.")
	t.real(oldest)
	t.gauge("targets_orphaned", "Targets held by dead runs: the next run recovers them.")
	t.is(float64(held))
	if end := m.LastRun; end != nil {
		t.gauge("last_run_outcome", "How the last run ended: see the label outcome.")
		t.is(1, "outcome", end.Outcome)
		t.gauge("last_run_finished_timestamp_seconds", "When the last run ended.")
		t.stamp(&end.Finished)
	}
	t.gauge("last_run_done_timestamp_seconds", "When the last successful run ended: it did all due work, or used up its budget.")
	t.stamp(m.LastWell)
	t.gauge("last_page_timestamp_seconds", "When the last page was read.")
	t.stamp(m.LastPage)
	if left := m.Left; left != nil {
		t.gauge("time_left_seconds", "Until all that is due is read, at the speed of the last minutes; absent = unknown.")
		if left.Seconds >= 0 {
			t.is(float64(left.Seconds))
		}
		t.gauge("targets_resting", "Targets that wait for minutes after a first failure.")
		t.is(float64(left.Resting))
	}
	t.gauge("claims", "Claims of targets by the runs under way and the last one.")
	t.is(float64(m.Claims.Claims))
	t.gauge("claim_retries", "Extra tries of these claims, because the database was busy.")
	t.is(float64(m.Claims.Retries))
}

func (t *text) targets(m *report.Measures) {
	t.gauge("targets", "Targets by source, kind and status.")
	for _, c := range m.Targets {
		for _, s := range []struct {
			status string
			n      int64
		}{
			{"planned", c.Planned},
			{"in_progress", c.InProgress},
			{"done", c.Done},
			{"failed", c.Failed},
			{"stuck", c.Stuck},
			{"parked", c.Parked},
			{"retired", c.Retired},
		} {
			t.is(float64(s.n), "source", c.Source, "kind", string(c.Kind), "status", s.status)
		}
	}
	t.gauge("targets_due", "Targets that a run may claim now.")
	for _, c := range m.Targets {
		t.is(float64(c.Due), "source", c.Source, "kind", string(c.Kind))
	}
	t.gauge("dead_letters", "Targets that no run crawls again automatically.")
	t.is(float64(m.DeadLetters()))
}

func (t *text) listings(m *report.Measures) {
	l := m.Listings
	t.gauge("listings", "Listings, without those that their source has dropped.")
	t.is(float64(l.Alive), "state", "alive")
	t.is(float64(l.All-l.Alive), "state", "dropped")
	t.gauge("listings_with_email", "Listings that are not dropped and have an e-mail address.")
	t.is(float64(l.WithEmail))
	t.gauge("companies", "Companies.")
	t.is(float64(l.Companies))
	t.gauge("pass_listings", "Listings of the last pass of a source so far, by kind of change.")
	for _, p := range m.Passes {
		for _, c := range []struct {
			change string
			n      int64
		}{{"new", p.New}, {"changed", p.Changed}, {"dropped", p.Dropped}, {"restored", p.Restored}, {"rejected", p.Rejected}} {
			t.is(float64(c.n), "source", p.Source, "change", c.change)
		}
	}
	t.gauge("pass_began_timestamp_seconds", "When the last pass of a source began.")
	for _, p := range m.Passes {
		t.stamp(&p.Began, "source", p.Source)
	}
	t.gauge("pass_running", "1 while a run of the source's last pass is under way.")
	for _, p := range m.Passes {
		t.whether(p.State == report.PassRunning, "source", p.Source)
	}
	c := m.Coverage
	t.gauge("site_listings", "Listings that the sites say they have, over the targets with such a number.")
	t.count(c.SiteTotal)
	t.gauge("site_listings_seen", "Listings seen, over the same targets.")
	t.count(c.Seen)
	t.gauge("site_pages_left", "Pages of the sites beyond the limit of pages.")
	t.count(c.PagesLeft)
}

func (t *text) sources(m *report.Measures) {
	each := func(name, help string, value func(s report.SourceMeasure, source []string)) {
		t.gauge(name, help)
		for _, s := range m.Sources {
			value(s, []string{"source", s.Name})
		}
	}
	with := func(labels []string, more ...string) []string { return append(slices.Clone(labels), more...) }
	each("source_availability", "1 for the state of the source, 0 for all other states.", func(s report.SourceMeasure, of []string) {
		for _, state := range []store.SourceState{store.SourceOpen, store.SourceHeld, store.SourceQuarantined, store.SourcePaused, store.SourceDisabled} {
			t.whether(s.Availability == state, with(of, "availability", string(state))...)
		}
	})
	each("source_layout_alarm", "1 while the source is paused because its pages have changed.", func(s report.SourceMeasure, of []string) {
		t.whether(s.LayoutAlarm(), of...)
	})
	each("source_opens_timestamp_seconds", "When a closed source may open again.", func(s report.SourceMeasure, of []string) { t.stamp(s.Until, of...) })
	each("source_success_ratio", "Share of requests that went well in an hour, as rated last.", func(s report.SourceMeasure, of []string) { t.real(s.Rate1h, of...) })
	each("source_latency_p50_seconds", "Median of the time to answer in that hour.", func(s report.SourceMeasure, of []string) { t.real(seconds(s.P50), of...) })
	each("source_latency_p95_seconds", "95th percentile of the time to answer in that hour.", func(s report.SourceMeasure, of []string) { t.real(seconds(s.P95), of...) })
	each("source_last_page_timestamp_seconds", "When the last page of the source was read.", func(s report.SourceMeasure, of []string) { t.stamp(s.LastPage, of...) })
	each("last_hour_pages", "Requests of the last hour that brought a page with anything on it, by the kind of their target; ypcrawl_pages_total counts pages that were stored.", func(s report.SourceMeasure, of []string) {
		for _, kind := range yp.Kinds() {
			t.is(float64(s.Pages[kind]), with(of, "kind", string(kind))...)
		}
	})
	each("last_hour_requests", "Requests of the last hour by outcome.", func(s report.SourceMeasure, of []string) {
		t.is(float64(s.Succeeded), with(of, "outcome", "success")...)
		t.is(float64(s.Failed), with(of, "outcome", "failure")...)
	})
	each("last_hour_request_failures", "Failed requests of the last hour by class.", func(s report.SourceMeasure, of []string) {
		for _, f := range s.FailuresByClass() {
			t.is(float64(f.N), with(of, "error_class", string(f.Class))...)
		}
	})
}

func seconds(ms *int64) *float64 {
	if ms == nil {
		return nil
	}
	return new(float64(*ms) / 1000)
}

func (t *text) attempts(m *report.Measures) {
	t.gauge("last_hour_attempts", "Attempts at targets that ended in the last hour, by code.")
	for _, a := range m.Attempts {
		t.is(float64(a.Hour), "error_code", string(a.Code))
	}
	t.gauge("last_day_attempts", "Attempts at targets that ended in the last 24 hours, by code.")
	for _, a := range m.Attempts {
		t.is(float64(a.Day), "error_code", string(a.Code))
	}
	var held, slowed int64
	for _, h := range m.Hosts {
		if !h.HeldUntil.IsZero() {
			held++
		}
		if h.DelayMS > 0 {
			slowed++
		}
	}
	t.gauge("hosts_held", "Hosts that are not asked until a time of their own or after a block.")
	t.is(float64(held))
	t.gauge("hosts_slowed", "Hosts that are asked more slowly than configured.")
	t.is(float64(slowed))
}

func (t *text) files(m *report.Measures) {
	t.gauge("database_bytes", "Size of the database.")
	t.count(m.Database)
	t.gauge("database_journal_bytes", "Size of the database's journal (-wal).")
	t.count(m.Journal)
	t.gauge("log_bytes", "Size of the write-ahead logs.")
	t.count(m.Logs)
	t.gauge("measured_timestamp_seconds", "When all of this was read.")
	t.stamp(&m.Now)
}
