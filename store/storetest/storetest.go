// Package storetest opens real databases for tests.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Schema returns the text of schema.sql, found by walking up to go.mod: tests
// run with the one schema there is, also under -trimpath.
func Schema(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	NoError(tb, err)
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
	NoError(tb, err)
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
	if _, err := os.Stat(cfg.Path); errors.Is(err, fs.ErrNotExist) && !cfg.MustExist && !cfg.ReadOnly {
		NoError(tb, makeFile(cfg))
	}
	db, err := store.Open(tb.Context(), cfg)
	NoError(tb, err)
	tb.Cleanup(func() { NoError(tb, db.Close()) })
	return db
}

// made is a new database that was made for all tests of the process: the schema takes 30 ms. What tells one from another
// is in it as text.
var made struct {
	sync.Mutex
	file []byte
	id   string
}

var madeAt = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// makeFile makes a new database.
func makeFile(cfg store.Config) error {
	made.Lock()
	defer made.Unlock()
	if made.file == nil {
		if err := makeFirst(cfg.Schema); err != nil {
			return err
		}
	}
	now := time.Now()
	if cfg.Now != nil {
		now = cfg.Now()
	}
	file := bytes.Replace(made.file, []byte(made.id), fmt.Appendf(nil, "%016x", rand.Uint64()), 1) //nolint:gosec // no secret
	file = bytes.Replace(file, []byte(yp.FormatTime(madeAt)), []byte(yp.FormatTime(now)), 1)
	return os.WriteFile(cfg.Path, file, 0o600)
}

func makeFirst(schema string) (err error) {
	dir, err := os.MkdirTemp("", "storetest")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "empty.db")
	db, err := store.Open(context.Background(), store.Config{Path: path, Schema: schema, Now: func() time.Time { return madeAt }})
	if err != nil {
		return err
	}
	made.id, err = db.ID(context.Background())
	if err = errors.Join(err, db.Close()); err == nil {
		made.file, err = os.ReadFile(path)
	}
	return err
}
