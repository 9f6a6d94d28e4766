package wal

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// packFrame is the text in one zstd frame of a compressed file, which ends
	// with a line. A frame carries its size and checksum, so that damage is
	// noticed before any of its lines is believed, and costs no more than it.
	packFrame = 1 << 20
	// wholeFrame is the largest frame that is checked before it is given. A
	// larger one (a huge line, or a file that another program compressed) is
	// streamed, and a wrong checksum is met only at its end.
	wholeFrame = 4 * packFrame
	// maxWindow bounds what a compressed file may ask a reader to hold.
	maxWindow = 64 << 20
	// maxBlock is the format's limit (RFC 8878, section 3.1.1.2.4).
	maxBlock = 128 << 10

	zstdMagic = "\x28\xb5\x2f\xfd"
)

// frameError is a frame that can't be read. Reading goes on with the next.
type frameError struct {
	size int64 // of its text as far as it was not given, when that is known
	err  error
}

// Error says what is wrong with the frame.
func (e *frameError) Error() string { return fmt.Sprintf("damaged zstd frame: %v", e.err) }

// Unwrap returns the cause.
func (e *frameError) Unwrap() error { return e.err }

// frameReader reads the text of a compressed file frame by frame.
type frameReader struct {
	src       *bufio.Reader
	dec       *zstd.Decoder
	packed    []byte      // reused
	text      []byte      // reused
	rest      []byte      // of text, not yet given
	streaming *frameBytes // the large frame under way
}

func newFrameReader(r io.Reader) (*frameReader, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("open compressed log: %w", err)
	}
	return &frameReader{src: bufio.NewReaderSize(r, readBuffer), dec: dec}, nil
}

// Read gives text. After a *frameError it goes on with the next frame.
func (f *frameReader) Read(p []byte) (int, error) {
	for {
		if f.streaming != nil {
			n, err := f.dec.Read(p)
			if err == nil || n > 0 {
				return n, nil
			}
			frame := f.streaming
			f.streaming = nil
			if !errors.Is(err, io.EOF) {
				return 0, f.damaged(frame, 0, err)
			}
			if err := f.drain(frame); err != nil {
				return 0, err
			}
		}
		if len(f.rest) > 0 {
			n := copy(p, f.rest)
			f.rest = f.rest[n:]
			return n, nil
		}
		if err := f.load(); err != nil {
			return 0, err
		}
	}
}

// load begins the next frame: a small one is decoded and checked whole.
func (f *frameReader) load() error {
	head, err := f.src.Peek(zstd.HeaderMaxSize)
	if len(head) == 0 {
		return err
	}
	var header zstd.Header
	if err := header.Decode(head); err != nil {
		return f.damaged(nil, 0, err)
	}
	frame := &frameBytes{src: f.src, left: header.HeaderSize, checksum: header.HasCheckSum}
	if header.Skippable {
		frame.left += int(header.SkippableSize)
		frame.ended = true
		return f.drain(frame)
	}
	if !header.HasFCS || header.FrameContentSize > wholeFrame {
		f.streaming = frame
		return f.dec.Reset(frame)
	}
	size := int64(header.FrameContentSize)
	if f.packed, err = frame.appendTo(f.packed[:0]); err != nil {
		return f.damaged(frame, size, err)
	}
	if f.text, err = f.dec.DecodeAll(f.packed, f.text[:0]); err != nil {
		return f.damaged(frame, size, err)
	}
	f.rest = f.text
	return nil
}

func (f *frameReader) drain(frame *frameBytes) error {
	if _, err := io.Copy(io.Discard, frame); err != nil {
		return f.damaged(frame, 0, err)
	}
	return nil
}

// damaged moves to the next frame, known by the sizes in this one or, when
// they make no sense, by the next magic number: a chance likeness fails its
// own checksum.
func (f *frameReader) damaged(frame *frameBytes, size int64, err error) error {
	failed := &frameError{size: size, err: err}
	if frame != nil {
		if _, err := io.Copy(io.Discard, frame); err == nil {
			return failed
		}
	} else {
		_, _ = f.src.Discard(1)
	}
	for {
		next, err := f.src.Peek(len(zstdMagic))
		if err != nil {
			_, _ = f.src.Discard(len(next))
			return failed
		}
		if string(next) == zstdMagic {
			return failed
		}
		_, _ = f.src.Discard(1)
	}
}

func (f *frameReader) close() { f.dec.Close() }

// frameBytes gives the bytes of one frame, found by the sizes of its blocks.
type frameBytes struct {
	src      *bufio.Reader
	left     int // bytes of the current stretch
	checksum bool
	ended    bool // no stretch follows
	err      error
}

// Read gives the frame's bytes, then io.EOF.
func (b *frameBytes) Read(p []byte) (int, error) {
	if b.left == 0 && !b.ended && b.err == nil {
		b.err = b.nextBlock()
	}
	if b.err != nil {
		return 0, b.err
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.src.Read(p[:min(len(p), b.left)])
	b.left -= n
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	b.err = err
	return n, err
}

// nextBlock reads a block's header: 1 bit last, 2 bits type, 21 bits size.
func (b *frameBytes) nextBlock() error {
	head, err := b.src.Peek(3)
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	bits := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	kind, size := bits>>1&3, bits>>3
	const repeated, reserved = 1, 3
	if kind == reserved || size > maxBlock {
		return errors.New("impossible block")
	}
	if kind == repeated {
		size = 1
	}
	b.left = len(head) + size
	if b.ended = bits&1 == 1; b.ended && b.checksum {
		b.left += 4
	}
	return nil
}

// appendTo appends the whole frame to dst. A frame that is stored at its worst
// is little larger than its text, so what is much larger is damaged.
func (b *frameBytes) appendTo(dst []byte) ([]byte, error) {
	for {
		if len(dst) > 2*wholeFrame {
			return dst, errors.New("frame too large")
		}
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := b.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}
