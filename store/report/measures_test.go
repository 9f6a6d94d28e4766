package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
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
	text, err := json.Marshal(m)
	noErr(t, err)
	for _, want := range []string{
		`"runs":[]`, `"sources":[]`, `"targets":[]`, `"hosts":[]`, `"last_page_at":null`, `"last_run":null`, `"last_run_done_at":null`,
		`"coverage":{"at":null,"site_total":null,"seen":null,"percent":null,"pages_left":null}`, `"passes":null`, `"retries_share":null`, `"log_bytes":0`, `{"error_code":"SUCCESS","last_hour":0,"last_24h":0}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if m.Database == nil || *m.Database == 0 || m.Journal == nil {
		t.Errorf("sizes %v, %v", m.Database, m.Journal)
	}
	if m = measure(t, k, ""); m.Logs != nil {
		t.Errorf("the size of no folder is %d", *m.Logs)
	}
	if b, err := k.OwnBeat(t.Context()); err != nil || !b.At.IsZero() || b.Now.IsZero() {
		t.Errorf("heartbeat of no run: %+v, %v", b, err)
	}
}

// TestReplacedFile: who reads a file that was removed or replaced since hears of it, and is not shown what it
// was.
func TestReplacedFile(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	k := report.New(db)
	asked := func() [3]error {
		_, beat := k.OwnBeat(t.Context())
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
			if err == nil || !strings.Contains(err.Error(), "was removed or replaced while this program had it open") {
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
		m, all := measure(t, b.Reader, ""), int64(0)
		for _, c := range m.Targets {
			want := storetest.Table(t, b.DB(), `SELECT count(*), (SELECT count(*) FROM targets WHERE kind = ?1 AND retired_at IS NULL) FROM targets_available WHERE kind = ?1`, string(c.Kind))
			same(t, "targets of kind "+string(c.Kind), []string{fmt.Sprintf("%d|%d", c.Due, c.Targets)}, want)
			all += c.Due
		}
		if len(m.Targets) != 2 || (all > 10) != due || m.DeadLetters() != 2 {
			t.Errorf("%+v", m.Targets)
		}
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
	request := func(kind, class string, d time.Duration) string {
		outcome, rest := "'success', NULL", "1, 30"
		if class != "" {
			outcome, rest = "'failure', '"+class+"'", "NULL, NULL"
		}
		return `INSERT INTO requests (source_id, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms, parse_ok, result_count)
			VALUES (1, 'x', '` + kind + `', 'u', ` + at(d) + `, ` + at(d) + `, ` + outcome + `, 0, ` + rest + `)`
	}
	attempt := func(token int, ended, code string, d time.Duration) string {
		return fmt.Sprintf(`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code)
			VALUES (2, %d, 1, 'w', 1, 0, 'x', %s, '%s', '%s')`, 100+token, at(d), ended, code)
	}
	execute(t, b.DB(),
		request("listing", "", 10*time.Minute), request("listing", "timeout", 5*time.Minute), request("detail", "", 20*time.Minute), request("state_index", "", 30*time.Minute),
		request("probe", "", time.Minute), request("robots", "", time.Second), request("listing", "rate_limited", time.Second), request("listing", "", 2*time.Hour),
		`UPDATE requests SET proxy_failed = 1 WHERE id = (SELECT max(id) FROM requests)`,
		request("listing", "", 11*time.Minute), `UPDATE requests SET result_count = 0 WHERE id = (SELECT max(id) FROM requests)`, // "nothing found" is an answer, and no page
		request("listing", "http_5xx", 3*time.Minute), request("listing", "timeout", 2*time.Hour),
		attempt(1, "done", "SUCCESS", time.Minute), attempt(2, "done", "NO_LISTINGS", time.Minute), attempt(3, "parked", "NO_LISTINGS", 2*time.Hour),
		attempt(4, "failed", "TIMEOUT", 2*time.Hour), attempt(5, "failed", "TIMEOUT", time.Minute), attempt(6, "failed", "TIMEOUT", 25*time.Hour),
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

	if len(m.Runs) != 1 || !m.Runs[0].Alive || m.Runs[0].Dead || m.Runs[0].Held != 1 || m.Runs[0].HeldSince != nil {
		t.Errorf("runs %+v, want one alive that holds a target of a source that is held", m.Runs)
	}
	s := m.Sources[0]
	if s.Availability != store.SourceHeld || s.Until == nil || s.Status != nil || s.Rate1h != nil || s.LayoutAlarm() {
		t.Errorf("source %+v, want it held and never rated", s)
	}
	if s.Pages[yp.KindSearch] != 1 || s.Pages[yp.KindDetail] != 1 || s.Pages[yp.KindIndex] != 1 || s.Succeeded != 5 || s.Failed != 2 {
		t.Errorf("requests of the hour %+v, want a page of each kind, a probe and an empty answer, and two failures", s)
	}
	if fmt.Sprint(s.FailuresByClass()) != "[{timeout 1} {http_5xx 1}]" {
		t.Errorf("failures %v", s.FailuresByClass())
	}
	if age := m.Now.Sub(*m.LastPage); age < 10*time.Minute || age > 11*time.Minute || m.LastPage != s.LastPage {
		t.Errorf("last page %s ago, want 10 minutes", age)
	}
	got := map[yp.ErrorCode]string{}
	for _, a := range m.Attempts {
		got[a.Code] = fmt.Sprint(a.Hour, a.Day)
	}
	if len(got) != len(yp.ErrorCodes()) || got["SUCCESS"] != "2 2" || got["NO_LISTINGS"] != "0 1" || got["TIMEOUT"] != "1 2" || got["PARSE_ERROR"] != "0 0" {
		t.Errorf("attempts %v", got)
	}
	if m.Listings != (report.ListingMeasure{All: 3, Alive: 2, Companies: 3}) {
		t.Errorf("listings %+v", m.Listings)
	}
	if m.Totals != (report.TotalMeasure{Pages: 1106, Requests: 206, Targets: 31, New: 953}) {
		t.Errorf("totals %+v", m.Totals)
	}
	if m.Claims.Claims != 30 || m.Claims.Retries != 6 || *m.Claims.Share != 0.2 {
		t.Errorf("claims %+v", m.Claims)
	}
	if len(m.Hosts) != 1 || m.LastRun.UUID != "PASS1" || m.LastRun.Outcome != "interrupted" || m.Now.Sub(*m.LastWell) < 47*time.Hour || *m.Logs != 42 {
		t.Errorf("hosts %v, last run %+v, done at %v, logs %d", m.Hosts, m.LastRun, m.LastWell, *m.Logs)
	}
	slow, err := b.MeasureSlowly(t.Context())
	if c := slow.Coverage; err != nil || *c.SiteTotal != 30 || *c.Seen != 3 || *c.Percent != 10 || c.At == nil || c.PagesLeft == nil {
		t.Errorf("coverage %+v, %v", c, err)
	}
	if p := slow.Passes; len(p) != 1 || p[0].State != report.PassRunning || p[0].New != 3 {
		t.Errorf("passes %+v, want that of the run that goes on", p)
	}
	if b, err := b.OwnBeat(t.Context()); err != nil || b.At.IsZero() {
		t.Errorf("own heartbeat %+v, %v", b, err)
	}

	// The host's hold is over, and the run holds what it had.
	execute(t, b.DB(), `DELETE FROM hosts`)
	if m := measure(t, b.Reader, ""); m.Runs[0].HeldSince == nil || m.Now.Sub(*m.Runs[0].HeldSince) > time.Minute {
		t.Errorf("held since %v, want when it was claimed", m.Runs[0].HeldSince)
	}
	// A pause by the layout alarm, and a run that died.
	execute(t, b.DB(), `UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'name is missing'`,
		`UPDATE runs SET uuid = 'NOBODY', heartbeat_at = `+at(time.Hour)+` WHERE id = 1`)
	m = measure(t, b.Reader, "")
	if s := m.Sources[0]; s.Availability != store.SourcePaused || !s.LayoutAlarm() || s.Reason != "name is missing" || s.Until != nil {
		t.Errorf("source %+v, want it paused by the layout alarm", s)
	}
	if r := m.Runs[0]; r.Alive || !r.Dead || r.Held != 1 || r.AgeSec < 3600 {
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
	want := report.TotalMeasure{Pages: 50, Requests: 100, Targets: 15, New: 200}
	insert(2)
	insert(3)
	if m := measure(t, b.Reader, ""); m.Totals != want {
		t.Errorf("%+v, want %+v", m.Totals, want)
	}
	for _, uuid := range []string{"R2-0", "R3-1", "R3-2"} {
		execute(t, b.DB(), `DELETE FROM runs WHERE uuid = '`+uuid+`'`)
		if m := measure(t, b.Reader, ""); m.Totals != want {
			t.Errorf("after %s is deleted %+v, want %+v", uuid, m.Totals, want)
		}
	}
}
