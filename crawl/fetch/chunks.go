package fetch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A body may still be in chunks (RFC 9112, 7.1) when net/http hands it over: an answer of
// HTTP/1.0 announces them and net/http takes no notice, or the header that announces them was
// lost on its way. Read as a page, their sizes would be within values.
const (
	chunkLineMax    = 4 << 10 // bytes of a size line with its extensions, as in net/http
	chunkTrailerMax = 8 << 10 // bytes of the fields behind the last chunk
	chunkLayers     = 3       // a body may be chunked by the program and by each server before it
)

// errCutChunks: a body in chunks that does not end with the last of them.
var errCutChunks = fmt.Errorf("%w: its chunks are cut short or broken", ErrCorrupt)

// errUnsure: the body may be cut short within its first chunk. The header could tell, which
// net/http does not show for HTTP/1.0: asked by a cleaned connection, it does.
var errUnsure = fmt.Errorf("%w: it begins as chunks do", ErrCorrupt)

// errNoLineEnd is net/http's error, by its text, where the connection ends behind the line of the
// last chunk. It has no name, and all of the page has come.
const errNoLineEnd = "http: unexpected EOF reading trailer"

// framing is what the header says of chunks that net/http has not read.
type framing int

const (
	unchunked framing = iota // no chunks are announced
	unshown                  // of HTTP/1.0: net/http hides what is announced
	announced                // chunks are announced
)

// chunkScan goes through a body that is chunks, perhaps. The body may grow from call to call: what
// was gone through is not looked at again.
type chunkScan struct {
	at     int  // where the next size line begins
	chunks int  // that were gone through, with the line ends behind them
	lines  int  // size lines that are where they should be, the first one included
	padded int  // width of the first size, if it begins with a zero
	data   int  // bytes of the chunks gone through
	last   bool // the last chunk was met; at is behind its line
	whole  bool // and the end
	wrong  bool // what is at that place is no part of chunks
}

// advance goes on as far as the body has come. What follows the end is not looked at: by its own
// framing it is no part of the body.
func (c *chunkScan) advance(b []byte) {
	for !c.whole && !c.wrong {
		before := c.at
		if c.last {
			c.trailer(b[c.at:])
		} else {
			c.chunk(b[c.at:])
		}
		if c.at == before {
			return
		}
	}
}

// chunk goes over one chunk, if all of it is there.
func (c *chunkScan) chunk(b []byte) {
	size, length, digits, ok := sizeLine(b)
	if c.wrong = !ok; !ok || length == 0 {
		return
	}
	if c.lines = c.chunks + 1; c.lines == 1 && b[0] == '0' {
		c.padded = digits
	}
	if size == 0 {
		c.last, c.at = true, c.at+length
		return
	}
	if int64(len(b)-length) < size {
		return
	}
	end := length + int(size)
	n := endOfLine(b[end:])
	if c.wrong = n < 0; n > 0 {
		c.at, c.data, c.chunks = c.at+end+n, c.data+int(size), c.chunks+1
	}
}

// trailer goes over one line behind the last chunk: a field, or the empty one that ends it all.
func (c *chunkScan) trailer(b []byte) {
	raw, _, ended := bytes.Cut(b, []byte("\n"))
	line := bytes.TrimSuffix(raw, []byte("\r"))
	name, _, isField := bytes.Cut(line, []byte(":"))
	c.wrong = len(raw) > chunkTrailerMax || len(line) > 0 && (!isToken(name) || ended && !isField)
	if c.wrong || !ended {
		return
	}
	c.whole = len(line) == 0
	c.at += len(raw) + 1
}

// end is the verdict when no more comes.
func (c *chunkScan) end(b []byte) {
	switch {
	case c.whole || c.wrong:
	case c.last:
		c.whole = true // all of the page has come
	default:
		c.whole = c.chunks > 0 && isLastSize(b[c.at:], c.padded)
	}
}

// isLastSize reports whether what the connection's end has cut is the size of the last chunk: "0", but where sizes
// are padded with zeros to a width it may be the beginning of another one.
func isLastSize(line []byte, padded int) bool {
	line = bytes.TrimSuffix(line, []byte("\r"))
	return len(bytes.Trim(line, "0")) == 0 && len(line) == max(padded, 1)
}

// begun reports whether it is chunks, whole or not: a further size line is where the first one
// says, or the body ends right there.
func (c *chunkScan) begun() bool { return c.lines > 1 || c.chunks == 1 && !c.wrong }

// unchunk puts the data of the chunks that were gone through at the beginning of b.
func (c *chunkScan) unchunk(b []byte) []byte {
	out, at := b[:0], 0
	for len(out) < c.data {
		size, length, _, _ := sizeLine(b[at:])
		from := at + length
		out = append(out, b[from:from+int(size)]...)
		at = from + int(size) + endOfLine(b[from+int(size):])
	}
	return out
}

// sizeLine reads a chunk's size line: its value, its bytes with the line end, and how many digits it has.
// length 0 = it has no end yet. Not ok = it is none.
func sizeLine(b []byte) (size int64, length, digits int, ok bool) {
	line, _, ended := bytes.Cut(b[:min(len(b), chunkLineMax)], []byte("\n"))
	if !ended && len(b) >= chunkLineMax {
		return 0, 0, 0, false
	}
	whole := len(line) + 1
	for digits < len(line) && strings.IndexByte("0123456789abcdefABCDEF", line[digits]) >= 0 {
		digits++
	}
	rest := bytes.TrimLeft(line[digits:], " \t")
	if ended {
		rest = bytes.TrimSuffix(rest, []byte("\r"))
	}
	extended := len(rest) > 0 && (rest[0] == ';' && bytes.IndexByte(rest, '<') < 0 || !ended && string(rest) == "\r")
	if digits > 16 || digits == 0 && (ended || len(line) > 0) || len(rest) > 0 && !extended {
		return 0, 0, 0, false
	}
	if !ended {
		return 0, 0, digits, true
	}
	size, err := strconv.ParseInt(string(line[:digits]), 16, 64)
	return size, whole, digits, err == nil && size < 1<<40
}

// endOfLine is how many bytes a line end has at the beginning of b; 0 = it has not come, -1 = there is none.
func endOfLine(b []byte) int {
	switch {
	case len(b) == 0, string(b) == "\r":
		return 0
	case b[0] == '\n':
		return 1
	case b[0] == '\r' && b[1] == '\n':
		return 2
	}
	return -1
}

// isToken reports whether it is a field's name (RFC 9110, 5.6.2).
func isToken(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return len(name) > 0
}

// begins reports whether a body begins with a size line, or with a part of one.
func begins(b []byte) bool {
	_, _, _, ok := sizeLine(b)
	return ok
}

// dechunk undoes chunks in a body that has come whole. The error is errCutChunks or errUnsure, beside
// what could be read.
func dechunk(b []byte, f framing) ([]byte, error) {
	for range chunkLayers {
		var c chunkScan
		c.advance(b)
		c.end(b)
		switch {
		case len(b) == 0, c.whole && c.data == 0 && f == unchunked && string(b) != "0\r\n\r\n": // "0", say
			return b, nil
		case c.whole:
			b, f = c.unchunk(b), unchunked
		case f == unshown && begins(b):
			return c.unchunk(b), errUnsure
		case f == announced && begins(b), c.begun():
			return c.unchunk(b), errCutChunks
		default:
			return b, nil
		}
	}
	return b, nil
}

// chunkReader undoes chunks that net/http has left. A body that does not begin as chunks do, as
// nearly all, goes through untouched; one that does is read to its end first.
type chunkReader struct {
	w       *wireReader
	part    bool   // see limit
	held    []byte // read, and not handed over yet
	err     error  // behind it; nil = the wire goes on
	decided bool
}

func (r *chunkReader) Read(p []byte) (int, error) {
	if !r.decided {
		n, err := r.w.Read(p)
		if r.decided = true; n == 0 && err != nil || !begins(p[:n]) {
			return n, err
		}
		r.err = err
		r.hold(p[:n])
	}
	if len(r.held) > 0 {
		n := copy(p, r.held)
		r.held = r.held[n:]
		return n, nil
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.w.Read(p)
}

// hold reads on as long as it may be chunks, to the end or to the last of them: a server that lost
// the header may keep the connection open behind it.
func (r *chunkReader) hold(begin []byte) {
	var c chunkScan
	b := bytes.Clone(begin)
	for c.advance(b); r.err == nil && !c.whole && !c.wrong; c.advance(b) {
		b = slices.Grow(b, max(firstBuffer, len(b)/2))
		n, err := r.w.Read(b[len(b):cap(b)])
		b, r.err = b[:len(b)+n], err
	}
	r.held = b
	if c.whole || c.begun() || r.err != nil || r.w.framing != unchunked {
		r.decide(b)
	}
}

// decide says what a body is that came whole, or that need not be read further.
func (r *chunkReader) decide(b []byte) {
	if r.err != nil && !errors.Is(r.err, io.EOF) && !r.part {
		return // the connection's own error
	}
	held, err := dechunk(b, r.w.framing)
	switch {
	case err == nil && len(held) == len(b): // it is none
	case err != nil && !r.part:
		r.held, r.err = nil, err
	default:
		r.held, r.err, r.w.ended = held, cmp.Or(r.err, io.EOF), true
	}
}

// dechunk undoes chunks within a body that was compressed around them.
func (b *buffer) dechunk(lim limit) (err error) {
	if !begins(b.b) {
		return nil
	}
	cut := lim.part || lim.reached(b)
	if b.b, err = dechunk(b.b, unchunked); cut {
		return nil
	}
	return err
}

// framingOf is what an answer shows of chunks that net/http has not undone: it hides in HTTP/1.0 that they were
// announced, but not on a cleaned connection.
func framingOf(r *http.Response, x *conn) framing {
	switch {
	case x.cleaned != nil:
		return x.cleaned.shown
	case r.ProtoMajor == 1 && r.ProtoMinor == 0:
		return unshown
	}
	return unchunked
}
