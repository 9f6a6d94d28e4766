package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Position says where in a log something stands. In a compressed file the
// offset counts the bytes of the text inside; behind a damaged stretch, Line
// counts the lines that could be read.
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
	zstd *frameReader // nil for a plain file
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
	if err := seg.start(path == p.packedPath(), offset, maxLine); err != nil {
		return nil, errors.Join(err, seg.close())
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

func (s *segment) start(packed bool, offset int64, maxLine int) error {
	if !packed {
		s.lineScanner = newLineScanner(s.file, maxLine)
		if _, err := s.file.Seek(offset, io.SeekStart); err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		return nil
	}
	decoder, err := newFrameReader(s.file)
	if err != nil {
		return err
	}
	s.zstd = decoder
	s.lineScanner = newLineScanner(decoder, maxLine)
	if _, err := io.CopyN(io.Discard, decoder, offset); err != nil {
		return fmt.Errorf("read compressed log: %w", err)
	}
	return nil
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
