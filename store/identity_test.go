package store

import (
	"path/filepath"
	"regexp"
	"testing"
)

// TestDatabaseID: every file is told from every other and keeps its id; only a file that
// holds nothing yet takes over another's.
func TestDatabaseID(t *testing.T) {
	t.Parallel()
	id := func(db *DB) string {
		t.Helper()
		id, err := db.ID(t.Context())
		if err != nil || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) {
			t.Fatalf("id %q: %v", id, err)
		}
		return id
	}
	takeOver := func(db *DB) string {
		t.Helper()
		noError(t, db.Write(t.Context(), func(tx *Tx) error { return TakeOver(tx, "00000000deadbeef") }))
		return id(db)
	}
	config := func() Config {
		return Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: file(t, "../schema.sql")}
	}
	cfg := config()
	first, again := mustOpen(t, cfg), mustOpen(t, cfg)
	used := mustOpen(t, config())
	if a, b := id(first), id(again); a != b {
		t.Errorf("one file is %s and %s", a, b)
	}
	if a, b := id(first), id(used); a == b {
		t.Errorf("two files are %s", a)
	}
	err := used.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO runs (uuid, host, pid, command, started_at, heartbeat_at) VALUES ('r', 'h', 1, 'run', 'x', 'x')`)
		return err
	})
	noError(t, err)
	if yes, err := first.Untouched(t.Context()); err != nil || !yes {
		t.Errorf("a new file: untouched %t (%v)", yes, err)
	}
	if yes, err := used.Untouched(t.Context()); err != nil || yes {
		t.Errorf("a file with a run: untouched %t (%v)", yes, err)
	}
	if got := takeOver(first); got != "00000000deadbeef" {
		t.Errorf("a new file stayed %s", got)
	}
	if before, got := id(used), takeOver(used); got != before {
		t.Errorf("a file with a run became %s", got)
	}
}
