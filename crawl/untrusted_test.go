package crawl_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"ypcrawl/crawl"
)

// A source whose certificate can't be trusted ends its run with the reason, after one request a worker at most, and
// nothing is spent: the next run finds the targets as they were. Without robots.txt it is a failure as others.
func TestUntrusted(t *testing.T) {
	const says = "an authority that this machine does not know"
	parallel(t, "at robots.txt", func(t *testing.T) {
		w := setup(t, layout{cities: 9})
		w.onHTTPS("https://example.com")
		known := w.fetch.Roots
		w.fetch.Roots, w.fetch.IgnoreRobots = x509.NewCertPool(), false
		endedBy(t, w.crawl(w.engine(fast, workers(2))), crawl.ErrUntrusted, "https://example.com", says, "SSL_CERT_FILE")
		w.inForce("")
		if n := w.number(`SELECT count(*) FROM requests WHERE error_class = 'tls'`); n == 0 || n > 2 {
			t.Errorf("%d requests", n)
		}
		w.counts("targets that failed", 0, `SELECT count(*) FROM targets WHERE status <> 'PLANNED'`)
		w.fetch.Roots = known
		w.done(fast)
	})
	parallel(t, "at a page", func(t *testing.T) {
		w := setup(t, layout{})
		w.onHTTPS("https://example.com")
		w.fetch.Roots, w.fetch.IgnoreRobots = x509.NewCertPool(), true
		w.done(fast)
		if r := w.is(1, waiting, 0, "NETWORK_ERROR"); !strings.Contains(r.Error, says) {
			t.Errorf("last_error %q", r.Error)
		}
	})
	parallel(t, "another host that the first page leads to ends no run", func(t *testing.T) {
		w := setup(t, layout{cities: 3})
		w.onHTTPS("https://example.com")
		w.on("/city-0-ca/plumbers", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "https://www.example.com/x", http.StatusFound)
		})
		dial := w.fetch.Dial
		w.fetch.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "www.example.com:443" {
				addr = "example.com:80" // where nobody speaks TLS
			}
			return dial(ctx, network, addr)
		}
		if err := w.crawl(w.engine(fast, workers(1))); errors.Is(err, crawl.ErrUntrusted) {
			t.Errorf("the run ended with %v", err)
		}
		w.counts("targets done", 2, `SELECT count(*) FROM targets WHERE status = 'DONE'`)
	})
	parallel(t, "once pages were read it is a failure as others", func(t *testing.T) {
		w := setup(t, layout{cities: 3})
		w.onHTTPS("https://example.com")
		for n := range 3 {
			page := ok(page("", shops(10*n+1, 3)...))
			w.on(fmt.Sprintf("/city-%d-ca/plumbers", n), func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Connection", "close")
				page(rw, r)
			})
		}
		dial := w.fetch.Dial
		w.fetch.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if w.number(`SELECT count(*) FROM listings`) > 0 {
				addr = "example.com:80" // where nobody speaks TLS
			}
			return dial(ctx, network, addr)
		}
		if err := w.crawl(w.engine(fast, workers(1))); errors.Is(err, crawl.ErrUntrusted) {
			t.Errorf("the run ended with %v", err)
		}
		w.counts("targets that failed so", 2, `SELECT count(*) FROM targets WHERE last_error_code = 'NETWORK_ERROR' AND last_error LIKE '%does not use TLS%'`)
	})
}
