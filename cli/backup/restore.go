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
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
)

// Restored tells what was put where, and where is what was there before. It is the marker
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

// Pending returns the restore of a database that was cut off; its Backup is "" if there is none, or nothing was changed yet.
func Pending(db string) (r Restored) {
	text, err := os.ReadFile(store.RestoreMark(db))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return Restored{}
	}
	return r
}

// The new database and its logs stand beside their places, on the same disk, until they are moved there.
func (r *Restored) newDB() string {
	return filepath.Join(filepath.Dir(r.DB), "."+filepath.Base(r.DB)+".restore")
}

func (r *Restored) newLogs() string { return filepath.Join(r.Logs, "."+filepath.Base(r.DB)+".restore") }

// Restore puts a copy in the place of a database. resumed tells that an earlier one came to its end.
func Restore(ctx context.Context, cfg Config) (r Restored, resumed bool, err error) {
	cfg.DB, cfg.Logs, cfg.File = store.RealPath(cfg.DB), store.RealPath(cfg.Logs), store.RealPath(cfg.File)
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
	r = Pending(cfg.DB)
	if r.Backup == cfg.File {
		return r, true, r.carryOut(ctx, cfg.Reached)
	}
	if r.Backup != "" {
		return r, false, fmt.Errorf("%w: restore %s first", store.ErrRestoring, r.Backup)
	}
	const ending = ".before-restore"
	r = Restored{Backup: cfg.File, DB: cfg.DB, Aside: cfg.DB + ending, Logs: cfg.Logs, LogsAside: filepath.Join(cfg.Logs, filepath.Base(cfg.DB)+ending)}
	err = r.stage(ctx)
	cfg.Reached("restore_staged")
	mark := store.RestoreMark(r.DB)
	if err == nil {
		err = os.WriteFile(mark, []byte(store.JSON(r)), 0o600)
	}
	if err == nil {
		err = sync(mark, filepath.Dir(mark))
	}
	if err == nil {
		cfg.Reached("restore_marked")
		err = r.closeOld(ctx)
	}
	if err != nil { // nothing was changed
		return r, false, errors.Join(err, r.discard())
	}
	return r, false, r.carryOut(ctx, cfg.Reached)
}

// stage copies the backup to where it will be needed, and checks it there. Nothing that is in use is touched.
func (r *Restored) stage(ctx context.Context) error {
	if r.DB == r.Backup {
		return fmt.Errorf("%s is the database itself: name a backup", r.Backup)
	}
	for _, path := range []string{r.Aside, r.LogsAside} {
		if exists(path) {
			return fmt.Errorf("%s exists already: an earlier restore put it aside; move it to another place, or remove it", path)
		}
	}
	if err := r.discard(); err != nil { // what a killed one has left
		return err
	}
	snap, err := store.TakeSnapshot(ctx, r.Backup, nil)
	if err != nil {
		return err
	}
	defer snap.Close()
	r.ID = snap.ID
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
	if err := wal.MakeDir(r.newLogs()); err != nil {
		return err
	}
	// Whoever reads a file with a -wal can be seen: the next restore must not replace it under him.
	r.At, err = snap.RestoreTo(ctx, r.newDB(), func(name string, changed time.Time, piece []byte) error {
		path := filepath.Join(r.newLogs(), filepath.Base(name))
		if !exists(path) {
			r.LogFiles++
		}
		return appendTo(path, piece, changed)
	})
	if info, old := os.Stat(r.DB); old == nil && err == nil {
		err = os.Chmod(r.newDB(), info.Mode().Perm())
	}
	if err != nil {
		return err
	}
	return errors.Join(store.CheckCopy(ctx, r.newDB()), sync(r.newDB(), r.newLogs(), r.Logs, filepath.Dir(r.DB)))
}

// closeOld makes sure that nobody has the old database open, and makes it one file. When it is too damaged for
// that, its journal goes aside with it.
func (r *Restored) closeOld(ctx context.Context) error {
	if info, err := os.Stat(r.DB); err != nil || info.Size() <= 1 {
		return nil //nolint:nilerr // there is none
	}
	err := store.FoldIn(ctx, r.DB)
	if errors.Is(err, store.ErrBusy) {
		return ErrOpen
	}
	if store.Corrupt(err) {
		return nil
	}
	return err
}

// carryOut moves the old pair aside and the new pair in, from wherever a kill has cut it off.
func (r *Restored) carryOut(ctx context.Context, reached func(step string)) error {
	if exists(r.newDB()) { // else what is in the places of the old pair is new
		if err := r.closeOld(ctx); err != nil {
			return err
		}
		if err := moveLogs(r.Logs, r.LogsAside, func(id string) bool { return id == "" || id == r.ID || id == r.OldID }); err != nil {
			return err
		}
		reached("restore_logs_aside")
		for _, ending := range []string{"-wal", "-journal", ""} { // a journal may stand there without its database
			if err := rename(r.DB+ending, r.Aside+ending); err != nil {
				return err
			}
		}
		_ = os.Remove(r.DB + "-shm") // SQLite makes a stale one anew
		reached("restore_aside")
		if err := errors.Join(os.Rename(r.newDB(), r.DB), sync(filepath.Dir(r.DB))); err != nil {
			return err
		}
	}
	reached("restore_replaced")
	if err := moveLogs(r.newLogs(), r.Logs, func(string) bool { return true }); err != nil {
		return err
	}
	reached("restore_logs_inside")
	if err := r.discard(); err != nil {
		return err
	}
	if !exists(r.Aside) && !exists(r.Aside+"-wal") {
		r.Aside = "" // nothing was there before
	}
	if !exists(r.LogsAside) {
		r.LogsAside = ""
	}
	return nil
}

// discard removes what was staged, an empty folder for old logs, and the marker last.
func (r *Restored) discard() error {
	_ = os.Remove(r.LogsAside) // one with logs in it stays
	if err := errors.Join(remove(r.newDB()), os.RemoveAll(r.newLogs())); err != nil {
		return err
	}
	return errors.Join(remove(store.RestoreMark(r.DB)), sync(filepath.Dir(r.DB)))
}

// appendTo adds to a log that is unpacked, which gets its time: by that logs are removed.
func appendTo(path string, piece []byte, changed time.Time) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(piece)
	return errors.Join(err, f.Sync(), f.Close(), os.Chtimes(path, changed, changed))
}

// moveLogs moves logs on one disk. Nothing is replaced. A kill leaves each file in one of the two folders.
func moveLogs(from, to string, which func(database string) bool) error {
	files, err := wal.Files(from)
	if err != nil || len(files) == 0 {
		return err
	}
	if err := wal.MakeDir(to); err != nil {
		return err
	}
	for _, f := range files {
		target := filepath.Join(to, filepath.Base(f.Path))
		if !which(f.Database) {
			continue
		}
		if exists(target) {
			return fmt.Errorf("%s exists already, and is another log: move it away, then type the same restore again", target)
		}
		if err := os.Rename(f.Path, target); err != nil {
			return err
		}
	}
	return sync(to, from)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// remove removes a file, if it is there, and what SQLite may have left beside it.
func remove(path string) (err error) {
	for _, ending := range []string{"-wal", "-shm", ""} {
		if e := os.Remove(path + ending); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// rename renames a file, if it is there.
func rename(from, to string) error {
	if err := os.Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sync makes files last, and the renames in folders. Some systems can't sync a folder: the files themselves are synced by then.
func sync(paths ...string) error {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			_ = wal.SyncDir(path)
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
