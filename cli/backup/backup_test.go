package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ypcrawl/cli/backup"
	"ypcrawl/cli/export"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
)

// config is a backup of a database with one log, into a folder of its own.
func config(t *testing.T) backup.Config {
	t.Helper()
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db")})
	id, err := db.ID(t.Context())
	storetest.NoError(t, err)
	logs := t.TempDir()
	l, err := wal.Create(wal.Config{Dir: logs, WorkerID: "worker_0_pid_1", Database: id})
	storetest.NoError(t, err)
	storetest.NoError(t, errors.Join(l.Append(&wal.Event{Timestamp: time.Now(), Type: wal.Heartbeat}), l.Close()))
	return backup.Config{DB: db.Path(), Logs: logs, File: filepath.Join(t.TempDir(), "copy.db"), Reached: func(string) {}}
}

func entries(t *testing.T, dir string) (all []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	storetest.NoError(t, err)
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all
}

// TestOverwrite: one that is there is replaced only when that was said, by one file that has the logs.
func TestOverwrite(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	_, err := backup.Make(t.Context(), cfg)
	storetest.NoError(t, err)
	if _, err := backup.Make(t.Context(), cfg); !errors.Is(err, export.ErrExists) {
		t.Errorf("over one that is there: %v", err)
	}
	cfg.Overwrite = true
	second, err := backup.Make(t.Context(), cfg)
	storetest.NoError(t, err)
	if got := entries(t, filepath.Dir(cfg.File)); !slices.Equal(got, []string{"copy.db"}) || second.LogFiles != 1 || second.LogBytes == 0 {
		t.Errorf("%v: %+v", got, second)
	}
}

// TestSideBySide: two backups to one file at the same time are both whole, and the one that ends last stays; what
// a backup reads is not replaced meanwhile.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Overwrite = true
	var second, restored error
	inner := cfg
	cfg.Reached = func(step string) {
		if step == "backup_copied" {
			_, second = backup.Make(t.Context(), inner)
		}
		if step == "backup_frozen" {
			_, _, restored = backup.Restore(t.Context(), backup.Config{File: cfg.DB, DB: cfg.DB, Logs: cfg.Logs, Reached: inner.Reached})
		}
	}
	_, err := backup.Make(t.Context(), cfg)
	storetest.NoError(t, errors.Join(err, second, store.CheckCopy(t.Context(), cfg.File)))
	if restored == nil {
		t.Error("a restore meanwhile was not refused")
	}
	if got := entries(t, filepath.Dir(cfg.File)); !slices.Equal(got, []string{"copy.db"}) {
		t.Errorf("left behind: %v", got)
	}
}

// TestFails: whatever goes wrong, nothing is left but what was there.
func TestFails(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	dir := filepath.Dir(cfg.File)
	cfg.Reached = func(step string) {
		if step != "backup_copied" {
			return
		}
		name := filepath.Join(dir, entries(t, dir)[0])
		data, err := os.ReadFile(name)
		storetest.NoError(t, err)
		clear(data[3*4096 : 4*4096])
		storetest.NoError(t, os.WriteFile(name, data, 0o600))
	}
	if _, err := backup.Make(t.Context(), cfg); !store.Corrupt(err) {
		t.Errorf("a copy that was damaged: %v", err)
	}
	if got := entries(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

// TestRestoreKeeps what an earlier restore has put aside: it is refused until somebody moved that away.
func TestRestoreKeeps(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	made, err := backup.Make(t.Context(), cfg)
	storetest.NoError(t, err)
	to := backup.Config{File: made.File, DB: filepath.Join(t.TempDir(), "b.db"), Logs: t.TempDir(), Reached: func(string) {}}
	for _, want := range []string{"", to.DB + ".before-restore"} {
		out, _, err := backup.Restore(t.Context(), to)
		storetest.NoError(t, err)
		if out.Aside != want || (out.LogsAside != "") != (want != "") || out.LogFiles != 1 {
			t.Errorf("%+v, want %q aside", out, want)
		}
	}
	before := append(entries(t, filepath.Dir(to.DB)), entries(t, to.Logs)...)
	if _, _, err := backup.Restore(t.Context(), to); err == nil {
		t.Error("a third one was not refused")
	}
	if got := append(entries(t, filepath.Dir(to.DB)), entries(t, to.Logs)...); !slices.Equal(got, before) {
		t.Errorf("left behind: %v, before %v", got, before)
	}
}
