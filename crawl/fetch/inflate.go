package fetch

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// Bodies of gzip (RFC 1952) and deflate (RFC 9110, 8.4.1.2), read as browsers read them: what is around the
// compressed data may be missing, where the data itself is whole and nothing contradicts it. Compressed data ends with
// a block that says that it is the last, so half of it is never taken for all.

var (
	errNoGzip   = errors.New("no gzip header")
	errChecksum = errors.New("the checksum is of other content")
)

// Flags of a gzip header.
const (
	gzipSum     = 1 << 1
	gzipExtra   = 1 << 2
	gzipName    = 1 << 3
	gzipComment = 1 << 4
)

// maxGzipText bounds the file's name and the comment in a gzip header, in bytes.
const maxGzipText = 64 << 10

// gunzip reads one member after the other; what follows the last one and is no gzip is ignored, as browsers do.
func (p *pools) gunzip(dst *buffer, br *bufio.Reader, w *wireReader, lim limit) error {
	for {
		if err := gzipHeader(br); err != nil {
			return err
		}
		start := len(dst.b)
		if err := p.inflate(dst, br, lim); err != nil || lim.reached(dst) {
			return err
		}
		data := dst.b[start:]
		trailer := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))
		trailer = binary.LittleEndian.AppendUint32(trailer, uint32(len(data))) //nolint:gosec // modulo 2^32, by the format
		if err := checkTrailer(br, trailer); err != nil || br.Buffered() == 0 && w.over(len(dst.b)) {
			return err
		}
		if next, err := br.Peek(3); err != nil || next[0] != 0x1f || next[1] != 0x8b || next[2] != 8 {
			return nil
		}
	}
}

// gzipHeader reads a member's header. Its error is io.ErrUnexpectedEOF or errNoGzip.
func gzipHeader(br *bufio.Reader) error {
	var head [10]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return cutShort(err)
	}
	if head[0] != 0x1f || head[1] != 0x8b || head[2] != 8 {
		return errNoGzip
	}
	flags, skip := head[3], 0
	if flags&gzipExtra != 0 {
		var size [2]byte
		if _, err := io.ReadFull(br, size[:]); err != nil {
			return cutShort(err)
		}
		if _, err := br.Discard(int(binary.LittleEndian.Uint16(size[:]))); err != nil {
			return cutShort(err)
		}
	}
	for _, flag := range [...]byte{gzipName, gzipComment} {
		if flags&flag != 0 {
			if err := skipText(br); err != nil {
				return err
			}
		}
	}
	if flags&gzipSum != 0 { // of the header alone, which says nothing of a page
		skip = 2
	}
	_, err := br.Discard(skip)
	return cutShort(err)
}

// skipText reads on behind a text that ends with a zero.
func skipText(br *bufio.Reader) error {
	for range maxGzipText {
		c, err := br.ReadByte()
		if err != nil || c == 0 {
			return cutShort(err)
		}
	}
	return errNoGzip
}

// deflated reads a body of "deflate": zlib (RFC 1950), as the standard says, or the bare data, which many servers send.
// No encoder begins bare data as zlib begins.
func (p *pools) deflated(dst *buffer, br *bufio.Reader, w *wireReader, lim limit) error {
	head, _ := br.Peek(2)
	if len(head) < 2 || head[0]&0x0f != 8 || binary.BigEndian.Uint16(head)%31 != 0 || head[1]&0x20 != 0 {
		return p.inflate(dst, br, lim)
	}
	_, _ = br.Discard(2) // they were peeked at
	if err := p.inflate(dst, br, lim); err != nil || lim.reached(dst) {
		return err
	}
	err := checkTrailer(br, binary.BigEndian.AppendUint32(nil, adler32.Checksum(dst.b)))
	w.over(len(dst.b))
	return err
}

// inflate reads compressed data up to the block that is its last. The error of data without one is
// io.ErrUnexpectedEOF.
func (p *pools) inflate(dst *buffer, br *bufio.Reader, lim limit) error {
	z := p.flates.Get().(io.ReadCloser)
	defer p.flates.Put(z)
	if err := z.(flate.Resetter).Reset(br, nil); err != nil {
		return err
	}
	return dst.fill(z, lim)
}

// checkTrailer compares what follows the data with what should. One that is missing, or ends
// with the body, contradicts nothing; whether the body came to its proper end is the wire's word.
func checkTrailer(br *bufio.Reader, want []byte) error {
	got := make([]byte, len(want))
	n, err := io.ReadFull(br, got)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		want, err = want[:n], nil
	}
	if err == nil && string(got[:n]) != string(want) {
		err = errChecksum
	}
	return err
}

// cutShort says that what ends within a header was cut short.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
