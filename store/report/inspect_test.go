package report_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// TestNext: what a target waits for, and what would change it.
func TestNext(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	look := func(id int64) report.Next {
		t.Helper()
		n, err := b.Next(t.Context(), id)
		noErr(t, err)
		return n
	}
	for id, want := range map[int64]report.Next{
		1:  {When: report.NextLater, Why: "it is due again then"},
		2:  {When: report.NextNever, Why: "it is done, and not to be crawled again"},
		3:  {When: report.NextLater, Why: "it is retried then after 4 failures in a row", Remedy: "targets enable 3"},
		4:  {When: report.NextNever, Why: "it was given up (PARKED)", Remedy: "reset 4"},
		6:  {When: report.NextNever, Why: "it is stuck, because its worker died too often", Remedy: "reset 6"},
		7:  {When: report.NextNever, Why: "it is paused", Remedy: "targets resume 7"},
		8:  {When: report.NextNever, Why: "it is disabled", Remedy: "targets enable 8"},
		10: {When: report.NextLater, Why: "it was crawled less than 2 minutes ago"},
		11: {When: report.NextNow, Why: "the next free worker may take it"},
	} {
		got := look(id)
		if later := got.When == report.NextLater; later == got.At.IsZero() {
			t.Errorf("target %d: at %s", id, got.At)
		}
		if got.At = (yp.Stamp{}); got != want {
			t.Errorf("target %d: %+v, want %+v", id, got, want)
		}
	}
	c := b.claim(t, 3)
	if n := look(c.TargetID); n.When != report.NextHeld || string(n.Held) != yp.WorkerText(c.Worker.ID) {
		t.Errorf("one in progress: %+v", n)
	}
	if _, err := b.Next(t.Context(), 999); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("no such target: %v", err)
	}
}

// TestNextOfClosedSource: a target that is due waits for its source.
func TestNextOfClosedSource(t *testing.T) {
	t.Parallel()
	held := func(why string) string {
		return `INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'h', '` + ahead(time.Hour) + `', '` + why + `', 'x')`
	}
	for name, tc := range map[string]struct {
		sql         string
		when        report.NextWhen
		why, remedy string
	}{
		"disabled": {`UPDATE sources SET enabled = 0`, report.NextNever, "disabled", "sources enable demo"},
		"alarm":    {`UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'no names'`, report.NextNever, "paused: no names", "sources enable demo"},
		"paused":   {`UPDATE sources SET paused_until = '` + ahead(time.Hour) + `', paused_code = 'AUTH_FAILED', paused_reason = '401'`, report.NextLater, "paused: 401", "sources enable demo"},
		"quarantined": {`INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, updated_at)
			VALUES (1, 'quarantined', 'cf_challenge', '` + ago(time.Hour) + `', '` + ahead(time.Hour) + `', '` + ago(0) + `')`, report.NextLater, "quarantined: cf_challenge", ""},
		"penalty":     {held("penalty"), report.NextLater, "held: refused by the site", ""},
		"Retry-After": {held("Retry-After"), report.NextLater, "held: Retry-After", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 1, "CA")
			execute(t, b.DB(), tc.sql)
			got, err := b.Next(t.Context(), 1)
			noErr(t, err)
			if (got.When == report.NextLater) == got.At.IsZero() {
				t.Errorf("at %s", got.At)
			}
			if got.At = (yp.Stamp{}); got != (report.Next{When: tc.when, Why: "its source is " + tc.why, Remedy: tc.remedy}) {
				t.Errorf("got %+v, want %+v", got, tc)
			}
		})
	}
}
