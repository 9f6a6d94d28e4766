package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// inChunks is body in chunks of n bytes.
func inChunks(body string, n int) string {
	var b strings.Builder
	for len(body) > 0 {
		part := body[:min(n, len(body))]
		body = body[len(part):]
		b.WriteString(chunk(part))
	}
	return b.String() + "0\r\n\r\n"
}

// A body that is chunks is undone, one that is not stays as it is, and one that is cut is neither.
func TestDechunk(t *testing.T) {
	t.Parallel()
	page := string(htmlPage(2000))
	whole := inChunks(page, 300)
	last := strings.TrimSuffix(whole, "0\r\n\r\n")
	lf := strings.ReplaceAll(whole, "\r\n", "\n")
	zeros := fmt.Sprintf("%08x\r\n%s\r\n", len(page), page)
	for _, tt := range []struct {
		name, body string
		framing    framing
		want       string
		err        error
	}{
		{"whole", whole, unchunked, page, nil},
		{"one chunk", inChunks(page, 9999), unchunked, page, nil},
		{"bytes alone", inChunks(page, 1), unchunked, page, nil},
		{"bare line feeds", lf, unchunked, page, nil},
		{"capitals, extensions and blanks", fmt.Sprintf("%X;a=b;c=\"d\"\r\n%s\r\n0  \r\n\r\n", len(page), page), unchunked, page, nil},
		{"zeros before", zeros + "00000000\r\n\r\n", unchunked, page, nil},
		{"trailers", last + "0\r\nX-Sum: 1\r\nServer-Timing: a\r\n\r\n", unchunked, page, nil},
		{"in two layers", inChunks(whole, 77), unchunked, page, nil},
		{"no last line end", last + "0\r\n", unchunked, page, nil},
		{"half a last line end", last + "0\r\n\r", unchunked, page, nil},
		{"no line end behind the last chunk", last + "0", unchunked, page, nil},
		{"a trailer that is cut", last + "0\r\nX-S", unchunked, page, nil},
		{"something behind it", whole + "<!-- cached -->", unchunked, page, nil},
		{"nothing", "0\r\n\r\n", unchunked, "", nil},
		{"nothing, announced", "0\r\n", announced, "", nil},

		{"no last chunk", last, unchunked, "", errCutChunks},
		{"cut in a chunk", whole[:1000], unchunked, "", errCutChunks},
		{"cut in a size", last + "1", unchunked, "", errCutChunks},
		{"a last chunk of another width", zeros + "0", unchunked, "", errCutChunks},
		{"cut behind a chunk", whole[:307], unchunked, "", errCutChunks},
		{"cut in the line end", whole[:306], announced, "", errCutChunks},
		{"a wrong size further on", inChunks(page, 300)[:307] + "12c\r\n" + page, unchunked, "", errCutChunks},
		{"no size further on", chunk(page) + chunk(page) + page, unchunked, "", errCutChunks},
		{"a page behind the last chunk", last + "0\r\n" + page, unchunked, "", errCutChunks},
		{"cut in the first, announced", whole[:100], announced, "", errCutChunks},
		{"cut in the first size, announced", whole[:2], announced, "", errCutChunks},
		{"cut in the first, perhaps announced", whole[:100], unshown, "", errUnsure},
		{"cut, perhaps announced", whole[:1000], unshown, "", errUnsure},

		{"a page", page, unchunked, page, nil},
		{"a page, announced", page, announced, page, nil}, // by a server before it, which undid them
		{"no body", "", announced, "", nil},
		{"a word that is a number", "bed\r\n" + page, unchunked, "bed\r\n" + page, nil},
		{"a year", "2026\n" + page, unchunked, "2026\n" + page, nil},
		{"a number alone", "42", unchunked, "42", nil},
		{"nought", "0", unchunked, "0", nil},
		{"nought and its line end", "0\n", unchunked, "0\n", nil},
		{"a number too large", "ffffffffffffffff\r\n" + page, unchunked, "ffffffffffffffff\r\n" + page, nil},
		{"too many digits", "11112222333344445\r\n" + page, unchunked, "11112222333344445\r\n" + page, nil},
		{"numbers", "12\n34\n56\n78\n", unchunked, "12\n34\n56\n78\n", nil},
		{"a number and a list", "3; of them <b>open</b>\nabc\n", unchunked, "3; of them <b>open</b>\nabc\n", nil},
		{"an empty line first", "\r\n" + page, unchunked, "\r\n" + page, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, reader := range map[string]io.Reader{
				"at once": strings.NewReader(tt.body), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.body)),
				"the end with the data": iotest.DataErrReader(strings.NewReader(tt.body)),
			} {
				w := &wireReader{r: reader, max: 1 << 20, progress: func(int) {}, framing: tt.framing}
				got, err := io.ReadAll(&chunkReader{w: w})
				if !errors.Is(err, tt.err) || tt.err == nil && string(got) != tt.want || tt.err != nil && len(got) > 0 {
					t.Errorf("%s: got %d bytes, %.60q, %v", name, len(got), got, err)
				}
			}
		})
	}
}

// Whatever a body is cut into and wherever it is cut off: it is read whole or not at all.
func TestChunksCutAnywhere(t *testing.T) {
	t.Parallel()
	page := htmlPage(600)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var wire bytes.Buffer
		for rest := page; len(rest) > 0; {
			n := 1 + rng.IntN(min(len(rest), 200))
			fmt.Fprintf(&wire, "%x\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		data := wire.Len()
		wire.WriteString("0\r\n\r\n")
		for cut := range wire.Len() + 1 {
			got, err := dechunk(bytes.Clone(wire.Bytes()[:cut]), announced)
			switch {
			case cut > data || cut == 0:
				noErr(t, err)
				storetest.Equal(t, string(got), string(page[:min(cut, 1)*len(page)]))
			case !errors.Is(err, errCutChunks):
				t.Fatalf("cut at %d of %d: %v", cut, wire.Len(), err)
			}
		}
	}
}

func FuzzDechunk(f *testing.F) {
	page := string(htmlPage(300))
	for _, s := range []string{page, inChunks(page, 7), inChunks(inChunks(page, 70), 50), "0\r\n\r\n", "5;x\nabcde\n0\nA: b\n\n", "3\r\nabc\r\n1"} {
		f.Add([]byte(s), byte(50))
	}
	f.Fuzz(func(t *testing.T, body []byte, n byte) {
		got, err := dechunk(bytes.Clone(body), unchunked)
		if err == nil && len(got) > len(body) {
			t.Errorf("%d bytes of %d", len(got), len(body))
		}
		w := &wireReader{r: iotest.OneByteReader(bytes.NewReader(body)), max: 1 << 20, progress: func(int) {}}
		slowly, slow := io.ReadAll(&chunkReader{w: w})
		if (err == nil) != (slow == nil) || err == nil && !bytes.Equal(got, slowly) {
			t.Errorf("%q: %q, %v at once, and %q, %v byte by byte", body, got, err, slowly, slow)
		}
		if len(body) > 0 && got == nil || begins(body) {
			return
		}
		got, err = dechunk([]byte(inChunks(string(body), 1+int(n))), unchunked)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("got %q, %v, want %q", got, err, body)
		}
	})
}

// Pages in chunks that net/http does not undo, over the network.
func TestChunksOfPages(t *testing.T) {
	t.Parallel()
	page := string(htmlPage(5000))
	whole := inChunks(page, 300)
	zipped := string(compress(t, "gzip", []byte(page)))
	const old, lost, chunked = "HTTP/1.0 200 OK\r\n", "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n"
	length := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	for _, tt := range []struct {
		name, answer string
		open         bool // the connection stays open
		cut          bool // the answer
	}{
		{"of HTTP/1.0", old + chunked + "\r\n" + whole, false, false},
		{"of HTTP/1.0, kept open", old + chunked + "\r\n" + whole, true, false},
		{"of HTTP/1.0 with its length", old + chunked + length(whole), false, false},
		{"of HTTP/1.0, compressed", old + chunked + "Content-Encoding: gzip\r\n\r\n" + inChunks(zipped, 100), false, false},
		{"compressed around them", lost + "Content-Encoding: gzip\r\n" + length(string(compress(t, "gzip", []byte(whole)))), true, false},
		{"compressed around them, cut", lost + "Content-Encoding: gzip\r\n" + length(string(compress(t, "gzip", []byte(whole[:4000])))), true, true},
		{"that lost the header", lost + "Connection: close\r\n\r\n" + whole, false, false},
		{"that lost the header, kept open", lost + "\r\n" + whole, true, false},
		{"that lost the header, with a length", lost + length(whole), true, false},
		{"within chunks", lost + chunked + "\r\n" + inChunks(whole, 1000), true, false},
		{"without the last line end", lost + chunked + "\r\n" + strings.TrimSuffix(whole, "\r\n"), false, false},
		{"of gzip without the last line end", lost + chunked + "Content-Encoding: gzip\r\n\r\n" + strings.TrimSuffix(inChunks(zipped, 100), "\r\n"), false, false},
		{"that lost the header, cut", lost + "\r\n" + whole[:4000], false, true},
		{"that lost the header, compressed and cut", lost + "Content-Encoding: gzip\r\n\r\n" + inChunks(zipped, 100)[:300], false, true},
		{"with the length that they have undone", lost + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(page), whole), true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := rawServer(t, func(conn net.Conn) {
				readRequest(conn)
				_, _ = io.WriteString(conn, tt.answer)
				if tt.open {
					_, _ = io.Copy(io.Discard, conn)
				}
			})
			c := newClient(t, patiently(noRobots()))
			if tt.cut {
				e := mustFail(t, c, Request{URL: url})
				if e.Code() != yp.CodeParseError || !e.Retryable() || !errors.Is(e, ErrCorrupt) {
					t.Errorf("error %v, code %s", e, e.Code())
				}
				return
			}
			r, err := c.Get(t.Context(), Request{URL: url})
			noErr(t, err)
			storetest.Equal(t, string(r.Body), page)
			r.Release()
		})
	}
}
