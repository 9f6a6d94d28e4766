package checkpoint_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

// TestPlacesInAState: at most so many searches of a state are in progress at once; other
// kinds take no place.
func TestPlacesInAState(t *testing.T) {
	t.Parallel()
	b := mixedKinds(t)
	s := b.scope
	s.Kinds, s.States = yp.Kinds(), []string{"CA"}
	var kinds []yp.Kind
	for {
		c, err := b.Claim(t.Context(), b.worker(0), s, 2)
		if errors.Is(err, checkpoint.ErrNothing) {
			break
		}
		noErr(t, err)
		kinds = append(kinds, c.Kind)
	}
	if want := []yp.Kind{yp.KindIndex, yp.KindSearch, yp.KindSearch, yp.KindDetail, yp.KindDetail}; !slices.Equal(kinds, want) {
		t.Errorf("took %v, want %v", kinds, want)
	}
}

// TestFairPlaces: a run that finds no place in a state says so, and the run that holds them
// takes no more than its share until the other has had a place, or has gone.
func TestFairPlaces(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 4, "CA", "TX") // eight searches a state
	other, err := b.StartRun(t.Context(), b.scope.SourceID, "other", false)
	noErr(t, err)
	t.Cleanup(func() { _ = other.Finish(bg, checkpoint.OutcomeDone, 0) })
	const places = 4
	scope := b.scope
	scope.States = []string{"CA"}
	take := func(r *checkpoint.Run) *checkpoint.Claim {
		t.Helper()
		c, err := b.Claim(t.Context(), checkpoint.Worker{ID: "w", RunID: r.ID}, scope, places)
		if errors.Is(err, checkpoint.ErrNothing) {
			return nil
		}
		noErr(t, err)
		return c
	}
	free := func(c *checkpoint.Claim) {
		t.Helper()
		noErr(t, b.Complete(t.Context(), c, "", "", false))
	}
	waits := func(r *checkpoint.Run, want ...string) {
		t.Helper()
		states, err := r.WaitForPlaces(t.Context(), b.scope, places)
		if err != nil || !slices.Equal(states, want) {
			t.Errorf("it waits for a place in %v (%v), want %v", states, err, want)
		}
	}
	var mine []*checkpoint.Claim
	for range places {
		mine = append(mine, take(b.run))
	}
	waits(b.run)       // whoever holds them waits for none
	waits(other, "CA") // TX is free
	free(mine[0])
	if c := take(b.run); c != nil {
		t.Error("with more than its share it took another place, for which somebody waits")
	}
	theirs := take(other)
	if theirs == nil {
		t.Fatal("the place that became free was not to be had")
	}
	waits(other, "CA") // for its share, which is two
	free(mine[1])
	if take(b.run) != nil {
		t.Error("with its share it took another place, for which somebody waits")
	}
	if take(other) == nil {
		t.Error("the other's share was not to be had")
	}
	if waits(other); take(other) != nil {
		t.Error("all places are taken")
	}
	free(theirs)
	clock.Move(6 * time.Second) // nobody has renewed the wish
	if take(b.run) == nil {
		t.Error("a wish that is over keeps a place free")
	}
	for i, most := range []int{1, 1} { // where there is but one place, it changes hands
		clock.Move(time.Minute)
		execute(t, b.DB(), `UPDATE targets SET status = 'PLANNED', claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL, finished_at = NULL, not_before = NULL, wait_reason = NULL`)
		holder, waiter := b.run, other
		if i == 1 {
			holder, waiter = other, b.run
		}
		c, err := b.Claim(t.Context(), checkpoint.Worker{ID: "w", RunID: holder.ID}, scope, most)
		noErr(t, err)
		if states, err := waiter.WaitForPlaces(t.Context(), scope, most); err != nil || len(states) != 1 {
			t.Errorf("%v, %v", states, err)
		}
		free(c)
		if _, err := b.Claim(t.Context(), checkpoint.Worker{ID: "w", RunID: waiter.ID}, scope, most); err != nil {
			t.Errorf("the one who waits: %v", err)
		}
	}
}
