package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// acceptEncoding asks for what decodes fastest first; brotli costs us about
// twice the time of gzip.
const acceptEncoding = "gzip, zstd, br;q=0.8"

// wireReader counts and bounds what comes over the wire, reports progress, and
// keeps the connection's own error apart from a decoder's complaint about it.
type wireReader struct {
	r        io.Reader
	n, max   int64
	err      error // the connection's, nil at a proper end
	progress func()
}

func (w *wireReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.n += int64(n)
	if n > 0 {
		w.progress()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	} else if w.n > w.max {
		w.err = tooLarge("on the wire", w.max)
		err = w.err
	}
	return n, err
}

// readBody decodes the wire into a pooled buffer. The error is the wire's own,
// or ErrTooLarge, or ErrCorrupt.
func (p *pools) readBody(w *wireReader, encoding string, length int64, lim limit) (*buffer, error) {
	dst := p.buffer()
	dst.grow(sizeHint(encoding, length), lim)
	err := p.decode(dst, w, strings.ToLower(strings.TrimSpace(encoding)), lim)
	switch {
	case err == nil && (w.err == nil || lim.reached(dst)):
		return dst, nil
	case w.err != nil:
		err = w.err // what the decoder made of it does not matter
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%s body ends early: %w", encoding, err)
	case !errors.Is(err, ErrTooLarge):
		err = fmt.Errorf("%w as %q: %w", ErrCorrupt, encoding, err)
	}
	if len(dst.b) > 0 && (lim.part || lim.cut && errors.Is(err, ErrTooLarge)) {
		return dst, nil
	}
	p.putBuffer(dst)
	return nil, err
}

// sizeHint guesses the decoded size, so that the buffer need not grow.
func sizeHint(encoding string, length int64) int64 {
	if length <= 0 {
		return firstBuffer
	}
	if encoding != "" {
		length *= 6 // HTML shrinks to a fifth or a seventh
	}
	return min(length+1, largestHint) // 1 more: to see the end without growing
}

func (p *pools) decode(dst *buffer, w *wireReader, encoding string, lim limit) error {
	if encoding == "" || encoding == "identity" {
		return dst.fill(w, lim)
	}
	br := p.wire(w)
	defer p.putWire(br)
	if _, err := br.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // no body: nothing to decode
		}
		return err
	}
	switch encoding {
	case "gzip", "x-gzip":
		return p.gunzip(dst, br, lim)
	case "zstd":
		return p.unzstd(dst, br, lim)
	case "br":
		return p.unbrotli(dst, br, lim)
	}
	return errors.New("unknown Content-Encoding")
}

// gunzip reads one member after the other; what follows the last one and is no
// gzip is ignored, as browsers do.
func (p *pools) gunzip(dst *buffer, br *bufio.Reader, lim limit) error {
	z := p.gzip()
	defer p.gzips.Put(z)
	for {
		if err := z.Reset(br); err != nil {
			return endsEarly(err)
		}
		z.Multistream(false)
		if err := dst.fill(z, lim); err != nil {
			return err
		}
		if int64(len(dst.b)) >= lim.max && lim.cut {
			return nil
		}
		if next, err := br.Peek(3); err != nil || !isGzip(next) {
			return nil
		}
	}
}

// endsEarly: a header cut short is a truncation, not a malformed body.
func endsEarly(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func isGzip(b []byte) bool { return b[0] == 0x1f && b[1] == 0x8b && b[2] == 8 }

func (p *pools) unzstd(dst *buffer, br *bufio.Reader, lim limit) error {
	z, err := p.zstd()
	if err != nil {
		return err
	}
	if err := z.Reset(br); err != nil {
		return err
	}
	err = dst.fill(z, lim)
	if z.Reset(nil) == nil { // let go of the connection
		p.zstds.Put(z)
	}
	return err
}

func (p *pools) unbrotli(dst *buffer, br *bufio.Reader, lim limit) error {
	z := p.brotli()
	defer p.brotlis.Put(z)
	if err := z.Reset(br); err != nil {
		return err
	}
	return dst.fill(z, lim)
}
