//go:build unix

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// TestSecondName: a database with a second name is written by nobody, under either; it is read, and copied.
func TestSecondName(t *testing.T) {
	t.Parallel()
	path := filled(t)
	other := filepath.Join(t.TempDir(), "other.db")
	noErr(t, os.Link(path, other))
	for _, name := range []string{path, other} {
		_, err := store.Open(t.Context(), store.Config{Path: name, Schema: storetest.Schema(t)})
		if !errors.Is(err, store.ErrLinked) || !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "find / -samefile "+name) {
			t.Errorf("written: %v", err)
		}
		if err := store.FoldIn(t.Context(), name); !errors.Is(err, store.ErrLinked) {
			t.Errorf("folded in: %v", err)
		}
		db := storetest.OpenConfig(t, store.Config{Path: name, ReadOnly: true})
		noErr(t, db.QuickCheck(t.Context()))
		noErr(t, db.Close())
		copied := false
		s, err := store.TakeSnapshot(t.Context(), name, func() error { copied = true; return nil })
		noErr(t, err)
		if s.Close(); !copied {
			t.Error("nothing beside it was copied")
		}
	}
	noErr(t, os.Remove(other))
	noErr(t, storetest.OpenConfig(t, store.Config{Path: path}).Close())
	noErr(t, os.Symlink(path, other)) // which leads to the same journal
	noErr(t, storetest.OpenConfig(t, store.Config{Path: other}).Close())
}
