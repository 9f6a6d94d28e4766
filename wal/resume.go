package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
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

func (l *Log) tryResume(create bool) error {
	parts, err := l.ownParts()
	if err != nil {
		return err
	}
	reopened, err := l.openPart(parts, create)
	if err != nil {
		return err
	}
	if err := l.continueFrom(parts, reopened); err != nil {
		if l.file != nil {
			err = errors.Join(err, l.file.Close())
			l.file = nil
		}
		return err
	}
	l.packLeftovers(parts)
	return nil
}

// openPart opens the last part when it is still plain, else makes the next
// one if it is to. A last part that is locked because it is being compressed right now
// counts as closed, and one that somebody else has put there is left alone.
func (l *Log) openPart(parts []part, create bool) (reopened bool, err error) {
	l.part = part{dir: l.cfg.Dir, worker: l.cfg.WorkerID}
	if len(parts) > 0 {
		last := parts[len(parts)-1]
		l.part.number = last.number
		if last.plain {
			err := l.reopen(last)
			if err == nil {
				return true, l.dropUnfinished()
			}
			if _, statErr := os.Stat(last.tempPath()); !errors.Is(err, ErrForeign) && (!errors.Is(err, ErrInUse) || statErr != nil) {
				return false, err
			}
		}
		l.part.number++
	}
	if !create {
		return false, nil
	}
	file, err := l.cfg.open(l.part.plainPath(), true)
	if err != nil {
		return false, err // a nil file in an interface is none
	}
	l.file = file
	return false, nil
}

// reopen opens a part to write on, if it is one that this worker's name has begun.
func (l *Log) reopen(p part) error {
	for _, path := range []string{p.plainPath(), p.packedPath(), p.tempPath()} {
		if err := regular(path); err != nil {
			return err
		}
	}
	file, err := l.cfg.open(p.plainPath(), false)
	if err != nil {
		return err
	}
	size, err := file.Size()
	var text ownText
	if err == nil {
		text, err = ownLines(file, size, p.worker)
	}
	if err == nil {
		err = ownCopies(p, file, text)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("read %s: %w", p.plainPath(), err), file.Close())
	}
	l.file = file
	return nil
}

// dropUnfinished removes what an unfinished compression left of a part that is
// going to grow again: both files hold copies of the plain one.
func (l *Log) dropUnfinished() error {
	err := errors.Join(ignoreMissing(os.Remove(l.part.tempPath())), ignoreMissing(os.Remove(l.part.packedPath())))
	if err != nil {
		err = errors.Join(err, l.file.Close())
		l.file = nil
		return err
	}
	return nil
}

func (l *Log) ownParts() ([]part, error) {
	logs, err := listLogs(l.cfg.Dir, false)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(logs, func(w workerLog) bool { return w.worker == l.cfg.WorkerID })
	if i < 0 {
		return nil, nil
	}
	return logs[i].parts, nil
}

// continueFrom cuts a torn line from the file just opened and finds the last
// seq, in this part or in one before it.
func (l *Log) continueFrom(parts []part, reopened bool) error {
	if reopened {
		if err := l.cutTorn(); err != nil {
			return err
		}
		seq, err := lastSeq(l.file, l.size)
		if err != nil {
			return fmt.Errorf("read %s: %w", l.part.plainPath(), err)
		}
		l.seq = seq
		parts = parts[:len(parts)-1]
	}
	for i := len(parts) - 1; i >= 0 && l.seq == 0; i-- {
		l.seq = scanSeq(parts[i])
	}
	return syncDir(l.cfg.Dir)
}

func (l *Log) cutTorn() error {
	size, err := l.file.Size()
	if err != nil {
		return err
	}
	text, err := ownLines(l.file, size, l.cfg.WorkerID)
	if err != nil {
		return fmt.Errorf("read %s: %w", l.part.plainPath(), err)
	}
	if l.size = text.end; len(text.last) > 0 { // the event is whole: it gets its line end
		l.size += int64(len(text.last))
		l.dirty, l.buf = l.size < size, append(l.buf[:0], '\n')
		return errors.Join(l.cut(), l.write())
	}
	if l.size == size {
		return nil
	}
	l.cfg.Logger.Warn().Str("component", "wal").Str("worker", l.cfg.WorkerID).Str("file", l.part.plainPath()).
		Int64("bytes", size-l.size).Msg("cut a torn last line")
	l.dirty = true
	return l.cut()
}

// packLeftovers compresses what an earlier process of this name left plain.
func (l *Log) packLeftovers(parts []part) {
	for _, p := range parts {
		if p.plain && p.number < l.part.number {
			l.packer.add(p)
		}
	}
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
			if e.unmarshalHead(text) == nil {
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
	s := newStream(workerLog{parts: []part{p}}, cursor{part: p.number}, Options{SkipListings: true})
	defer s.close()
	highest := int64(0)
	for it, ok := s.next(); ok; it, ok = s.next() {
		if it.event != nil {
			highest = max(highest, it.event.Seq)
		}
	}
	return highest
}
