package wal

import (
	"errors"
	"fmt"
	"syscall"
)

var (
	// ErrClosed is returned by a Log that was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrInUse is returned when another process writes to the worker's log.
	ErrInUse = errors.New("the log is in use by another process")
	// ErrLineTooLong stands for a line beyond the limit: never written, skipped
	// when read.
	ErrLineTooLong = errors.New("the line is too long")
	// ErrShrunk is reported when a followed file became shorter than what was
	// read of it: somebody cut or replaced it, and it is read from its start.
	ErrShrunk = errors.New("the file shrank while it was followed")

	errNoFile   = errors.New("no regular file, but a folder, a pipe or a device")
	errUnopened = errors.New("open log")
	errTorn     = errors.New("the last line has no end")
	errNoLines  = errors.New("there is no complete line")
)

// WriteError is returned by Append, Sync and Close when the file system
// refuses. The event is not in the log and what is there is well-formed, or
// will be before the next event is added.
type WriteError struct {
	File string // path of the file
	Op   string // what was being done: "append", "sync", "cut", "rotate", "close"
	Err  error
}

// Error says what failed, on which file and why.
func (e *WriteError) Error() string {
	return fmt.Sprintf("write-ahead log %s: %s: %v", e.File, e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// DiskFull reports whether the cause is a full disk, an exhausted quota or a
// file-size limit: writing again is of no use until somebody makes room.
func (e *WriteError) DiskFull() bool {
	return errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT) || errors.Is(e.Err, syscall.EFBIG)
}

// CorruptError is a place in a log that can't be read. Reading goes on behind
// it: with the next line, or with the next file when the rest of this one is
// out of reach.
type CorruptError struct {
	Position
	Err error
}

// Error names the file, the line, the byte offset and the cause.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("damaged log %s: line %d (byte %d): %v", e.File, e.Line, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }
