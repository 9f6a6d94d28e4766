package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"

	"ypcrawl/yp"
)

const (
	firstBuffer  = 64 << 10
	largestHint  = 1 << 20 // a Content-Length is only a claim
	largestKept  = 2 << 20 // a larger buffer goes back to the collector, not to the pool
	wireBuffer   = 32 << 10
	zstdMaxFrame = 8 << 20 // the largest window of HTTP's zstd (RFC 9659)
)

// acceptEncoding asks for what decodes fastest first; brotli costs us about
// twice the time of gzip.
const acceptEncoding = "gzip, zstd, br;q=0.8"

// pools keeps what a body needs for the next one: decoders have large tables,
// and bodies are a few hundred KB each.
type pools struct{ buffers, wires, flates, zstds, brotlis sync.Pool }

func newPools() *pools {
	return &pools{
		buffers: sync.Pool{New: func() any { return &buffer{} }},
		wires:   sync.Pool{New: func() any { return bufio.NewReaderSize(nil, wireBuffer) }},
		flates:  sync.Pool{New: func() any { return flate.NewReader(nil) }},
		brotlis: sync.Pool{New: func() any { return new(brotli.Reader) }},
		zstds: sync.Pool{New: func() any {
			// Concurrency 1 decodes in place: no goroutine to leak from the pool.
			z, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(zstdMaxFrame)) // only an option can be wrong
			return z
		}},
	}
}

func (p *pools) buffer() *buffer { return p.buffers.Get().(*buffer) }

func (p *pools) putBuffer(b *buffer) {
	if b == nil || cap(b.b) > largestKept {
		return
	}
	b.b = b.b[:0]
	p.buffers.Put(b)
}

// limit bounds a body: more than max bytes are an error, or, with cut, left
// unread. With part, what came before the body broke off will do too.
type limit struct {
	max       int64
	cut, part bool
}

// reached reports whether our own limit has cut a body.
func (l limit) reached(b *buffer) bool { return l.cut && int64(len(b.b)) >= l.max }

// buffer is a body's pooled memory.
type buffer struct {
	b       []byte
	charset string // see Response.Charset
}

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

// wireReader counts and bounds what comes over the wire, reports progress, and
// keeps the connection's own error apart from a decoder's complaint about it.
type wireReader struct {
	r        io.Reader
	n, max   int64
	err      error // the connection's, nil at a proper end
	progress func(n int)
	framing  framing
	length   int64 // Content-Length; below 0 = not announced
	ended    bool  // the body has ended by its own word (its last chunk, its checksum): nothing behind it is read
}

// over is told that the compressed body may end here, after n decoded bytes, and reports whether it does: some servers
// announce the length that it had before it was compressed, and what seems to be missing never comes.
func (w *wireReader) over(n int) bool {
	if int64(n) == w.length && w.n < w.length {
		w.ended = true
	}
	return w.ended
}

func (w *wireReader) Read(p []byte) (int, error) {
	if w.ended {
		return 0, io.EOF
	}
	n, err := w.r.Read(p)
	if err != nil && err.Error() == errNoLineEnd {
		err = io.EOF
	}
	w.n += int64(n)
	if n > 0 {
		w.progress(n)
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
	hint := int64(firstBuffer)
	if length > 0 {
		if encoding != "" {
			length *= 6 // HTML shrinks to a fifth or a seventh
		}
		hint = min(length+1, largestHint) // 1 more: to see the end without growing
	}
	dst := p.buffer()
	dst.grow(hint, lim)
	err := p.decode(dst, &chunkReader{w: w, part: lim.part}, w, encoding, lim)
	if err == nil && encoding != "" {
		err = dst.dechunk(lim)
	}
	encoding = yp.Clip(encoding, 40) // for the messages
	switch {
	case err == nil && (w.err == nil || w.ended || lim.reached(dst)):
		return dst, nil
	case w.err != nil:
		err = w.err // what the decoder made of it does not matter
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%s body ends early: %w", encoding, err)
	case !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrCorrupt):
		err = fmt.Errorf("%w as %q: %w", ErrCorrupt, encoding, err)
	}
	if len(dst.b) > 0 && (lim.part || lim.cut && errors.Is(err, ErrTooLarge)) {
		return dst, nil
	}
	p.putBuffer(dst)
	return nil, err
}

// codings are the registered names of content codings (IANA, HTTP Content Coding Registry) and
// those of compressions that servers use unregistered. Other names say nothing of a body.
var codings = map[string]bool{
	"aes128gcm": true, "br": true, "compress": true, "x-compress": true, "dcb": true, "dcz": true, "deflate": true,
	"exi": true, "gzip": true, "x-gzip": true, "pack200-gzip": true, "zstd": true,
	"bzip": true, "bzip2": true, "x-bzip": true, "x-bzip2": true, "lz4": true, "lzma": true, "sdch": true,
	"snappy": true, "xz": true, "zlib": true,
}

// coding finds the coding in a Content-Encoding; "" = none, so the body is sent as it is. What
// is no coding ("none", "utf-8", "8bit") counts for nothing, as in browsers, but is reported as
// odd: it may also be another name for a coding.
func coding(header string) (name string, odd bool) {
	for part := range strings.SplitSeq(strings.ToLower(header), ",") {
		switch part = strings.TrimSpace(part); {
		case part == "", part == "identity":
		case !codings[part]:
			odd = true
		case name != "":
			return name + ", " + part, odd // encoded twice, which nobody does: no name that we decode
		default:
			name = part
		}
	}
	return name, odd
}

// isText reports whether a body begins as text does, by the MIME Sniffing Standard.
func isText(br *bufio.Reader) bool {
	const looksAt = 512 // bytes
	begin, _ := br.Peek(looksAt)
	return strings.HasPrefix(http.DetectContentType(begin), "text/")
}

// decode reads r, which reads from w.
func (p *pools) decode(dst *buffer, r io.Reader, w *wireReader, encoding string, lim limit) error {
	name, odd := coding(encoding)
	if name == "" && !odd {
		return dst.fill(r, lim)
	}
	br := p.wires.Get().(*bufio.Reader)
	br.Reset(r)
	defer func() {
		br.Reset(nil)
		p.wires.Put(br)
	}()
	if _, err := br.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // no body: nothing to decode
		}
		return err
	}
	switch name {
	case "":
		if isText(br) {
			return dst.fill(br, lim)
		}
	case "gzip", "x-gzip":
		return p.gunzip(dst, br, w, lim)
	case "deflate":
		return p.deflated(dst, br, w, lim)
	case "zstd":
		z := p.zstds.Get().(*zstd.Decoder)
		err := z.Reset(br)
		if err == nil {
			err = dst.fill(z, lim)
		}
		if z.Reset(nil) == nil { // let go of the connection
			p.zstds.Put(z)
		}
		return err
	case "br":
		z := p.brotlis.Get().(*brotli.Reader)
		defer p.brotlis.Put(z)
		if err := z.Reset(br); err != nil {
			return err
		}
		return dst.fill(z, lim)
	}
	return errors.New("unknown Content-Encoding")
}

// toUTF8 returns the body as valid UTF-8 without a byte order mark, in the same
// buffer or another pooled one. What is UTF-8 already stays, whatever it is
// declared as: pages lie more often than bytes do. (The library's own sniffing
// sees 1,024 bytes only.)
func (p *pools) toUTF8(b *buffer, contentType string, lim limit) (*buffer, error) {
	if utf8.Valid(b.b) && !looksASCII(contentType) {
		b.charset = declared(b.b, contentType)
		b.b = trimBOM(b.b)
		return b, nil
	}
	enc, name, certain := charset.DetermineEncoding(b.b, contentType)
	switch {
	case name == "utf-8" && !marked(b.b) && !mostlyUTF8(b.b):
		enc, name = charmap.Windows1252, "windows-1252" // says that it is UTF-8, and is Latin-1
	case name == "utf-8", enc == encoding.Nop, !certain && mostlyUTF8(b.b):
		enc = nil
	}
	out := p.buffer()
	if out.charset = name; enc == nil {
		out.charset, out.b = "", appendValid(out.b, trimBOM(b.b))
	} else if err := out.fill(transform.NewReader(bytes.NewReader(b.b), enc.NewDecoder()), lim); err != nil {
		p.putBuffer(out)
		return b, fmt.Errorf("convert to UTF-8: %w", err)
	}
	out.b = trimBOM(out.b)
	p.putBuffer(b)
	return out, nil
}

// declared returns the charset of a page in ASCII, whose entities may say more: browsers write its links
// in the charset that it says it has. "" is UTF-8, which other pages are if their bytes say so.
func declared(body []byte, contentType string) string {
	_, name, _ := charset.DetermineEncoding(body, contentType)
	if name == "utf-8" {
		return ""
	}
	for _, c := range body {
		if c >= utf8.RuneSelf {
			return ""
		}
	}
	return name
}

const mark = "\xef\xbb\xbf" // of UTF-8, at the beginning

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte(mark)) }

func marked(b []byte) bool { return bytes.HasPrefix(b, []byte(mark)) }

// looksASCII reports whether the declared charset writes other text in bytes
// that pass for ASCII, so that being valid UTF-8 proves nothing.
func looksASCII(contentType string) bool {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	cs := strings.ToLower(params["charset"])
	return strings.HasPrefix(cs, "utf-16") || strings.HasPrefix(cs, "iso-2022-") || strings.HasPrefix(cs, "hz-")
}

// mostlyUTF8 reports whether b is UTF-8 with some damage (a rune cut in two by
// a template, say) rather than text of another charset.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			b = b[1:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			good++
		}
		b = b[n:]
	}
	return good > bad
}

// appendValid appends src with what is no UTF-8 in it replaced by the letter that the
// byte is in Windows-1252, as when a page takes its names from an old database. What
// is no letter there is left out.
func appendValid(dst, src []byte) []byte {
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		if r == utf8.RuneError && n == 1 {
			r = charmap.Windows1252.DecodeByte(src[0])
		}
		if src = src[n:]; r != utf8.RuneError || n > 1 {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}
