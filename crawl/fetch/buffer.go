package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	firstBuffer  = 64 << 10
	largestHint  = 1 << 20 // a Content-Length is only a claim
	largestKept  = 2 << 20 // a larger buffer goes back to the collector, not to the pool
	wireBuffer   = 32 << 10
	zstdMaxFrame = 8 << 20 // the largest window of HTTP's zstd (RFC 9659)
)

// buffer is a body's pooled memory.
type buffer struct{ b []byte }

// pools keeps what a body needs for the next one: decoders have large tables,
// and bodies are a few hundred KB each.
type pools struct {
	buffers, wires, gzips, zstds, brotlis sync.Pool
}

func (p *pools) buffer() *buffer {
	if b, ok := p.buffers.Get().(*buffer); ok {
		return b
	}
	return &buffer{}
}

func (p *pools) putBuffer(b *buffer) {
	if b == nil || cap(b.b) > largestKept {
		return
	}
	b.b = b.b[:0]
	p.buffers.Put(b)
}

func (p *pools) wire(r io.Reader) *bufio.Reader {
	if br, ok := p.wires.Get().(*bufio.Reader); ok {
		br.Reset(r)
		return br
	}
	return bufio.NewReaderSize(r, wireBuffer)
}

func (p *pools) putWire(br *bufio.Reader) {
	br.Reset(nil)
	p.wires.Put(br)
}

func (p *pools) gzip() *gzip.Reader {
	if z, ok := p.gzips.Get().(*gzip.Reader); ok {
		return z
	}
	return new(gzip.Reader)
}

func (p *pools) brotli() *brotli.Reader {
	if z, ok := p.brotlis.Get().(*brotli.Reader); ok {
		return z
	}
	return new(brotli.Reader)
}

func (p *pools) zstd() (*zstd.Decoder, error) {
	if z, ok := p.zstds.Get().(*zstd.Decoder); ok {
		return z, nil
	}
	// Concurrency 1 decodes in place: no goroutine to leak from the pool.
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdMaxFrame))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return z, nil
}

// limit bounds a body: more than max bytes are an error, or, with cut, left
// unread. With part, what came before the body broke off will do too.
type limit struct {
	max       int64
	cut, part bool
}

// reached tells whether our own limit has cut a body.
func (l limit) reached(b *buffer) bool { return l.cut && int64(len(b.b)) >= l.max }

// grow makes room for hint more bytes, as far as the limit allows any.
func (b *buffer) grow(hint int64, lim limit) {
	want := min(max(hint, 512), lim.max+1)
	if have := int64(cap(b.b) - len(b.b)); have >= want {
		return
	}
	bigger := make([]byte, len(b.b), int64(len(b.b))+want)
	copy(bigger, b.b)
	b.b = bigger
}

// fill reads r to its end into b. It returns ErrTooLarge when r holds more
// than the limit, unless that cuts.
func (b *buffer) fill(r io.Reader, lim limit) error {
	for {
		if len(b.b) == cap(b.b) {
			b.grow(max(int64(cap(b.b)), firstBuffer), lim)
		}
		n, err := r.Read(b.b[len(b.b):cap(b.b)])
		b.b = b.b[:len(b.b)+n]
		if int64(len(b.b)) > lim.max {
			b.b = b.b[:lim.max]
			if lim.cut {
				return nil
			}
			return tooLarge("decoded", lim.max)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func tooLarge(what string, limit int64) error {
	return fmt.Errorf("%w of %d bytes (%s)", ErrTooLarge, limit, what)
}
