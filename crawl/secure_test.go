package crawl_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
)

// onHTTPS moves the directory to https://example.com; whoever asks by http is sent there.
func (w *world) onHTTPS(base string) {
	w.t.Helper()
	w.src = source(w.t, base, "")
	secure := httptest.NewTLSServer(w.Config.Handler)
	plain := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "https://example.com"+r.URL.RequestURI(), http.StatusMovedPermanently)
	}))
	w.t.Cleanup(func() {
		secure.Close()
		plain.Close()
	})
	w.fetch.Roots = x509.NewCertPool()
	w.fetch.Roots.AddCert(secure.Certificate())
	w.fetch.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		to := secure.Listener.Addr()
		if strings.HasSuffix(addr, ":80") {
			to = plain.Listener.Addr()
		}
		return (&net.Dialer{}).DialContext(ctx, network, to.String())
	}
}

// A base_url of http beside a site on https costs two requests a page: a run says so once.
func TestBaseOfHTTP(t *testing.T) {
	for base, want := range map[string]int{"http://example.com": 1, "https://example.com": 0} {
		parallel(t, base, func(t *testing.T) {
			w := setup(t, layout{cities: 3})
			w.onHTTPS(base)
			var log bytes.Buffer
			st := w.done(func(c *crawl.Config) { c.Logger = zerolog.New(&log) })
			storetest.Equal(t, st.Done, 3, "targets done")
			const says = "each page costs two requests: set base_url to https://example.com, in its definition or with --base-url, instead of http://example.com"
			storetest.Equal(t, strings.Count(log.String(), says), want, "warnings", log.String())
		})
	}
}

// A site that leads from https to http has no https: no block, and no pause of the source.
func TestNoHTTPS(t *testing.T) {
	w := setup(t, layout{})
	w.onHTTPS("https://example.com")
	w.on(target, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://example.com"+r.URL.RequestURI(), http.StatusMovedPermanently)
	})
	w.done()
	r := w.is(1, waiting, 0, "UNKNOWN_ERROR")
	if !strings.Contains(r.Error, "this site has no https: use base_url http://example.com,") {
		t.Errorf("last_error %q", r.Error)
	}
	w.onRecord("unknown 301")
	w.inForce("")
}
