package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp/folder"
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
}

// Pending returns the restore of a database that was cut off; its Backup is "" if there is none, or nothing was changed yet.
func Pending(db string) (r Restored, err error) {
	mark := store.RestoreMark(db)
	text, err := os.ReadFile(mark)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("look for a restore that was cut off: %w", folder.Denied(mark, err))
	}
	if json.Unmarshal(text, &r) != nil {
		return Restored{}, nil // a kill came while it was written
	}
	return r, nil
}

// The new database and its logs are beside their places, on the same disk, until they are moved there.
func (r *Restored) newDB() string   { return r.staged(filepath.Dir(r.DB)) }
func (r *Restored) newLogs() string { return r.staged(r.Logs) }
func (r *Restored) staged(d string) string {
	return filepath.Join(d, "."+filepath.Base(r.DB)+".restore")
}

// Restore puts a copy in the place of a database. resumed tells that an earlier one came to its end. store.ErrLocked
// is returned while a run works on the database, store.ErrBusy while anybody has it open.
func Restore(ctx context.Context, cfg Config) (r Restored, resumed bool, err error) {
	for _, path := range []string{cfg.DB, cfg.Logs} { // their links stay, and what they lead to is replaced
		if err := mayFollow(path); err != nil {
			return r, false, err
		}
	}
	cfg.DB, cfg.Logs, cfg.File = store.RealPath(cfg.DB), store.RealPath(cfg.Logs), store.RealPath(cfg.File)
	if err := wal.MakeDir(filepath.Dir(cfg.DB)); err != nil {
		return r, false, err
	}
	lock, err := store.TakeLock(cfg.DB, store.RunLock, false) // so that no run begins meanwhile
	if err != nil {
		return r, false, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if r, err = Pending(cfg.DB); err != nil {
		return r, false, err
	}
	resumed = r.Backup != ""
	if resumed && r.Backup != cfg.File {
		return r, false, fmt.Errorf("%w: restore %s first", store.ErrRestoring, r.Backup)
	}
	if !resumed {
		const ending = ".before-restore"
		r = Restored{
			Backup: cfg.File, DB: cfg.DB, Aside: cfg.DB + ending, Logs: cfg.Logs,
			LogsAside: filepath.Join(cfg.Logs, filepath.Base(cfg.DB)+ending),
		}
		err = r.stage(ctx, cfg.Reached)
	}
	if err == nil {
		err = r.closeOld(ctx)
	}
	if err == nil {
		return r, resumed, r.carryOut(cfg.Reached)
	}
	if !resumed { // nothing was changed
		err = errors.Join(err, r.discard())
	}
	return r, resumed, err
}

// mayFollow returns an error for a path whose links root doesn't follow, or that leads in a circle.
func mayFollow(path string) error {
	at, err := folder.Find(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) { // a folder that will be made
			return nil
		}
		return err
	}
	return at.Close()
}

// stage copies the backup to where it will be needed, checks it there, and sets the mark. Nothing that is in use is touched.
func (r *Restored) stage(ctx context.Context, reached func(step string)) error {
	if r.DB == r.Backup {
		return fmt.Errorf("%s is the database itself; name a backup", r.Backup)
	}
	for _, path := range []string{r.Aside, r.LogsAside} {
		if exists(path) {
			return fmt.Errorf("%s exists already, from an earlier restore; move it elsewhere, or remove it", path)
		}
	}
	ids, err := wal.Writers(r.Logs)
	if err == nil && len(ids) > 1 {
		err = fmt.Errorf("%s has logs of several databases, and all would be moved aside; move those of the others to their own folders", r.Logs)
	}
	if err := errors.Join(err, r.discard(), folder.MakeBeside(r.newLogs(), r.DB)); err != nil { // what a killed one has left
		return err
	}
	snap, err := store.TakeSnapshot(ctx, r.Backup, nil)
	if err != nil {
		return err
	}
	defer snap.Close()
	r.At, err = snap.RestoreTo(ctx, r.newDB(), func(name string, changed time.Time, piece []byte) error {
		path := filepath.Join(r.newLogs(), filepath.Base(name))
		if !exists(path) {
			r.LogFiles++
		}
		return appendTo(path, piece, changed, nil)
	})
	if err == nil {
		err = r.keepMode()
	}
	if err == nil {
		err = store.CheckCopy(ctx, r.newDB())
	}
	if err != nil {
		return err
	}
	syncDirs(r.newLogs(), r.Logs, filepath.Dir(r.DB))
	reached("restore_staged")
	like, _ := os.Lstat(r.newDB())
	err = appendTo(store.RestoreMark(r.DB), []byte(store.JSON(r)), time.Now(), like)
	syncDirs(filepath.Dir(r.DB))
	reached("restore_marked")
	return err
}

// keepMode gives the new database the mode of the old one and, when root restores it, the owner.
func (r *Restored) keepMode() error {
	old, err := os.Stat(r.DB)
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	f, err := folder.Open(r.newDB(), os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(folder.Keep(f, old), f.Close())
}

// closeOld makes sure that nobody has the old database open, and makes it one file. When it is too damaged for
// that, its journal goes aside with it.
func (r *Restored) closeOld(ctx context.Context) error {
	if info, err := os.Stat(r.DB); err != nil || info.Size() <= 1 || !exists(r.newDB()) {
		return nil //nolint:nilerr // there is none, or it is the new one
	}
	if err := store.FoldIn(ctx, r.DB); !store.Corrupt(err) {
		return err
	}
	return nil
}

// carryOut moves the old pair aside and the new pair in, from wherever a kill has cut it off.
func (r *Restored) carryOut(reached func(step string)) error {
	if exists(r.newDB()) { // else what is in the places of the old pair is new
		if err := moveLogs(r.Logs, r.LogsAside); err != nil {
			return err
		}
		reached("restore_logs_aside")
		for _, ending := range []string{"-wal", "-journal", ""} { // a journal may be there without its database
			if err := os.Rename(r.DB+ending, r.Aside+ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		_ = os.Remove(r.DB + "-shm") // SQLite makes a stale one anew
		reached("restore_aside")
		if err := os.Rename(r.newDB(), r.DB); err != nil {
			return err
		}
		syncDirs(filepath.Dir(r.DB))
	}
	reached("restore_replaced")
	if err := moveLogs(r.newLogs(), r.Logs); err != nil {
		return err
	}
	reached("restore_logs_inside")
	err := r.discard()
	if !exists(r.Aside) && !exists(r.Aside+"-wal") {
		r.Aside = "" // nothing was there before
	}
	if !exists(r.LogsAside) {
		r.LogsAside = ""
	}
	return err
}

// discard removes what was staged, an empty folder for old logs, and the marker last.
func (r *Restored) discard() error {
	_ = os.Remove(r.LogsAside) // one with logs in it stays
	err := errors.Join(remove(r.newDB()), os.RemoveAll(r.newLogs()))
	if err == nil {
		err = remove(store.RestoreMark(r.DB))
	}
	syncDirs(filepath.Dir(r.DB))
	return err
}

// appendTo adds to a file, synced. An unpacked log gets its time: by that logs are removed. For a new file that root
// makes, like is as in folder.New.
func appendTo(path string, piece []byte, changed time.Time, like fs.FileInfo) error {
	f, err := folder.New(path, os.O_APPEND|os.O_WRONLY, 0o600, like)
	if errors.Is(err, fs.ErrExist) {
		f, err = folder.Open(path, os.O_APPEND|os.O_WRONLY)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(piece)
	return errors.Join(err, f.Sync(), f.Close(), os.Chtimes(path, changed, changed))
}

// moveLogs moves logs on one disk. Nothing is replaced. A kill leaves each file in one of the two folders.
func moveLogs(from, to string) error {
	files, err := wal.Files(from)
	if err = errors.Join(err, wal.MakeDir(to)); err != nil {
		return err
	}
	for _, file := range files {
		target := filepath.Join(to, filepath.Base(file))
		if exists(target) {
			return fmt.Errorf("%s exists already, and is another log; move it elsewhere, then run the same restore again", target)
		}
		if err := os.Rename(file, target); err != nil {
			return err
		}
	}
	syncDirs(to, from)
	return nil
}

// exists reports whether a name is taken: also one that this user may not look at.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
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

// syncDirs makes the renames in folders durable, as far as that can be: the files themselves are synced by then.
func syncDirs(dirs ...string) {
	for _, dir := range dirs {
		_ = folder.Sync(dir)
	}
}
