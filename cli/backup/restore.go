package backup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
)

// RestoreConfig says what is put where.
type RestoreConfig struct {
	Backup  string // a copy that Make has made, or any database file of ours
	DB      string // is replaced, or made
	Logs    string // folder of the logs of DB
	NoLogs  bool   // restore the database alone; the logs in Logs stay
	Free    func(dir string) (int64, error)
	Reached func(Step)
}

// Restored tells what was put where, and where is what was there before.
type Restored struct {
	Backup    string           `json:"backup"`
	At        string           `json:"at,omitempty"` // when the backup was made; absent when the file does not say so
	DB        string           `json:"database"`
	Aside     string           `json:"aside,omitempty"`      // the database that was there
	LogsAside string           `json:"logs_aside,omitempty"` // folder of its logs
	LogFiles  int              `json:"log_files"`
	Rows      map[string]int64 `json:"rows"`
	Finished  bool             `json:"finished"` // it was begun earlier, and cut off
}

// mark is what stands in the file "DATABASE.restoring": what is to be done. Everything in it can
// be done again.
type mark struct {
	Restored
	ID       string // of the database in the copy
	OldID    string // of the one that is replaced; "" = none
	Staged   string // the new database
	NewLogs  string // folder of the new logs; "" = the logs stay as they are
	Logs     string // folder that they go to
	LogsDone bool   // the old logs are aside
}

const (
	stagePrefix = ".restore-"
	asideWord   = ".before-restore-"
)

// Pending returns the backup of a restore of the database that was cut off, "" if there is none.
func Pending(db string) string {
	m, err := readMark(db)
	if err != nil || m == nil {
		return ""
	}
	return m.Backup
}

func readMark(db string) (*mark, error) {
	text, err := os.ReadFile(store.RestoreMark(db))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := &mark{}
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		return nil, fmt.Errorf("read the note of the interrupted restore: %w", err)
	}
	return m, nil
}

// write makes the note last.
func (m *mark) write() error {
	name := store.RestoreMark(m.DB)
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(store.JSON(m))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(name+".new", name)
	}
	return errors.Join(err, syncFolder(filepath.Dir(name)))
}

// restore is one in the making.
type restore struct {
	RestoreConfig
	m mark
}

// Restore puts a copy in the place of a database.
func Restore(ctx context.Context, cfg RestoreConfig) (out Restored, err error) {
	if cfg.Reached == nil {
		cfg.Reached = func(Step) {}
	}
	cfg.DB = store.RealPath(cfg.DB)
	if err := wal.MakeDir(filepath.Dir(cfg.DB)); err != nil {
		return out, err
	}
	for _, name := range []string{"run", "backup"} {
		lock, err := store.TakeLock(cfg.DB, name, false)
		switch {
		case errors.Is(err, store.ErrLocked) && name == "run":
			return out, ErrHeld
		case errors.Is(err, store.ErrLocked):
			return out, ErrRunning
		case err != nil:
			return out, err
		}
		defer func() { err = errors.Join(err, lock.Release()) }()
	}
	before, err := readMark(cfg.DB)
	if err != nil {
		return out, err
	}
	if before != nil {
		r := &restore{cfg, *before}
		if err := r.carryOut(ctx, false); err != nil {
			return r.m.Restored, err
		}
		if before.Backup == absolute(cfg.Backup) {
			r.m.Finished = true
			return r.m.Restored, nil
		}
	}
	r := &restore{RestoreConfig: cfg}
	if err := r.stage(ctx); err != nil {
		r.discard()
		return r.m.Restored, err
	}
	r.Reached(StepStaged)
	if err := r.m.write(); err != nil {
		r.discard()
		return r.m.Restored, err
	}
	r.Reached(StepMarked)
	return r.m.Restored, r.carryOut(ctx, true)
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// stage copies the backup to the places where it will be needed, and checks it there. Nothing
// that is in use is touched.
func (r *restore) stage(ctx context.Context) error {
	snap, err := store.TakeSnapshot(ctx, r.Backup, nil)
	if err != nil {
		return err
	}
	defer snap.Close()
	r.m = mark{Restored: Restored{Backup: absolute(r.Backup), DB: r.DB}, ID: snap.ID}
	if err := r.look(ctx); err != nil {
		return err
	}
	marks, err := r.logsOf(snap)
	if err != nil {
		return err
	}
	if err := enough(r.Free, filepath.Dir(r.DB), snap.Size+marks.Bytes); err != nil {
		return err
	}
	sweepStages(filepath.Dir(r.DB), filepath.Base(r.DB))
	sweepStages(r.Logs, filepath.Base(r.DB))
	r.m.Staged = filepath.Join(filepath.Dir(r.DB), "."+filepath.Base(r.DB)+stagePrefix+rand.Text()[:12])
	if err := os.Mkdir(r.m.Staged, 0o700); err != nil {
		return err
	}
	if r.m.Rows, err = snap.Rows(ctx); err != nil {
		return err
	}
	file := filepath.Join(r.m.Staged, copyName)
	if err := snap.CopyTo(ctx, file, snap.Mark, nil); err != nil {
		return err
	}
	if snap.Mark != nil {
		r.m.At = snap.Mark.At
		for name, n := range snap.Mark.Rows { // also of the file as it was made, not only as it is now
			if r.m.Rows[name] != n {
				return fmt.Errorf("%s: %w: table %s has %d rows, and had %d when the backup was made", r.Backup, store.ErrCorrupt, name, r.m.Rows[name], n)
			}
		}
	}
	model := filepath.Dir(r.DB)
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
	if err := syncFile(file); err != nil {
		return err
	}
	if err := store.CheckCopy(ctx, file, true, r.m.Rows); err != nil {
		return err
	}
	if marks.Bytes > 0 {
		r.m.Logs = absolute(r.Logs)
		r.m.NewLogs = filepath.Join(r.m.Logs, filepath.Base(r.m.Staged))
		copied, err := marks.CopyTo(ctx, r.m.NewLogs)
		if err != nil {
			return err
		}
		r.m.LogFiles = copied.Files
		names, err := os.ReadDir(r.m.NewLogs)
		if err != nil {
			return err
		}
		for _, e := range names {
			ownLike(filepath.Join(r.m.NewLogs, e.Name()), model)
		}
	}
	if err := r.nameAside(); err != nil {
		return err
	}
	return syncFolder(r.m.Staged)
}

// logsOf finds the logs of the backup.
func (r *restore) logsOf(snap *store.Snapshot) (*wal.Marks, error) {
	none := &wal.Marks{}
	name := ownLogs(snap)
	if r.NoLogs || name == "" {
		return none, nil
	}
	dir := filepath.Join(filepath.Dir(r.Backup), name)
	if _, err := os.Stat(dir); err != nil {
		return none, fmt.Errorf("the logs of this backup are missing: there is no folder %s; copy it there, or restore without logs by --no-logs", dir)
	}
	marks, err := wal.Mark(dir)
	if err != nil {
		return none, err
	}
	clash, err := marks.Clash(r.Logs, r.m.belongs)
	if err == nil && clash != "" {
		err = fmt.Errorf("%s is a log of another database and has the same name as one of the backup: name another folder with --wal-dir", clash)
	}
	return marks, err
}

// belongs says of which databases the logs are put aside: of the one that is replaced, and of
// the one that comes, which mostly is the same.
func (m *mark) belongs(id string) bool { return id == "" || id == m.ID || id == m.OldID }

// look finds out what is to be replaced.
func (r *restore) look(ctx context.Context) error {
	info, err := os.Stat(r.DB)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return r.oldByLogs()
	}
	if backup, missing := os.Stat(r.Backup); missing == nil && err == nil && os.SameFile(info, backup) {
		return fmt.Errorf("%s is the database itself: name a backup", r.Backup)
	}
	old, err := store.TakeSnapshot(ctx, r.DB, nil)
	if err == nil {
		old.Close()
		r.m.OldID = old.ID
	}
	if store.Corrupt(err) { // which is why one restores
		return r.oldByLogs()
	}
	return err
}

// oldByLogs takes the id of a database that is not there, or can't say it, from its logs, if they
// name a single one.
func (r *restore) oldByLogs() error {
	ids, err := wal.Writers(r.Logs)
	if err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	if ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" || id == r.m.ID }); len(ids) == 1 {
		r.m.OldID = ids[0]
	}
	return nil
}

// nameAside finds names that are free.
func (r *restore) nameAside() error {
	for _, form := range []string{minuteForm, secondForm, milliForm} {
		word := asideWord + time.Now().UTC().Format(form)
		file, logs := r.DB+word, ""
		if r.m.NewLogs != "" {
			logs = r.m.Logs + word
		}
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := os.Lstat(logs); logs != "" && err == nil {
			continue
		}
		if logs != "" && !movable(r.m.NewLogs+".try", logs) {
			logs = filepath.Join(r.m.Logs, strings.TrimPrefix(word, "."))
			if _, err := os.Lstat(logs); !errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		r.m.Aside, r.m.LogsAside = "", logs
		for _, ending := range []string{"", "-wal", "-journal"} { // a journal may stand there without its database
			if info, err := os.Lstat(r.DB + ending); err == nil && info.Size() > 0 {
				r.m.Aside = file
			}
		}
		return nil
	}
	return fmt.Errorf("%s%s…: %w", r.DB, asideWord, ErrExists)
}

// movable tries whether a name can be moved to another one: the folder of the logs may be a disk of its own,
// or stand in one that nobody may write to.
func movable(try, to string) bool {
	if err := os.Mkdir(try, 0o700); err != nil {
		return false
	}
	if err := os.Rename(try, to); err != nil {
		_ = os.Remove(try) // the next sweep removes it
		return false
	}
	return os.Remove(to) == nil
}

// discard removes what was staged.
func (r *restore) discard() {
	for _, dir := range []string{r.m.NewLogs, r.m.Staged} {
		if dir != "" {
			_ = os.RemoveAll(dir) // the next restore tries again
		}
	}
}

// sweepStages removes what a restore of this database left that was killed before it changed
// anything. Its lock is ours, so none lives.
func sweepStages(dir, db string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), "."+db+stagePrefix) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// carryOut does what the mark says, from wherever it was cut off; fresh = it was written just now.
func (r *restore) carryOut(ctx context.Context, fresh bool) error {
	m := &r.m
	staged := filepath.Join(m.Staged, copyName)
	if _, err := os.Lstat(staged); err == nil {
		if err := closeOld(ctx, m.DB); err != nil {
			if fresh { // nothing was changed
				r.discard()
				err = errors.Join(err, os.Remove(store.RestoreMark(m.DB)))
			}
			return err
		}
		r.Reached(StepFolded)
		if err := m.putAside(); err != nil {
			return err
		}
		r.Reached(StepAside)
		if err := os.Rename(staged, m.DB); err != nil {
			return err
		}
		if err := syncFolder(filepath.Dir(m.DB)); err != nil {
			return err
		}
	}
	r.Reached(StepReplaced)
	if m.NewLogs != "" {
		if err := r.swapLogs(); err != nil {
			return err
		}
	}
	r.discard()
	if _, err := os.Lstat(m.Aside); m.Aside != "" && errors.Is(err, fs.ErrNotExist) {
		m.Aside += "-wal" // there was a journal without its database
	}
	err := os.Remove(store.RestoreMark(m.DB))
	return errors.Join(err, syncFolder(filepath.Dir(m.DB)))
}

// closeOld makes sure that nobody has the old database open. When it is too damaged to be asked, its
// journal is put aside with it.
func closeOld(ctx context.Context, db string) error {
	if info, err := os.Stat(db); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	err := store.FoldIn(ctx, db)
	switch {
	case errors.Is(err, store.ErrBusy):
		return ErrOpen
	case store.Corrupt(err):
		return nil
	}
	return err
}

// putAside gives the old database its second name, and takes away what must not stand beside
// the new one: a journal would be played into it.
func (m *mark) putAside() error {
	if m.Aside != "" {
		if _, err := os.Lstat(m.Aside); errors.Is(err, fs.ErrNotExist) {
			if err := ignore(linkOrCopy(m.DB, m.Aside), fs.ErrNotExist); err != nil {
				return fmt.Errorf("keep the old database: %w", err)
			}
		}
		for _, ending := range []string{"-wal", "-journal"} {
			if info, err := os.Lstat(m.DB + ending); err == nil && info.Size() > 0 {
				if err := os.Rename(m.DB+ending, m.Aside+ending); err != nil {
					return err
				}
			}
		}
	}
	for _, ending := range []string{"-wal", "-journal", "-shm"} {
		if err := ignore(os.Remove(m.DB+ending), fs.ErrNotExist); err != nil {
			return err
		}
	}
	return syncFolder(filepath.Dir(m.DB))
}

func linkOrCopy(from, to string) error {
	if err := os.Link(from, to); err == nil {
		return nil
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // only read
	dst, err := os.OpenFile(to+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err = errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return err
	}
	return os.Rename(to+".part", to)
}

// swapLogs puts the old logs aside, and then the new ones in their place.
func (r *restore) swapLogs() error {
	m := &r.m
	if !m.LogsDone {
		moved, err := wal.MoveLogs(m.Logs, m.LogsAside, m.belongs)
		if err != nil {
			return err
		}
		if _, err := os.Stat(m.LogsAside); moved == 0 && err != nil {
			m.LogsAside = ""
		}
		m.LogsDone = true
		if err := m.write(); err != nil {
			return err
		}
	}
	r.Reached(StepLogsAside)
	if _, err := os.Stat(m.NewLogs); err == nil {
		if _, err := wal.MoveLogs(m.NewLogs, m.Logs, nil); err != nil {
			return err
		}
	}
	r.Reached(StepLogsInside)
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
