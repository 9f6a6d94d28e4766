package wal

import (
	"bufio"
	"errors"
	"io"
)

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
	return trimEnding(text), nil
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

func trimEnding(text []byte) []byte {
	text = text[:len(text)-1]
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text
}
