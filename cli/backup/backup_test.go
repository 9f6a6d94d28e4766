package backup_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ypcrawl/cli/backup"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

func database(t *testing.T) string {
	t.Helper()
	return storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db")}).Path()
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

// TestNoRoom: it is said before anything is written.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	db, dir := database(t), t.TempDir()
	little := func(string) (int64, error) { return 1000, nil }
	_, err := backup.Make(t.Context(), backup.Config{DB: db, Folder: dir, Free: little})
	var space *backup.SpaceError
	if !errors.As(err, &space) || space.Left != 1000 || space.Need < 100_000 || !errors.Is(err, backup.ErrNoSpace) {
		t.Errorf("backup: %v", err)
	}
	made, err := backup.Make(t.Context(), backup.Config{DB: db, Folder: dir, Free: func(string) (int64, error) { return 0, errors.New("not known") }})
	storetest.NoError(t, err)
	target := filepath.Join(t.TempDir(), "b.db")
	if _, err := backup.Restore(t.Context(), backup.RestoreConfig{Backup: made.File, DB: target, Free: little}); !errors.As(err, &space) {
		t.Errorf("restore: %v", err)
	}
	if got := entries(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
	if got := entries(t, filepath.Dir(target)); !slices.Equal(got, []string{"b.db.locks"}) {
		t.Errorf("left behind: %v", got)
	}
}

// TestKeep keeps the newest, whatever they are called, and the new one always.
func TestKeep(t *testing.T) {
	t.Parallel()
	db, dir := database(t), t.TempDir()
	cfg := backup.Config{DB: db, Folder: dir}
	var files []string
	for range 5 {
		made, err := backup.Make(t.Context(), cfg)
		storetest.NoError(t, err)
		files = append(files, filepath.Base(made.File))
	}
	cfg.Keep = 3
	made, err := backup.Make(t.Context(), cfg)
	storetest.NoError(t, err)
	want := []string{filepath.Base(made.File), files[4], files[3]}
	slices.Sort(want)
	if got := entries(t, dir); !slices.Equal(got, want) || len(made.Removed) != 3 {
		t.Errorf("kept %v, want %v; removed %v", got, want, made.Removed)
	}
}

// TestKeepUsed: a copy that somebody has crawled into where it lies is a database, and stays.
func TestKeepUsed(t *testing.T) {
	t.Parallel()
	cfg := backup.Config{DB: database(t), Folder: t.TempDir()}
	used, err := backup.Make(t.Context(), cfg)
	storetest.NoError(t, err)
	old, err := backup.Make(t.Context(), cfg)
	storetest.NoError(t, err)
	storetest.NoError(t, storetest.OpenConfig(t, store.Config{Path: used.File}).Close())
	cfg.Keep = 1
	made, err := backup.Make(t.Context(), cfg)
	storetest.NoError(t, err)
	if !slices.Equal(made.Removed, []string{old.File}) {
		t.Errorf("removed %v, want %s alone", made.Removed, old.File)
	}
}

// TestOneAtATime: a second backup of a database is refused while one is under way.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	cfg := backup.Config{DB: database(t), Folder: t.TempDir()}
	var second, restored error
	inner := cfg
	cfg.Reached = func(s backup.Step) {
		if s == backup.StepCopied {
			_, second = backup.Make(t.Context(), inner)
			_, restored = backup.Restore(t.Context(), backup.RestoreConfig{Backup: cfg.DB, DB: cfg.DB})
		}
	}
	_, err := backup.Make(t.Context(), cfg)
	storetest.NoError(t, err)
	if !errors.Is(second, backup.ErrRunning) || !errors.Is(restored, backup.ErrRunning) {
		t.Errorf("meanwhile: %v, %v; want ErrRunning", second, restored)
	}
}

// TestFails: whatever goes wrong, nothing is left but what was there.
func TestFails(t *testing.T) {
	t.Parallel()
	db, dir := database(t), t.TempDir()
	for _, step := range []backup.Step{backup.StepCopied, backup.StepLogs} {
		cfg := backup.Config{DB: db, Folder: dir}
		cfg.Reached = func(s backup.Step) {
			if s != step {
				return
			}
			works, err := filepath.Glob(filepath.Join(dir, ".ypcrawl-backup-*", "copy.db"))
			if err != nil || len(works) != 1 {
				panic(fmt.Sprint(works, err))
			}
			data, err := os.ReadFile(works[0])
			storetest.NoError(t, err)
			clear(data[3*4096 : 4*4096])
			storetest.NoError(t, os.WriteFile(works[0], data, 0o600))
		}
		if _, err := backup.Make(t.Context(), cfg); !store.Corrupt(err) {
			t.Errorf("a copy that was damaged at %s: %v", step, err)
		}
		if got := entries(t, dir); len(got) != 0 {
			t.Errorf("left behind: %v", got)
		}
	}
}
