package fetch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// compress encodes body as a server would.
func compress(t testing.TB, encoding string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw deflate":
		z, err := flate.NewWriter(&b, flate.DefaultCompression)
		noErr(t, err)
		w = z
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		noErr(t, err)
		w = z
	default:
		return body
	}
	_, err := w.Write(body)
	noErr(t, err)
	noErr(t, w.Close())
	return b.Bytes()
}

func htmlPage(size int) []byte {
	var b bytes.Buffer
	b.WriteString("<!doctype html><html><head><title>Best 30 Plumbers</title></head><body>")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `<div class="result" id="lid-%d"><h2 class="n">%d. <a class="business-name" href="/x/mip/acme-%d"><span>Acme %x</span></a></h2></div>`, i*7919, i, i*104729, i*i*31)
	}
	return b.Bytes()
}

// sends answers with a body of an encoding, and tells from where it was asked.
func sends(encoding string, wire []byte, chunked bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-From", r.RemoteAddr)
		w.Header().Set("Content-Encoding", encoding)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if chunked {
			w.(http.Flusher).Flush()
		} else {
			w.Header().Set("Content-Length", strconv.Itoa(len(wire)))
		}
		_, _ = w.Write(wire)
	}
}

// A page comes as it was before it was encoded, and is no reason to open a new connection for the next one.
func TestEncodings(t *testing.T) {
	t.Parallel()
	page := htmlPage(200_000)
	twice := append(compress(t, "gzip", page[:1000]), compress(t, "gzip", page[1000:])...)
	for _, tt := range []struct {
		name, encoding string
		wire           []byte
		want           []byte
	}{
		{"identity", "", page, page},
		{"gzip", "gzip", compress(t, "gzip", page), page},
		{"x-gzip in capitals", "X-GZIP", compress(t, "gzip", page), page},
		{"gzip of two members", "gzip", twice, page},
		{"gzip with rubbish after it", "gzip", append(compress(t, "gzip", page), "rubbish"...), page},
		{"gzip with all that a header may have", "gzip", fullHeader(t, page), page},
		{"gzip without its trailer", "gzip", untrailed(compress(t, "gzip", page), 8), page},
		{"gzip with half its trailer", "gzip", untrailed(compress(t, "gzip", page), 4), page},
		{"gzip with a byte of its trailer", "gzip", untrailed(compress(t, "gzip", page), 7), page},
		{"gzip of two members, the last without its trailer", "gzip", untrailed(twice, 8), page},
		{"deflate", "deflate", compress(t, "deflate", page), page},
		{"deflate in capitals", "Deflate", compress(t, "deflate", page), page},
		{"deflate without its trailer", "deflate", untrailed(compress(t, "deflate", page), 4), page},
		{"deflate with rubbish after it", "deflate", append(compress(t, "deflate", page), "rubbish"...), page},
		{"bare deflate", "deflate", compress(t, "raw deflate", page), page},
		{"deflate without a body", "deflate", nil, nil},
		{"zstd", "zstd", compress(t, "zstd", page), page},
		{"brotli", "br", compress(t, "br", page), page},
		{"gzip without a body", "gzip", nil, nil},
		{"none, which is no coding", "none", page, page},
		{"a charset", "UTF-8", page, page},
		{"a charset of old", "iso-8859-1", page, page},
		{"a transfer encoding of mail", "8bit", page, page},
		{"binary", "binary", page, page},
		{"a media type", "text/html; charset=utf-8", page, page},
		{"identity twice", "identity, Identity", page, page},
		{"a comma", ",", page, page},
		{"blanks", "  ", page, page},
		{"no coding and no body", "none", nil, nil},
		{"no coding beside Windows-1252", "none", []byte("<p>caf\xe9 \x93x\x94"), []byte("<p>café “x”")},
		{"no coding beside a byte order mark", "none", []byte("\xef\xbb\xbf<p>x"), []byte("<p>x")},
		{"gzip and no coding", "gzip, utf-8", compress(t, "gzip", page), page},
		{"identity and brotli", "identity,br", compress(t, "br", page), page},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", tt.name, chunked), func(t *testing.T) {
				s := newSite(t, noRobots(), sends(tt.encoding, tt.wire, chunked))
				from := ""
				for range 3 { // with pooled decoders too
					r, err := s.get(t, "/")
					noErr(t, err)
					if from = cmp.Or(from, r.Header.Get("X-From")); r.Header.Get("X-From") != from {
						t.Error("a new connection")
					}
					if !bytes.Equal(r.Body, tt.want) {
						t.Errorf("got %d bytes, want %d", len(r.Body), len(tt.want))
					}
					storetest.Equal(t, r.WireBytes, int64(len(tt.wire)), "wire bytes")
					r.Release()
				}
			})
		}
	}
}

// An error page that is longer than what we look at is no reason to open a new connection, either.
func TestKeepAliveAfterError(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := map[string]bool{}
	s := newSite(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from[r.RemoteAddr] = true
		mu.Unlock()
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write(make([]byte, errorPageMax+32<<10))
	})
	for range 3 {
		_ = s.failure(t, "/")
	}
	storetest.Equal(t, len(from), 1, "connections")
}

func TestBodyFailures(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	page := htmlPage(100_000)
	zeros := make([]byte, 50<<20)
	bomb := zeros[:8*limit]
	gz := compress(t, "gzip", page)
	flipped := bytes.Clone(gz)
	flipped[len(flipped)/2] ^= 0xff
	badSum := bytes.Clone(gz)
	badSum[len(badSum)-5] ^= 0xff
	badAdler := compress(t, "deflate", page)
	badAdler[len(badAdler)-1] ^= 0xff
	for _, tt := range []struct {
		name, encoding string
		wire           []byte
		want           error
		class          yp.ErrorClass
		code           yp.ErrorCode
		retryable      bool
	}{
		{"too large", "", zeros[:limit+1], ErrTooLarge, yp.ClassParseError, yp.CodeParseError, false},
		{"gzip bomb", "gzip", compress(t, "gzip", bomb), ErrTooLarge, yp.ClassParseError, yp.CodeParseError, false},
		{"zstd bomb", "zstd", compress(t, "zstd", bomb), ErrTooLarge, yp.ClassParseError, yp.CodeParseError, false},
		{"brotli bomb", "br", compress(t, "br", bomb), ErrTooLarge, yp.ClassParseError, yp.CodeParseError, false},
		{"endless empty members", "gzip", bytes.Repeat(compress(t, "gzip", nil), 2*limit/23), ErrTooLarge, yp.ClassParseError, yp.CodeParseError, false},
		{"not gzip at all", "gzip", page, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"damaged gzip", "gzip", flipped, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"gzip with a wrong checksum", "gzip", badSum, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"deflate with a wrong checksum", "deflate", badAdler, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"deflate cut in two", "deflate", compress(t, "deflate", page)[:1000], io.ErrUnexpectedEOF, yp.ClassUnknown, yp.CodeNetworkError, true},
		{"bare deflate cut in two", "deflate", compress(t, "raw deflate", page)[:1000], io.ErrUnexpectedEOF, yp.ClassUnknown, yp.CodeNetworkError, true},
		{"deflate bomb", "deflate", compress(t, "deflate", bomb), ErrTooLarge, yp.ClassParseError, yp.CodeParseError, false},
		{"a name without end in a gzip header", "gzip", append([]byte("\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x00"), bytes.Repeat([]byte("x"), 100_000)...), ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"unknown encoding", "lzma", page, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"compress beside a plain body", "compress", page, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"brotli beside a plain body", "br", page, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"deflate", "identity, deflate", page, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"encoded twice", "gzip, gzip", gz, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"no coding beside gzip", "none", gz, ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"no coding beside zstd", "utf-8", compress(t, "zstd", page), ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"no coding beside bytes that are no text", "binary", zeros[:1000], ErrCorrupt, yp.ClassParseError, yp.CodeParseError, true},
		{"no coding beside too much", "none", bytes.Repeat([]byte("x"), limit+1), ErrTooLarge, yp.ClassParseError, yp.CodeParseError, false},
		{"gzip cut in two", "gzip", gz[:len(gz)/2], io.ErrUnexpectedEOF, yp.ClassUnknown, yp.CodeNetworkError, true},
		{"gzip cut in its header", "gzip", gz[:5], io.ErrUnexpectedEOF, yp.ClassUnknown, yp.CodeNetworkError, true},
		{"zstd cut in two", "zstd", compress(t, "zstd", page)[:1000], io.ErrUnexpectedEOF, yp.ClassUnknown, yp.CodeNetworkError, true},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", tt.name, chunked), func(t *testing.T) {
				s := newSite(t, Config{IgnoreRobots: true, MaxBody: limit}, sends(tt.encoding, tt.wire, chunked))
				e := s.failure(t, "/")
				if !errors.Is(e, tt.want) || e.Class != tt.class || e.Code() != tt.code || e.Retryable() != tt.retryable || e.Status != 200 {
					t.Errorf("error %v, code %s, retryable %v", e, e.Code(), e.Retryable())
				}
				if errors.Is(tt.want, ErrTooLarge) && !strings.Contains(e.Error(), "1048576 bytes") {
					t.Errorf("error %v does not name the cap", e)
				}
			})
		}
	}
}

// Exactly the cap is still a page.
func TestBodyAtTheCap(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	body := htmlPage(limit)[:limit]
	for _, enc := range []string{"", "gzip", "deflate", "zstd", "br"} {
		s := newSite(t, Config{IgnoreRobots: true, MaxBody: limit}, sends(enc, compress(t, enc, body), false))
		storetest.Equal(t, s.page(t, "/") == string(body), true, "all of the body by", enc)
	}
}

// The status of an error page counts, not the state of its body.
func TestErrorPageBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, encoding string
		wire           []byte
	}{
		{"endless", "", make([]byte, 3<<20)},
		{"bomb", "gzip", compress(t, "gzip", make([]byte, 20<<20))},
		{"damaged", "gzip", []byte("no gzip")},
		{"wrong charset", "", []byte("\xff\xfe\xfd caf\xe9")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, Config{IgnoreRobots: true, MaxBody: 1 << 20}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", tt.encoding)
				w.WriteHeader(http.StatusBadGateway)
				_, _ = w.Write(tt.wire)
			})
			if e := s.failure(t, "/"); e.Class != yp.ClassHTTP5xx || e.Status != 502 {
				t.Errorf("error %v", e)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	page := htmlPage(2000)
	for i, enc := range []string{"", "gzip", "zstd", "br", "none", "deflate"} {
		f.Add(byte(i), compress(f, enc, page))
		f.Add(byte(i), compress(f, enc, make([]byte, 1<<16)))
	}
	p := newPools()
	f.Fuzz(func(t *testing.T, which byte, wire []byte) {
		encodings := []string{"", "gzip", "zstd", "br", "none", "deflate"}
		const limit64 = 10_000
		w := &wireReader{r: bytes.NewReader(wire), max: limit64, progress: func(int) {}}
		b, err := p.readBody(w, encodings[int(which)%len(encodings)], int64(len(wire)), limit{max: limit64})
		if err != nil {
			return
		}
		if len(b.b) > limit64 {
			t.Errorf("%d bytes, over the cap", len(b.b))
		}
		b, err = p.toUTF8(b, "text/html", limit{max: 4 * limit64})
		noErr(t, err)
		checkUTF8(t, b.b)
		p.putBuffer(b)
	})
}

func checkUTF8(t *testing.T, b []byte) {
	t.Helper()
	if !utf8.Valid(b) {
		t.Errorf("not UTF-8: %q", b[:min(len(b), 100)])
	}
}

func TestCharset(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("x", 2000) // beyond what the library's sniffing sees
	for _, tt := range []struct{ name, contentType, body, want string }{
		{"UTF-8", "text/html; charset=utf-8", "caf\u00e9", "café"},
		{"UTF-8 undeclared, first seen late", "text/html", far + "caf\u00e9", far + "café"},
		{"UTF-8 that says it is Latin-1", "text/html; charset=iso-8859-1", "caf\u00e9", "café"},
		{"UTF-8 with a mark", "text/html", "\xef\xbb\xbfcafé", "café"},
		{"UTF-8 with one damaged rune", "text/html", far + "café café caf\xc3 end", far + "café café cafÃ end"},
		{"damaged UTF-8 with a mark", "text/html; charset=utf-8", "\xef\xbb\xbfa\xffb", "aÿb"},
		{"Latin-1 by header", "text/html; charset=ISO-8859-1", "caf\xe9", "café"},
		{"windows-1252 by header", "text/html; charset=windows-1252", "\x93caf\xe9\x94", "“café”"},
		{"Latin-1 by meta", "text/html", `<meta charset="iso-8859-1">caf` + "\xe9", `<meta charset="iso-8859-1">café`},
		{"Latin-1 that says it is UTF-8", "text/html; charset=utf-8", "caf\xe9!", "café!"},
		{"windows-1252 that says it is UTF-8", "text/html; charset=utf-8", "\x93Jos\xe9\x94 \x96 Espa\xf1a", "“José” – España"},
		{"UTF-8 that says so, with one damaged rune", "text/html; charset=utf-8", "café café caf\xc3 end", "café café cafÃ end"},
		{"Latin-1 names in a page of UTF-8", "text/html; charset=utf-8", "café café © Jos\xe9 Pe\xf1a", "café café © José Peña"},
		{"Windows-1252 letter that begins a rune", "text/html; charset=utf-8", "© ® · Ch\xe2teau", "© ® · Château"},
		{"Windows-1252 letter and apostrophe", "text/html; charset=utf-8", "® ® ® Jos\xe9\x92s", "® ® ® José’s"},
		{"Shift-JIS", "text/html; charset=shift_jis", "\x93\xfa\x96\x7b", "日本"},
		{"UTF-16 with a mark", "text/html", "\xff\xfeh\x00i\x00", "hi"},
		{"UTF-16 by header", "text/html; charset=utf-16le", "h\x00i\x00", "hi"},
		{"ISO-2022-JP by header", "text/html; charset=iso-2022-jp", "\x1b$BF|K\\\x1b(B", "日本"},
		{"unknown charset", "text/html; charset=klingon", "caf\xe9", "café"},
		{"nothing", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, noRobots(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				_, _ = io.WriteString(w, tt.body)
			})
			for range 2 {
				if got := s.page(t, "/"); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}

// TestCharsetOfLinks: in which charset a page writes the queries of its links.
func TestCharsetOfLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, contentType, body, want string }{
		{"UTF-8", "text/html; charset=utf-8", "caf\u00e9", ""},
		{"UTF-8 that says it is Latin-1", "text/html; charset=iso-8859-1", "caf\u00e9", ""},
		{"ASCII of UTF-8", "text/html; charset=utf-8", "cafe", ""},
		{"ASCII of UTF-8 by meta", "text/html", `<meta charset="utf-8">cafe`, ""},
		{"ASCII that says it is Latin-1", "text/html; charset=iso-8859-1", "caf&eacute;", "windows-1252"},
		{"ASCII that says it is Cyrillic, by meta", "text/html", `<meta charset="windows-1251">caf`, "windows-1251"},
		{"Latin-1", "text/html; charset=ISO-8859-1", "caf\xe9", "windows-1252"},
		{"Latin-1 that says it is UTF-8", "text/html; charset=utf-8", "caf\xe9!", "windows-1252"},
		{"Latin-1 names in a page of UTF-8", "text/html; charset=utf-8", "café café © Jos\xe9 Pe\xf1a", ""},
		{"Shift-JIS", "text/html; charset=shift_jis", "\x93\xfa\x96\x7b", "shift_jis"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, noRobots(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				_, _ = io.WriteString(w, tt.body)
			})
			for range 2 { // the second time in pooled memory
				r, err := s.get(t, "/")
				noErr(t, err)
				storetest.Equal(t, r.Charset, tt.want)
				r.Release()
			}
		})
	}
}

// TestNoReplacementCharacter puts every stray byte between letters.
func TestNoReplacementCharacter(t *testing.T) {
	for b := utf8.RuneSelf; b < 256; b++ {
		got := appendValid(nil, []byte("é"+string([]byte{byte(b)})+"a"))
		checkUTF8(t, got)
		if strings.ContainsRune(string(got), utf8.RuneError) {
			t.Errorf("%x: got %q", b, got)
		}
	}
}

// Several lines of a header are one list (RFC 9110, 5.3).
func TestEncodingLines(t *testing.T) {
	t.Parallel()
	page := htmlPage(5000)
	s := newSite(t, noRobots(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Encoding"] = []string{"identity", "gzip"}
		_, _ = w.Write(compress(t, "gzip", page))
	})
	storetest.Equal(t, s.page(t, "/"), string(page), "page")
}
