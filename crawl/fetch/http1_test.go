package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"ypcrawl/yp"
)

// A host that wants HTTP/1.1 for a page is asked by it, from then on and for all pages; the request that told us has
// had its turn and is told of.
func TestHTTP1Required(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		says func(c *framedConn, stream uint32)
		used int // pages that HTTP/2 brings before
	}{
		{"of the stream", func(c *framedConn, stream uint32) { _ = c.WriteRSTStream(stream, http2.ErrCodeHTTP11Required) }, 0},
		{"of the connection", func(c *framedConn, _ uint32) { _ = c.WriteGoAway(0, http2.ErrCodeHTTP11Required, nil) }, 0},
		{"of the connection, which ends", func(c *framedConn, _ uint32) {
			_ = c.WriteGoAway(0, http2.ErrCodeHTTP11Required, []byte("please"))
			_ = c.Close()
		}, 0},
		{"of a later stream", func(c *framedConn, stream uint32) { _ = c.WriteRSTStream(stream, http2.ErrCodeHTTP11Required) }, 2},
		{"within an answer", func(c *framedConn, stream uint32) {
			c.headers(stream, false, ":status", "200")
			_ = c.WriteRSTStream(stream, http2.ErrCodeHTTP11Required)
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var older atomic.Int64
			f := newFramedBeside(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
				older.Add(1)
				_, _ = fmt.Fprint(w, r.Proto)
			}, func(c *framedConn, stream uint32, path string) {
				switch {
				case stream == 0:
				case c.served > tt.used:
					tt.says(c, stream)
				default:
					c.page(stream, path)
				}
			})
			for range tt.used {
				f.page(t, "/before")
			}
			e := f.failure(t, "/a")
			if !errors.Is(e, ErrHTTP1Required) || AskAgain(e) == nil || e.Code() != yp.CodeNetworkError || errors.Is(e, ErrStale) {
				t.Errorf("%v", e)
			}
			for range 3 {
				if got := f.page(t, "/a"); got != "HTTP/1.1" {
					t.Errorf("asked by %q", got)
				}
			}
			if seen := f.observed(); len(seen) != tt.used+4 || older.Load() != 3 {
				t.Errorf("%d requests observed, %d by HTTP/1.1", len(seen), older.Load())
			}
		})
	}
}

// The words alone change nothing: an error page, and a host that is asked by HTTP/1.1 already.
func TestHTTP1RequiredElsewhere(t *testing.T) {
	t.Parallel()
	f := newFramed(t, noRobots(), func(c *framedConn, stream uint32, _ string) {
		if stream != 0 {
			_ = c.WriteGoAway(0, http2.ErrCodeNo, nil)
		}
	})
	if e := f.failure(t, "/HTTP_1_1_REQUIRED"); AskAgain(e) != nil {
		t.Errorf("%v", e)
	}
}
