package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	StepLogsNamed  Step = "backup_logs_named" // the logs have their name, the copy has not
	StepNamed      Step = "backup_named"      // the logs of the copy that it replaced are still there
	StepStaged     Step = "restore_staged"
	StepMarked     Step = "restore_marked" // it will be carried through
	StepAside      Step = "restore_aside"  // the old database
	StepReplaced   Step = "restore_replaced"
	StepLogsAside  Step = "restore_logs_aside"
	StepLogsInside Step = "restore_logs_inside"
)

// Steps lists them.
func Steps() []Step {
	return []Step{StepFrozen, StepCopied, StepLogsNamed, StepNamed, StepStaged, StepMarked, StepAside, StepReplaced, StepLogsAside, StepLogsInside}
}

// Errors that callers decide by.
var (
	ErrExists  = errors.New("it exists already")
	ErrRunning = errors.New("another backup to this file is running")
	ErrHeld    = errors.New("a run works on this database")
	ErrOpen    = errors.New("another process has this database open")
)

// Config says what is copied, and where to.
type Config struct {
	DB, Logs  string // file and folder
	File      string // the copy's name
	Overwrite bool   // File may be there: it is replaced
	Reached   func(Step)
}

// Made tells of a copy.
type Made struct {
	File     string    `json:"file"`
	Logs     string    `json:"logs,omitempty"` // folder; absent when there were none
	At       time.Time `json:"at"`
	Bytes    int64     `json:"bytes"`
	LogFiles int       `json:"log_files"`
	LogBytes int64     `json:"log_bytes"`
}

const (
	copyName = "copy.db"
	logsName = "logs"
	noteName = "note" // folders of logs that go when the copy does not name them
)

// hidden is the name of a file or folder that one here has beside it while it is made.
func hidden(path, ending string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+ending)
}

// Make makes a copy.
func Make(ctx context.Context, cfg Config) (out Made, err error) {
	if _, err := os.Stat(filepath.Dir(cfg.File)); err != nil {
		return out, fmt.Errorf("there is no folder %s: make it first", filepath.Dir(cfg.File))
	}
	lock, err := store.LockFile(hidden(cfg.File, ".lock"))
	if errors.Is(err, store.ErrLocked) {
		return out, ErrRunning
	}
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.Remove()) }()
	part := hidden(cfg.File, ".part")
	if err := cfg.refuse(); err != nil {
		return out, err
	}
	if err := settle(ctx, cfg.File, part); err != nil {
		return out, err
	}
	if err := os.Mkdir(part, 0o700); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, settle(context.WithoutCancel(ctx), cfg.File, part)) }()
	return cfg.make(ctx, part)
}

// refuse finds what would harm.
func (cfg *Config) refuse() error {
	info, err := os.Lstat(cfg.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	same, sameErr := os.Stat(cfg.DB)
	_, used := os.Lstat(cfg.File + "-wal")
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: name another one", cfg.File)
	case sameErr == nil && os.SameFile(same, info):
		return fmt.Errorf("%s is the database itself: name another file", cfg.File)
	case !cfg.Overwrite:
		return fmt.Errorf("%s: %w", cfg.File, ErrExists)
	case used == nil:
		return fmt.Errorf("%s is a database in use, with a -wal beside it: name another file", cfg.File)
	}
	return nil
}

// settle ends what a backup to the file has begun, also one that was killed: logs without their copy go.
func settle(ctx context.Context, file, part string) error {
	var logs []string
	text, err := os.ReadFile(filepath.Join(part, noteName))
	if err == nil && json.Unmarshal(text, &logs) == nil {
		named := logsOf(ctx, file)
		for _, name := range slices.DeleteFunc(logs, func(name string) bool { return name == named || !logsForm.MatchString(name) }) {
			if err := os.RemoveAll(filepath.Join(filepath.Dir(file), name)); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(part)
}

var logsForm = regexp.MustCompile(`^[^/\\]+-\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z\.logs$`)

// logsOf is the folder of logs that a copy names, in its own folder; "" = none.
func logsOf(ctx context.Context, file string) string {
	s, err := store.TakeSnapshot(ctx, file, nil)
	if err != nil {
		return "" // it is no copy
	}
	s.Close()
	if s.Mark == nil || !logsForm.MatchString(s.Mark.Logs) {
		return ""
	}
	return s.Mark.Logs
}

// make makes the copy in its folder, and gives it its name.
func (cfg *Config) make(ctx context.Context, part string) (out Made, err error) {
	var logs []*logCopy
	defer func() {
		for _, l := range logs {
			_ = l.f.Close() // only read
		}
	}()
	snap, err := store.TakeSnapshot(ctx, cfg.DB, func() (err error) {
		logs, err = openLogs(cfg.Logs)
		cfg.Reached(StepFrozen)
		return err
	})
	if err != nil {
		return out, err
	}
	defer snap.Close()
	out = Made{File: cfg.File, At: snap.At}
	mark, stem := &store.CopyMark{At: yp.FormatTime(snap.At)}, strings.TrimSuffix(filepath.Base(cfg.File), filepath.Ext(cfg.File))
	folder, file := filepath.Join(part, logsName), filepath.Join(part, copyName)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return out, err
	}
	for _, l := range logs {
		if l.id != "" && l.id != snap.ID {
			continue // of another database, which shares the folder
		}
		n, err := l.copyTo(folder)
		if err != nil {
			return out, fmt.Errorf("copy log %s: %w", l.f.Name(), err)
		}
		out.LogFiles++
		out.LogBytes += n
	}
	if out.LogFiles > 0 {
		mark.Logs = stem + "-" + snap.At.Format("2006-01-02T150405.000Z") + ".logs"
		out.Logs = filepath.Join(filepath.Dir(cfg.File), mark.Logs)
	}
	if err := errors.Join(syncFolder(folder), snap.CopyTo(ctx, file, mark)); err != nil {
		return out, err
	}
	snap.Close() // from here on the -wal of the crawl can be folded in again
	cfg.Reached(StepCopied)
	if out.Bytes, err = syncFile(file); err == nil {
		err = store.CheckCopy(ctx, file)
	}
	if err != nil {
		return out, err
	}
	return out, cfg.publish(ctx, part, out.Logs)
}

// publish names the logs, and then the copy: what has its name is whole.
func (cfg *Config) publish(ctx context.Context, part, logs string) error {
	note := []string{filepath.Base(logs), logsOf(ctx, cfg.File)}
	if err := os.WriteFile(filepath.Join(part, noteName), []byte(store.JSON(note)), 0o600); err != nil {
		return err
	}
	if logs != "" {
		if err := os.Rename(filepath.Join(part, logsName), logs); err != nil {
			return err
		}
	}
	cfg.Reached(StepLogsNamed)
	if err := cfg.refuse(); err != nil { // somebody made it meanwhile
		return err
	}
	if err := os.Rename(filepath.Join(part, copyName), cfg.File); err != nil {
		return err
	}
	err := syncFolder(filepath.Dir(cfg.File))
	cfg.Reached(StepNamed)
	return err
}

// logCopy is a log that is open, so that it can be read to where it ended at one moment, though it is
// compressed or removed meanwhile.
type logCopy struct {
	f    *os.File
	id   string // of the database
	size int64
}

func openLogs(dir string) (all []*logCopy, err error) {
	files, err := wal.Files(dir)
	for _, file := range files {
		f, err := os.Open(file.Path)
		if errors.Is(err, fs.ErrNotExist) { // compressed since
			f, err = os.Open(file.Path + ".zst")
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed as too old: the database has what it said
		}
		if err != nil {
			return all, err
		}
		l := &logCopy{f: f, id: file.Database}
		all = append(all, l)
		info, err := f.Stat()
		if err != nil {
			return all, err
		}
		l.size = info.Size()
	}
	return all, err
}

// copyTo copies the log as long as it was, with its time, by which logs are removed. It may end within a line.
func (l *logCopy) copyTo(dir string) (n int64, err error) {
	info, err := l.f.Stat()
	if err != nil {
		return 0, err
	}
	to, err := os.OpenFile(filepath.Join(dir, filepath.Base(l.f.Name())), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(to, io.LimitReader(l.f, l.size))
	if err = errors.Join(err, to.Sync(), to.Close()); err == nil {
		err = os.Chtimes(to.Name(), info.ModTime(), info.ModTime())
	}
	return n, err
}

func syncFile(path string) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err == nil {
		size = info.Size()
	}
	return size, errors.Join(err, f.Sync(), f.Close())
}

// syncFolder makes a rename last. Some systems can't: the file itself is synced by then.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}
