package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"

	"ypcrawl/yp/folder"
)

// ErrForeign is returned for a file that has a log's place but is no log of ours: it is
// neither compressed nor replaced nor removed.
var ErrForeign = errors.New("not a log of ypcrawl")

// ownName is how the logs of a run are named: yp.WorkerID, and a suffix where that name was taken.
var ownName = regexp.MustCompile(`^worker_[0-9]+_pid_[0-9]+(_[A-Za-z0-9-]+)?$`)

// regular makes sure that every name that a part may have is that of a plain file, if it is there:
// a link or a pipe was put there by somebody else.
func (p part) regular() error {
	for _, path := range []string{p.plainPath(), p.packedPath(), p.tempPath()} {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular():
		case err != nil:
			return err
		default:
			return fmt.Errorf("%w: %s is not a regular file but a folder, a link or a pipe", ErrForeign, path)
		}
	}
	return nil
}

// closed is the plain file of a part, locked: nobody writes or compresses it meanwhile.
type closed struct {
	*os.File
	info fs.FileInfo
	end  int64 // behind its last whole line; what follows is an event that a death cut short
}

// lock opens the plain file of a part to compress or remove it. The error is ErrInUse when somebody writes it or
// does so already, fs.ErrNotExist when somebody has done so meanwhile, and ErrForeign when it or what has one of its
// other names belongs to somebody else.
func (p part) lock() (c *closed, err error) {
	if err := p.regular(); err != nil {
		return nil, err
	}
	file, err := openLocked(p.plainPath(), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	c = &closed{File: file}
	if c.info, err = file.Stat(); err == nil {
		c.end, err = ownLines(file, p.worker)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close gives the lock back.
func (c *closed) Close() error { return closeLocked(c.File) }

// removeClosed removes a file that this process had open, and has closed: Windows removes none that is open. Nobody has
// appended to it in between, for no log goes on in the file of another; who compresses or prunes it as well found it as
// it was, and may have removed it; and a file that was put in its place stays.
func removeClosed(path string, was fs.FileInfo) error {
	there, err := os.Lstat(path)
	if err == nil && os.SameFile(there, was) {
		err = os.Remove(path)
	}
	return ignoreMissing(err)
}

// ownLines returns where the whole lines of a worker's file end. The error is ErrForeign when the
// first line is no event of this worker.
func ownLines(r io.Reader, worker string) (end int64, err error) {
	for s := newLineScanner(r, 0); ; {
		line, err := s.next()
		var e Event
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errTorn):
			return s.offset, nil
		case err != nil && !errors.Is(err, ErrLineTooLong):
			return 0, err
		case s.lines == 1 && (err != nil || e.unmarshal(line, true) != nil || e.WorkerID != worker):
			return 0, fmt.Errorf("%w: its first line is not an event of %s", ErrForeign, worker)
		}
	}
}

// logFile is what a Log needs of an open file.
type logFile interface {
	Write(b []byte) (int, error)
	Truncate(size int64) error
	Sync() error // data and size
	Size() (int64, error)
	Stat() (fs.FileInfo, error)
	Close() error
}

// osFile is a real log file, locked for as long as it is open.
type osFile struct{ *os.File }

// Sync waits until the data is on the disk.
func (f osFile) Sync() error { return syncData(f.File) }

// Size is the file's size.
func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Close gives the lock back and closes the file.
func (f osFile) Close() error { return closeLocked(f.File) }

func closeLocked(f *os.File) error {
	unlockFile(f)
	return f.Close()
}

// createLogFile makes a file to append to, and locks it.
func createLogFile(path string) (logFile, error) {
	f, err := openLocked(path, os.O_RDWR|appending|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// openLocked opens a file and takes its lock, or returns ErrInUse. The kernel drops the lock at any
// death of the process. fs.ErrNotExist is returned when the name came to mean another file, or
// none, meanwhile: a compression that held the lock before us has removed it.
func openLocked(path string, flag int) (*os.File, error) {
	f, err := openFile(path, flag)
	if err != nil {
		return nil, folder.DeniedIn(path, err)
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, closeLocked(f))
	}
	if !mine.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, errNoFile), closeLocked(f))
	}
	named, err := os.Stat(path)
	if err != nil || !os.SameFile(mine, named) {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}, closeLocked(f))
	}
	return f, nil
}

func openFile(path string, flag int) (*os.File, error) {
	if flag&os.O_CREATE != 0 {
		return folder.New(path, flag, 0o600, nil)
	}
	return os.OpenFile(path, flag, 0)
}
