// Package storetest opens real databases for tests.
package storetest

import (
	"os"
	"path/filepath"
	"testing"

	"ypcrawl/store"
)

// Schema returns the text of schema.sql, found by walking up to go.mod: tests
// run with the one schema there is, also under -trimpath.
func Schema(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "schema.sql"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Open opens a new database in a temporary folder and closes it with the test.
func Open(tb testing.TB) *store.DB {
	tb.Helper()
	return OpenConfig(tb, store.Config{Path: filepath.Join(tb.TempDir(), "test.db")})
}

// OpenConfig opens the database that cfg names, with the project's schema.
func OpenConfig(tb testing.TB, cfg store.Config) *store.DB {
	tb.Helper()
	cfg.Schema = Schema(tb)
	db, err := store.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}
