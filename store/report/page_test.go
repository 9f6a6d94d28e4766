package report_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// TestSentence: what people are told is going on, from the first plan to the end of a run.
func TestSentence(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA") // 4 targets
	standing := func() *report.Standing {
		t.Helper()
		s, err := b.Standing(t.Context(), store.Scope{})
		noErr(t, err)
		return s
	}
	says := func(want string) {
		t.Helper()
		s := standing()
		if got := s.Sentence(); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
		if again := s.Sentence(); again != want {
			t.Errorf("asked twice it says %q", again)
		}
	}
	begins := func(begin, end string) {
		t.Helper()
		if got := standing().Sentence(); !strings.HasPrefix(got, begin) || !strings.HasSuffix(got, end) {
			t.Errorf("it says %q, want %q…%q", got, begin, end)
		}
	}
	began := yp.ClockTime(time.Now(), standing().Since)
	says("A run is crawling demo, since " + began + ".")
	noErr(t, b.run.Enlist(t.Context(), yp.WorkerID(0, 1), "amber", checkpoint.Usage{}))
	noErr(t, b.run.Enlist(t.Context(), yp.WorkerID(1, 1), "birch", checkpoint.Usage{}))
	c := b.claim(t, 0)
	says("A run is crawling demo with 2 workers, since " + began + ".")

	until := time.Now().Add(7 * time.Minute).UTC().Truncate(time.Millisecond)
	execute(t, b.DB(), fmt.Sprintf(`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'h', '%s', 'Retry-After', 'x')`, yp.FormatTime(until)))
	says("demo is held: Retry-After. Next try at " + yp.ClockTime(time.Now(), until) + ".")
	if s := standing(); len(s.Closed) != 1 || s.Closed[0].Name != "demo" || s.Closed[0].Availability != store.SourceHeld || !s.Closed[0].Until.Equal(until) || s.Closed[0].Remedy != "" {
		t.Errorf("closed: %+v", s.Closed)
	}
	refuse := func(ago time.Duration, class string, status int) {
		t.Helper()
		at := yp.FormatTime(time.Now().Add(-ago))
		execute(t, b.DB(), fmt.Sprintf(`INSERT INTO requests (source_id, correlation_id, type, url, started_at, finished_at, outcome, error_class, http_status, latency_ms)
			VALUES (1, 'x', 'listing', 'http://h/', '%s', '%[1]s', 'failure', '%s', %d, 1)`, at, class, status))
	}
	next := ". Next try at " + yp.ClockTime(time.Now(), until) + "."
	execute(t, b.DB(), `UPDATE hosts SET held_for = 'penalty'`)
	says("demo: refused by the site" + next)
	refuse(2*time.Hour, "http_403", 403) // of another hold
	refuse(time.Minute, "http_5xx", 503) // which is no refusal
	says("demo: refused by the site" + next)
	refuse(3*time.Minute, "http_403", 403)
	says("demo: refused by the site (HTTP 403)" + next)
	refuse(2*time.Minute, "unknown", 402)
	says("demo: refused by the site (HTTP 402)" + next)
	refuse(time.Second, "cf_challenge", 200) // its status does not say so
	says("demo: refused by the site" + next)
	execute(t, b.DB(), `DELETE FROM hosts`, `UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'no names'`)
	says("demo is paused: no names.")
	if s := standing(); len(s.Closed) != 1 || s.Closed[0].Remedy != "sources enable demo" {
		t.Errorf("closed: %+v", s.Closed)
	}
	execute(t, b.DB(), `UPDATE sources SET auto_disabled = 0, paused_code = NULL, paused_reason = NULL`)

	noErr(t, b.Complete(t.Context(), c, yp.CodeNoListings, "none", checkpoint.End{How: yp.EndSaid}))
	execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x', wait_reason = 'recrawl', not_before = '`+ahead(time.Hour)+`'`)
	begins("Waiting: nothing is due before ", " UTC.")
	execute(t, b.DB(), `UPDATE targets SET wait_reason = NULL, not_before = NULL`)

	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeInterrupted, 0))
	begins("No run is active. The last one ended at ", ": it was interrupted; run the same command to resume it.")
	execute(t, b.DB(), `UPDATE runs SET outcome = 'done'`, `UPDATE targets SET status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 1, not_before = '9999', wait_reason = 'backoff' WHERE id = 1`)
	begins("No run is active. The last one ended at ", ": nothing more was due. 1 search failed.")
	execute(t, b.DB(), `UPDATE runs SET outcome = 'running', finished_at = NULL`)
	begins("No run is active. The last one was killed; its last heartbeat was at ", "")
	execute(t, b.DB(), `UPDATE runs SET host = 'far'`)
	begins("No run is active on this machine. A run on far has not ended; its last heartbeat was at ", "")
	execute(t, b.DB(), `DELETE FROM crawl_attempts`, `DELETE FROM run_passes`, `DELETE FROM workers`, `DELETE FROM runs`)
	says("No run has started yet; 4 searches planned.")
	execute(t, b.DB(), `DELETE FROM targets`)
	says("Nothing is planned, and nothing has been crawled yet.")
}

// TestMap: each figure of a state by what is in its rows, and none that is not known.
func TestMap(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA", "TX") // 4 targets each
	says := func(what string, measure int, scope store.Scope, want string) {
		t.Helper()
		all, err := b.States(t.Context(), scope, report.StateMeasures[measure], "")
		noErr(t, err)
		data, err := json.Marshal(all)
		noErr(t, err)
		if got := regexp.MustCompile(`"crawled_at":"[^"]*"`).ReplaceAllString(string(data), `"crawled_at":"T"`); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	of := func(ca, tx string) string {
		return `[{"state":"CA","targets":4,` + ca + `},{"state":"TX","targets":4,` + tx + `}]`
	}
	const done, coverage, fresh, none = 0, 1, 4, `"done_percent":0,"troubled":0,"in_progress":0,"listings":0`
	const unknown = none + `,"coverage_percent":null,"success_percent":null,"crawled_at":null`
	says("coverage before", coverage, store.Scope{}, of(unknown, unknown))
	says("new before a pass", fresh, store.Scope{}, of(none, none))
	_, err := b.run.BeginPass(t.Context(), b.scope, nil)
	noErr(t, err)
	p := page(true, "a", "b", "c")
	p.SiteTotal = 12
	c := b.ofKind(t, yp.KindSearch, "TX")
	b.commit(t, c, p)
	execute(t, b.DB(), `UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', finished_at = 'x', total_attempts = 3 WHERE id = (SELECT max(id) FROM targets WHERE state = 'TX')`,
		`UPDATE targets SET total_attempts = 1, total_successes = 1, last_success_at = '`+ago(time.Hour)+`' WHERE id = `+fmt.Sprint(c.TargetID),
		`UPDATE runs SET pages = 1`)

	const some = `"done_percent":50,"troubled":1,"in_progress":0,"listings":3`
	says("done", done, store.Scope{}, of(none, some))
	says("coverage", coverage, store.Scope{}, of(unknown, some+`,"coverage_percent":25,"success_percent":25,"crawled_at":"T"`))
	says("new", fresh, store.Scope{}, of(none+`,"new":0`, some+`,"new":3`))
	says("of CA alone", fresh, store.Scope{SourceID: b.scope.SourceID, States: []string{"CA"}}, `[{"state":"CA","targets":4,`+none+`,"new":0}]`)
	says("of a source that is not there", coverage, store.Scope{SourceID: 99}, `[]`)
}

// TestStateCategories: those of the same category stand together.
func TestStateCategories(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, "CA", "TX")
	execute(t, b.DB(), `UPDATE targets SET site_total = 60, raw_count = 30, accepted_count = 28 WHERE state = 'TX' AND category_id = 1`,
		`UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', finished_at = 'x' WHERE id = (SELECT min(id) FROM targets WHERE state = 'TX' AND category_id = 2)`)
	for want, states := range map[string][]string{
		"[[Dentists CA 4 0 0 0 <nil>] [Dentists TX 4 25 1 0 <nil>] [Plumbers CA 4 0 0 0 <nil>] [Plumbers TX 4 0 0 112 50]]": {"CA", "TX"},
		"[[Dentists CA 4 0 0 0 <nil>] [Plumbers CA 4 0 0 0 <nil>]]":                                                         {"CA"},
		"[]": {"AK"},
	} {
		if got, err := b.StateCategories(t.Context(), store.Scope{SourceID: b.scope.SourceID, States: states}, ""); err != nil || fmt.Sprint(got.Rows) != want {
			t.Errorf("%s: %v, %v\nwant %s", states, got.Rows, err, want)
		}
	}
}

// TestOverview: each number by what is in its rows, and none that is not known.
func TestOverview(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA", "TX")
	read := func(scope store.Scope) *report.Overview {
		t.Helper()
		o, err := b.Overview(t.Context(), scope)
		noErr(t, err)
		return o
	}
	if o := read(store.Scope{}); o.Listings != 0 || o.Emails != nil || o.New != nil || o.Coverage.Percent != nil {
		t.Errorf("of nothing: %+v", o)
	}
	_, err := b.run.BeginPass(t.Context(), b.scope, nil)
	noErr(t, err)
	for state, ids := range map[string][]string{"CA": {"a", "b", "c"}, "TX": {"x"}} {
		p := page(true, ids...)
		p.SiteTotal = 10
		b.commit(t, b.ofKind(t, yp.KindSearch, state), p)
	}
	execute(t, b.DB(), `UPDATE runs SET pages = 2`, `UPDATE listings SET dropped_at = 'x' WHERE listing_id = 'c'`,
		`UPDATE listings SET own_page_at = 'x', email = iif(listing_id = 'b', NULL, 'a@b.example') WHERE listing_id IN ('a', 'b', 'x')`)
	o := read(store.Scope{})
	if o.Listings != 3 || o.Dropped != 1 || o.Emails == nil || *o.Emails != 2 || o.New == nil || *o.New != 4 || o.Coverage.Percent == nil || *o.Coverage.Percent != 20 {
		t.Errorf("%+v", o)
	}
	o = read(store.Scope{States: []string{"TX"}})
	if o.Listings != 1 || o.Dropped != 0 || *o.Emails != 1 || *o.Coverage.Percent != 10 {
		t.Errorf("of TX: %+v", o)
	}
}
