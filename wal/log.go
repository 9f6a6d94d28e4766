package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

// DefaultMaxBytes is the size beyond which a log goes on in a new file.
const DefaultMaxBytes = 64 << 20

// Config says where and how a worker's log is written.
type Config struct {
	Dir        string           // folder, created with its parents; required
	WorkerID   string           // "worker_0_pid_12345": names the files, with a number behind it where that name is taken; letters, digits, "_" and "-"; required
	Database   string           // id of the database that the pages go into, noted in every line; may be empty
	RunID      int64            // the number behind a name that is taken; 0 = 1
	MaxBytes   int64            // size of a file before the next one begins; 0 = DefaultMaxBytes
	NoCompress bool             // leave closed files as they are
	Now        func() time.Time // nil = time.Now
	Logger     zerolog.Logger   // zero = silent

	open func(path string) (logFile, error) // nil = the real thing; tests inject failing files
	step func(packStep)                     // called after each step of a compression; tests kill here
}

// Log is the write-ahead log of one worker. Its methods may be called from
// several goroutines.
type Log struct {
	cfg Config

	mu     sync.Mutex
	file   logFile // nil until there is something to write: made by this Log, and by nobody written to beside it
	part   part
	size   int64     // up to the last complete line
	limit  int64     // size beyond which the next part begins
	dirty  bool      // bytes behind size could not be cut yet
	short  bool      // the file had lost lines when it was cut
	whole  int       // number of the first part of those that are to be there
	looked time.Time // at all parts
	seq    int64     // of the last event
	line   []byte    // memory of the last line, for the next
	closed bool

	written written // from the beginning of the log
}

var workerName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Create begins the log of a worker. Its first file is made by the first Append, so that a worker
// which finds nothing to do leaves none; it is a new one, whatever processes of the same number
// have left: nobody goes on with the file of another.
func Create(cfg Config) (*Log, error) {
	if !workerName.MatchString(cfg.WorkerID) {
		return nil, fmt.Errorf("create log: worker id %q: want letters, digits, _ and -", cfg.WorkerID)
	}
	cfg.Dir = filepath.Clean(cfg.Dir)
	cfg.MaxBytes = cmp.Or(max(cfg.MaxBytes, 0), DefaultMaxBytes)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.open == nil {
		cfg.open = createLogFile
	}
	if err := MakeDir(cfg.Dir); err != nil {
		return nil, fmt.Errorf("create log folder: %w", err)
	}
	return &Log{cfg: cfg, limit: cfg.MaxBytes, part: part{dir: cfg.Dir, worker: cfg.WorkerID}}, nil
}

// begin makes the first file, under a name that no file of the folder has: a number comes back
// sooner or later, and several machines may write into one folder.
func (l *Log) begin() error {
	logs, err := listLogs(l.cfg.Dir, true)
	if err != nil {
		return err
	}
	name := l.cfg.WorkerID
	for n := max(l.cfg.RunID, 1); ; n++ {
		if !slices.ContainsFunc(logs, func(w workerLog) bool { return w.worker == name }) {
			l.part.worker = name
			file, err := l.cfg.open(l.part.plainPath())
			if err == nil {
				l.file, l.cfg.WorkerID = file, name
				return folder.Sync(l.cfg.Dir)
			}
			if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrInUse) {
				return err
			}
			if _, noFolder := os.Stat(l.cfg.Dir); noFolder != nil {
				return err
			}
		}
		name = fmt.Sprintf("%s_%d", l.cfg.WorkerID, n)
	}
}

// Path is the file that is written now, or will be.
func (l *Log) Path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.part.plainPath()
}

// Append adds e as one line, by a single write, and fills in its WorkerID, its
// Database, its Seq, and its Timestamp when that is zero. When the file system refuses, the
// event is not in the log, its number is free again, and a partly written line
// is cut back (if even that fails: before the next event).
//
// The line is then safe from the death of the process; Sync makes it safe from
// the death of the machine.
func (l *Log) Append(e *Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if l.file == nil {
		if err := l.begin(); err != nil {
			return l.part.failure("create", err)
		}
	}
	return l.add(e)
}

// add adds a line to the file that is there.
func (l *Log) add(e *Event) error {
	text, err := l.encode(e)
	if err != nil {
		return err
	}
	if err := l.cut(); err != nil {
		return err
	}
	l.rotateIfFull(int64(len(text)))
	if err := l.write(text); err != nil {
		return err
	}
	l.seq = e.Seq
	l.written.note(e)
	return nil
}

// encode fills in e and returns its line.
func (l *Log) encode(e *Event) ([]byte, error) {
	if e.Timestamp.IsZero() {
		e.Timestamp = l.cfg.Now()
	}
	if year := e.Timestamp.UTC().Year(); year < 1 || year > 9999 {
		return nil, fmt.Errorf("append event: the clock is set to the year %d", year)
	}
	if e.Type == "" {
		return nil, errors.New("append event: no event type")
	}
	e.WorkerID, e.Database, e.Seq = l.cfg.WorkerID, l.cfg.Database, l.seq+1
	text, err := e.appendTo(l.line[:0])
	if err != nil {
		return nil, fmt.Errorf("append event: %w", err)
	}
	if len(text) >= DefaultMaxLine {
		return nil, fmt.Errorf("append event of %d bytes: %w", len(text)+1, ErrLineTooLong)
	}
	text = append(text, '\n')
	if cap(text) <= keptLine {
		l.line = text
	}
	return text, nil
}

// keptLine bounds the memory that is kept for the next line.
const keptLine = 128 << 10

func (l *Log) write(text []byte) error {
	n, err := l.file.Write(text)
	if err == nil {
		l.size += int64(n)
		return nil
	}
	failed := l.part.failure("append", err)
	l.dirty = true
	if cutErr := l.cut(); cutErr != nil {
		l.cfg.Logger.Error().Err(cutErr).Str("component", "wal").Str("worker", yp.WorkerText(l.cfg.WorkerID)).
			Msg("a line was written in part; the next event removes it")
	}
	return failed
}

// cut removes what a failed write left behind the last complete line. It never
// makes the file longer: somebody may have emptied it under us.
func (l *Log) cut() error {
	if !l.dirty {
		return nil
	}
	size, err := l.file.Size()
	if err == nil && size > l.size {
		err = l.file.Truncate(l.size)
	}
	if err != nil {
		return l.part.failure("cut", err)
	}
	l.short = l.short || size < l.size
	l.size = min(l.size, size)
	l.dirty = false
	return nil
}

// Sync makes every event appended so far safe from a power loss (fdatasync). It looks at the file before: when that
// was removed, moved, replaced or cut since, the log goes on in a new one, with the last page that was appended.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if err := l.goOnIfLost(time.Since(l.looked) > lookAgain); err != nil {
		return err
	}
	return l.sync()
}

func (l *Log) sync() error {
	if l.file == nil {
		return nil
	}
	if err := l.file.Sync(); err != nil {
		return l.part.failure("sync", err)
	}
	l.written.page = nil
	return nil
}

// Close syncs and closes the log, and leaves no empty file. A second Close does
// nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.cut(), l.goOnIfLost(true), l.sync())
	if closeErr := l.file.Close(); closeErr != nil {
		err = errors.Join(err, l.part.failure("close", closeErr))
	}
	if err == nil && l.size == 0 { // what was to be written could not be
		err = os.Remove(l.part.plainPath())
	}
	return err
}

// failure is an error of writing, with what was being done to the file and why it failed.
func (p part) failure(op string, err error) error {
	return fmt.Errorf("write-ahead log %s: %s: %w", p.plainPath(), op, withoutPath(err))
}

// withoutPath drops the path from an os error: failure names it already.
func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// rotateIfFull begins the next part when n more bytes would make this one too
// large. A new file that can't be made is no reason to lose an event: the log
// goes on in the old one and tries again a little later.
func (l *Log) rotateIfFull(n int64) {
	if l.size == 0 || l.size+n <= l.limit {
		return
	}
	if err := l.rotate(); err != nil {
		l.limit = l.size + n + l.cfg.MaxBytes/16
		l.cfg.Logger.Warn().Err(err).Str("component", "wal").Str("worker", yp.WorkerText(l.cfg.WorkerID)).
			Msg("the log could not be rotated; it continues in the old file")
	}
}

// rotate syncs the part before the next one appears, so that a reader who sees
// the next knows that this one is whole, even after a power loss.
func (l *Log) rotate() error {
	if err := l.sync(); err != nil {
		return err
	}
	next := part{dir: l.part.dir, worker: l.part.worker, number: l.part.number + 1}
	file, err := l.cfg.open(next.plainPath())
	if err != nil {
		return next.failure("rotate", err)
	}
	err = errors.Join(folder.Sync(l.cfg.Dir), l.file.Close())
	if err != nil { // both files are good: nothing that matters was lost
		l.cfg.Logger.Warn().Err(err).Str("component", "wal").Str("file", l.part.plainPath()).Msg("a full log could not be closed")
	}
	full := l.part
	l.file, l.part, l.size, l.limit = file, next, 0, l.cfg.MaxBytes
	if !l.cfg.NoCompress {
		l.pack(full)
	}
	return nil
}

var (
	// ErrClosed is returned by a Log that was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrInUse is returned when another process writes to the worker's log.
	ErrInUse = errors.New("the log is in use by another process")
	// ErrLineTooLong stands for a line beyond the limit: never written, skipped
	// when read.
	ErrLineTooLong = errors.New("the line is too long")
	// ErrDevelopment is returned for a line that a development version wrote: what it says of commits is not what today's say.
	ErrDevelopment = errors.New("a development version of ypcrawl wrote it")

	errNoFile   = errors.New("not a regular file but a folder, a pipe or a device")
	errUnopened = errors.New("open log")
	errTorn     = errors.New("the last line has no end")
	errCutShort = errors.New("the compressed log is cut short")
	errNoLines  = errors.New("there is no complete line")
)

// CorruptError is a place in a log that can't be read. Reading goes on behind
// it: with the next line, or with the next file when the rest of this one is
// out of reach.
type CorruptError struct {
	Position
	Err error
}

// Error names the file, the line, the byte offset and the cause.
func (e *CorruptError) Error() string {
	if errors.Is(e.Err, fs.ErrPermission) { // nobody knows whether it is damaged
		return fmt.Sprintf("log %s can't be read: %v", e.File, e.Err)
	}
	return fmt.Sprintf("damaged log %s: line %d (byte %d): %v", e.File, e.Line, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }
