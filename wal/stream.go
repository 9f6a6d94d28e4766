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
	"time"
)

// Options say what a reader gives.
type Options struct {
	Filter       Filter   // which events; damage is always reported
	SkipListings bool     // leave Page.Listings empty: faster, and hardly any memory
	ByCommit     bool     // pages have the time of their commit, as far as the line after them tells it
	byRun        bool     // of one database: the number of a run comes before the time
	Also         []string // OpenReader and ReadIndex: further folders and files to read with it
	MaxLine      int      // longest line in bytes; 0 = DefaultMaxLine
}

func (o Options) maxLine() int { return cmp.Or(max(o.MaxLine, 0), DefaultMaxLine) }

// TornTail is the beginning of a line at the end of a worker's log: what a
// kill left of the write it interrupted. It is no event and no error.
type TornTail struct {
	Position
	Bytes int64 `json:"bytes"`
}

// cursor is how far a worker's log has been read.
type cursor struct {
	part   int
	offset int64
	lines  int
	done   bool // the part is closed and read to its end
}

// item is what a stream yields: an event or a *CorruptError.
type item struct {
	event *Event
	err   error
	at    time.Time // of the event, or of the one before the damage
}

// stream reads one worker's log, part after part, from a cursor on.
type stream struct {
	opts  Options
	parts []part // not yet opened
	seg   *segment
	part  part // the one seg reads
	cur   cursor
	torn  *TornTail
	ahead item      // with ByCommit: read, and not yet given
	last  time.Time // of the last event, to place damage among the other workers' events
}

func newStream(log workerLog, from cursor, opts Options) *stream {
	s := &stream{opts: opts, cur: from}
	for _, p := range log.parts {
		if p.number > from.part || p.number == from.part && !from.done {
			s.parts = append(s.parts, p)
		}
	}
	return s
}

// next returns the next item; ok is false at the end of the log. With ByCommit, one waits for
// the line after it. A heartbeat, which a worker may write beside its work, tells nothing of the
// one before it; while that waits it is passed over: handed out first, it would have the whole log
// stand at its own later time.
func (s *stream) next() (it item, ok bool) {
	if !s.opts.ByCommit {
		return s.read()
	}
	for {
		it, ok = s.read()
		if ok && it.event != nil && it.event.Type == Heartbeat {
			if s.ahead != (item{}) {
				continue
			}
			return it, true
		}
		it, s.ahead = s.ahead, it
		if it != (item{}) || !ok {
			if it.event != nil {
				it.at = it.event.At()
			}
			return it, it != (item{})
		}
	}
}

func (s *stream) read() (it item, ok bool) {
	for {
		if s.seg == nil {
			if len(s.parts) == 0 {
				return item{}, false
			}
			if err := s.open(); err != nil {
				return item{err: err, at: s.last}, true
			}
		}
		pos := s.seg.here()
		text, err := s.seg.next()
		it, ok := s.take(pos, text, err)
		if s.seg != nil {
			s.cur.offset, s.cur.lines = s.seg.offset, s.seg.lines
		}
		if ok {
			return it, true
		}
	}
}

// items iterates what next returns, and closes the stream behind it.
func (s *stream) items() iter.Seq[item] {
	return func(yield func(item) bool) {
		defer s.close()
		for it, ok := s.next(); ok && yield(it); it, ok = s.next() {
		}
	}
}

// open opens the next part. A part that can't be opened is passed over.
func (s *stream) open() *CorruptError {
	s.part, s.parts = s.parts[0], s.parts[1:]
	if s.part.number != s.cur.part {
		s.cur = cursor{part: s.part.number}
	}
	seg, err := openSegment(s.part, s.cur.offset, s.cur.lines, s.opts.maxLine())
	if err != nil {
		pos := Position{File: s.part.path(), Offset: s.cur.offset, Line: s.cur.lines + 1}
		s.cur.done = true
		return &CorruptError{Position: pos, Err: err}
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
	case errors.Is(err, errTorn):
		s.closePart()
	default: // the rest of the part is out of reach
		s.closePart()
		s.cur.done = true
	}
	return item{err: &CorruptError{Position: pos, Err: err}, at: s.last}, true
}

// closePart keeps the cursor where reading stopped. A compressed part and one
// that has a successor never grow again.
func (s *stream) closePart() {
	s.cur.offset, s.cur.lines = s.seg.offset, s.seg.lines
	s.cur.done = s.seg.zstd != nil || len(s.parts) > 0
	_ = s.seg.close() // opened for reading: nothing can be lost
	s.seg = nil
}

func (s *stream) close() {
	if s.seg != nil {
		s.closePart()
	}
	s.parts = nil
}

// decode reads a line. With a filter it looks at the head first: most lines
// are dropped then, and their listings never decoded.
func (s *stream) decode(pos Position, text []byte) (it item, ok bool) {
	if len(bytes.TrimSpace(text)) == 0 {
		return item{}, false
	}
	e := new(Event)
	headOnly := s.opts.SkipListings || !s.opts.Filter.Empty()
	err := e.unmarshal(text, headOnly)
	if page := s.ahead.event; err == nil && e.Before != nil && page != nil && page.Type == PageComplete && page.Seq == e.Before.Seq {
		page.Committed = e.Before
	}
	if err == nil && headOnly {
		if !s.opts.Filter.Match(e) {
			return item{}, false
		}
		if !s.opts.SkipListings && e.Page != nil {
			err = e.UnmarshalJSON(text)
		}
	}
	if err != nil {
		return item{err: &CorruptError{Position: pos, Err: err}, at: s.last}, true
	}
	s.last = e.Timestamp
	return item{event: e, at: e.Timestamp}, true
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

// openSegment opens p at the line that begins at offset, with lines lines
// before it. A part that was compressed since it was listed is found under its
// new name: the text inside, and so the offset, is the same.
func openSegment(p part, offset int64, lines, maxLine int) (*segment, error) {
	path := p.path()
	file, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) && path == p.plainPath() {
		path = p.packedPath()
		file, err = openRegular(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnopened, withoutPath(err))
	}
	seg := &segment{path: path, file: file}
	if path == p.packedPath() {
		if seg.zstd, err = newUnpacker(file); err == nil {
			seg.lineScanner = newLineScanner(seg.zstd, maxLine)
			_, err = io.CopyN(io.Discard, seg.zstd, offset)
		}
	} else {
		seg.lineScanner = newLineScanner(file, maxLine)
		_, err = file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read log: %w", err), seg.close())
	}
	seg.offset, seg.lines = offset, lines
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

func newLineScanner(r io.Reader, limit int) *lineScanner {
	return &lineScanner{r: bufio.NewReaderSize(r, readBuffer), max: limit}
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
