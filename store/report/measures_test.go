package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

func measure(t *testing.T, k *report.Reader, logs string) *report.Measures {
	t.Helper()
	m, err := k.Measure(t.Context(), logs)
	noErr(t, err)
	return m
}

// TestMeasureNothing: of a file in which nothing was done, what is not known is null.
func TestMeasureNothing(t *testing.T) {
	t.Parallel()
	k := report.New(storetest.Open(t))
	m := measure(t, k, filepath.Join(t.TempDir(), "none"))
	for _, name := range []string{"last_page_timestamp_seconds", "last_run_done_timestamp_seconds", "run_heartbeat_age_seconds", "time_left_seconds"} {
		if v := m.Value(name); v != nil {
			t.Errorf("%s is %v, want null", name, *v)
		}
	}
	figures(t, m, map[string]string{"pages_total": "0", "log_bytes": "0", "dead_letters": "0", "last_hour_attempts error_code SUCCESS": "0"})
	if size := m.Value("database_bytes"); size == nil || *size == 0 || len(m.Runs)+len(m.Sources) > 0 {
		t.Errorf("size %v, %d runs, %d sources", size, len(m.Runs), len(m.Sources))
	}
	if v := measure(t, k, "").Value("log_bytes"); v != nil {
		t.Errorf("the size of no folder is %v", *v)
	}
}

// figures compares metrics, by their names with labels; "" = not known.
func figures(t *testing.T, m *report.Measures, want map[string]string) {
	t.Helper()
	for key, value := range want {
		words, got := strings.Fields(key), ""
		if v := m.Value(words[0], words[1:]...); v != nil {
			got = strconv.FormatFloat(*v, 'f', -1, 64)
		}
		if got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
}

// TestReplacedFile: who reads a file that was removed or replaced since hears of it, and is not shown what it
// was.
func TestReplacedFile(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	k := report.New(db)
	asked := func() [3]error {
		_, beat := k.RunHolders(t.Context())
		_, measures := k.Measure(t.Context(), "")
		_, standing := k.Standing(t.Context(), store.Scope{})
		return [3]error{beat, measures, standing}
	}
	if errs := asked(); errs != [3]error{} {
		t.Fatal(errs)
	}
	noErr(t, os.Rename(db.Path(), db.Path()+".aside"))
	for range 2 { // without a file, and with another one
		for _, err := range asked() {
			if err == nil || !strings.Contains(err.Error(), "was removed, moved or replaced while this program had it open") {
				t.Errorf("of a file that is not there: %v", err)
			}
		}
		noErr(t, os.WriteFile(db.Path(), nil, 0o600))
	}
	noErr(t, os.Rename(db.Path()+".aside", db.Path()))
	if errs := asked(); errs != [3]error{} {
		t.Error(errs)
	}
}

// TestMeasureTargets: what is due is what targets_available says, by source and kind, also
// while a source is closed.
func TestMeasureTargets(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	b.claim(t, 0)
	execute(t, b.DB(), `INSERT INTO targets (source_id, kind, state, population, priority, max_pages, created_at) VALUES (1, 'index', 'CA', 0, 0, 3, 'x')`,
		`UPDATE targets SET not_before = '`+ago(time.Minute)+`' WHERE id IN (1, 3, 9, 10)`, `UPDATE targets SET retired_at = 'x' WHERE id IN (12, 13)`)
	compare := func(due bool) {
		t.Helper()
		m, all := measure(t, b.Reader, ""), 0
		for _, kind := range []string{"index", "search"} {
			want := storetest.Table(t, b.DB(), `SELECT count(*) FROM targets_available WHERE kind = ?1`, kind)
			figures(t, m, map[string]string{"targets_due source demo kind " + kind: want[0]})
			n, _ := strconv.Atoi(want[0])
			all += n
		}
		if (all > 10) != due {
			t.Errorf("%d are due", all)
		}
		figures(t, m, map[string]string{"dead_letters": "2"})
	}
	compare(true)
	execute(t, b.DB(), `UPDATE sources SET enabled = 0`)
	compare(false)
}

// TestMeasure: a file with a bit of everything.
func TestMeasure(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	c := b.claim(t, 0)
	p := page(false, "a", "b", "c")
	p.SiteTotal = 30
	b.commit(t, c, p)
	at := func(d time.Duration) string { return "'" + ago(d) + "'" }
	execute(t, b.DB(),
		request("listing", "", 10*time.Minute), request("listing", "timeout", 5*time.Minute), request("detail", "", 20*time.Minute), request("state_index", "", 30*time.Minute),
		request("probe", "", time.Minute), request("robots", "", time.Second), request("listing", "rate_limited", time.Second), request("listing", "", 2*time.Hour),
		`UPDATE requests SET proxy_failed = 1 WHERE id = (SELECT max(id) FROM requests)`,
		request("listing", "", 11*time.Minute), `UPDATE requests SET result_count = 0 WHERE id = (SELECT max(id) FROM requests)`, // "nothing found" is an answer, and no page
		request("listing", "http_5xx", 3*time.Minute), request("listing", "timeout", 2*time.Hour),
		attempt(2, "done", "SUCCESS", time.Minute), attempt(2, "done", "NO_LISTINGS", time.Minute), attempt(2, "parked", "NO_LISTINGS", 2*time.Hour),
		attempt(2, "failed", "TIMEOUT", 2*time.Hour), attempt(2, "failed", "TIMEOUT", time.Minute), attempt(2, "failed", "TIMEOUT", 25*time.Hour),
		`INSERT INTO runs (uuid, host, pid, command, started_at, heartbeat_at, finished_at, outcome, pages, requests, targets, listings_new, listings_dropped, listings_restored, listings_rejected) VALUES
			('OLD', 'h', 1, 'c', `+at(48*time.Hour)+`, 'x', `+at(47*time.Hour)+`, 'done', 100, 200, 30, 900, 1, 1, 1),
			('PASS1', 'h', 1, 'c', `+at(2*time.Hour)+`, 'x', `+at(2*time.Hour)+`, 'interrupted', 5, 6, 1, 50, 2, 3, 4)`,
		`INSERT INTO run_passes (source_id, run_id, selection, began_at) VALUES (1, 1, '{}', `+at(time.Minute)+`)`,
		`INSERT INTO meta VALUES ('forgotten:pages', '1000')`,
		`INSERT INTO workers (run_id, worker_id, name, host, pid, started_at, heartbeat_at, claims, claim_retries) VALUES (1, 'w', 'n', 'h', 1, 'x', 'x', 30, 6)`,
		`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'h', '`+ahead(time.Hour)+`', 'Retry-After', 'x')`,
		`UPDATE listings SET dropped_at = 'x' WHERE listing_id = 'c'`)
	logs := t.TempDir()
	noErr(t, os.WriteFile(filepath.Join(logs, "a"), make([]byte, 30), 0o600))
	noErr(t, os.WriteFile(filepath.Join(logs, "b"), make([]byte, 12), 0o600))
	m := measure(t, b.Reader, logs)

	if len(m.Runs) != 1 || !m.Runs[0].Alive || m.Runs[0].Dead || m.Runs[0].Held != 1 || !m.Runs[0].HeldSince.IsZero() {
		t.Errorf("runs %+v, want one alive that holds a target of a source that is held", m.Runs)
	}
	figures(t, m, map[string]string{
		"source_availability source demo availability held": "1", "source_availability source demo availability open": "0", "source_layout_alarm source demo": "0",
		"source_success_ratio source demo": "",
		// A page of each kind, a probe and an empty answer, and two failures.
		"last_hour_pages source demo kind search": "1", "last_hour_pages source demo kind detail": "1", "last_hour_pages source demo kind index": "1",
		"last_hour_requests source demo outcome success": "5", "last_hour_requests source demo outcome failure": "2",
		"last_hour_request_failures source demo error_class timeout": "1", "last_hour_request_failures source demo error_class http_5xx": "1",
		"last_hour_request_failures source demo error_class rate_limited": "",
		"last_hour_attempts error_code SUCCESS":                           "1", "last_day_attempts error_code SUCCESS": "1",
		"last_hour_attempts error_code NO_LISTINGS": "1", "last_day_attempts error_code NO_LISTINGS": "2", "last_hour_empty_attempts": "1", "last_day_empty_attempts": "1",
		"last_hour_attempts error_code TIMEOUT": "1", "last_day_attempts error_code TIMEOUT": "2", "last_day_attempts error_code PARSE_ERROR": "0",
		"listings state alive": "2", "listings state dropped": "1", "companies": "3",
		"pages_total": "1106", "requests_total": "206", "targets_finished_total": "31", "listings_new_total": "953",
		"claims": "30", "claim_retries": "6", "hosts_held": "1", "hosts_slowed": "0", "last_run_outcome outcome interrupted": "1", "log_bytes": "42",
		"runs state alive": "1", "runs state dead": "0", "targets_orphaned": "0",
	})
	since := func(name string) time.Duration { return m.Now.Sub(time.UnixMilli(int64(*m.Value(name) * 1000))) }
	if age := since("last_page_timestamp_seconds"); age < 10*time.Minute || age > 11*time.Minute {
		t.Errorf("last page %s ago, want 10 minutes", age)
	}
	if age := since("last_run_done_timestamp_seconds"); age < 47*time.Hour || age > 48*time.Hour {
		t.Errorf("the last run that was done ended %s ago, want 47 hours", age)
	}
	slow, err := b.MeasureSlowly(t.Context())
	noErr(t, err)
	figures(t, &report.Measures{Metrics: slow.Metrics}, map[string]string{
		"site_listings": "30", "site_listings_seen": "3", "pass_running source demo": "1", "pass_listings source demo change new": "3",
	})

	// The host's hold is over, and the run holds what it had.
	execute(t, b.DB(), `DELETE FROM hosts`)
	if m := measure(t, b.Reader, ""); m.Runs[0].HeldSince.IsZero() || m.Now.Sub(m.Runs[0].HeldSince) > time.Minute {
		t.Errorf("held since %v, want when it was claimed", m.Runs[0].HeldSince)
	}
	// A pause by the layout alarm, and a run that died.
	execute(t, b.DB(), `UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'name is missing'`,
		`UPDATE runs SET uuid = 'NOBODY', heartbeat_at = `+at(time.Hour)+` WHERE id = 1`)
	m = measure(t, b.Reader, "")
	if s := m.Sources[0]; s.Availability != store.SourcePaused || s.Reason != "name is missing" || !s.Until.IsZero() {
		t.Errorf("source %+v, want it paused by the layout alarm", s)
	}
	figures(t, m, map[string]string{"source_layout_alarm source demo": "1", "runs state dead": "1", "targets_orphaned": "1"})
	if r := m.Runs[0]; r.Alive || !r.Dead || r.Held != 1 {
		t.Errorf("run %+v, want it dead", r)
	}
}

// TestMeasureTotalsStay: what runs did is counted when their rows are deleted, too.
func TestMeasureTotalsStay(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	insert := func(n int) {
		for i := range n {
			execute(t, b.DB(), fmt.Sprintf(`INSERT INTO runs (uuid, host, pid, command, started_at, heartbeat_at, finished_at, outcome, pages, requests, targets, listings_new)
				VALUES ('R%d-%d', 'h', 1, 'c', 'x', 'x', 'x', 'done', 10, 20, 3, 40)`, n, i))
		}
	}
	want := map[string]string{"pages_total": "50", "requests_total": "100", "targets_finished_total": "15", "listings_new_total": "200"}
	insert(2)
	insert(3)
	figures(t, measure(t, b.Reader, ""), want)
	for _, uuid := range []string{"R2-0", "R3-1", "R3-2"} {
		execute(t, b.DB(), `DELETE FROM runs WHERE uuid = '`+uuid+`'`)
		figures(t, measure(t, b.Reader, ""), want)
	}
}
