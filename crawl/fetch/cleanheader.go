package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// errNoStatusLine: what came is no answer of HTTP/1.
var errNoStatusLine = errors.New("no HTTP status line")

// malformedError is an ErrMalformed that says what is wrong, without the server's own words.
type malformedError struct{ why string }

func (e *malformedError) Error() string { return ErrMalformed.Error() + ": " + e.why }
func (e *malformedError) Unwrap() error { return ErrMalformed }

func malformed(format string, args ...any) error {
	return &malformedError{fmt.Sprintf(format, args...)}
}

// What the header of one answer may have, its interim answers (1xx) included.
const (
	headMax      = 256 << 10 // bytes
	headLines    = 8 << 10
	emptyLines   = 2 // before a status line: browsers pass over four bytes
	contentField = "content-length"
	codingField  = "transfer-encoding"
)

// headReader reads headers from a connection, within bounds for all of them together.
type headReader struct {
	br           *bufio.Reader
	bytes, lines int
}

// read returns the lines of one header, without their ends, its status line first. The error is io.EOF when
// nothing came, and io.ErrUnexpectedEOF when the end is missing.
func (h *headReader) read() ([][]byte, error) {
	var lines [][]byte
	for empty := 0; ; {
		line, err := h.line(len(lines) == 0)
		switch {
		case errors.Is(err, io.EOF) && (len(lines) > 0 || len(line) > 0):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case len(line) == 0 && len(lines) > 0:
			return lines, nil
		case len(line) > 0:
			lines = append(lines, line)
		default:
			if empty++; empty > emptyLines {
				return nil, errNoStatusLine
			}
		}
	}
}

// line reads one line, without its end, and checks what needs no other line.
func (h *headReader) line(first bool) (line []byte, err error) {
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
		var part []byte
		part, err = h.br.ReadSlice('\n')
		line = append(line, part...)
		if h.bytes += len(part); h.bytes > headMax {
			return nil, malformed("it is longer than %d KiB", headMax>>10)
		}
		if first && !startsHTTP(line) {
			return nil, errNoStatusLine
		}
	}
	if h.lines++; h.lines > headLines {
		return nil, malformed("it has more than %d lines", headLines)
	}
	if bytes.IndexByte(line, 0) >= 0 {
		return nil, malformed("a NUL character in it")
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// startsHTTP reports whether a line may be a status line, or an empty one before it.
func startsHTTP(line []byte) bool {
	const name = "HTTP"
	return len(bytes.Trim(line, "\r\n")) == 0 || len(line) >= len(name) && strings.EqualFold(string(line[:len(name)]), name)
}

// head is the header of an answer, brought into the form that net/http reads.
type head struct {
	status int
	old    bool // HTTP/1.0, or what says less than 1.1
	text   []byte

	chunked bool  // its body is in chunks
	length  int64 // of its body; -1 = up to the end of the connection
}

// statusLine reads also what is written in small letters, without a minor version or without a reason.
var statusLine = regexp.MustCompile(`^(?i:HTTP)(?:/([0-9])(?:\.([0-9]+))?)?[ \t]+([1-9][0-9]{2})([^0-9].*)?$`)

// cleanHead brings a header into the form that net/http reads, as browsers do: what is no field is left out, a bare
// CR is a blank (RFC 9112, 2.2), and the fields of the framing say one thing or nothing. The error is ErrMalformed.
func cleanHead(lines [][]byte) (*head, error) {
	h := &head{length: -1}
	if err := h.statusLine(blankCR(lines[0])); err != nil {
		return nil, err
	}
	fields, err := fieldsOf(lines[1:])
	if err != nil {
		return nil, err
	}
	var lengths, codings []string
	for _, f := range fields {
		switch strings.ToLower(f.name) {
		case contentField:
			lengths = append(lengths, f.value)
		case codingField:
			codings = append(codings, f.value)
		case "connection", "keep-alive", "proxy-connection", "trailer", "upgrade": // it is one answer and no more
		default:
			h.field(f.name, f.value)
		}
	}
	if h.length, err = oneLength(lengths); err != nil {
		return nil, err
	}
	if h.chunked, err = isChunked(codings); err != nil {
		return nil, err
	}
	h.frame()
	return h, nil
}

func (h *head) statusLine(line []byte) error {
	m := statusLine.FindSubmatch(line)
	if m == nil || bytes.IndexByte(line, '<') >= 0 {
		return malformed("its status line can't be read")
	}
	h.old = string(m[1]) < "1" || string(m[1]) == "1" && strings.Trim(string(m[2]), "0") == ""
	h.status, _ = strconv.Atoi(string(m[3])) // three digits
	version := "HTTP/1.1"
	if h.old {
		version = "HTTP/1.0"
	}
	h.text = fmt.Appendf(nil, "%s %d %s\r\n", version, h.status, bytes.TrimSpace(bytes.Map(blankControl, m[4])))
	return nil
}

func (h *head) field(name, value string) { h.text = fmt.Appendf(h.text, "%s: %s\r\n", name, value) }

// interim reports whether another header follows (RFC 9110, 15.2).
func (h *head) interim() bool { return h.status < 200 && h.status != 101 }

// frame ends the header. Chunks are undone before net/http sees the body, but for those of HTTP/1.0, of which
// nobody knows whether they are there (RFC 9112, 6.1): see chunkReader.
func (h *head) frame() {
	switch {
	case h.status < 200, h.status == 204, h.status == 304: // without a body
		h.length, h.chunked = 0, false
	case h.chunked:
		h.length = -1
	}
	if h.length >= 0 && h.status >= 200 && h.status != 204 {
		h.field("Content-Length", strconv.FormatInt(h.length, 10))
	}
	if !h.interim() {
		h.field("Connection", "close")
	}
	h.text = append(h.text, "\r\n"...)
}

type field struct{ name, value string }

// fieldsOf reads lines as fields. Left out are lines without a colon, without a name or with one that is no token,
// and fields with control characters; what is folded behind them goes with them. A line that is left
// out and begins with markup is of the page: the header has no end, and part of the page would go with it.
func fieldsOf(lines [][]byte) ([]field, error) {
	var fields []field
	kept := false // the field before, to which a fold belongs
	for _, line := range lines {
		line = blankCR(line)
		folded := len(line) > 0 && (line[0] == ' ' || line[0] == '\t')
		name, value, ok := bytes.Cut(line, []byte(":"))
		name = bytes.TrimRight(name, " \t")
		if folded {
			value, ok = line, kept
		} else {
			ok = ok && isToken(name)
		}
		switch {
		case ok && bytes.IndexFunc(value, isControl) < 0 && folded:
			last := &fields[len(fields)-1]
			last.value = strings.TrimSpace(last.value + " " + string(bytes.TrimSpace(value)))
		case ok && bytes.IndexFunc(value, isControl) < 0:
			fields, kept = append(fields, field{string(name), string(bytes.TrimSpace(value))}), true
		case !ok && bytes.HasPrefix(bytes.TrimLeft(trimBOM(line), " \t"), []byte("<")):
			return nil, malformed("it has no end before the page")
		case ok && folded: // the value is damaged, so it is none
			fields, kept = fields[:len(fields)-1], false
		case !folded:
			kept = false
		}
	}
	return fields, nil
}

// blankCR has a blank for each CR within a line (RFC 9112, 2.2).
func blankCR(line []byte) []byte { return bytes.ReplaceAll(line, []byte("\r"), []byte(" ")) }

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func blankControl(r rune) rune {
	if isControl(r) {
		return ' '
	}
	return r
}

// oneLength is the length that all the values say, -1 = none: one that can't be read is absent, as in
// browsers. The error is ErrMalformed where two differ, or one is beyond all measure.
func oneLength(values []string) (int64, error) {
	said := ""
	for i, v := range elements(values) {
		if isNumber(v) {
			v = cmp.Or(strings.TrimLeft(v, "0"), "0")
		}
		if i > 0 && v != said {
			return -1, malformed("Content-Length %q and %q", yp.Clip(said, 20), yp.Clip(v, 20))
		}
		said = v
	}
	if !isNumber(said) {
		return -1, nil
	}
	n, err := strconv.ParseInt(said, 10, 64)
	if err != nil {
		return -1, malformed("Content-Length %q", yp.Clip(said, 40))
	}
	return n, nil
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isChunked reports whether a body is in chunks. What is no coding counts for nothing; chunked counts once, since
// who writes it twice does it once. The error is ErrMalformed for codings that nobody asked for.
func isChunked(values []string) (bool, error) {
	chunked := false
	for _, v := range elements(values) {
		switch v = strings.ToLower(v); {
		case v == "chunked":
			chunked = true
		case v != "identity" && codings[v]:
			return false, malformed("Transfer-Encoding %q", v)
		}
	}
	return chunked, nil
}

// elements are those of a list, of several lines perhaps, without empty ones (RFC 9110, 5.6.1).
func elements(values []string) []string {
	var list []string
	for _, v := range values {
		for e := range strings.SplitSeq(v, ",") {
			if e = strings.TrimSpace(e); e != "" {
				list = append(list, e)
			}
		}
	}
	return list
}
