package wal

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"ypcrawl/yp/folder"
)

// TornTail is the beginning of a line at the end of a worker's log: what a
// kill left of the write it interrupted. It is no event and no error.
type TornTail struct {
	Position
	Bytes int64 `json:"bytes"`
}

// item is what a stream yields: an event or a *CorruptError.
type item struct {
	event *Event
	err   error
}

// place is where an item belongs among those of other workers.
type place struct {
	database string // by commit: one after the other
	n        int64  // a time, or the number of a commit
	behind   bool   // the commit, and is none itself
}

func (p place) compare(o place) int {
	if c := cmp.Or(strings.Compare(p.database, o.database), cmp.Compare(p.n, o.n)); c != 0 || p.behind == o.behind {
		return c
	}
	if p.behind {
		return 1
	}
	return -1
}

// stream reads one worker's log, part after part.
type stream struct {
	opts  Options
	parts []part // not yet opened
	seg   *segment
	part  part // the one seg reads
	torn  *TornTail
	at    place // of the last event

	// By commit.
	ahead   item      // read, and not yet given
	started time.Time // the claim of what was given
	next    *Event    // the start of the next claim of the target whose page is at the end; nil = there is none
}

func newStream(log workerLog, opts Options) *stream { return &stream{opts: opts, parts: log.parts} }

// copy is a stream over the same parts for a look ahead, before this one is read.
func (s *stream) copy() *stream {
	ahead := *s
	ahead.opts.SkipListings = true
	return &ahead
}

// give returns the next item with its place; ok is false at the end of the log. By commit, it waits for the line
// behind it.
func (s *stream) give() (it item, at place, ok bool) {
	it, ok = s.read()
	for s.opts.ByCommit {
		if ok && it.event != nil && it.event.beside() {
			it, ok = s.read()
			continue
		}
		it, s.ahead = s.ahead, it
		if it != (item{}) || !ok {
			ok = it != (item{})
			break
		}
		it, ok = s.read()
	}
	if e := it.event; e != nil && s.opts.ByCommit {
		if e.Type == TargetStart {
			s.started = e.Timestamp
		}
		e.Nth, e.Started = s.nth(e), s.started
		before := max(s.at.n, e.Behind)
		s.at = place{e.Database, max(before, e.Nth), e.Nth <= before}
	} else if e != nil {
		s.at.n = e.Timestamp.UnixNano()
	}
	return it, s.at, ok
}

// nth is the number of an event's own commit. Of a page the line behind it tells that, or the next
// claim; where neither is there, the page is the last that is known of its target.
func (s *stream) nth(e *Event) int64 {
	behind := s.ahead.event
	switch {
	case e.Type != PageComplete:
		return e.Ended
	case s.ahead == (item{}): // a kill came before that line
		behind = s.next
	case behind == nil || behind.Target == nil || e.Target == nil || behind.Target.ID != e.Target.ID ||
		behind.Target.ClaimToken != e.Target.ClaimToken:
		behind = nil // damage took it
	}
	switch {
	case behind == nil:
		return e.Committed + 1
	case behind.Committed <= e.Committed:
		return 0
	case !behind.CommittedAt.IsZero():
		e.Timestamp = behind.CommittedAt.Time
	}
	return behind.Committed
}

func (s *stream) read() (it item, ok bool) {
	for {
		if s.seg == nil {
			if len(s.parts) == 0 {
				return item{}, false
			}
			if err := s.open(); err != nil {
				return item{err: err}, true
			}
		}
		pos := s.seg.here()
		text, err := s.seg.next()
		if it, ok := s.take(pos, text, err); ok {
			return it, true
		}
	}
}

// events iterates the events in the order they were written, without damage, and closes the
// stream behind them.
func (s *stream) events() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		defer s.close()
		for it, ok := s.read(); ok; it, ok = s.read() {
			if it.event != nil && !yield(it.event) {
				return
			}
		}
	}
}

// beside reports whether a line was written beside the worker's work: it tells nothing of a target.
func (e *Event) beside() bool { return e.Type == Heartbeat || e.Type == LogLost }

// last returns the last event that tells of a target, nil = there is none. It reads no more parts than it must.
func (s *stream) last() (last *Event) {
	for parts := s.parts; len(parts) > 0 && last == nil; parts = parts[:len(parts)-1] {
		s.parts = parts[len(parts)-1:]
		for e := range s.events() {
			if !e.beside() {
				last = e
			}
		}
	}
	return last
}

// open opens the next part. A part that can't be opened is passed over.
func (s *stream) open() *CorruptError {
	s.part, s.parts = s.parts[0], s.parts[1:]
	seg, err := openSegment(s.part, s.opts.MaxLine)
	if err != nil {
		return &CorruptError{Position: Position{File: s.part.path(), Line: 1}, Err: err}
	}
	s.seg = seg
	return nil
}

// take turns what the scanner said into an item, or into none.
func (s *stream) take(pos Position, text []byte, err error) (it item, ok bool) {
	switch {
	case err == nil:
		return s.decode(pos, text)
	case errors.Is(err, io.EOF):
		s.closePart()
		return item{}, false
	case errors.Is(err, errTorn) && len(s.parts) == 0:
		s.torn = &TornTail{Position: pos, Bytes: s.seg.torn}
		s.closePart()
		return item{}, false
	case errors.Is(err, ErrLineTooLong):
	default: // the rest of the part is out of reach
		s.closePart()
	}
	return item{err: &CorruptError{Position: pos, Err: err}}, true
}

// closePart closes a part where reading stopped.
func (s *stream) closePart() {
	_ = s.seg.close() // opened for reading: nothing can be lost
	s.seg = nil
}

func (s *stream) close() {
	if s.seg != nil {
		s.closePart()
	}
	s.parts = nil
}

// decode reads a line.
func (s *stream) decode(pos Position, text []byte) (it item, ok bool) {
	if len(bytes.TrimSpace(text)) == 0 {
		return item{}, false
	}
	e := new(Event)
	if err := e.unmarshal(text, s.opts.SkipListings); err != nil {
		return item{err: &CorruptError{Position: pos, Err: err}}, true
	}
	return item{event: e}, len(s.opts.Databases) == 0 || slices.Contains(s.opts.Databases, e.Database)
}

// Position says where in a log something stands. In a compressed file the
// offset counts the bytes of the text inside.
type Position struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"` // of the line's first byte
	Line   int    `json:"line"`   // from 1
}

// segment is one part of a log, open for reading.
type segment struct {
	*lineScanner
	path string
	file *os.File
	zstd *unpacker // nil for a plain file
}

// openSegment opens p. A part that was compressed since it was listed is found under its new name.
func openSegment(p part, maxLine int) (*segment, error) {
	path := p.path()
	file, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) && path == p.plainPath() {
		path = p.packedPath()
		file, err = openRegular(path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, folder.DeniedIn(path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnopened, withoutPath(err))
	}
	seg := &segment{path: path, file: file}
	var text io.Reader = file
	if path == p.packedPath() {
		if seg.zstd, err = newUnpacker(file); err == nil {
			text = seg.zstd
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read log: %w", err), seg.close())
	}
	seg.lineScanner = newLineScanner(text, maxLine)
	return seg, nil
}

// openRegular opens a file for reading. A pipe is refused before it is opened: that
// would wait for a writer for ever.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	return os.Open(path)
}

// here is the position of the next line.
func (s *segment) here() Position {
	return Position{File: s.path, Offset: s.offset, Line: s.lines + 1}
}

func (s *segment) close() error {
	if s.zstd != nil {
		s.zstd.close()
	}
	return s.file.Close()
}

// DefaultMaxLine is the longest line that is written or read.
const DefaultMaxLine = 64 << 20

const readBuffer = 64 << 10

// lineScanner cuts a stream into lines and knows where it stands. It holds one
// line at a time, and of a line beyond max only the count.
type lineScanner struct {
	r      *bufio.Reader
	max    int
	buf    []byte
	offset int64 // where the next line begins
	lines  int   // lines behind us
	torn   int64 // bytes of the last line after errTorn
}

// newLineScanner reads lines of up to limit bytes; 0 = DefaultMaxLine.
func newLineScanner(r io.Reader, limit int) *lineScanner {
	return &lineScanner{r: bufio.NewReaderSize(r, readBuffer), max: cmp.Or(max(limit, 0), DefaultMaxLine)}
}

// next returns the next line without its ending (LF or CRLF), valid until the
// next call. The error is io.EOF behind the last line, errTorn when bytes
// without a newline are left (the scanner then stays before them),
// ErrLineTooLong for a line that was passed over, else what the stream says.
func (s *lineScanner) next() ([]byte, error) {
	text, size, err := s.read()
	if errors.Is(err, io.EOF) {
		if size == 0 {
			return nil, io.EOF
		}
		s.torn = size
		return nil, errTorn
	}
	if err != nil {
		return nil, err
	}
	s.offset += size
	s.lines++
	if size > int64(s.max)+1 {
		return nil, ErrLineTooLong
	}
	return bytes.TrimSuffix(text[:len(text)-1], []byte{'\r'}), nil
}

// read returns the bytes up to and with the next newline, and how many there
// were; a short line is handed out of the reader's buffer without a copy.
func (s *lineScanner) read() (text []byte, size int64, err error) {
	s.buf = s.buf[:0]
	for {
		chunk, err := s.r.ReadSlice('\n')
		size += int64(len(chunk))
		if err == nil && len(s.buf) == 0 {
			return chunk, size, nil
		}
		if size <= int64(s.max)+1 {
			s.buf = append(s.buf, chunk...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return s.buf, size, err
		}
	}
}
