package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"ypcrawl/store/storetest"
)

// cleanedText is how an answer begins for net/http, its body without chunks behind it.
func cleanedText(answer string) (string, error) {
	c := newCleanedConn(nil)
	close(c.asked)
	c.head.br = bufio.NewReader(iotest.OneByteReader(strings.NewReader(answer)))
	text, err := io.ReadAll(c)
	return string(text), err
}

func TestCleanHeader(t *testing.T) {
	t.Parallel()
	const ok, end = "HTTP/1.1 200 OK\r\n", "Connection: close\r\n\r\n"
	for _, tt := range []struct{ name, answer, want string }{
		{"nothing to clean", ok + "A: b\r\nContent-Length: 3\r\n\r\nabc", ok + "A: b\r\nContent-Length: 3\r\n" + end + "abc"},
		{"no colon", ok + "Content-Disposition = inline\r\nA: b\r\n\r\n", ok + "A: b\r\n" + end},
		{"no colon, with an address", ok + "Link </a.css>; rel=preload\r\nA: b\r\n\r\n", ok + "A: b\r\n" + end},
		{"no colon, folded", ok + "A b\r\n c: d\r\nA: b\r\n\r\n", ok + "A: b\r\n" + end},
		{"no name", ok + ": x\r\n:\r\nA: b\r\n\r\n", ok + "A: b\r\n" + end},
		{"a name that is no token", ok + "Strict‐Transport: x\r\nX Y: z\r\nA(): b\r\nA: b\r\n\r\n", ok + "A: b\r\n" + end},
		{"blanks behind the name", ok + "A : b\r\nContent-Length\t: 1\r\n\r\nabc", ok + "A: b\r\nContent-Length: 1\r\n" + end + "a"},
		{"control characters", ok + "A: b\x01c\r\nB: \x7f\r\nC: d\x1b[0m\r\nD: e\r\n\r\n", ok + "D: e\r\n" + end},
		{"a control character in a fold", ok + "A: b\r\n c\x01\r\n d\r\nD: e\r\n\r\n", ok + "D: e\r\n" + end},
		{"tabs and letters of any charset", ok + "A: b\tc\r\nB: M\xfcnchen\r\nC: München\r\n\r\n", ok + "A: b\tc\r\nB: M\xfcnchen\r\nC: München\r\n" + end},
		{"bare CR", ok + "A: b\rc\r\n\r\n", ok + "A: b c\r\n" + end},
		{"bare CR twice at the end", ok + "A: b\r\r\n\r\n", ok + "A: b\r\n" + end},
		{"folds", ok + "A: b;\r\n\tc;\r\n  d\r\nB: c\r\n\r\n", ok + "A: b; c; d\r\nB: c\r\n" + end},
		{"a fold first", ok + " folded: first\r\nA: b\r\n\r\n", ok + "A: b\r\n" + end},
		{"bare line feeds", "HTTP/1.1 200 OK\nA: b\n\nabc", ok + "A: b\r\n" + end + "abc"},
		{"no reason", "HTTP/1.1 404\r\n\r\n", "HTTP/1.1 404 \r\n" + end},
		{"no blank before the reason", "HTTP/1.1 404Not Found\r\n\r\n", "HTTP/1.1 404 Not Found\r\n" + end},
		{"small letters", "http/1.1  200 ok\r\n\r\n", "HTTP/1.1 200 ok\r\n" + end},
		{"no minor version", "HTTP/1 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n" + end},
		{"no version", "HTTP 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n" + end},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nabc", "HTTP/1.0 200 OK\r\n" + end + "abc"},
		{"HTTP/2 over HTTP/1", "HTTP/2 200\r\n\r\n", "HTTP/1.1 200 \r\n" + end},
		{"control characters in the reason", "HTTP/1.1 200 O\x01\tK\r\n\r\n", "HTTP/1.1 200 O \tK\r\n" + end},
		{"empty lines before", "\r\n\n" + ok + "\r\n", ok + end},
		{"fields of the connection", ok + "Connection: keep-alive, X\r\nKeep-Alive: timeout=5\r\nUpgrade: h2c\r\nTrailer: X\r\n\r\n", ok + end},

		{"an empty length", ok + "Content-Length: \r\n\r\nabc", ok + end + "abc"},
		{"one length twice", ok + "Content-Length: 2, 2\r\ncontent-length: 02\r\n\r\nabc", ok + "Content-Length: 2\r\n" + end + "ab"},
		{"a comma", ok + "Content-Length: 2,\r\n\r\nabc", ok + "Content-Length: 2\r\n" + end + "ab"},
		{"nought", ok + "Content-Length: 000\r\n\r\nabc", ok + "Content-Length: 0\r\n" + end},
		{"a length that is none", ok + "Content-Length: -1\r\n\r\nabc", ok + end + "abc"},
		{"a length with a sign", ok + "Content-Length: +1\r\n\r\nabc", ok + end + "abc"},
		{"a length in words", ok + "Content-Length: unknown\r\n\r\nabc", ok + end + "abc"},
		{"no coding", ok + "Transfer-Encoding: \r\nTransfer-Encoding: identity\r\nTransfer-Encoding: 8bit\r\nContent-Length: 1\r\n\r\nabc", ok + "Content-Length: 1\r\n" + end + "a"},
		{"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nnext", ok + end + "abc"},
		{"chunks twice, identity", ok + "Transfer-Encoding: Chunked, chunked\r\nTransfer-Encoding: identity\r\n\r\n3\r\nabc\r\n0\r\n\r\n", ok + end + "abc"},
		{"chunks and a length", ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", ok + end + "abc"},
		{"chunks with bare line feeds", ok + "Transfer-Encoding: chunked\r\n\r\n3\nabc\n2;x\r\nde\n0\n\n", ok + end + "abcde"},
		{"chunks with blanks", ok + "Transfer-Encoding: chunked\r\n\r\n3  \r\nabc\r\n0 \r\n\r\n", ok + end + "abc"},
		{"chunks without a last line end", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", ok + end + "abc"},
		{"chunks without any", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0", ok + end + "abc"},
		{"chunks with a trailer that is none", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nno field\x00\r\n\r\n", ok + end + "abc"},
		{"chunks of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.0 200 OK\r\n" + end + "3\r\nabc\r\n0\r\n\r\n"},
		{"no body", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 204 No Content\r\n" + end},
		{"interim answers", "HTTP/1.1 103 Early Hints\r\nLink: x\r\nno field\r\n\r\nHTTP/1.1 100\r\n\r\n" + ok + "Content-Length: 1\r\n\r\nabc", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 \r\n\r\n" + ok + "Content-Length: 1\r\n" + end + "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cleanedText(tt.answer)
			noErr(t, err)
			storetest.Equal(t, got, tt.want)
			answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got[strings.LastIndex(got, "HTTP/"):])), nil)
			noErr(t, err)
			_ = answer.Body.Close()
		})
	}
}

// What even browsers can't read, and what no bound would hold.
func TestMalformedHeader(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	long := strings.Repeat("x", 1<<18)
	for _, tt := range []struct {
		name, answer string
		want         error
		says         string
	}{
		{"a NUL in a value", ok + "A: b\x00c\r\n\r\n", ErrMalformed, "NUL"},
		{"a NUL in no field", ok + "\x00\r\n\r\n", ErrMalformed, "NUL"},
		{"a NUL in the status line", "HTTP/1.1 200 O\x00K\r\n\r\n", ErrMalformed, "NUL"},
		{"lengths that differ", ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", ErrMalformed, `Content-Length "3" and "4"`},
		{"lengths that differ in one line", ok + "Content-Length: 3, 4\r\n\r\nabcd", ErrMalformed, `Content-Length "3" and "4"`},
		{"lengths that differ, one of them none", ok + "Content-Length: 3, x\r\n\r\nabcd", ErrMalformed, `Content-Length "3" and "x"`},
		{"lengths that differ beside chunks", ok + "Content-Length: 3, 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ErrMalformed, "Content-Length"},
		{"a length with a blank before the colon", ok + "Content-Length : 3\r\nContent-Length: 4\r\n\r\nabcd", ErrMalformed, "Content-Length"},
		{"a length beyond all measure", ok + "Content-Length: 99999999999999999999\r\n\r\nabcd", ErrMalformed, "Content-Length"},
		{"a coding that nobody asked for", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", ErrMalformed, `Transfer-Encoding "gzip"`},
		{"no end before the page", ok + "Content-Type: text/html\r\n<!doctype html>\r\n<p>one\r\n\r\n<p>two", ErrMalformed, "no end before the page"},
		{"no end before the page, which is indented", ok + "no field\r\n  <p>one\r\n\r\n<p>two", ErrMalformed, "no end before the page"},
		{"no end before a page with a mark", ok + "\xef\xbb\xbf<p>one\r\n\r\n<p>two", ErrMalformed, "no end before the page"},
		{"an end with two CR", ok + "A: b\r\r\n\r\r\n<p class=\"x\" title=\"a:b\">\n\n", ErrMalformed, "no end before the page"},
		{"bare CR alone", "HTTP/1.1 200 OK\rA: b\r\r<p>one\n\n<p>two", ErrMalformed, "status line"},
		{"no status", "HTTP/1.1 OK\r\n\r\n", ErrMalformed, "status line"},
		{"a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", ErrMalformed, "status line"},
		{"a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", ErrMalformed, "status line"},
		{"a status below 100", "HTTP/1.1 099 OK\r\n\r\n", ErrMalformed, "status line"},
		{"a long line", ok + "A: " + long + "\r\n\r\n", ErrMalformed, "longer than 256 KiB"},
		{"many lines", ok + strings.Repeat("A:\n", 9000) + "\r\n", ErrMalformed, "8192 lines"},
		{"a long line that is no field", ok + long, ErrMalformed, "longer than 256 KiB"},
		{"many interim answers", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 9000), ErrMalformed, "lines"},
		{"no status line", "<!doctype html>\n<p>one", errNoStatusLine, ""},
		{"a long line that is no status line", long, errNoStatusLine, ""},
		{"empty lines", "\n\n\n\n\n", errNoStatusLine, ""},
		{"another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n", errNoStatusLine, ""},
		{"nothing", "", nil, ""},
		{"cut in the status line", "HTTP/1.1 2", io.ErrUnexpectedEOF, ""},
		{"cut in the header", ok + "A: b\r\n", io.ErrUnexpectedEOF, ""},
		{"cut behind an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", nil, ""},
		{"chunks that are none", ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", errBrokenChunks, ""},
		{"a chunk of another size", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n", errBrokenChunks, ""},
		{"a chunk that is too large", ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabcde\r\n0\r\n\r\n", errBrokenChunks, ""},
		{"a long size line", ok + "Transfer-Encoding: chunked\r\n\r\n3;" + long, errBrokenChunks, ""},
		{"chunks cut in a size", ok + "Transfer-Encoding: chunked\r\n\r\n003\r\nabc\r\n0", io.ErrUnexpectedEOF, ""},
		{"chunks cut in a line end", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r", io.ErrUnexpectedEOF, ""},
		{"chunks cut between", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", io.ErrUnexpectedEOF, ""},
		{"chunks cut within", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nab", io.ErrUnexpectedEOF, ""},
		{"no chunk at all", ok + "Transfer-Encoding: chunked\r\n\r\n", io.ErrUnexpectedEOF, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cleanedText(tt.answer)
			if !errors.Is(err, tt.want) || tt.says != "" && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %.80q, %v", got, err)
			}
		})
	}
}

// Whatever comes, net/http can read what it is made into.
func FuzzCleanHeader(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 3, 3\r\n\r\nabc", "http/1 404\nno field\n: x\nTransfer-Encoding: identity, chunked\n\n3\nabc\n0\n\n",
		"HTTP/1.1 103 x\r\n\r\nHTTP/1.1 200 OK\r\nA: \x01\r\nB\x80: \r\n\r\n", "HTTP 200 a\rb\r\nA: b\x00\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		h := headReader{br: bufio.NewReader(bytes.NewReader(answer))}
		lines, err := h.read()
		if err != nil {
			return
		}
		head, err := cleanHead(lines)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v", err)
			}
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head.text)), nil)
		if err != nil {
			t.Fatalf("%q is made into %q: %v", answer, head.text, err)
		}
		if resp.StatusCode != head.status || len(resp.TransferEncoding) > 0 || !head.chunked && head.status >= 200 && head.status != 204 && resp.ContentLength != head.length {
			t.Errorf("%q is made into %q", answer, head.text)
		}
		for name, values := range resp.Header {
			for _, v := range values {
				if !isToken([]byte(name)) || strings.ContainsFunc(v, isControl) {
					t.Errorf("%q: field %q, %q", answer, name, v)
				}
			}
		}
	})
}
