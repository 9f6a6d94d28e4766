package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
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
		case info.IsDir():
			return fmt.Errorf("%s is a folder: move it to another place", path)
		default:
			return fmt.Errorf("%w: %s is a link or a pipe, not a regular file", ErrForeign, path)
		}
	}
	return nil
}

// closed is the plain file of a part, locked: nobody writes or compresses it meanwhile.
type closed struct {
	*os.File
	info  fs.FileInfo
	end   int64 // behind its last whole line; what follows is an event that a death cut short
	whole bool  // its compressed copy is complete: a kill came before the plain file was removed
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
	if err == nil && c.end > 0 {
		c.whole, err = ownCopies(p, c.lines())
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// lines are the whole lines.
func (c *closed) lines() io.Reader { return io.NewSectionReader(c, 0, c.end) }

// Close gives the lock back.
func (c *closed) Close() error { return closeLocked(c.File) }

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

// ownCopies makes sure that what stands beside a plain file of ours under the names of its
// compressed copies is one: a temp that is empty or begins as a compressed file does, and a
// compressed text that is that of the lines. Then whole is true: a kill came before the plain file was removed.
func ownCopies(p part, lines io.Reader) (whole bool, err error) {
	if err := ownTemp(p.tempPath()); err != nil {
		return false, err
	}
	packed, err := openRegular(p.packedPath())
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer func() { _ = packed.Close() }()
	dec, err := newUnpacker(packed)
	if err != nil {
		return false, err
	}
	defer dec.close()
	if !sameText(lines, dec) {
		return false, fmt.Errorf("%w: %s differs from %s: keep the one you need, and remove or rename the other", ErrForeign, p.packedPath(), p.plainPath())
	}
	return true, nil
}

// sameText reports whether two texts are the same, and can be read.
func sameText(one, other io.Reader) bool {
	a, b := make([]byte, readBuffer), make([]byte, readBuffer)
	for {
		n, err := io.ReadFull(one, a)
		m, otherErr := io.ReadFull(other, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return false
		}
		if err != nil || otherErr != nil {
			return ended(err) && ended(otherErr)
		}
	}
}

// ended reports whether io.ReadFull came to the end.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// ownTemp makes sure that what is there under the name of a temp was begun by a compression.
func ownTemp(path string) error {
	temp, err := openRegular(path)
	if err != nil {
		return ignoreMissing(err)
	}
	defer func() { _ = temp.Close() }()
	start := make([]byte, len(zstdMagic))
	n, err := io.ReadFull(temp, start)
	if err != nil && !ended(err) {
		return err
	}
	if n > 0 && string(start[:n]) != zstdMagic[:n] {
		return fmt.Errorf("%w: %s is not a compressed log: move it to another folder", ErrForeign, path)
	}
	return nil
}

// logFile is what a Log needs of an open file.
type logFile interface {
	Write(b []byte) (int, error)
	Truncate(size int64) error
	Sync() error // data and size
	Size() (int64, error)
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
	f, err := openLocked(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// openLocked opens a file and takes its lock, or returns ErrInUse. The kernel drops the lock at any
// death of the process. fs.ErrNotExist is returned when the name came to mean another file, or
// none, meanwhile: a compression that held the lock before us has removed it.
func openLocked(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
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
