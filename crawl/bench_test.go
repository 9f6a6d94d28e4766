package crawl_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site/demo"
)

// library is a Fetcher that has every page in memory.
type library struct {
	unpaced
	pages map[string]*fetch.Response
}

// newLibrary crawls a world once, which fetches all that there is.
func newLibrary(b *testing.B, w *world) *library {
	b.Helper()
	l := &library{pages: map[string]*fetch.Response{}}
	keep := func(c *crawl.Config) { c.Fetch = l }
	e := w.engine(keep)
	if err := w.crawl(e); err != nil {
		b.Fatal(err)
	}
	return l
}

func (l *library) Get(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	u, err := req.Base.Parse(req.URL)
	if err != nil {
		return nil, err
	}
	key := u.RequestURI()
	req.Observe(fetch.Observation{URL: u.String(), Host: u.Host, Started: time.Now(), Status: http.StatusOK, Via: fetch.ViaNone, Identity: "honest"})
	if r := l.pages[key]; r != nil {
		return r, nil
	}
	r, err := download(ctx, u)
	l.pages[key] = r
	return r, err
}

func download(ctx context.Context, u *url.URL) (*fetch.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return &fetch.Response{Status: resp.StatusCode, URL: u, Header: resp.Header, Body: body}, err
}

// BenchmarkPage takes pages of the demo directory that are in memory through
// the engine, a real parse, a real log and a real commit. What is not in those
// three is the engine's own.
func BenchmarkPage(b *testing.B) {
	w, _, _ := demoWorld(b, demo.Config{Places: 20}, "CA", "TX")
	lib := newLibrary(b, w)
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	const again = `UPDATE targets SET status = 'PLANNED', page_current = 0, next_page_url = NULL, last_listing_id = NULL,
		raw_count = 0, accepted_count = 0, bad_count = 0, crawl_started_at = NULL, finished_at = NULL`
	b.ReportAllocs()
	b.ResetTimer()
	for left := int64(b.N); left > 0; {
		b.StopTimer()
		w.write(again)
		b.StartTimer()
		e := w.engine(func(c *crawl.Config) { c.Fetch, c.Budget.Requests = lib, left })
		if err := w.crawl(e); err != nil && left > e.Stats().Pages+e.Stats().Empty*2 {
			b.Fatal(err)
		}
		left -= e.Stats().Pages + e.Stats().Empty*2
	}
}
