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
	"slices"
	"strings"

	"ypcrawl/yp"
)

// openTries bounds how often Create follows files that are compressed away
// under it.
const openTries = 5

// resume opens the part to append to: the last one when it is still plain,
// else, with create, a new one behind it.
func (l *Log) resume(create bool) error {
	var err error
	for range openTries {
		if err = l.tryResume(create); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if errors.Is(err, ErrInUse) && l.cfg.Spare != "" && l.cfg.WorkerID != l.cfg.Spare {
		l.cfg.WorkerID = l.cfg.Spare
		return l.resume(create)
	}
	return err
}

func (l *Log) tryResume(create bool) (err error) {
	logs, err := listLogs(l.cfg.Dir, false)
	if err != nil {
		return err
	}
	var parts []part
	if i := slices.IndexFunc(logs, func(w workerLog) bool { return w.worker == l.cfg.WorkerID }); i >= 0 {
		parts = logs[i].parts
	}
	defer func() {
		if err != nil && l.file != nil {
			err = errors.Join(err, l.file.Close())
			l.file = nil
		}
	}()
	l.part = part{dir: l.cfg.Dir, worker: l.cfg.WorkerID}
	if n := len(parts); n > 0 {
		last := parts[n-1]
		l.part.number = last.number + 1
		if last.plain {
			l.part.number = last.number
			err = l.reopen(last)
			_, noTemp := os.Stat(last.tempPath())
			switch {
			case err == nil:
				parts = parts[:n-1]
			case errors.Is(err, ErrForeign), errors.Is(err, ErrInUse) && noTemp == nil: // somebody else's, or being compressed
				l.part.number++
			default:
				return err
			}
		}
	}
	if l.file == nil && create {
		file, err := l.cfg.open(l.part.plainPath(), true)
		if err != nil {
			return err // a nil file in an interface is none
		}
		l.file = file
	}
	for i := len(parts) - 1; i >= 0 && l.seq == 0; i-- {
		l.seq = scanSeq(parts[i])
	}
	for _, p := range parts { // what an earlier process of this name left plain
		if p.plain && p.number < l.part.number {
			l.pack(p)
		}
	}
	return syncDir(l.cfg.Dir)
}

// reopen opens a part to write on, if it is one that this worker's name has begun. It cuts a
// torn last line, gives a whole one its end, removes what an unfinished compression left, and
// finds the last seq.
func (l *Log) reopen(p part) error {
	if err := p.regular(); err != nil {
		return err
	}
	file, err := l.cfg.open(p.plainPath(), false)
	if err != nil {
		return err
	}
	size, err := file.Size()
	var text ownText
	if err == nil {
		text, err = ownLog(p, file, size)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("read %s: %w", p.plainPath(), err), file.Close())
	}
	l.file = file
	if err := errors.Join(ignoreMissing(os.Remove(p.tempPath())), ignoreMissing(os.Remove(p.packedPath()))); err != nil {
		return err
	}
	l.size = text.end + int64(len(text.last))
	l.dirty = l.size < size
	if l.dirty && len(text.last) == 0 {
		l.cfg.Logger.Warn().Str("component", "wal").Str("worker", yp.WorkerText(l.cfg.WorkerID)).Str("file", p.plainPath()).
			Int64("bytes", size-l.size).Msg("removed the incomplete last line of a log")
	}
	if err := l.cut(); err != nil {
		return err
	}
	if len(text.last) > 0 {
		if err := l.write([]byte{'\n'}); err != nil {
			return err
		}
	}
	if l.seq, err = lastSeq(file, l.size); err != nil {
		return fmt.Errorf("read %s: %w", p.plainPath(), err)
	}
	return nil
}

const tailChunk = 64 << 10

// linesEnd returns the offset behind the last newline before end.
func linesEnd(r io.ReaderAt, end int64) (int64, error) {
	buf := make([]byte, tailChunk)
	for end > 0 {
		start := max(end-tailChunk, 0)
		chunk := buf[:end-start]
		if _, err := r.ReadAt(chunk, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(chunk, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// lastSeq returns the seq of the last readable line before end, walking back
// over lines that are damaged; 0 when there is none.
func lastSeq(r io.ReaderAt, end int64) (int64, error) {
	for end > 0 {
		start, err := linesEnd(r, end-1)
		if err != nil {
			return 0, err
		}
		if end-start <= DefaultMaxLine {
			text := make([]byte, end-start)
			if _, err := r.ReadAt(text, start); err != nil && !errors.Is(err, io.EOF) {
				return 0, err
			}
			var e Event
			if e.unmarshal(text, true) == nil {
				return e.Seq, nil
			}
		}
		end = start
	}
	return 0, nil
}

// scanSeq returns the highest seq of a closed part, 0 when nothing of it can
// be read.
func scanSeq(p part) int64 {
	highest := int64(0)
	for it := range p.stream(Options{SkipListings: true}).items() {
		if it.event != nil {
			highest = max(highest, it.event.Seq)
		}
	}
	return highest
}

// ErrForeign is returned for a file that has a log's place but is no log of ours: it is
// neither cut nor replaced nor removed.
var ErrForeign = errors.New("not a log of ypcrawl")

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
		return fmt.Errorf("%s is a folder: move it to another place", path)
	}
	return fmt.Errorf("%w: %s is a link or a pipe, not a regular file", ErrForeign, path)
}

// regular makes sure of it for every name that a part may have.
func (p part) regular() error {
	for _, path := range []string{p.plainPath(), p.packedPath(), p.tempPath()} {
		if err := regular(path); err != nil {
			return err
		}
	}
	return nil
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
			return ownText{}, fmt.Errorf("%w: its first line is not an event of %s", ErrForeign, worker)
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
		return ownText{}, fmt.Errorf("%w: the text after its last line end is not the beginning of an event of %s", ErrForeign, worker)
	}
	return t, nil
}

func ownEvent(line []byte, worker string) bool {
	var e Event
	return e.unmarshal(line, true) == nil && e.WorkerID == worker
}

// tornEvent reports whether the text is the beginning of an event of this worker, as
// Append writes it, as far as the text reaches. What begins with a complete value is
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

// ownLog finds what of a plain file is the log of its worker, and makes sure that its
// compressed copies are copies.
func ownLog(p part, plain io.ReaderAt, size int64) (ownText, error) {
	text, err := ownLines(plain, size, p.worker)
	if err == nil {
		err = ownCopies(p, plain, text)
	}
	return text, err
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
	dec, err := newUnpacker(packed)
	if err != nil {
		return err
	}
	defer dec.close()
	if !beginsWith(text.reader(plain), dec) {
		return fmt.Errorf("%w: %s differs from %s: keep the one you need, and remove or rename the other", ErrForeign, p.packedPath(), p.plainPath())
	}
	return nil
}

// beginsWith reports whether whole begins with all of start, and both can be read.
func beginsWith(whole, start io.Reader) bool {
	a, b := make([]byte, readBuffer), make([]byte, readBuffer)
	for {
		n, err := io.ReadFull(start, a)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return false
		}
		if _, err := io.ReadFull(whole, b[:n]); err != nil || !bytes.Equal(a[:n], b[:n]) {
			return false
		}
		if ended {
			return true
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
		return fmt.Errorf("%w: %s is not a compressed log: move it to another folder", ErrForeign, path)
	}
	return nil
}

// logFile is what a Log needs of an open file.
type logFile interface {
	Write(b []byte) (int, error)
	ReadAt(b []byte, off int64) (int, error)
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

// openLogFile opens a file to append to, and locks it. With create the file
// must not be there yet; without, it must: a file made anew under a name that
// was just compressed away would hide the compressed one.
func openLogFile(path string, create bool) (logFile, error) {
	flag := os.O_RDWR | os.O_APPEND
	if create {
		flag |= os.O_CREATE | os.O_EXCL
	}
	f, err := openLocked(path, flag)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// openLocked opens a file and takes its lock, or returns ErrInUse. The kernel
// drops the lock at any death of the process. fs.ErrNotExist is returned when
// the name came to mean another file, or none, meanwhile: a compression that
// held the lock before us has removed it.
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
