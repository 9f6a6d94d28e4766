package report_test

import (
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

func TestClosedSources(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	closed := func(want string) {
		t.Helper()
		all, err := b.Closures(t.Context(), []int64{b.scope.SourceID})
		noErr(t, err)
		got := ""
		for _, s := range all {
			got += s.Name + " " + string(s.State) + " " + string(s.Code) + " " + s.Reason
			if s.State == store.SourceQuarantined && (s.Until.IsZero() || s.Since.IsZero()) {
				t.Errorf("quarantined since %s until %s", s.Since, s.Until)
			}
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	closed("")
	execute(t, b.DB(), `INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, updated_at)
		VALUES (1, 'quarantined', 'cf_challenge', '`+ago(time.Hour)+`', '`+ahead(time.Hour)+`', 'x')`)
	closed("demo quarantined  cf_challenge")
	execute(t, b.DB(), `UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'fields are missing: phone'`)
	closed("demo paused HTML_CHANGED fields are missing: phone")
	if all, err := b.Closures(t.Context(), []int64{b.scope.SourceID + 1}); err != nil || len(all) > 0 {
		t.Errorf("of another source: %v, %v", all, err)
	}
}

func TestParkedBetween(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, "CA") // 8 targets
	at := func(d time.Duration) string {
		return yp.FormatTime(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).Add(d))
	}
	park := `UPDATE targets SET status = 'PARKED', last_error_code = '`
	execute(t, b.DB(), park+`TIMEOUT', finished_at = '`+at(0)+`' WHERE id = 1`,
		park+`TIMEOUT', finished_at = '`+at(time.Millisecond)+`' WHERE id IN (2, 3)`,
		park+`NO_LISTINGS', finished_at = '`+at(time.Minute)+`' WHERE id = 4`,
		park+`TIMEOUT', finished_at = '`+at(time.Minute+time.Millisecond)+`' WHERE id = 5`,
		park+`TIMEOUT', retired_at = 'x', finished_at = '`+at(time.Second)+`' WHERE id = 6`)
	after, err := yp.ParseTime(at(0))
	noErr(t, err)
	got, err := b.ParkedBetween(t.Context(), []int64{b.scope.SourceID}, after, after.Add(time.Minute))
	noErr(t, err)
	if len(got) != 2 || got[0].Source != "demo" || got[0].Code != "TIMEOUT" || got[0].Targets != 2 || got[1].Code != "NO_LISTINGS" || got[1].Targets != 1 {
		t.Errorf("got %+v", got)
	}
}
