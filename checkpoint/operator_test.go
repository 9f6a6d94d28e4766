package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const standingRows = `SELECT id, status, crawl_status, enabled, auto_disabled, backoff_level, consecutive_failures, wait_reason IS NOT 'backoff',
	page_current, ifnull(last_error_code, '') FROM v_crawler_status WHERE id = ?`

func (b *bundle) operate(t *testing.T, o checkpoint.Operation, c checkpoint.Chosen) int {
	t.Helper()
	want := b.chosen(t, o, c)
	got, err := b.Operate(t.Context(), o, c)
	noErr(t, err)
	storetest.Equal(t, got, want, fmt.Sprintf("%s changed", o))
	recount(t, b.DB())
	return got
}

// mixed is a database with one target of every kind, ids 1 to 10, and the rest due.
func mixed(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, 8, "CA", "TX") // 32 targets: cities in order, both states, both categories
	storetest.Mixed(t, b.DB())
	return b
}

func one(id int64) checkpoint.Chosen { return checkpoint.Chosen{IDs: []int64{id}} }

// TestOperations: what each operation makes of each kind of target.
func TestOperations(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   []checkpoint.Operation
		id   int64
		want string
	}{
		"pause one due":              {[]checkpoint.Operation{checkpoint.Pause}, 11, "11|PLANNED|paused|1|0|0|0|1|0|"},
		"pause one that rests":       {[]checkpoint.Operation{checkpoint.Pause}, 3, "3|FAILED|paused|1|0|2|4|0|0|TIMEOUT"},
		"pause a dead letter":        {[]checkpoint.Operation{checkpoint.Pause}, 4, "4|PARKED|paused|1|1|5|8|1|0|TIMEOUT"},
		"resume one due":             {[]checkpoint.Operation{checkpoint.Resume}, 7, "7|PLANNED|active|1|0|0|0|1|0|"},
		"resume one that rested":     {[]checkpoint.Operation{checkpoint.Pause, checkpoint.Resume}, 3, "3|FAILED|degraded|1|0|2|4|0|0|TIMEOUT"},
		"resume a dead letter":       {[]checkpoint.Operation{checkpoint.Pause, checkpoint.Resume}, 5, "5|PARKED|failed|1|0|0|1|1|0|NO_LISTINGS"},
		"disable":                    {[]checkpoint.Operation{checkpoint.Disable}, 11, "11|PLANNED|active|0|0|0|0|1|0|"},
		"enable":                     {[]checkpoint.Operation{checkpoint.Enable}, 8, "8|PLANNED|active|1|0|0|0|1|0|"},
		"enable one that rests":      {[]checkpoint.Operation{checkpoint.Enable}, 3, "3|PLANNED|active|1|0|0|0|1|0|TIMEOUT"},
		"enable one parked by force": {[]checkpoint.Operation{checkpoint.Enable}, 4, "4|PLANNED|active|1|0|0|0|1|0|TIMEOUT"},
		"enable one parked for good": {[]checkpoint.Operation{checkpoint.Enable}, 5, "5|PARKED|failed|1|0|0|0|1|0|NO_LISTINGS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mixed(t)
			for _, o := range tc.do {
				storetest.Equal(t, b.operate(t, o, one(tc.id)), 1, fmt.Sprint("targets changed by ", o))
			}
			same(t, "target", table(t, b.DB(), standingRows, tc.id), []string{tc.want})
			last := tc.do[len(tc.do)-1]
			storetest.Equal(t, b.operate(t, last, one(tc.id)), 0, fmt.Sprint("targets changed again by ", last))
		})
	}
}

// TestResetNamed: of targets that are named, whatever is wrong with them, and of no others.
func TestResetNamed(t *testing.T) {
	t.Parallel()
	all := []yp.Status{yp.Failed, yp.Stuck, yp.Parked}
	for o, want := range map[checkpoint.Operation]string{checkpoint.Reset: "2|60|u", checkpoint.ResetFromPage1: "0|0|"} {
		b := mixed(t)
		execute(t, b.DB(), `UPDATE targets SET page_current = 2, raw_count = 60, next_page_url = 'u' WHERE id = 4`)
		storetest.Equal(t, b.operate(t, o, checkpoint.Chosen{IDs: []int64{4, 11}, Statuses: all}), 1, "targets changed")
		same(t, "page", table(t, b.DB(), `SELECT page_current, raw_count, next_page_url FROM targets WHERE id = 4 AND not_before IS NULL AND finished_at IS NULL`), []string{want})
		same(t, "target", table(t, b.DB(), standingRows, 4), []string{"4|PLANNED|active|1|0|0|0|1|" + want[:1] + "|TIMEOUT"})
		storetest.Equal(t, b.operate(t, checkpoint.Reset, checkpoint.Chosen{IDs: []int64{3, 5}, Statuses: all}), 2, "targets changed")
	}
}

func TestChosen(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o    checkpoint.Operation
		c    checkpoint.Chosen
		want int
	}{
		"everything":      {checkpoint.Pause, checkpoint.Chosen{}, 31}, // one is paused already
		"state":           {checkpoint.Pause, checkpoint.Chosen{Scope: store.Scope{States: []string{"CA"}}}, 16},
		"status":          {checkpoint.Pause, checkpoint.Chosen{Statuses: []yp.Status{yp.Done, yp.Failed}}, 4},
		"ids":             {checkpoint.Disable, checkpoint.Chosen{IDs: []int64{11, 12, 8, 999}}, 2},
		"ids and state":   {checkpoint.Disable, checkpoint.Chosen{IDs: []int64{1, 3}, Scope: store.Scope{States: []string{"TX"}}}, 1},
		"another source":  {checkpoint.Disable, checkpoint.Chosen{Scope: store.Scope{SourceID: 9}}, 0},
		"set by itself":   {checkpoint.Enable, checkpoint.Chosen{}, 5}, // 3, 4, 5, 8, 9
		"nothing to undo": {checkpoint.Resume, checkpoint.Chosen{Statuses: []yp.Status{yp.Done}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Equal(t, mixed(t).operate(t, tc.o, tc.c), tc.want, "targets")
		})
	}
	if _, err := mixed(t).Operate(t.Context(), "explode", checkpoint.Chosen{}); err == nil || !strings.Contains(err.Error(), "no such operation") {
		t.Errorf("got %v", err)
	}
}
