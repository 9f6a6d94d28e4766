package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// rated is a database of two sources, and its clock.
func rated(t *testing.T) (*report.Reader, *store.DB, time.Time) {
	t.Helper()
	db, clock := storetest.OpenClock(t)
	storetest.World{Sources: []storetest.Source{{Name: "demo", BaseURL: "http://one"}, {Name: "other", BaseURL: "http://two"}}}.Plant(t, db)
	return report.New(db), db, clock.Now().Truncate(time.Hour)
}

func TestRates(t *testing.T) {
	t.Parallel()
	k, db, hour := rated(t)
	span := func(source int, span string, at time.Time, columns, values string) {
		t.Helper()
		execute(t, db, fmt.Sprintf(`INSERT INTO request_spans (source_id, span, began_at, %s) VALUES (%d, '%s', '%s', %s)`, columns, source, span, yp.FormatTime(at), values))
	}
	const minute = time.Minute
	span(1, "minute", hour.Add(-2*minute), "requests, pages, timeout, http_403, ms_100, ms_200, ms_400, ms_800, ms_1500, ms_3000, ms_6000, ms_12000, ms_30000", "10, 7, 2, 1, 10, 10, 10, 10, 10, 10, 10, 10, 10")
	span(2, "minute", hour.Add(-minute), "requests, ms_25, ms_50, ms_100, ms_200, ms_400, ms_800, ms_1500, ms_3000, ms_6000, ms_12000, ms_30000", "20, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18")
	span(1, "minute", hour.Add(-minute), "requests, pages, ms_3000", "1, 1, 1")
	span(1, "minute", hour.Add(-time.Hour), "requests, ms_25", "3, 3")
	span(1, "minute", hour.Add(100*time.Hour), "requests, ms_25", "9, 9") // by a clock that was ahead
	span(1, "hour", hour.Add(-time.Hour), "requests, pages, unknown, ms_50", "14, 11, 3, 14")
	span(1, "ever", hour, "requests, ms_50", "14, 14")

	rates := func(source int64, span, ago time.Duration) []report.RequestRate {
		t.Helper()
		all, err := k.Rates(t.Context(), store.Scope{SourceID: source}, span, hour.Add(-ago))
		noErr(t, err)
		return all
	}
	none := map[yp.ErrorClass]int64{}
	first := report.RequestRate{
		Source: "demo", At: hour.Add(-2 * minute), Requests: 10, Pages: 7, P50: 75 * time.Millisecond, P95: 98 * time.Millisecond,
		Failures: map[yp.ErrorClass]int64{yp.ClassTimeout: 2, yp.ClassHTTP403: 1},
	}
	second := report.RequestRate{Source: "demo", At: hour.Add(-minute), Requests: 1, Pages: 1, P50: 2250 * time.Millisecond, P95: 2925 * time.Millisecond, Failures: none}
	third := report.RequestRate{Source: "other", At: hour.Add(-minute), Requests: 20, P50: 14 * time.Millisecond, P95: 30 * time.Second, Failures: none}
	for name, c := range map[string]struct{ got, want []report.RequestRate }{
		"all sources, the oldest first": {rates(0, minute, 2*minute), []report.RequestRate{first, second, third}},
		"of one source":                 {rates(2, minute, time.Hour), []report.RequestRate{third}},
		"by hour": {rates(0, time.Hour, time.Hour), []report.RequestRate{
			{Source: "demo", At: hour.Add(-time.Hour), Requests: 14, Pages: 11, P50: 38 * time.Millisecond, P95: 49 * time.Millisecond, Failures: map[yp.ErrorClass]int64{yp.ClassUnknown: 3}},
		}},
		"none": {rates(2, time.Hour, 24*time.Hour), []report.RequestRate{}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRatesOfEveryClass: the table has a column of every class but our own deferral, and a rate tells each.
func TestRatesOfEveryClass(t *testing.T) {
	t.Parallel()
	k, db, hour := rated(t)
	want := map[yp.ErrorClass]int64{}
	for i, class := range yp.ErrorClasses() {
		if class == yp.ClassRateLimited {
			continue
		}
		want[class] = int64(i + 1)
		execute(t, db, `INSERT INTO request_spans (source_id, span, began_at, requests) VALUES (1, 'hour', '`+yp.FormatTime(hour)+`', 99) ON CONFLICT DO NOTHING`,
			fmt.Sprintf(`UPDATE request_spans SET "%s" = %d`, class, i+1))
	}
	rates, err := k.Rates(t.Context(), store.Scope{}, time.Hour, hour)
	noErr(t, err)
	if diff := cmp.Diff(want, rates[0].Failures); diff != "" {
		t.Error(diff)
	}
	names := strings.Join(table(t, db, `SELECT name FROM pragma_table_info('v_request_hours')`), " ")
	for class := range want {
		if !strings.Contains(" "+names+" ", " "+string(class)+" ") {
			t.Errorf("v_request_hours lacks %s", class)
		}
	}
}

// TestLatencyShares: the view says the steps of p50 and of p95 one after the other, for SQL has no functions of its own; they are the same but for
// the share.
func TestLatencyShares(t *testing.T) {
	t.Parallel()
	_, db, _ := rated(t)
	view := table(t, db, `SELECT sql FROM sqlite_schema WHERE name = 'request_spans_and_latency'`)[0]
	_, steps, _ := strings.Cut(view, "CASE ")
	half, steps, _ := strings.Cut(steps, " AS p50_ms,")
	_, most, _ := strings.Cut(steps, "CASE ")
	most, _, found := strings.Cut(most, " AS p95_ms")
	if n := strings.Count(half, "0.5 *"); !found || n != 22 {
		t.Fatalf("p50 has its share %d times in %s", n, view)
	}
	storetest.Equal(t, most, strings.ReplaceAll(half, "0.5 *", "0.95 *"), "the steps of p95")
}

func TestPassAndRunChanges(t *testing.T) {
	t.Parallel()
	k, db, hour := rated(t)
	began := func(days int) string { return yp.FormatTime(hour.AddDate(0, 0, -days)) }
	run := func(id int, source string, days int) {
		t.Helper()
		execute(t, db, fmt.Sprintf(`INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at, pages, listings_new, listings_changed, listings_dropped, listings_restored)
			VALUES (%d, 'u%[1]d', 'h', 1, %s, 'c', '%s', 'x', %[1]d00, %[1]d1, %[1]d2, %[1]d3, %[1]d4)`, id, source, began(days)))
	}
	pass := func(run, source, days int, figures string) {
		t.Helper()
		execute(t, db, fmt.Sprintf(`INSERT INTO run_passes (source_id, run_id, selection, began_at, new, changed, dropped, restored, pages) VALUES (%d, %d, '{}', '%s', %s)`, source, run, began(days), figures))
	}
	run(1, "1", 30)
	pass(1, 1, 30, "1, 2, 3, 4, 5")
	run(2, "NULL", 9)
	pass(2, 1, 9, "10, 20, 30, 40, 50")
	pass(2, 2, 9, "6, 6, 6, 6, 6")
	run(3, "1", 8) // goes on with the pass of run 2
	pass(3, 1, 9, "1, 1, 1, 1, 1")

	passes, err := k.PassChanges(t.Context(), store.Scope{}, hour.AddDate(0, 0, -9))
	noErr(t, err)
	if diff := cmp.Diff([]report.PassChange{
		{Source: "demo", Began: hour.AddDate(0, 0, -9), New: 11, Changed: 21, Dropped: 31, Restored: 41, Pages: 51},
		{Source: "other", Began: hour.AddDate(0, 0, -9), New: 6, Changed: 6, Dropped: 6, Restored: 6, Pages: 6},
	}, passes); diff != "" {
		t.Error(diff)
	}
	if passes, err = k.PassChanges(t.Context(), store.Scope{SourceID: 1}, time.Time{}); err != nil || len(passes) != 2 || passes[0].Pages != 5 {
		t.Errorf("of one source: %+v, %v", passes, err)
	}
	storetest.Same(t, "view", table(t, db, `SELECT source, runs, last_run, new, changed, dropped, restored, pages FROM v_pass_changes WHERE began_at > '`+began(20)+`'`),
		[]string{"demo|2|3|11|21|31|41|51", "other|1|2|6|6|6|6|6"})

	runs, err := k.RunChanges(t.Context(), store.Scope{}, 2)
	noErr(t, err)
	if diff := cmp.Diff([]report.RunChange{
		{Run: 2, Began: hour.AddDate(0, 0, -9), New: 21, Changed: 22, Dropped: 23, Restored: 24, Pages: 200},
		{Run: 3, Began: hour.AddDate(0, 0, -8), New: 31, Changed: 32, Dropped: 33, Restored: 34, Pages: 300},
	}, runs); diff != "" {
		t.Error(diff)
	}
	if runs, err = k.RunChanges(t.Context(), store.Scope{SourceID: 2}, 9); err != nil || len(runs) != 1 || runs[0].Run != 2 || runs[0].New != 6 {
		t.Errorf("of one source, of a run of several: %+v, %v", runs, err)
	}
}

// TestMeasureRequests: what /metrics says of all requests is what the table says.
func TestMeasureRequests(t *testing.T) {
	t.Parallel()
	k, db, _ := rated(t)
	execute(t, db, `INSERT INTO request_spans (source_id, span, began_at, requests, http_429, latency_ms, ms_25, ms_50, ms_100, ms_200, ms_400, ms_800, ms_1500, ms_3000, ms_6000, ms_12000, ms_30000)
		VALUES (1, 'ever', '', 10, 2, 45500, 6, 6, 6, 6, 6, 6, 9, 9, 9, 9, 9)`)
	figures(t, measure(t, k, ""), map[string]string{
		"source_requests_total source demo": "10", "source_requests_total source other": "0",
		"source_request_failures_total source demo error_class http_429": "2", "source_request_failures_total source demo error_class dns": "0",
		"source_request_duration_seconds_bucket source demo le 0.025": "6", "source_request_duration_seconds_bucket source demo le 0.8": "6",
		"source_request_duration_seconds_bucket source demo le 1.5": "9", "source_request_duration_seconds_bucket source demo le 30": "9",
		"source_request_duration_seconds_bucket source demo le +Inf": "10",
		"source_request_duration_seconds_sum source demo":            "45.5", "source_request_duration_seconds_count source demo": "10",
	})
}
