package wal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

func TestPrune(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	all := func(*Event) (bool, error) { return true, nil }
	// old makes logs whose files and events are of noon's day.
	old := func(t *testing.T) string {
		t.Helper()
		dir := t.TempDir()
		logOf(t, Config{Dir: dir, MaxBytes: 1500}, 7)
		writeLines(t, dir, "worker_1_pid_1.jsonl", textLine("worker_1_pid_1", 1, 1, Stop), `{"timest`)
		all := names(t, dir)
		if len(all) < 4 {
			t.Fatal(all)
		}
		for _, name := range all {
			noErr(t, os.Chtimes(filepath.Join(dir, name), noon, noon))
		}
		return dir
	}
	prune := func(t *testing.T, dir string, cfg PruneConfig) Pruned {
		t.Helper()
		out, err := Prune(t.Context(), dir, cfg)
		noErr(t, err)
		return out
	}
	t.Run("removes what is old and held", func(t *testing.T) {
		dir := old(t)
		before := len(names(t, dir))
		out := prune(t, dir, PruneConfig{Before: noon.Add(day), Held: all})
		if left := names(t, dir); len(left) > 0 || out.Files != before || out.Bytes == 0 {
			t.Fatalf("left %v, told %+v", left, out)
		}
	})
	t.Run("keeps young files and young events", func(t *testing.T) {
		dir := old(t)
		before := names(t, dir)
		prune(t, dir, PruneConfig{Before: noon, Held: all})
		for _, name := range before { // a clock that is ahead
			noErr(t, os.Chtimes(filepath.Join(dir, name), noon.Add(-9*day), noon.Add(-9*day)))
		}
		prune(t, dir, PruneConfig{Before: noon, Held: all})
		storetest.Diff(t, names(t, dir), before, "left of")
	})
	t.Run("stops at what is not held", func(t *testing.T) {
		dir := old(t)
		out := prune(t, dir, PruneConfig{Before: noon.Add(day), Held: func(e *Event) (bool, error) { return e.Seq != 3, nil }})
		events, _, _ := readAll(t, dir, Options{})
		if len(events) == 0 || events[0].Seq > 3 || events[0].Seq == 1 || events[len(events)-1].Seq != 7 || out.Kept != 1 {
			t.Fatalf("left from %d on, told %+v", events[0].Seq, out)
		}
	})
	t.Run("keeps damage", func(t *testing.T) {
		dir := t.TempDir()
		path := writeLines(t, dir, "worker_9_pid_1.jsonl", textLine("worker_9_pid_1", 1, 1, Stop), "bad\n")
		noErr(t, os.Chtimes(path, noon, noon))
		if out := prune(t, dir, PruneConfig{Before: noon.Add(day), Held: all}); out.Kept != 1 || len(names(t, dir)) != 1 {
			t.Fatalf("told %+v", out)
		}
	})
	t.Run("keeps what is not ours", func(t *testing.T) {
		dir := t.TempDir()
		for _, path := range []string{
			writeLines(t, dir, "customers.jsonl"), writeLines(t, dir, "w.jsonl", textLine("w", 1, 1, Stop)),
			writeLines(t, dir, "worker_9_pid_1.jsonl", "a note of somebody"),
			writeLines(t, dir, "worker_9_pid_2.jsonl", textLine("worker_9_pid_1", 1, 1, Stop)),
		} {
			noErr(t, os.Chtimes(path, noon, noon))
		}
		if out := prune(t, dir, PruneConfig{Before: noon.Add(day), Held: all}); out.Files != 0 || out.Kept != 2 || len(names(t, dir)) != 4 {
			t.Fatalf("told %+v", out)
		}
	})
	t.Run("keeps the logs of the living", func(t *testing.T) {
		dir := old(t)
		log := create(t, Config{Dir: dir, WorkerID: "worker_1_pid_1"}) // holds the lock, and cuts the torn line
		noErr(t, os.Chtimes(log.Path(), noon, noon))
		prune(t, dir, PruneConfig{Before: noon.Add(day), Held: all, IsLive: func(w string) bool { return w == "worker_0_pid_1" }})
		if names := names(t, dir); len(names) < 4 {
			t.Fatalf("left %v", names)
		}
	})
	t.Run("a database that fails removes nothing", func(t *testing.T) {
		dir, gone := old(t), errors.New("gone")
		before := names(t, dir)
		_, err := Prune(t.Context(), dir, PruneConfig{Before: noon.Add(day), Held: func(*Event) (bool, error) { return true, gone }})
		if got := names(t, dir); !errors.Is(err, gone) || !slices.Equal(got, before) {
			t.Fatalf("left %v, %v", got, err)
		}
	})
}
