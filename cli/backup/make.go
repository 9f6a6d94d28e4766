package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
)

// Errors that callers decide by.
var (
	ErrExists  = errors.New("it exists already")
	ErrRunning = errors.New("another backup to this file is running")
	ErrHeld    = errors.New("a run works on this database")
	ErrOpen    = errors.New("another process has this database open")
)

// Config says what is copied where, or put back from where.
type Config struct {
	DB, Logs  string // file, and folder of its logs
	File      string // the copy
	Overwrite bool   // Make: File may be there, it is replaced
	Reached   func(step string)
}

// Made tells of a copy.
type Made struct {
	File     string    `json:"file"`
	At       time.Time `json:"at"`
	Bytes    int64     `json:"bytes"`
	LogFiles int       `json:"log_files"`
	LogBytes int64     `json:"log_bytes"` // within Bytes
}

// Make makes a copy.
func Make(ctx context.Context, cfg Config) (out Made, err error) {
	dir, name := filepath.Split(store.RealPath(cfg.File))
	if _, err := os.Stat(dir); err != nil {
		return out, fmt.Errorf("there is no folder %s: make it first", filepath.Dir(cfg.File))
	}
	lock, err := store.LockFile(filepath.Join(dir, "."+name+".lock"))
	if errors.Is(err, store.ErrLocked) {
		return out, ErrRunning
	}
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.Remove()) }()
	if err := cfg.refuse(); err != nil {
		return out, err
	}
	part := filepath.Join(dir, "."+name+".part")
	defer func() { err = errors.Join(err, remove(part)) }()
	out.File = cfg.File
	err = remove(part) // what a killed one has left
	if err == nil {
		err = cfg.make(ctx, part, &out)
	}
	if err == nil {
		err = cfg.refuse() // somebody made it meanwhile
	}
	if err == nil {
		err = os.Rename(part, cfg.File)
	}
	cfg.Reached("backup_named")
	return out, errors.Join(err, sync(dir))
}

// refuse finds what would harm.
func (cfg *Config) refuse() error {
	info, err := os.Lstat(cfg.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: name another one", cfg.File)
	case store.RealPath(cfg.DB) == store.RealPath(cfg.File):
		return fmt.Errorf("%s is the database itself: name another file", cfg.File)
	case !cfg.Overwrite:
		return fmt.Errorf("%s: %w", cfg.File, ErrExists)
	case exists(cfg.File + "-wal"):
		return fmt.Errorf("%s is a database in use, with a -wal beside it: name another file", cfg.File)
	}
	return nil
}

// make makes the copy with its logs, and checks it.
func (cfg *Config) make(ctx context.Context, part string, out *Made) error {
	var logs []openLog
	defer func() {
		for _, l := range logs {
			_ = l.f.Close() // only read
		}
	}()
	snap, err := store.TakeSnapshot(ctx, cfg.DB, func() (err error) {
		logs, err = openLogs(cfg.Logs)
		cfg.Reached("backup_frozen")
		return err
	})
	if err != nil {
		return err
	}
	defer snap.Close()
	out.At = snap.At
	var copied []store.CopiedLog
	for _, l := range logs {
		if l.database == "" || l.database == snap.ID { // not of another one, which shares the folder
			copied = append(copied, store.CopiedLog{Name: filepath.Base(l.f.Name()), Changed: l.info.ModTime(), Text: io.LimitReader(l.f, l.info.Size())})
			out.LogBytes += l.info.Size()
		}
	}
	out.LogFiles = len(copied)
	if err := snap.CopyTo(ctx, part, copied); err != nil {
		return err
	}
	snap.Close() // from here on the -wal of the crawl can be folded in again
	cfg.Reached("backup_copied")
	info, err := os.Stat(part)
	if err != nil {
		return err
	}
	out.Bytes = info.Size()
	return errors.Join(sync(part), store.CheckCopy(ctx, part))
}

// openLog is a log that is open, so that it can be read to where it ended at one moment, though it is
// compressed or removed meanwhile. That may be within a line.
type openLog struct {
	f        *os.File
	database string // its id
	info     fs.FileInfo
}

func openLogs(dir string) (all []openLog, err error) {
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
		info, err := f.Stat()
		all = append(all, openLog{f, file.Database, info})
		if err != nil {
			return all, err
		}
	}
	return all, err
}
