package wal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"ypcrawl/yp"
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

// ownText is what of a worker's file is its log.
type ownText struct {
	end  int64  // of the complete lines
	last []byte // a complete event behind them that lacks only its line end
}

func (t ownText) empty() bool { return t.end == 0 && len(t.last) == 0 }

// reader reads the log of r, every line with its end.
func (t ownText) reader(r io.ReaderAt) io.Reader {
	lines := io.NewSectionReader(r, 0, t.end)
	if len(t.last) == 0 {
		return lines
	}
	return io.MultiReader(lines, bytes.NewReader(t.last), strings.NewReader("\n"))
}

// ownLines finds what of a file is the log of a worker; the rest is an event that a death
// cut short. The error is ErrForeign when the first line is no event of this worker, or
// when what stands behind the last newline is neither one nor the beginning of one.
func ownLines(r io.ReaderAt, size int64, worker string) (t ownText, err error) {
	if t.end, err = linesEnd(r, size); err != nil {
		return ownText{}, err
	}
	if t.end > 0 {
		line, err := newLineScanner(io.NewSectionReader(r, 0, t.end), DefaultMaxLine).next()
		if err != nil || !ownEvent(line, worker) {
			return ownText{}, fmt.Errorf("%w: its first line is no event of %s", ErrForeign, worker)
		}
	}
	tail, err := io.ReadAll(io.NewSectionReader(r, t.end, min(size-t.end, DefaultMaxLine+1)))
	if err != nil {
		return ownText{}, err
	}
	tail = bytes.TrimRight(tail, "\x00") // what a power cut leaves of a write that never reached the disk
	switch {
	case len(tail) <= DefaultMaxLine && ownEvent(tail, worker):
		t.last = tail
	case len(tail) > DefaultMaxLine || !tornEvent(tail, worker):
		return ownText{}, fmt.Errorf("%w: what stands behind its last line end is no event of %s cut short", ErrForeign, worker)
	}
	return t, nil
}

func ownEvent(line []byte, worker string) bool {
	var e Event
	return e.unmarshalHead(line) == nil && e.WorkerID == worker
}

// tornEvent reports whether the text is the beginning of an event of this worker, as
// AppendJSON writes it, as far as the text reaches. What begins with a complete value is
// none, whatever follows.
func tornEvent(text []byte, worker string) bool {
	if json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage)) == nil {
		return false
	}
	start := `{"timestamp":"` + yp.TimeLayout + `","worker_id":"` + worker + `","event_type":"`
	for i := range min(len(text), len(start)) {
		if inTime := i >= len(eventStart) && i < len(eventStart)+len(yp.TimeLayout); inTime && start[i] >= '0' && start[i] <= '9' {
			if text[i] < '0' || text[i] > '9' {
				return false
			}
		} else if text[i] != start[i] {
			return false
		}
	}
	return true
}

// ownCopies makes sure that what stands beside a plain file of ours under the names of its
// compressed copies is one: a compressed text that the plain one begins with, and a temp
// that is empty or begins as a compressed file does.
func ownCopies(p part, plain io.ReaderAt, text ownText) error {
	if err := ownTemp(p.tempPath()); err != nil {
		return err
	}
	packed, err := openRegular(p.packedPath())
	if err != nil {
		return ignoreMissing(err)
	}
	defer func() { _ = packed.Close() }()
	dec, err := newFrameReader(packed)
	if err != nil {
		return err
	}
	defer dec.close()
	same, err := beginsWith(text.reader(plain), dec)
	if _, damaged := errors.AsType[*frameError](err); err != nil && !damaged {
		return err
	}
	if !same {
		return fmt.Errorf("%w: %s does not hold the same as %s: keep what you need of the two, and remove or rename one", ErrForeign, p.packedPath(), p.plainPath())
	}
	return nil
}

// beginsWith reports whether whole begins with all of start.
func beginsWith(whole, start io.Reader) (bool, error) {
	a, b := make([]byte, readBuffer), make([]byte, readBuffer)
	for {
		n, err := io.ReadFull(start, a)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return false, err
		}
		if _, err := io.ReadFull(whole, b[:n]); n > 0 && err != nil || !bytes.Equal(a[:n], b[:n]) {
			return false, nil //nolint:nilerr // the plain text is shorter
		}
		if ended {
			return true, nil
		}
	}
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
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if n > 0 && string(start[:n]) != zstdMagic[:n] {
		return fmt.Errorf("%w: %s is no compressed file: move it away", ErrForeign, path)
	}
	return nil
}
