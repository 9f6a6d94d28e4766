package checkpoint_test

import (
	"fmt"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
)

func lacks(t *testing.T, k *checkpoint.Keeper, events []*wal.Event) (missing []*wal.Event) {
	t.Helper()
	for _, e := range events {
		held, err := k.Holds(t.Context(), e)
		noErr(t, err)
		if !held {
			missing = append(missing, e)
		}
	}
	return missing
}

func TestHolds(t *testing.T) {
	t.Parallel()
	g := crawl(t)
	found, targets := table(t, g.DB(), foundRows), table(t, g.DB(), targetRows)
	fresh := func() *checkpoint.Keeper { return checkpoint.New(storetest.Open(t)) }
	t.Run("AnEmptyDatabase", func(t *testing.T) {
		k := fresh()
		for _, e := range g.events {
			if held, err := k.Holds(t.Context(), e); err != nil || held != (e.Type == wal.Stop) {
				t.Errorf("%s: held %v, %v", e.Type, held, err)
			}
		}
	})
	t.Run("AnUnknownEvent", func(t *testing.T) {
		e := *g.events[0]
		e.Type = "of_a_later_version"
		storetest.Equal(t, len(lacks(t, g.Keeper, []*wal.Event{&e})), 1, "events that are not held")
	})
	// An older copy of the database, whatever it is missing: the logs that it does not
	// hold bring it to where the crawl was.
	t.Run("WhatIsNotHeldBringsTheRest", func(t *testing.T) {
		for n := range g.events {
			if n > 0 && g.events[n-1].Type == wal.PageComplete {
				continue // whether that was committed, nobody knows
			}
			k := fresh()
			g.replay(t, k, g.events[:n])
			missing := lacks(t, k, g.events)
			g.replay(t, k, missing)
			same(t, fmt.Sprint("listings after ", n), table(t, k.DB(), foundRows), found)
			same(t, fmt.Sprint("targets after ", n), table(t, k.DB(), targetRows), targets)
			if left := lacks(t, k, g.events); len(left) > 0 {
				t.Errorf("after %d: %d are still not held, the first a %s", n, len(left), left[0].Type)
			}
		}
	})
	t.Run("AListingThatIsGone", func(t *testing.T) {
		k := fresh()
		g.replay(t, k, g.events)
		before := len(lacks(t, k, g.events))
		execute(t, k.DB(), `UPDATE listings SET listing_id = 'other' WHERE listing_id = 'l5'`)
		var pages []string
		for _, e := range lacks(t, k, g.events) {
			if e.Type == wal.PageComplete {
				pages = append(pages, e.Page.Listings[0].ID)
			}
		}
		storetest.Equal(t, fmt.Sprint(before, pages), "0 [l4]", "pages missing, before and after")
	})
}
