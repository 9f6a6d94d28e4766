package crawl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/discover"
	"ypcrawl/store/storetest"
)

// recrawl makes every target that is done due and crawls it anew, the gap between two
// crawls or not: the tests' clock is the real one.
func (w *world) recrawl(change ...func(*crawl.Config)) crawl.Stats {
	w.t.Helper()
	w.write("UPDATE targets SET wait_reason = 'recrawl', not_before = '1999-01-01T00:00:00.000Z' WHERE status = 'DONE'")
	return w.done(change...)
}

// ledger reads what the database tells of the changes after a row of its logs.
type ledger struct{ promotions, changes int64 }

func (w *world) ledger() ledger {
	return ledger{w.number("SELECT ifnull(max(id), 0) FROM promotion_log"), w.number("SELECT ifnull(max(id), 0) FROM listing_changes")}
}

func (w *world) promoted(since ledger, action string) []string {
	return w.table(fmt.Sprintf("SELECT listing_id FROM promotion_log WHERE id > %d AND action = '%s' ORDER BY listing_id", since.promotions, action))
}

func (w *world) changed(since ledger) []string {
	return w.table(fmt.Sprintf(`SELECT l.listing_id, field, ifnull(old, ''), ifnull(new, '') FROM listing_changes c JOIN listings l ON l.id = c.listing
		WHERE c.id > %d ORDER BY l.listing_id, field`, since.changes))
}

func changedOf(c demo.Changes) (out []string) {
	for _, x := range c.Changed {
		out = append(out, strings.Join([]string{x.ID, x.Field, x.Old, x.New}, " "))
	}
	return out
}

func (w *world) changes(dir *demo.Directory, sel demo.Selection, since ...int) demo.Changes {
	w.t.Helper()
	c, err := dir.Changes(sel, since...)
	storetest.NoError(w.t, err)
	return c
}

func (w *world) epoch(dir *demo.Directory, n int) {
	w.t.Helper()
	storetest.NoError(w.t, dir.SetEpoch(n))
}

// TestEpochs: a directory that changes between crawls ends with exactly the changes of
// its truth, and nothing is gone before it was missing twice.
func TestEpochs(t *testing.T) {
	t.Parallel()
	cfg, sel, least := demo.Config{Places: 6}, demo.Selection{States: []string{"AZ"}, Planned: true}, 10
	if raced {
		cfg.Places, least = 1, 1
	}
	w, dir, _ := demoWorld(t, cfg, sel.States...)
	sel.Cities, sel.MaxPages = w.table("SELECT slug FROM cities"), discover.AllPages
	w.write("UPDATE targets SET max_pages = 0")
	many := workers(4)
	w.done(many)
	before := w.ledger()
	if n := w.number("SELECT count(*) FROM listing_changes"); n != 0 {
		t.Errorf("the first crawl tells of %d changes", n)
	}
	w.recrawl(many)
	if after := w.ledger(); after != before {
		t.Errorf("a second crawl of the same logged %+v, want %+v", after, before)
	}
	w.epoch(dir, 1)
	want := w.changes(dir, sel, 0, 0)
	st := w.recrawl(many)
	w.same("new", w.promoted(before, "promoted_create"), want.New)
	w.same("changed", w.changed(before), changedOf(want))
	w.same("gone after one crawl", w.promoted(before, "dropped"), nil)
	st.Dropped += w.recrawl(many).Dropped
	if got := [3]int64{st.New, st.Dropped, st.Restored}; got != [3]int64{int64(len(want.New)), int64(len(want.Dropped)), int64(len(want.Restored))} {
		t.Errorf("new, dropped and restored are told as %d", got)
	}
	w.same("gone", w.promoted(before, "dropped"), want.Dropped)
	w.same("restored", w.promoted(before, "restored"), want.Restored)
	w.tellsOfFates(t)
	if len(want.New) == 0 || len(want.Changed) == 0 || len(want.Dropped) < least {
		t.Errorf("the test is too tame: %d new, %d changed, %d gone", len(want.New), len(want.Changed), len(want.Dropped))
	}
	if raced { // one epoch has every path of it
		return
	}

	second := w.ledger()
	w.epoch(dir, 2)
	want = w.changes(dir, sel, 0, 0, 1, 1)
	if st = w.recrawl(many); st.Restored != int64(len(want.Restored)) || st.Restored == 0 {
		t.Errorf("%d are told as restored, want %d", st.Restored, len(want.Restored))
	}
	w.same("new in the second", w.promoted(second, "promoted_create"), want.New)
	w.same("changed in the second", w.changed(second), changedOf(want))
	w.same("back in the second", w.promoted(second, "restored"), want.Restored)
	w.recrawl(many)
	w.same("gone in the second", w.promoted(second, "dropped"), want.Dropped)
	w.tellsOfFates(t)
	t.Logf("second epoch: %d new, %d changed, %d gone, %d back", len(want.New), len(want.Changed), len(want.Dropped), len(want.Restored))
}

// tellsOfFates: what became of listings is counted with the run, as it stands in the log.
func (w *world) tellsOfFates(t *testing.T) {
	t.Helper()
	const counted = "SELECT sum(listings_new), sum(listings_dropped), sum(listings_restored) FROM runs"
	const logged = `SELECT sum(action = 'promoted_create'), sum(action = 'dropped'), sum(action = 'restored') FROM promotion_log`
	w.same("counted with the runs", w.table(counted), w.table(logged))
}

// TestEpochInTrouble: blocks, errors, damaged pages and limits of pages call nothing gone
// that is there.
func TestEpochInTrouble(t *testing.T) {
	bubble(t, func(t *testing.T) {
		places := 5
		if raced {
			places = 1
		}
		sel := demo.Selection{States: []string{"AZ"}, Planned: true}
		w, dir, _ := demoInBubble(t, demo.Config{Places: places, Fail: map[string]float64{
			"429": 0.05, "503": 0.05, "challenge": 0.01, "timeout": 0.01, "truncate": 0.03,
		}}, sel.States...)
		sel.Cities = w.table("SELECT slug FROM cities")
		w.fetch.DelayMin, w.fetch.ConcurrencyPerHost = siegeDelay, siegeWorkers
		w.write("UPDATE targets SET crawl_frequency_minutes = 60")
		e := w.watching(5 * time.Minute)
		done := w.begin(t.Context(), e)
		w.until("SELECT count(*) FROM targets WHERE total_successes < 1", e, done)
		w.epoch(dir, 1)
		want := w.changes(dir, sel, 0)
		w.start()
		e = w.watching(5 * time.Minute)
		w.until("SELECT count(*) FROM targets WHERE total_successes < 4", e, w.begin(t.Context(), e))
		gone := w.table("SELECT listing_id FROM listings WHERE dropped_at IS NOT NULL ORDER BY listing_id")
		for _, id := range gone {
			if !slices.Contains(want.Dropped, id) && !slices.Contains(want.Retired, id) {
				t.Errorf("%s is called gone, and is there", id)
			}
		}
		if len(gone) < len(want.Dropped)*9/10 {
			t.Errorf("%d are gone, want nearly %d", len(gone), len(want.Dropped))
		}
	})
}
