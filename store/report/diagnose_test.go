package report_test

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

func TestFutureRows(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	c := b.claim(t, 0)
	look := func() string {
		t.Helper()
		all, err := b.FutureRows(t.Context())
		noErr(t, err)
		out := ""
		for _, f := range all {
			out += fmt.Sprint(f.Table, " ", f.Rows, " ")
			if f.Latest.Before(time.Now()) {
				t.Errorf("%s: the last by %s", f.Table, f.Latest)
			}
		}
		return out
	}
	if got := look(); got != "" {
		t.Errorf("a clock that is right: %s", got)
	}
	execute(t, b.DB(), request(-30*time.Second, "listing", "success", "", "", 1)) // clocks differ by that much
	if got := look(); got != "" {
		t.Errorf("half a minute ahead: %s", got)
	}
	execute(t, b.DB(), request(-2*time.Minute, "listing", "success", "", "", 1), request(-3*time.Hour, "robots", "success", "", "", 1),
		fmt.Sprintf(`UPDATE targets SET heartbeat_at = '%s' WHERE id = %d`, ahead(time.Hour), c.TargetID),
		`UPDATE runs SET heartbeat_at = '`+ahead(time.Hour)+`'`,
		`UPDATE crawl_attempts SET ended = 'released', finished_at = '`+ahead(time.Hour)+`'`)
	if got, want := look(), "runs 1 targets 1 crawl_attempts 1 requests 2 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFarWaits: what waits for longer than anything may, at each limit and behind it.
func TestFarWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		column string
		limit  time.Duration
		set    string // %s is the time
	}{
		{"targets not_before", 33 * time.Hour, `UPDATE targets SET wait_reason = 'backoff', not_before = '%s', status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 1 WHERE id = 1`},
		{"targets not_before", 169 * time.Hour, `UPDATE targets SET wait_reason = 'recrawl', not_before = '%s', status = 'DONE', finished_at = 'x' WHERE id = 1`},
		{"targets not_before", 20161 * time.Minute, `UPDATE targets SET wait_reason = 'recrawl', not_before = '%s', status = 'DONE', finished_at = 'x', crawl_frequency_minutes = 20101 WHERE id = 1`},
		{"targets not_before", 3 * time.Minute, `UPDATE targets SET wait_reason = 'gap', not_before = '%s', status = 'DONE', finished_at = 'x' WHERE id = 1`},
		{"hosts held_until", 61 * time.Minute, `INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'a', '%s', 'Retry-After', 'x')`},
	} {
		for by, want := range map[time.Duration]string{-2 * time.Second: "", 2 * time.Second: tt.column} {
			t.Run(fmt.Sprint(tt.column, " at ", tt.limit+by), func(t *testing.T) {
				t.Parallel()
				b := setup(t, 1, "CA")
				execute(t, b.DB(), fmt.Sprintf(tt.set, ahead(tt.limit+by)))
				all, err := b.FutureRows(t.Context())
				got := ""
				for _, f := range all {
					got += fmt.Sprint(f.Table, " ", f.Column)
				}
				if got != want || err != nil {
					t.Errorf("got %q, want %q, %v", got, want, err)
				}
			})
		}
	}
}

func TestHostAvailability(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	execute(t, b.DB(), fmt.Sprintf(`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'a', '%s', 'Retry-After', 'x'), (1, 'b', '%s', 'penalty', 'x')`,
		ahead(time.Hour), ago(time.Second)))
	if g, err := b.HostAvailability(t.Context(), "a"); err != nil || g.State != store.SourceHeld || g.Reason != "Retry-After" || g.Until.Before(time.Now()) {
		t.Errorf("one that is held: %+v, %v", g, err)
	}
	for _, host := range []string{"b", "c"} {
		if g, err := b.HostAvailability(t.Context(), host); err != nil || !g.Open() {
			t.Errorf("%s: %+v, %v", host, g, err)
		}
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	if name, base, err := report.New(storetest.Open(t)).LastSource(t.Context()); name != "" || base != "" || err != nil {
		t.Errorf("before the first run: %s, %s, %v", name, base, err)
	}
	b := setup(t, 1, "CA")
	other, err := b.Source(t.Context(), "other", "http://other")
	noErr(t, err)
	r, err := b.StartRun(t.Context(), other, "other", false)
	noErr(t, err)
	noErr(t, r.Finish(t.Context(), checkpoint.OutcomeDone, 0))
	if name, base, err := b.LastSource(t.Context()); name != "other" || base != "http://other" || err != nil {
		t.Errorf("%s, %s, %v", name, base, err)
	}
	all, err := b.Sources(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "demo" || all[0].Availability != store.SourceOpen || all[0].Remedy != "" {
		t.Errorf("%+v, %v", all, err)
	}
}
