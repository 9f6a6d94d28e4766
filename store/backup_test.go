package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func addMeta(tx *store.Tx, key string) error {
	return tx.Run(`INSERT INTO meta (key, value) VALUES (?, 'x')`, key)
}

// TestSnapshot: nobody commits while the function runs that is called at the moment of the snapshot;
// the copy has what was committed before it and nothing that came after, and needs no file beside it.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(dir, "a.db")})
	noErr(t, db.Write(t.Context(), func(tx *store.Tx) error { return addMeta(tx, "before") }))
	committed := make(chan error, 1)
	snap, err := store.TakeSnapshot(t.Context(), db.Path(), func() error {
		go func() {
			committed <- db.Write(t.Context(), func(tx *store.Tx) error { return addMeta(tx, "after") })
		}()
		select {
		case err := <-committed:
			return fmt.Errorf("a transaction was committed meanwhile: %w", err)
		case <-time.After(100 * time.Millisecond): // what is tested is that nothing comes
			return nil
		}
	})
	noErr(t, err)
	defer snap.Close()
	noErr(t, <-committed) // beside the snapshot, which is still open
	to := filepath.Join(dir, "copy.db")
	log := filepath.Join(dir, "a.jsonl")
	noErr(t, errors.Join(os.WriteFile(log, []byte("{}\n"), 0o600), os.Chtimes(log, time.UnixMilli(5), time.UnixMilli(5))))
	f, err := os.OpenFile(log, os.O_RDWR|os.O_APPEND, 0)
	noErr(t, err)
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	noErr(t, err)
	_, err = f.WriteString("later\n")
	noErr(t, err)
	noErr(t, snap.CopyTo(t.Context(), to, []store.CopiedLog{{File: f, Info: info}}))
	noErr(t, store.CheckCopy(t.Context(), to))
	for _, ending := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Stat(to + ending); err == nil {
			t.Errorf("the copy needs %s", ending)
		}
	}
	copied := storetest.OpenConfig(t, store.Config{Path: to, ReadOnly: true})
	keys, err := store.Column[string](copied.Reader(t.Context()), `SELECT key FROM meta WHERE key IN ('before', 'after', 'backup', 'database_id') ORDER BY key`)
	if err != nil || strings.Join(keys, " ") != "backup before database_id" {
		t.Errorf("the copy has %v (%v)", keys, err)
	}
	back, err := store.TakeSnapshot(t.Context(), to, nil)
	noErr(t, err)
	defer back.Close()
	restored := filepath.Join(dir, "restored.db")
	at, err := back.RestoreTo(t.Context(), restored, func(name string, changed time.Time, piece []byte) error {
		if name != "a.jsonl" || changed.UnixMilli() != 5 || string(piece) != "{}\n" {
			t.Errorf("a log came back as %s of %s: %q", name, changed, piece)
		}
		return nil
	})
	if err != nil || at != yp.FormatTime(snap.At) {
		t.Errorf("made at %q (%v), want %s", at, err, snap.At)
	}
	left, err := store.Column[string](storetest.OpenConfig(t, store.Config{Path: restored}).Reader(t.Context()), `SELECT name FROM sqlite_schema WHERE name = 'backup_logs'`)
	if err != nil || len(left) > 0 {
		t.Errorf("the logs are still in what was restored (%v)", err)
	}
	if info, err := os.Stat(to); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the copy: %v (%v)", info.Mode(), err)
	}
}

// TestSnapshotRefuses what is no database of this program, and leaves it as it is.
func TestSnapshotRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	noErr(t, os.WriteFile(text, []byte("no database, but a text of some length\n"), 0o600))
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(dir, "newer.db")})
	storetest.Execute(t, db, `PRAGMA user_version = 99`)
	for path, want := range map[string]func(error) bool{
		text:                           store.Corrupt,
		filepath.Join(dir, "none.db"):  func(err error) bool { return errors.Is(err, store.ErrNotFound) },
		filepath.Join(dir, "newer.db"): func(err error) bool { return errors.As(err, new(*store.VersionError)) },
	} {
		for _, frozen := range []func() error{nil, func() error { t.Error("it was looked at"); return nil }} {
			if _, err := store.TakeSnapshot(t.Context(), path, frozen); !want(err) {
				t.Errorf("%s: %v", filepath.Base(path), err)
			}
		}
	}
	if got, err := os.ReadFile(text); err != nil || !strings.HasPrefix(string(got), "no database") {
		t.Errorf("it was written to: %q (%v)", got, err)
	}
}

// TestCheckCopy finds a page that was overwritten.
func TestCheckCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(dir, "a.db")})
	snap, err := store.TakeSnapshot(t.Context(), db.Path(), nil)
	noErr(t, err)
	defer snap.Close()
	to := filepath.Join(dir, "copy.db")
	noErr(t, snap.CopyTo(t.Context(), to, nil))
	noErr(t, store.CheckCopy(t.Context(), to))
	data, err := os.ReadFile(to)
	noErr(t, err)
	copy(data[4096*3:], strings.Repeat("x", 4096))
	noErr(t, os.WriteFile(to, data, 0o600))
	if err := store.CheckCopy(t.Context(), to); !store.Corrupt(err) {
		t.Errorf("an overwritten page: %v", err)
	}
	if err := snap.CopyTo(t.Context(), to, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file was overwritten: %v", err)
	}
}

// TestFoldIn makes one file of a database and its -wal, and refuses while somebody has it open.
func TestFoldIn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := store.Open(t.Context(), store.Config{Path: path, Schema: storetest.Schema(t)})
	noErr(t, err)
	if err := store.FoldIn(t.Context(), path); !errors.Is(err, store.ErrBusy) {
		t.Errorf("while it is open: %v, want ErrBusy", err)
	}
	noErr(t, db.Close())
	noErr(t, store.FoldIn(t.Context(), path))
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the -wal is left")
	}
}

// TestRestoring: no database is opened while a restore that was cut off is to be brought to its end.
func TestRestoring(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	cfg := store.Config{Path: path, Schema: storetest.Schema(t)}
	noErr(t, os.WriteFile(store.RestoreMark(path), nil, 0o600))
	for _, cfg.ReadOnly = range []bool{false, true} {
		if _, err := store.Open(t.Context(), cfg); !errors.Is(err, store.ErrRestoring) {
			t.Errorf("read only %v: %v, want ErrRestoring", cfg.ReadOnly, err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the database was made")
	}
}
