package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ypcrawl/store"
	"ypcrawl/wal"
)

// RestoreConfig says what is put where.
type RestoreConfig struct {
	Backup  string // a copy that Make has made, or any database file of ours
	DB      string // is replaced, or made
	Logs    string // folder of the logs of DB
	Reached func(Step)
}

// Restored tells what was put where, and where is what was there before. It stands in the file
// "DATABASE.restoring" too, until all is done.
type Restored struct {
	Backup    string `json:"backup"`
	At        string `json:"at,omitempty"` // when the backup was made; absent when the file does not say so
	DB        string `json:"database"`
	Aside     string `json:"aside,omitempty"`      // the database that was there, if there was one
	Logs      string `json:"logs"`                 // folder
	LogsAside string `json:"logs_aside,omitempty"` // folder of the old ones, if there were any
	LogFiles  int    `json:"log_files"`
	ID        string `json:"database_id"`
	OldID     string `json:"old_database_id,omitempty"` // absent when the old file can't say it
}

const asideEnding = ".before-restore"

var errAside = errors.New("exists already")

// Pending returns the backup of a restore of the database that was cut off, "" if there is none.
func Pending(db string) string {
	r, _ := pending(db) // one that can't be read is an error of the restore
	return r.Backup
}

func pending(db string) (r Restored, err error) {
	text, err := os.ReadFile(store.RestoreMark(db))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, ignoreMissing(err)
}

// staged is where the new database stands until it is in its place, and newLogs where its logs do. These get
// another name when the old ones are aside: they may be moved in then.
func (r *Restored) staged() string { return hidden(r.DB, ".restore") }

func (r *Restored) newLogs() string { return filepath.Join(r.Logs, "."+filepath.Base(r.DB)+".restore") }
func (r *Restored) ready() string   { return r.newLogs() + ".ready" }

// ofPair tells whether logs are of the database that is replaced, or of the one that comes, which mostly is the same.
func (r *Restored) ofPair(id string) bool { return id == "" || id == r.ID || id == r.OldID }

// Restore puts a copy in the place of a database. resumed tells that an earlier one came to its end.
func Restore(ctx context.Context, cfg RestoreConfig) (r Restored, resumed bool, err error) {
	cfg.DB, cfg.Logs, cfg.Backup = store.RealPath(cfg.DB), store.RealPath(cfg.Logs), store.RealPath(cfg.Backup)
	if err := wal.MakeDir(filepath.Dir(cfg.DB)); err != nil {
		return r, false, err
	}
	lock, err := store.TakeLock(cfg.DB, "run", false)
	if errors.Is(err, store.ErrLocked) {
		return r, false, ErrHeld
	}
	if err != nil {
		return r, false, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if r, err = pending(cfg.DB); err != nil {
		return r, false, fmt.Errorf("read %s: %w", store.RestoreMark(cfg.DB), err)
	}
	if r.Backup != "" {
		if r.Backup != cfg.Backup {
			return r, false, fmt.Errorf("%w: restore %s first", store.ErrRestoring, r.Backup)
		}
		err = r.carryOut(ctx, cfg.Reached)
		return r, true, err
	}
	r = Restored{
		Backup: cfg.Backup, DB: cfg.DB, Aside: cfg.DB + asideEnding,
		Logs: cfg.Logs, LogsAside: filepath.Join(cfg.Logs, filepath.Base(cfg.DB)+asideEnding),
	}
	err = r.stage(ctx)
	cfg.Reached(StepStaged)
	if err == nil {
		err = r.begin(ctx)
	}
	if err != nil {
		return r, false, errors.Join(err, r.discard())
	}
	cfg.Reached(StepMarked)
	err = r.carryOut(ctx, cfg.Reached)
	return r, false, err
}

// stage copies the backup to where it will be needed, and checks it there. Nothing that is in use is
// touched.
func (r *Restored) stage(ctx context.Context) error {
	if same, err := os.Stat(r.DB); err == nil {
		if info, err := os.Stat(r.Backup); err == nil && os.SameFile(info, same) {
			return fmt.Errorf("%s is the database itself: name a backup", r.Backup)
		}
	}
	for _, path := range []string{r.Aside, r.LogsAside} {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s %w: an earlier restore put it aside; move it to another place, or remove it", path, errAside)
		}
	}
	snap, err := store.TakeSnapshot(ctx, r.Backup, nil)
	if err != nil {
		return err
	}
	defer snap.Close()
	r.ID, r.OldID = snap.ID, ""
	if old, err := store.TakeSnapshot(ctx, r.DB, nil); err == nil {
		old.Close()
		r.OldID = old.ID
	} else { // it is not there, or too damaged, which is why one restores: its logs may say it
		ids, err := wal.Writers(r.Logs)
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" || id == r.ID })
		if err == nil && len(ids) == 1 {
			r.OldID = ids[0]
		}
	}
	if err := errors.Join(r.discard(), os.Mkdir(r.staged(), 0o700), wal.MakeDir(r.newLogs())); err != nil {
		return err
	}
	file, model := filepath.Join(r.staged(), copyName), filepath.Dir(r.DB)
	if err := snap.CopyTo(ctx, file, snap.Mark); err != nil {
		return err
	}
	if info, err := os.Stat(r.DB); err == nil {
		model = r.DB
		if err := os.Chmod(file, info.Mode().Perm()); err != nil {
			return err
		}
	}
	ownLike(file, model)
	// Whoever reads a file that keeps a -wal can be seen: the next restore must not replace it under him.
	if err := store.KeepWAL(ctx, file); err != nil {
		return err
	}
	if _, err := syncFile(file); err != nil {
		return err
	}
	if err := store.CheckCopy(ctx, file); err != nil {
		return err
	}
	if snap.Mark != nil {
		r.At = snap.Mark.At
		if snap.Mark.Logs != "" {
			if err := r.stageLogs(filepath.Join(filepath.Dir(r.Backup), filepath.Base(snap.Mark.Logs)), model); err != nil {
				return err
			}
		}
	}
	return errors.Join(syncFolder(r.newLogs()), syncFolder(r.staged()), syncFolder(filepath.Dir(r.DB)), syncFolder(r.Logs))
}

func (r *Restored) stageLogs(from, model string) error {
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("the logs of this backup are missing: there is no folder %s; copy it there", from)
	}
	logs, err := openLogs(from)
	for _, l := range logs {
		if err == nil {
			_, err = l.copyTo(r.newLogs())
			ownLike(filepath.Join(r.newLogs(), filepath.Base(l.f.Name())), model)
		}
		_ = l.f.Close() // only read
	}
	r.LogFiles = len(logs)
	return err
}

// begin writes the mark, so that nobody opens the database any more, and makes sure that nobody has it open.
func (r *Restored) begin(ctx context.Context) error {
	mark := store.RestoreMark(r.DB)
	if err := os.WriteFile(mark+".new", []byte(store.JSON(r)), 0o600); err != nil {
		return err
	}
	if _, err := syncFile(mark + ".new"); err != nil {
		return err
	}
	if err := errors.Join(os.Rename(mark+".new", mark), syncFolder(filepath.Dir(mark))); err != nil {
		return err
	}
	err := r.closeOld(ctx)
	if err != nil { // nothing was changed
		err = errors.Join(err, os.Remove(mark))
	}
	return err
}

// closeOld makes the old database one file. When it is too damaged for that, its journal goes aside with it.
func (r *Restored) closeOld(ctx context.Context) error {
	if info, err := os.Stat(r.DB); err != nil || info.Size() <= 1 {
		return ignoreMissing(err)
	}
	err := store.FoldIn(ctx, r.DB)
	switch {
	case errors.Is(err, store.ErrBusy):
		return ErrOpen
	case store.Corrupt(err):
		return nil
	}
	return err
}

// carryOut does what the mark says, from wherever it was cut off.
func (r *Restored) carryOut(ctx context.Context, reached func(Step)) error {
	file := filepath.Join(r.staged(), copyName)
	if _, err := os.Lstat(file); err == nil { // else it is in its place
		if err := r.closeOld(ctx); err != nil {
			return err
		}
		for _, ending := range []string{"-wal", "-journal", ""} { // a journal may stand there without its database
			if err := ignoreMissing(os.Rename(r.DB+ending, r.Aside+ending)); err != nil {
				return err
			}
		}
		reached(StepAside)
		if err := errors.Join(ignoreMissing(os.Remove(r.DB+"-shm")), os.Rename(file, r.DB), syncFolder(filepath.Dir(r.DB))); err != nil {
			return err
		}
	}
	reached(StepReplaced)
	if _, err := os.Lstat(r.newLogs()); err == nil { // else the old ones are aside
		if err := moveLogs(r.Logs, r.LogsAside, r.ofPair); err != nil {
			return err
		}
		if err := errors.Join(os.Rename(r.newLogs(), r.ready()), syncFolder(r.Logs)); err != nil {
			return err
		}
	}
	reached(StepLogsAside)
	if err := moveLogs(r.ready(), r.Logs, func(string) bool { return true }); err != nil {
		return err
	}
	reached(StepLogsInside)
	if err := r.discard(); err != nil {
		return err
	}
	for _, aside := range []*string{&r.Aside, &r.LogsAside} {
		_, noFile := os.Lstat(*aside)
		if _, noJournal := os.Lstat(*aside + "-wal"); noFile != nil && noJournal != nil {
			*aside = "" // nothing was there before
		}
	}
	return errors.Join(os.Remove(store.RestoreMark(r.DB)), syncFolder(filepath.Dir(r.DB)))
}

// moveLogs moves logs on one disk. Nothing is replaced. A kill leaves each file in one of the two folders.
func moveLogs(from, to string, which func(database string) bool) error {
	files, err := wal.Files(from)
	if err != nil || len(files) == 0 {
		return ignoreMissing(err)
	}
	if err := wal.MakeDir(to); err != nil {
		return err
	}
	for _, f := range files {
		target := filepath.Join(to, filepath.Base(f.Path))
		if !which(f.Database) {
			continue
		}
		if _, err := os.Lstat(target); err == nil {
			return fmt.Errorf("%s %w, and is another log: move it away, then type the same restore again", target, errAside)
		}
		if err := os.Rename(f.Path, target); err != nil {
			return err
		}
	}
	return errors.Join(syncFolder(to), syncFolder(from))
}

// discard removes what was staged, and an empty folder for old logs.
func (r *Restored) discard() error {
	_ = os.Remove(r.LogsAside) // one with logs in it stays
	return errors.Join(os.RemoveAll(r.staged()), os.RemoveAll(r.newLogs()), os.RemoveAll(r.ready()))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
