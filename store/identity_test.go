package store_test

import (
	"regexp"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// TestDatabaseID: every file is told from every other and keeps its id; only a file that
// holds nothing yet takes over another's.
func TestDatabaseID(t *testing.T) {
	t.Parallel()
	id := func(db *store.DB) string {
		t.Helper()
		id, err := db.ID(t.Context())
		if err != nil || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) {
			t.Fatalf("id %q: %v", id, err)
		}
		return id
	}
	takeOver := func(db *store.DB) string {
		t.Helper()
		noErr(t, db.Write(t.Context(), func(tx *store.Tx) error { return store.TakeOver(tx, "00000000deadbeef") }))
		return id(db)
	}
	first, used := storetest.Open(t), storetest.Open(t)
	again := storetest.OpenConfig(t, store.Config{Path: first.Path()})
	storetest.Equal(t, id(first), id(again), "of one file")
	if a, b := id(first), id(used); a == b {
		t.Errorf("two files are %s", a)
	}
	storetest.Execute(t, used, `INSERT INTO runs (uuid, host, pid, command, started_at, heartbeat_at) VALUES ('r', 'h', 1, 'run', 'x', 'x')`)
	for db, want := range map[*store.DB]bool{first: true, used: false} {
		untouched, err := db.Untouched(t.Context())
		noErr(t, err)
		storetest.Equal(t, untouched, want, "untouched")
	}
	before := id(used)
	storetest.Equal(t, takeOver(first), "00000000deadbeef", "a new file")
	storetest.Equal(t, takeOver(used), before, "a file with a run")
}
