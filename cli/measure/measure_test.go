package measure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/measure"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) *time.Time { return new(noon.Add(-d)) }

// full are measures of which everything is known, and a source with an odd name.
func full() *report.Measures {
	return &report.Measures{
		Now: noon, Left: &report.Left{Seconds: 90, Resting: 2, Until: *before(-time.Minute)},
		Runs: []report.RunMeasure{
			{UUID: "A", Alive: true, Heartbeat: *before(20 * time.Second), AgeSec: 20, Held: 3},
			{UUID: "B", Alive: true, Heartbeat: *before(time.Second), AgeSec: 1},
			{UUID: "C", Dead: true, Heartbeat: *before(time.Hour), AgeSec: 3600, Held: 2},
		},
		Sources: []report.SourceMeasure{
			{
				Name: "demo", Availability: store.SourceOpen, Status: new("healthy"), Rate1h: new(0.975), P50: new(int64(420)), P95: new(int64(1250)),
				LastPage: before(12 * time.Second), Succeeded: 39, Failed: 1, Pages: map[yp.Kind]int64{yp.KindSearch: 30, yp.KindDetail: 8},
				Failures: map[yp.ErrorClass]int64{yp.ClassTimeout: 1},
			},
			{
				Name: "a\\b \"c\"\nd\xff", Availability: store.SourcePaused, Code: yp.CodeHTMLChanged, Until: before(-time.Hour),
				Pages: map[yp.Kind]int64{}, Failures: map[yp.ErrorClass]int64{},
			},
		},
		Targets: []report.TargetMeasure{
			{KindCounts: report.KindCounts{Source: "demo", Kind: yp.KindSearch, Targets: 21, Planned: 1, InProgress: 2, Done: 3, Failed: 4, Stuck: 5, Parked: 6, Retired: 7}, Due: 1},
			{KindCounts: report.KindCounts{Source: "demo", Kind: yp.KindDetail, Targets: 4, Parked: 4}},
		},
		Listings: report.ListingMeasure{All: 1_000_000, Alive: 990_000, WithEmail: 300_000, Companies: 900_000},
		Totals:   report.TotalMeasure{Pages: 12_345_678, Requests: 20_000_000, Targets: 4_000_000, New: 1_000_000},
		Attempts: []report.AttemptMeasure{{Code: yp.CodeSuccess, Hour: 9, Day: 90}, {Code: yp.CodeTimeout, Hour: 1, Day: 2}},
		Hosts:    []report.HostPace{{Source: "demo", Host: "h", HeldUntil: noon.Add(time.Minute), DelayMS: 4000}, {Source: "demo", Host: "i", DelayMS: 3000}},
		Claims:   report.ClaimMeasure{Claims: 100, Retries: 3, Share: new(0.03)},
		SlowMeasures: report.SlowMeasures{
			Coverage: report.CoverageMeasure{At: &noon, SiteTotal: new(int64(1000)), Seen: new(int64(320)), Percent: new(32.0), PagesLeft: new(int64(2400))},
			Passes:   passes(),
		},
		LastPage: before(12 * time.Second),
		LastRun:  &report.RunEnd{UUID: "Z", Outcome: "blocked", Started: *before(3 * time.Hour), Finished: *before(2500 * time.Millisecond)},
		LastWell: before(24 * time.Hour),
		Database: new(int64(5_000_000_000)), Journal: new(int64(0)), Logs: new(int64(123)),
	}
}

// passes are the last ones of the sources, as JSON has them.
func passes() (all []report.Pass) {
	const text = `[{"source": "demo", "began_at": "2026-11-20T10:00:00Z", "state": "running", "new": 8, "changed": 4, "dropped": 7, "restored": 6, "rejected": 5}]`
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		panic(err)
	}
	return all
}

// parse reads a text as Prometheus does.
func parse(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	var p expfmt.TextParser
	all, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return all
}

// value is that of a metric with labels, name and value in turn; ok = it is there.
func value(all map[string]*dto.MetricFamily, name string, labels ...string) (v float64, ok bool) {
	for _, m := range all[name].GetMetric() {
		got := []string{}
		for _, l := range m.GetLabel() {
			if l.GetName() != "db" {
				got = append(got, l.GetName(), l.GetValue())
			}
		}
		if slices.Equal(got, labels) {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
		}
	}
	return 0, false
}

// TestText: the text is what it was, and Prometheus' own parser reads of it what was meant.
func TestText(t *testing.T) {
	t.Parallel()
	text := measure.Text(full(), `te"xas.db`)
	golden := filepath.Join("testdata", "metrics.prom")
	if *update {
		if err := os.WriteFile(golden, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("-want +got, -update writes it anew:\n%s", diff)
	}
	all := parse(t, text)
	odd := "a\\b \"c\"\nd?"
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{12_345_678, "ypcrawl_pages_total", nil},
		{2, "ypcrawl_runs", []string{"state", "alive"}},
		{1, "ypcrawl_runs", []string{"state", "dead"}},
		{20, "ypcrawl_run_heartbeat_age_seconds", nil},
		{2, "ypcrawl_targets_orphaned", nil},
		{7, "ypcrawl_targets", []string{"source", "demo", "kind", "search", "status", "retired"}},
		{1, "ypcrawl_targets_due", []string{"source", "demo", "kind", "search"}},
		{10, "ypcrawl_dead_letters", nil},
		{990_000, "ypcrawl_listings", []string{"state", "alive"}},
		{10_000, "ypcrawl_listings", []string{"state", "dropped"}},
		{1.25, "ypcrawl_source_latency_p95_seconds", []string{"source", "demo"}},
		{1, "ypcrawl_source_availability", []string{"source", odd, "availability", "paused"}},
		{0, "ypcrawl_source_availability", []string{"source", odd, "availability", "open"}},
		{1, "ypcrawl_source_layout_alarm", []string{"source", odd}},
		{float64(noon.Unix()) + 3600, "ypcrawl_source_opens_timestamp_seconds", []string{"source", odd}},
		{8, "ypcrawl_last_hour_pages", []string{"source", "demo", "kind", "detail"}},
		{1, "ypcrawl_last_hour_request_failures", []string{"source", "demo", "error_class", "timeout"}},
		{90, "ypcrawl_last_day_attempts", []string{"error_code", "SUCCESS"}},
		{1, "ypcrawl_last_run_outcome", []string{"outcome", "blocked"}},
		{float64(noon.Unix()) - 2.5, "ypcrawl_last_run_finished_timestamp_seconds", nil},
		{320, "ypcrawl_site_listings_seen", nil},
		{2400, "ypcrawl_site_pages_left", nil},
		{7, "ypcrawl_pass_listings", []string{"source", "demo", "change", "dropped"}},
		{1, "ypcrawl_pass_running", []string{"source", "demo"}},
		{0, "ypcrawl_database_journal_bytes", nil},
		{2, "ypcrawl_hosts_slowed", nil},
	} {
		if got, ok := value(all, c.name, c.labels...); !ok || got != c.want {
			t.Errorf("%s %q is %v (there: %v), want %v", c.name, c.labels, got, ok, c.want)
		}
	}
	for _, name := range []string{"source_success_ratio", "source_latency_p50_seconds", "source_last_page_timestamp_seconds"} {
		if v, ok := value(all, "ypcrawl_"+name, "source", odd); ok {
			t.Errorf("%s of a source of which it is not known is %v, want none", name, v)
		}
	}
	names := regexp.MustCompile(`^ypcrawl_[a-z0-9_]+$`)
	for name, f := range all {
		counts := strings.HasSuffix(name, "_total")
		if !names.MatchString(name) || f.GetHelp() == "" || counts != (f.GetType() == dto.MetricType_COUNTER) || !counts && f.GetType() != dto.MetricType_GAUGE {
			t.Errorf("%s: type %s, help %q", name, f.GetType(), f.GetHelp())
		}
		for _, m := range f.GetMetric() {
			if l := m.GetLabel()[0]; l.GetName() != "db" || l.GetValue() != `te"xas.db` {
				t.Errorf("%s bears %v, want the file's name first", name, m.GetLabel())
			}
		}
	}
}

// TestTextOfNothing: what is not known is not there, not 0.
func TestTextOfNothing(t *testing.T) {
	t.Parallel()
	all := parse(t, measure.Text(&report.Measures{Now: noon}, "a.db"))
	var got []string
	for name := range all {
		got = append(got, strings.TrimPrefix(name, "ypcrawl_"))
	}
	slices.Sort(got)
	want := []string{
		"claim_retries", "claims", "companies", "dead_letters", "hosts_held", "hosts_slowed", "listings", "listings_new_total", "listings_with_email",
		"measured_timestamp_seconds", "pages_total", "requests_total", "runs", "targets_finished_total", "targets_orphaned",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// bundle is a database with a run of this process, and a clock that the test moves.
type bundle struct {
	db    *store.DB
	clock *storetest.Clock
	path  string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{clock: &storetest.Clock{}, path: filepath.Join(t.TempDir(), "a.db")}
	b.db = storetest.OpenConfig(t, store.Config{Path: b.path, Now: b.clock.Now})
	k := checkpoint.New(b.db)
	id, err := k.Source(t.Context(), "demo", "http://127.0.0.1:1")
	storetest.NoError(t, err)
	run, err := k.StartRun(t.Context(), id, "test", false)
	storetest.NoError(t, err)
	t.Cleanup(func() { _ = run.Finish(context.Background(), checkpoint.OutcomeDone, 0) })
	return b
}

func (b *bundle) meter(run bool) *measure.Meter {
	return measure.New(measure.Config{Reader: report.New(b.db), Database: "a.db", Run: run, Now: b.clock.Now})
}

// get asks a handler of the meter.
func get(t *testing.T, m *measure.Meter, path string) (code int, kind, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handlers()[path].ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	text, err := io.ReadAll(w.Result().Body)
	storetest.NoError(t, err)
	return w.Code, w.Header().Get("Content-Type"), string(text)
}

// TestHandlers: what they answer while all is well, while the run's heartbeat is old, and when
// the database can't be read.
func TestHandlers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m, other := b.meter(true), b.meter(false)
	want := func(m *measure.Meter, path string, code int, kind, text string) {
		t.Helper()
		gotCode, gotKind, body := get(t, m, path)
		if gotCode != code || !strings.HasPrefix(gotKind, kind) || !strings.Contains(body, text) {
			t.Errorf("%s: %d, %s, %q; want %d, %s, %q", path, gotCode, gotKind, body, code, kind, text)
		}
		if path == "/healthz" && strings.Count(body, "\n") != 1 {
			t.Errorf("%s: %q, want one line", path, body)
		}
	}
	want(m, "/healthz", 200, "text/plain", "ok\n")
	want(m, "/metrics", 200, "text/plain; version=0.0.4", `ypcrawl_runs{db="a.db",state="alive"} 1`)
	_, kind, body := get(t, m, "/status.json")
	var all map[string]any
	if err := json.Unmarshal([]byte(body), &all); err != nil || kind != "application/json" || all["last_page_at"] != nil || all["coverage"].(map[string]any)["at"] == nil {
		t.Errorf("%s: %s, %v", kind, body, err)
	}

	b.clock.Move(3 * time.Minute)
	want(m, "/healthz", 200, "text/plain", "ok\n")
	b.clock.Move(12 * time.Second)
	want(m, "/healthz", 503, "text/plain", "the run of this process has sent no heartbeat for 3m12s\n")
	want(other, "/healthz", 200, "text/plain", "ok\n") // it does not crawl
	storetest.Execute(t, b.db, `UPDATE runs SET heartbeat_at = '`+yp.FormatTime(b.clock.Now())+`'`)
	b.clock.Move(time.Second)
	want(m, "/healthz", 200, "text/plain", "ok\n")

	storetest.Execute(t, b.db, `ALTER TABLE runs RENAME TO walks`)
	b.clock.Move(time.Second)
	want(m, "/healthz", 503, "text/plain", "the database can't be read: ")
	want(m, "/metrics", 503, "text/plain", "read measures: ")
	want(m, "/status.json", 503, "text/plain", "read measures: ")
	storetest.Execute(t, b.db, `ALTER TABLE walks RENAME TO runs`)
}

// TestOnceASecond: however many ask at once, the database is read once a second, and its
// coverage once a minute.
func TestOnceASecond(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.meter(false)
	at := func() (all, coverage time.Time) {
		t.Helper()
		var mu sync.Mutex
		seen := map[*report.Measures]bool{}
		var g sync.WaitGroup
		for range 20 {
			g.Go(func() {
				read, err := m.Measures()
				mu.Lock()
				defer mu.Unlock()
				if seen[read] = true; err != nil {
					t.Error(err)
				}
			})
		}
		g.Wait()
		if len(seen) != 1 {
			t.Fatalf("20 who asked at once made it read %d times", len(seen))
		}
		for read := range seen {
			all, coverage = read.Now, *read.Coverage.At
		}
		return all, coverage
	}
	first, covered := at()
	for _, step := range []struct {
		d          time.Duration
		all, cover time.Duration // when each was read last, from the first time on
	}{
		{999 * time.Millisecond, 0, 0},
		{time.Millisecond, time.Second, 0},
		{500 * time.Millisecond, time.Second, 0},
		{58 * time.Second, 59500 * time.Millisecond, 0},
		{time.Second, 60500 * time.Millisecond, 60500 * time.Millisecond},
	} {
		b.clock.Move(step.d)
		if all, cover := at(); all.Sub(first) != step.all || cover.Sub(covered) != step.cover {
			t.Errorf("after another %s: read at %s, the coverage at %s; want %s and %s", step.d, all.Sub(first), cover.Sub(covered), step.all, step.cover)
		}
	}
}

// TestRestsAfterSlowReading: what takes long to read is read less often.
func TestRestsAfterSlowReading(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now, calls := noon, 0
	m := measure.New(measure.Config{Reader: report.New(b.db), Now: func() time.Time {
		calls++
		if calls%2 == 0 { // the end of a reading
			now = now.Add(500 * time.Millisecond)
		}
		return now
	}, Slow: time.Hour})
	storetest.NoError(t, second(m.Measures())) // the coverage first: twice as long
	first, _ := m.Measures()
	for range 9 {
		calls = 0
		now = now.Add(time.Second)
		if again, _ := m.Measures(); again != first {
			t.Fatalf("it is read again %s later", now.Sub(noon))
		}
	}
	calls = 0
	now = now.Add(20 * time.Second)
	if again, _ := m.Measures(); again == first {
		t.Error("it is never read again")
	}
}

func second[T any](_ T, err error) error { return err }

// TestWriteFile: the file is replaced as a whole, others may read it, and nothing stays beside
// it.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m, dir := b.meter(false), t.TempDir()
	name := filepath.Join(dir, "ypcrawl.prom")
	storetest.NoError(t, os.WriteFile(name, []byte("old"), 0o600))
	reader, err := os.Open(name)
	storetest.NoError(t, err)
	defer reader.Close()
	storetest.NoError(t, m.WriteFile(name))
	text, err := os.ReadFile(name)
	storetest.NoError(t, err)
	if v, ok := value(parse(t, text), "ypcrawl_runs", "state", "alive"); !ok || v != 1 {
		t.Errorf("runs alive in the file: %v (there: %v)", v, ok)
	}
	if old, err := io.ReadAll(reader); err != nil || string(old) != "old" {
		t.Errorf("who had it open reads %q, %v: it was not replaced", old, err)
	}
	info, err := os.Stat(name)
	storetest.NoError(t, err)
	if info.Mode().Perm() != 0o644 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) != 1 {
		t.Errorf("in its folder: %v, %v", there, err)
	}
	if err := m.WriteFile(filepath.Join(dir, "none", "x.prom")); err == nil || !strings.Contains(err.Error(), "write the metrics file: there is no folder") {
		t.Errorf("without a folder: %v", err)
	}
}

// TestKeepFile: it is written at once, every 15 seconds, and at the end; of failures the first
// is reported.
func TestKeepFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m := measure.New(measure.Config{Reader: report.New(b.db), Database: "a.db"})
		written := func(name string) bool {
			err := os.Remove(filepath.Join(dir, name))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
			return err == nil
		}
		stop := m.KeepFile(t.Context(), filepath.Join(dir, "a.prom"), func(err error) { t.Error(err) })
		synctest.Wait()
		got := []bool{written("a.prom")}
		for range 3 {
			time.Sleep(measure.FileEvery - time.Second)
			synctest.Wait()
			got = append(got, written("a.prom"))
			time.Sleep(time.Second)
			synctest.Wait()
			got = append(got, written("a.prom"))
		}
		stop()
		if got = append(got, written("a.prom")); fmt.Sprint(got) != "[true false true false true false true true]" {
			t.Errorf("written at the start, every 15 s and at the end: %v", got)
		}

		reports := 0
		stop = m.KeepFile(t.Context(), filepath.Join(dir, "none", "a.prom"), func(error) { reports++ })
		time.Sleep(5 * measure.FileEvery)
		stop()
		if reports != 1 {
			t.Errorf("%d failures were reported, want the first", reports)
		}
	})
}
