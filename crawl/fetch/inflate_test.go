package fetch

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/klauspost/compress/gzip"

	"ypcrawl/store/storetest"
)

// untrailed is a compressed body without its last n bytes.
func untrailed(body []byte, n int) []byte { return bytes.Clone(body[:len(body)-n]) }

// fullHeader is a body of gzip with extra fields, a name, a comment and a checksum of its header.
func fullHeader(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name, w.Comment, w.Extra = "index.html", "no comment", []byte("extra")
	_, err := w.Write(body)
	noErr(t, err)
	noErr(t, w.Close())
	const header = 10 + 2 + len("extra") + len("index.html") + 1 + len("no comment") + 1
	wire := b.Bytes()
	wire[3] |= gzipSum
	return append(append(bytes.Clone(wire[:header]), 0xab, 0xcd), wire[header:]...)
}

// Whatever bit of a compressed page is flipped, it is the page or refused.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	page := htmlPage(3000)
	p := newPools()
	for _, encoding := range []string{"gzip", "deflate"} {
		wire := compress(t, encoding, page)
		read := 0
		for bit := range 8 * len(wire) {
			wire[bit/8] ^= 1 << (bit % 8)
			w := &wireReader{r: bytes.NewReader(wire), max: 1 << 20, length: int64(len(wire)), progress: func(int) {}}
			b, err := p.readBody(w, encoding, int64(len(wire)), limit{max: 1 << 20})
			if err == nil {
				read++
				if !bytes.Equal(b.b, page) {
					t.Errorf("%s, bit %d: read as another page", encoding, bit)
				}
				p.putBuffer(b)
			}
			wire[bit/8] ^= 1 << (bit % 8)
		}
		if read > 8*12 { // of a header that does not apply to the page
			t.Errorf("%s: %d flipped bits were not noticed", encoding, read)
		}
	}
}

// Of a compressed page that ends too soon nothing is read, but what lacks the trailer alone.
func TestCompressedCutAnywhere(t *testing.T) {
	t.Parallel()
	page := htmlPage(3000)
	p := newPools()
	for encoding, trailer := range map[string]int{"gzip": 8, "deflate": 4} {
		wire := compress(t, encoding, page)
		for cut := 1; cut < len(wire); cut++ {
			w := &wireReader{r: bytes.NewReader(wire[:cut]), max: 1 << 20, length: -1, progress: func(int) {}}
			b, err := p.readBody(w, encoding, -1, limit{max: 1 << 20})
			if whole := cut >= len(wire)-trailer; whole != (err == nil) || whole && !bytes.Equal(b.b, page) {
				t.Fatalf("%s cut at %d of %d: %v", encoding, cut, len(wire), err)
			}
		}
	}
}

// Some servers announce the length that a page had before they compressed it.
func TestLengthOfDecoded(t *testing.T) {
	t.Parallel()
	page := htmlPage(20_000)
	double := append(compress(t, "gzip", page[:5000]), compress(t, "gzip", page[5000:])...)
	for _, tt := range []struct {
		name, encoding string
		wire           []byte
		length         int
		read           bool
	}{
		{"gzip", "gzip", compress(t, "gzip", page), len(page), true},
		{"two members", "gzip", double, len(page), true},
		{"deflate", "deflate", compress(t, "deflate", page), len(page), true},
		{"cut", "gzip", compress(t, "gzip", page)[:1000], len(page), false},
		{"without the trailer, cut", "gzip", untrailed(compress(t, "gzip", page), 8), len(page) + 1, false},
		{"another length", "gzip", compress(t, "gzip", page), len(page) + 1, false},
		{"a member is missing", "gzip", compress(t, "gzip", page[:5000]), len(page), false},
		{"plain and cut", "", page[:1000], len(page), false},
	} {
		for _, open := range []bool{false, true} {
			if open && !tt.read {
				continue // it falls silent, which has a test of its own
			}
			t.Run(fmt.Sprintf("%s, kept open %v", tt.name, open), func(t *testing.T) {
				t.Parallel()
				url := rawServer(t, func(conn net.Conn) {
					readRequest(conn)
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", tt.encoding, tt.length, tt.wire)
					if open {
						_, _ = io.Copy(io.Discard, conn)
					}
				})
				c := newClient(t, patiently(noRobots()))
				for range 2 {
					r, err := c.Get(t.Context(), Request{URL: url})
					if !tt.read {
						if err == nil {
							t.Error("it was read")
						}
						return
					}
					noErr(t, err)
					storetest.Equal(t, string(r.Body), string(page))
					r.Release()
				}
			})
		}
	}
}

// The same over HTTP/2, where the other requests of the connection go on.
func TestLengthOfDecodedHTTP2(t *testing.T) {
	t.Parallel()
	page := htmlPage(20_000)
	wire := compress(t, "gzip", page)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(wire)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	cfg := patiently(noRobots())
	cfg.Roots = x509.NewCertPool()
	cfg.Roots.AddCert(s.Certificate())
	c := newClient(t, cfg)
	for range 3 {
		r, err := c.Get(t.Context(), Request{URL: s.URL})
		noErr(t, err)
		storetest.Equal(t, string(r.Body), string(page))
		r.Release()
	}
}

func FuzzInflate(f *testing.F) {
	page := htmlPage(2000)
	for _, encoding := range []string{"gzip", "deflate", "raw deflate"} {
		f.Add(compress(f, encoding, page), uint16(10), byte(1))
		f.Add(compress(f, encoding, nil), uint16(2), byte(0x20))
	}
	p := newPools()
	rng := rand.New(rand.NewPCG(1, 1))
	f.Fuzz(func(t *testing.T, wire []byte, at uint16, flip byte) {
		if len(wire) > 0 {
			wire = bytes.Clone(wire)
			wire[int(at)%len(wire)] ^= flip
		}
		for _, encoding := range []string{"gzip", "deflate"} {
			w := &wireReader{r: bytes.NewReader(wire), max: 1 << 16, length: rng.Int64N(4000), progress: func(int) {}}
			b, err := p.readBody(w, encoding, w.length, limit{max: 1 << 16})
			if err == nil {
				p.putBuffer(b)
			}
		}
	})
}

// A member that has by chance as many bytes as the header announces is no end where another one has come behind it.
func TestMemberAsLongAsTheBody(t *testing.T) {
	t.Parallel()
	first, second := htmlPage(60_000), htmlPage(100_000)
	wire := append(compress(t, "gzip", first), compress(t, "gzip", second)...)
	w := &wireReader{r: pieces{bytes.NewReader(wire)}, max: 1 << 20, length: int64(len(first)), progress: func(int) {}}
	b, err := newPools().readBody(w, "gzip", w.length, limit{max: 1 << 20})
	noErr(t, err)
	storetest.Equal(t, len(b.b), len(first)+len(second))
}

// pieces gives 1,000 bytes at a time.
type pieces struct{ io.Reader }

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), 1000)]) }
