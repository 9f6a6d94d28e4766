package wal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
)

// ErrForeign is returned for a file that has a log's place but is no log of ours: it is
// neither cut nor replaced nor removed.
var ErrForeign = errors.New("no log of ypcrawl")

// ownName is how the logs of a run are named: yp.WorkerID, and a suffix where another
// machine's process has the same number.
var ownName = regexp.MustCompile(`^worker_[0-9]+_pid_[0-9]+(_[A-Za-z0-9-]+)?$`)

// eventStart is how every line of a log begins.
const eventStart = `{"timestamp":"`

// regular makes sure that path, if it is there, is a plain file: a link or a pipe was put
// there by somebody else.
func regular(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	switch {
	case err != nil || info.Mode().IsRegular():
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: move it away", path)
	}
	return fmt.Errorf("%w: %s is a link or a pipe, not a plain file", ErrForeign, path)
}

// ownLines returns where the complete lines of a worker's log end; whole is false when it
// has none. The error is ErrForeign when the first line is no event of this worker, or
// when what stands behind the last newline is not the beginning of one.
func ownLines(r io.ReaderAt, size int64, worker string) (end int64, whole bool, err error) {
	if end, err = linesEnd(r, size); err != nil {
		return 0, false, err
	}
	if whole = end > 0; whole {
		var first Event
		line, err := newLineScanner(io.NewSectionReader(r, 0, end), DefaultMaxLine).next()
		if err != nil || first.unmarshalHead(line) != nil || first.WorkerID != worker {
			return 0, false, fmt.Errorf("%w: its first line is no event of %s", ErrForeign, worker)
		}
	}
	if torn, err := tornEvent(io.NewSectionReader(r, end, size-end)); err != nil || !torn {
		return 0, false, errors.Join(err, fmt.Errorf("%w: what stands behind its last line end is no event cut short", ErrForeign))
	}
	return end, whole, nil
}

// tornEvent reports whether the text is what a death leaves of a write: the beginning of an
// event, or, after a power cut, the zeros of a write that never reached the disk.
func tornEvent(text io.Reader) (bool, error) {
	r := bufio.NewReader(text)
	start, err := r.Peek(len(eventStart))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	written := bytes.TrimRight(start, "\x00")
	if len(written) > 0 || len(start) < len(eventStart) {
		return bytes.HasPrefix([]byte(eventStart), written), nil
	}
	for {
		b, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil, b != 0:
			return false, err
		}
	}
}
