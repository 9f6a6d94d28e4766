package measure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/measure"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// some are metrics of a file, and of a source with an odd name.
func some() *report.Measures {
	one := func(name, labels string, v *float64) report.Metric {
		return report.Metric{Name: name, Labels: json.RawMessage(labels), Value: v, Help: "What it is."}
	}
	odd := store.JSON("a\\b \"c\"\nd\xff")
	return &report.Measures{Now: yp.Stamp{Time: noon}, Metrics: []report.Metric{
		one("pages_total", `{}`, new(12_345_678.0)), one("runs", `{"state":"alive"}`, new(2.0)), one("source_success_ratio", `{"source":"demo"}`, new(0.975)),
		one("runs", `{"state":"dead"}`, new(1.0)), one("source_success_ratio", `{"source":`+odd+`}`, nil), one("time_left_seconds", `{}`, nil),
		one("source_layout_alarm", `{"source":`+odd+`}`, new(1.0)), one("last_run_finished_timestamp_seconds", `{}`, new(1.7951e9-2.5)),
	}}
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

// TestText: Prometheus' own parser reads of the text what was meant; what is not known is not there, not 0.
func TestText(t *testing.T) {
	t.Parallel()
	all := parse(t, measure.Text(some(), `te"xas.db`))
	odd := "a\\b \"c\"\nd\ufffd"
	for labels, want := range map[string]float64{
		"pages_total": 12_345_678, "runs|state|alive": 2, "runs|state|dead": 1, "source_success_ratio|source|demo": 0.975,
		"source_layout_alarm|source|" + odd: 1, "last_run_finished_timestamp_seconds": 1.7951e9 - 2.5,
	} {
		words := strings.Split(labels, "|")
		if got, ok := value(all, "ypcrawl_"+words[0], words[1:]...); !ok || got != want {
			t.Errorf("%s is %v (there: %v), want %v", labels, got, ok, want)
		}
	}
	if v, ok := value(all, "ypcrawl_source_success_ratio", "source", odd); ok {
		t.Errorf("the success of a source of which it is not known is %v, want none", v)
	}
	if len(all) != 5 {
		t.Errorf("%d metrics, want those with a value: %v", len(all), all)
	}
	for name, f := range all {
		counts := name == "ypcrawl_pages_total"
		if f.GetHelp() == "" || counts != (f.GetType() == dto.MetricType_COUNTER) || !counts && f.GetType() != dto.MetricType_GAUGE {
			t.Errorf("%s: type %s, help %q", name, f.GetType(), f.GetHelp())
		}
		for _, m := range f.GetMetric() {
			if l := m.GetLabel()[0]; l.GetName() != "db" || l.GetValue() != `te"xas.db` {
				t.Errorf("%s bears %v, want the file's name first", name, m.GetLabel())
			}
		}
	}
}

// TestTextWithoutHelp: a metric is announced once, also one that nobody explains.
func TestTextWithoutHelp(t *testing.T) {
	t.Parallel()
	one := 1.0
	of := func(state string) report.Metric {
		return report.Metric{Name: "runs", Labels: json.RawMessage(`{"state":"` + state + `"}`), Value: &one}
	}
	all := parse(t, measure.Text(&report.Measures{Metrics: []report.Metric{of("alive"), of("dead")}}, "x.db"))
	if n := len(all["ypcrawl_runs"].GetMetric()); n != 2 {
		t.Errorf("%d samples, want 2", n)
	}
}

// TestTextOfHistogram: buckets, sum and count of a histogram are one metric of that type, whatever comes between them;
// a counter whose name ends as they do is none of it.
func TestTextOfHistogram(t *testing.T) {
	t.Parallel()
	m := &report.Measures{}
	add := func(name, labels string, v float64) {
		m.Metrics = append(m.Metrics, report.Metric{Name: name, Labels: json.RawMessage(labels), Value: &v, Help: "What it is."})
	}
	for _, source := range []string{"a", "b"} {
		add("wait_seconds_bucket", `{"source":"`+source+`","le":"0.1"}`, 3)
		add("wait_seconds_bucket", `{"source":"`+source+`","le":"+Inf"}`, 5)
	}
	add("runs_count", `{}`, 7)
	add("wait_seconds_sum", `{"source":"a"}`, 1.5)
	add("wait_seconds_sum", `{"source":"b"}`, 2.5)
	add("wait_seconds_count", `{"source":"a"}`, 5)
	add("wait_seconds_count", `{"source":"b"}`, 5)
	all := parse(t, measure.Text(m, "x.db"))
	h := all["ypcrawl_wait_seconds"]
	if len(all) != 2 || h.GetType() != dto.MetricType_HISTOGRAM || len(h.GetMetric()) != 2 || all["ypcrawl_runs_count"].GetType() != dto.MetricType_GAUGE {
		t.Fatalf("%v, want a histogram of two sources and a gauge", all)
	}
	b := h.GetMetric()[1].GetHistogram()
	if b.GetSampleCount() != 5 || b.GetSampleSum() != 2.5 || len(b.GetBucket()) != 2 || b.GetBucket()[0].GetCumulativeCount() != 3 {
		t.Errorf("the second is %v", b)
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
	b := &bundle{}
	b.db, b.clock = storetest.OpenClock(t)
	b.path = b.db.Path()
	k := checkpoint.New(b.db)
	id := storetest.World{}.Plant(t, b.db).SourceID
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
	if err := json.Unmarshal([]byte(body), &all); err != nil || kind != "application/json" || all["slow_measured_at"] == nil ||
		!strings.Contains(body, `"name": "last_page_timestamp_seconds"`) || !strings.Contains(body, `"value": null`) {
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
	want(m, "/metrics", 503, "text/plain", "read metrics: ")
	want(m, "/status.json", 503, "text/plain", "read metrics: ")
	storetest.Execute(t, b.db, `ALTER TABLE walks RENAME TO runs`)
}

// TestReplaced: where the file is gone, whoever asks a dashboard is not told to start it again.
func TestReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	run, page := b.meter(true), measure.New(measure.Config{Reader: report.New(b.db), Database: "a.db", Follows: true, Now: b.clock.Now})
	storetest.NoError(t, os.Rename(b.db.Path(), b.db.Path()+".away"))
	for _, path := range []string{"/healthz", "/metrics", "/status.json"} {
		if code, _, body := get(t, run, path); code != http.StatusServiceUnavailable || !strings.Contains(body, "start the program again") {
			t.Errorf("%s of a run: %d, %q", path, code, body)
		}
		code, _, body := get(t, page, path)
		if code != http.StatusServiceUnavailable || strings.Contains(body, "start") || !strings.Contains(body, "the dashboard goes on as soon as there is a database of this name\n") {
			t.Errorf("%s of a dashboard: %d, %q", path, code, body)
		}
	}
	storetest.NoError(t, os.Rename(b.db.Path()+".away", b.db.Path()))
	b.clock.Move(time.Minute)
	for _, path := range []string{"/healthz", "/metrics", "/status.json"} {
		if code, _, body := get(t, page, path); code != http.StatusOK {
			t.Errorf("%s, when it is back: %d, %q", path, code, body)
		}
	}
}

// TestNoCrawlYet: without a database all is well, and nothing is known; a file that can't be read is told.
func TestNoCrawlYet(t *testing.T) {
	t.Parallel()
	var hindrance error
	m := measure.New(measure.Config{Database: "a.db", Hindrance: func() error { return hindrance }})
	for path, want := range map[string]string{
		"/healthz": "no crawl yet\n", "/metrics": `ypcrawl_measured_timestamp_seconds{db="a.db"} `, "/status.json": `"slow_measured_at": null`,
	} {
		if code, _, body := get(t, m, path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, %q; want %q", path, code, body, want)
		}
	}
	_, _, text := get(t, m, "/metrics")
	storetest.Equal(t, len(parse(t, []byte(text))), 1, "metrics")
	hindrance = errors.New("it is no database")
	for _, path := range []string{"/healthz", "/metrics", "/status.json"} {
		if code, _, body := get(t, m, path); code != http.StatusServiceUnavailable || body != "the database can't be read: it is no database\n" {
			t.Errorf("%s: %d, %q", path, code, body)
		}
	}
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
			all, coverage = read.Now.Time, read.SlowAt.Time
		}
		return all, coverage
	}
	first, covered := at()
	for _, step := range [][3]int{ // milliseconds later: when each was read last, from the first time on
		{999, 0, 0}, {1, 1000, 0}, {500, 1000, 0}, {58_000, 59_500, 0}, {1000, 60_500, 60_500},
	} {
		b.clock.Move(time.Duration(step[0]) * time.Millisecond)
		if all, cover := at(); int(all.Sub(first).Milliseconds()) != step[1] || int(cover.Sub(covered).Milliseconds()) != step[2] {
			t.Errorf("after another %d ms: read at %s, the coverage at %s; want %v", step[0], all.Sub(first), cover.Sub(covered), step[1:])
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
