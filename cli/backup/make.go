package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// Step names a point at which crash tests kill.
type Step string

// The steps of a backup and of a restore, in their order.
const (
	StepFrozen     Step = "backup_frozen" // no process commits
	StepCopied     Step = "backup_copied"
	StepLogs       Step = "backup_logs" // copied
	StepChecked    Step = "backup_checked"
	StepLogsNamed  Step = "backup_logs_named" // the logs have their name, the copy has not
	StepNamed      Step = "backup_named"
	StepRemoving   Step = "backup_removing" // an old copy, whose logs are still there
	StepStaged     Step = "restore_staged"
	StepMarked     Step = "restore_marked" // it will be carried through
	StepFolded     Step = "restore_folded"
	StepAside      Step = "restore_aside"
	StepReplaced   Step = "restore_replaced" // the database
	StepLogsAside  Step = "restore_logs_aside"
	StepLogsInside Step = "restore_logs_inside"
)

// Steps lists them.
func Steps() []Step {
	return []Step{
		StepFrozen, StepCopied, StepLogs, StepChecked, StepLogsNamed, StepNamed, StepRemoving,
		StepStaged, StepMarked, StepFolded, StepAside, StepReplaced, StepLogsAside, StepLogsInside,
	}
}

// Errors that callers decide by.
var (
	ErrExists  = errors.New("the file exists already")
	ErrRunning = errors.New("another backup of this database is running")
	ErrHeld    = errors.New("a run works on this database")
	ErrOpen    = errors.New("another process has this database open")
	ErrNoSpace = errors.New("there is not enough space")
)

// Config says what is copied, and where to. One of File and Folder is set.
type Config struct {
	DB   string
	Logs string // folder; "" = without the logs

	File      string // the copy's name
	Overwrite bool   // File may be there: it is replaced
	Folder    string // or a folder, in which the copy is named after the database and the time
	Keep      int    // of Folder: how many copies stay; 0 = all

	Full     bool // check every index against its table, too
	Free     func(dir string) (int64, error)
	Progress func(done, all int)
	Reached  func(Step) // nil outside of crash tests
}

// Made tells of a copy.
type Made struct {
	File     string           `json:"file"`
	Logs     string           `json:"logs,omitempty"` // folder
	At       time.Time        `json:"at"`
	Bytes    int64            `json:"bytes"`
	LogFiles int              `json:"log_files"`
	LogBytes int64            `json:"log_bytes"`
	Rows     map[string]int64 `json:"rows"`
	Check    string           `json:"check"`
	Removed  []string         `json:"removed"`        // older copies
	Left     []string         `json:"left,omitempty"` // leftovers that could not be removed, and why
	Frozen   float64          `json:"frozen_seconds"` // in which no process could commit
	Seconds  float64          `json:"seconds"`
}

const (
	workPrefix = ".ypcrawl-backup-"
	copyName   = "copy.db"
	logsName   = "logs"
	lockEnding = ".lock" // of the file beside the work folder: its maker holds it
	notesName  = "notes"
	minuteForm = "2006-01-02T1504Z"
	secondForm = "2006-01-02T150405Z" // when the minute is taken
	milliForm  = "2006-01-02T150405.000Z"
	logsEnding = ".logs"
)

var stamp = regexp.MustCompile(`^-(\d{4}-\d\d-\d\dT\d{4}(?:\d\d(?:\.\d{3})?)?Z)$`)

// backup is one copy in the making.
type backup struct {
	Config
	out    Made
	dir    string // where the copy goes
	stem   string // of its name, without a time
	work   string // folder in dir
	unlock func()
	id     string // of the database
	old    string // folder of the logs of the copy that is replaced; "" = none
}

// Make makes a copy.
func Make(ctx context.Context, cfg Config) (out Made, err error) {
	b := &backup{Config: cfg, out: Made{Removed: []string{}}}
	began := time.Now()
	if b.Reached == nil {
		b.Reached = func(Step) {}
	}
	lock, err := store.TakeLock(cfg.DB, "backup", false)
	if errors.Is(err, store.ErrLocked) {
		return b.out, ErrRunning
	}
	if err != nil {
		return b.out, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := b.place(ctx); err != nil {
		return b.out, err
	}
	defer func() {
		if b.unlock != nil {
			b.unlock()
		}
	}()
	defer func() {
		if b.work != "" {
			err = errors.Join(err, os.RemoveAll(b.work))
		}
	}()
	if err := b.make(ctx); err != nil {
		return b.out, err
	}
	err = b.removeOld(ctx)
	b.out.Seconds = time.Since(began).Seconds()
	return b.out, err
}

// place finds out where the copy goes, and refuses what would harm.
func (b *backup) place(ctx context.Context) error {
	if b.Folder != "" {
		b.dir, b.stem = b.Folder, strings.TrimSuffix(filepath.Base(store.RealPath(b.DB)), ".db")
		return wal.MakeDir(b.dir)
	}
	b.dir, b.stem = filepath.Dir(b.File), strings.TrimSuffix(filepath.Base(b.File), ".db")
	if _, err := os.Stat(b.dir); err != nil {
		return fmt.Errorf("there is no folder %s: make it first", b.dir)
	}
	info, err := os.Lstat(b.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: name another one", b.File)
	case !b.Overwrite:
		return fmt.Errorf("%s: %w", b.File, ErrExists)
	}
	if same, err := os.Stat(b.DB); err == nil && os.SameFile(same, info) {
		return fmt.Errorf("%s is the database itself: name another file", b.File)
	}
	if _, err := os.Lstat(b.File + "-wal"); err == nil {
		return fmt.Errorf("%s is a database in use, with a -wal beside it: name another file", b.File)
	}
	if old, err := store.TakeSnapshot(ctx, b.File, nil); err == nil { // else it is no copy: --overwrite was said
		old.Close()
		b.old = ownLogs(old)
	}
	return nil
}

// make makes the copy in a folder of its own, and gives it its name.
func (b *backup) make(ctx context.Context) error {
	b.sweep(ctx)
	if err := b.begin(); err != nil {
		return err
	}
	marks := &wal.Marks{}
	var frozen time.Time
	snap, err := store.TakeSnapshot(ctx, b.DB, func() (err error) {
		frozen = time.Now()
		if b.Logs != "" {
			marks, err = wal.Mark(b.Logs)
		}
		b.Reached(StepFrozen)
		return err
	})
	if err != nil {
		return err
	}
	defer snap.Close()
	b.id = snap.ID
	b.out.Frozen, b.out.At = time.Since(frozen).Seconds(), snap.At
	if err := enough(b.Free, b.dir, snap.Size+marks.Bytes); err != nil {
		return err
	}
	name, logs, err := b.names(snap.At)
	if err != nil {
		return err
	}
	if b.out.Rows, err = snap.Rows(ctx); err != nil {
		return err
	}
	mark := &store.CopyMark{At: yp.FormatTime(snap.At), Rows: b.out.Rows}
	if b.Logs != "" && marks.Bytes > 0 {
		mark.Logs = logs
	}
	file, folder := filepath.Join(b.work, copyName), filepath.Join(b.work, logsName)
	if err := snap.CopyTo(ctx, file, mark, b.Progress); err != nil {
		return err
	}
	snap.Close() // from here on the -wal of the crawl can be folded in again
	b.Reached(StepCopied)
	copied, err := marks.CopyTo(ctx, folder)
	if err != nil {
		return err
	}
	b.out.LogFiles, b.out.LogBytes = copied.Files, copied.Bytes
	b.Reached(StepLogs)
	if err := b.check(ctx, file); err != nil {
		return err
	}
	b.Reached(StepChecked)
	return b.publish(file, folder, name, logs)
}

// check brings the copy to the disk and reads it.
func (b *backup) check(ctx context.Context, file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	b.out.Bytes, b.out.Check = info.Size(), "quick_check"
	if b.Full {
		b.out.Check = "integrity_check"
	}
	return store.CheckCopy(ctx, file, b.Full, b.out.Rows)
}

// begin makes the folder in which the copy is made, with its lock.
func (b *backup) begin() error {
	work := filepath.Join(b.dir, workPrefix+rand.Text()[:12])
	// Before the folder: one without its lock would be nobody's.
	lock, err := store.LockFile(work + lockEnding)
	if errors.Is(err, store.ErrLocked) { // by somebody who sweeps
		return b.begin()
	}
	if _, missing := os.Lstat(work + lockEnding); missing != nil {
		return errors.Join(err, missing)
	}
	b.work, b.unlock = work, func() { _ = os.Remove(work + lockEnding) } // a file system without locks
	if err == nil {
		b.unlock = func() { _ = lock.Remove() }
	}
	return os.Mkdir(b.work, 0o700)
}

// names returns the names of the copy and of the folder of its logs.
func (b *backup) names(at time.Time) (file, logs string, err error) {
	for _, form := range []string{minuteForm, secondForm, milliForm} {
		stem := b.stem + "-" + at.Format(form)
		file, logs = stem+".db", stem+logsEnding
		if b.Folder == "" {
			file = filepath.Base(b.File)
		}
		_, noLogs := os.Lstat(filepath.Join(b.dir, logs))
		_, noFile := os.Lstat(filepath.Join(b.dir, file))
		if errors.Is(noLogs, fs.ErrNotExist) && (b.Folder == "" || errors.Is(noFile, fs.ErrNotExist)) {
			return file, logs, nil
		}
	}
	return "", "", fmt.Errorf("%s in %s: %w", logs, b.dir, ErrExists)
}

// publish names the logs, and then the copy: what has its name is whole.
func (b *backup) publish(file, folder, name, logs string) error {
	to := filepath.Join(b.dir, name)
	if b.out.LogFiles == 0 {
		logs = ""
	}
	if err := b.note(name, logs, b.old); err != nil {
		return err
	}
	if logs != "" {
		b.out.Logs = filepath.Join(b.dir, logs)
		if err := os.Rename(folder, b.out.Logs); err != nil {
			return err
		}
	}
	b.Reached(StepLogsNamed)
	if b.Folder == "" && !b.Overwrite {
		if _, err := os.Lstat(to); err == nil {
			return errors.Join(fmt.Errorf("%s: %w", to, ErrExists), b.removeLogs(b.out.Logs))
		}
	}
	if err := os.Rename(file, to); err != nil {
		return errors.Join(err, b.removeLogs(b.out.Logs))
	}
	b.out.File = to
	err := syncFolder(b.dir)
	b.Reached(StepNamed)
	return err
}

// note is what a sweep needs to know of a folder of logs: it goes when the copy that it belongs to
// is not there, or names another one.
type note struct{ Database, File, Logs string }

// note writes one for each folder, before the first has its name, or before its copy is removed.
func (b *backup) note(file string, logs ...string) error {
	var all []note
	for _, l := range logs {
		if l != "" {
			all = append(all, note{b.id, file, l})
		}
	}
	// By another name first: a kill must leave the earlier note or this one.
	name := filepath.Join(b.work, notesName)
	if err := os.WriteFile(name+".new", []byte(store.JSON(all)), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

func (b *backup) removeLogs(dir string) error {
	if dir == "" {
		return nil
	}
	return wal.RemoveCopy(dir, b.id)
}

// ownLogs is the folder of logs that a copy names, "" = none: a name in the copy's own folder, of
// the form that a backup gives.
func ownLogs(s *store.Snapshot) string {
	if s.Mark == nil || s.Mark.Logs != filepath.Base(s.Mark.Logs) || !strings.HasSuffix(s.Mark.Logs, logsEnding) {
		return ""
	}
	return s.Mark.Logs
}
