package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func queued(t *testing.T, b *bundle, group report.QueueGroup, f report.Filter, limit int) (ids string, more bool) {
	t.Helper()
	rows, more, err := b.Queue(t.Context(), group, f, limit)
	noErr(t, err)
	for _, r := range rows {
		ids += fmt.Sprintf(" %d", r.ID)
	}
	return strings.TrimSpace(ids), more
}

// TestQueue: what is in which group, in which order, by filters and limit.
func TestQueue(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	execute(t, b.DB(),
		`UPDATE targets SET wait_reason = 'backoff', not_before = '`+ago(time.Minute)+`', consecutive_failures = 1, last_error_code = 'TIMEOUT' WHERE id = 11`,
		`UPDATE targets SET retired_at = '`+ago(time.Hour)+`' WHERE id = 12`,
		`UPDATE targets SET priority = 0 WHERE id = 32`,
		`UPDATE targets SET last_error_code = 'TIMEOUT' WHERE id = 31`)
	c := b.claim(t, 0)
	if c.TargetID != 32 {
		t.Fatalf("target %d was claimed, want the first one", c.TargetID)
	}
	for name, q := range map[string]struct {
		group  report.QueueGroup
		filter report.Filter
		limit  int
		want   string
		more   bool
	}{
		"running":                  {report.QueueRunning, report.Filter{}, 9, "32", false},
		"due, a wait that is over": {report.QueueDue, report.Filter{Error: yp.CodeTimeout}, 9, "31 11", false},
		"due, the first ones":      {report.QueueDue, report.Filter{}, 3, "13 14 15", true},
		"due, of a state":          {report.QueueDue, report.Filter{Scope: store.Scope{States: []string{"NV"}}}, 9, "", false},
		"resting, the soonest":     {report.QueueResting, report.Filter{}, 9, "9 3", false},
		"resting, one":             {report.QueueResting, report.Filter{}, 1, "9", true},
		"resting, by error":        {report.QueueResting, report.Filter{Error: yp.CodeTimeout}, 9, "3", false},
		"resting, by status":       {report.QueueResting, report.Filter{Statuses: []yp.Status{yp.Planned}}, 9, "9", false},
		"scheduled":                {report.QueueScheduled, report.Filter{}, 9, "10 1", false},
		"paused":                   {report.QueuePaused, report.Filter{}, 9, "7 8", false},
		"dead, the newest":         {report.QueueDead, report.Filter{}, 9, "5 6 4", false},
		"dead, by error":           {report.QueueDead, report.Filter{Error: yp.CodeTimeout}, 9, "4", false},
		"dead, of another kind":    {report.QueueDead, report.Filter{Scope: store.Scope{Kinds: []yp.Kind{yp.KindDetail}}}, 9, "", false},
		"dead, of another source":  {report.QueueDead, report.Filter{Scope: store.Scope{SourceID: 99}}, 9, "", false},
		"all, by status":           {"", report.Filter{Statuses: []yp.Status{yp.Done}}, 2, "1 2", true},
		"held, none":               {report.QueueHeld, report.Filter{}, 9, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, more := queued(t, b, q.group, q.filter, q.limit); got != q.want || more != q.more {
				t.Errorf("got %q (more: %v), want %q", got, more, q.want)
			}
		})
	}
}

// TestQueueGroups: every target that is to be crawled some day stands in one group, and no
// other does; the groups say what v_crawler_status says; each count is that of its list.
func TestQueueGroups(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed=%v", closed), func(t *testing.T) {
			t.Parallel()
			b := mixed(t)
			b.claim(t, 0)
			execute(t, b.DB(), `UPDATE targets SET retired_at = '`+ago(time.Hour)+`' WHERE id = 20`)
			want := map[report.QueueGroup][]report.Schedule{
				report.QueueRunning: {report.ScheduleDue}, report.QueueDue: {report.ScheduleDue}, report.QueueHeld: {},
				report.QueueResting: {report.ScheduleLater, report.ScheduleDegraded}, report.QueueScheduled: {report.ScheduleLater},
				report.QueuePaused: {report.SchedulePaused}, report.QueueDead: {report.ScheduleFailed, report.ScheduleNeedsPlan},
			}
			if closed {
				execute(t, b.DB(), `UPDATE sources SET paused_until = '`+ahead(time.Hour)+`', paused_code = 'HTML_CHANGED', paused_reason = 'x'`)
				for group := range want {
					want[group] = append(want[group], report.SchedulePaused)
				}
				want[report.QueueDue] = nil
			}
			counts, err := b.QueueCounts(t.Context(), report.Filter{})
			noErr(t, err)
			seen, total := map[int64]report.QueueGroup{}, int64(0)
			for i, group := range report.QueueGroups() {
				rows, more, err := b.Queue(t.Context(), group, report.Filter{}, 100)
				noErr(t, err)
				if c := counts[i]; c.Group != group || c.Targets != int64(len(rows)) || c.More || more {
					t.Errorf("%s: counted %+v, listed %d", group, c, len(rows))
				}
				total += int64(len(rows))
				for _, r := range rows {
					if other, twice := seen[r.ID]; twice {
						t.Errorf("target %d is %s and %s", r.ID, other, group)
					}
					seen[r.ID] = group
					if !slices.Contains(want[group], r.Schedule) {
						t.Errorf("target %d is %s, and %s by its schedule", r.ID, group, r.Schedule)
					}
				}
			}
			if total != 30 { // of 32 one is retired, one done for good
				t.Errorf("%d targets are in the queue, want 30: %v", total, seen)
			}
		})
	}
}

func TestParseQueueGroup(t *testing.T) {
	t.Parallel()
	if g, err := report.ParseQueueGroup("Resting"); g != report.QueueResting || err != nil {
		t.Errorf("%q, %v", g, err)
	}
	if _, err := report.ParseQueueGroup("sleeping"); err == nil || !strings.Contains(err.Error(), "want one of [running due ") {
		t.Errorf("%v", err)
	}
}
