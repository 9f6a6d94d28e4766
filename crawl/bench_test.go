package crawl_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// library is a Fetcher that has every page in memory. A silent one tells nobody what
// it did, so that no request is recorded.
type library struct {
	unpaced
	pages  map[string]*fetch.Response
	silent bool
}

// newLibrary crawls a world once, which fetches all that there is.
func newLibrary(b *testing.B, w *world) *library {
	b.Helper()
	l := &library{pages: map[string]*fetch.Response{}}
	keep := func(c *crawl.Config) { c.Fetch = l }
	e := w.engine(keep)
	storetest.NoError(b, w.crawl(e))
	return l
}

func (l *library) Get(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	u, err := req.Base.Parse(req.URL)
	if err != nil {
		return nil, err
	}
	key := u.RequestURI()
	if !l.silent {
		req.Observe(fetch.Observation{URL: u.String(), Host: u.Host, Started: time.Now(), Status: http.StatusOK, Via: fetch.ViaNone, Identity: "honest"})
	}
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
// three is the engine's own. The second one leaves requests, pace and penalties
// out; the third has the rows of requests and attempts alone, as many as there are to
// a page. CPU is the whole process's, so that time on the disk does not count.
func BenchmarkPage(b *testing.B) {
	w, _, _ := demoWorld(b, demo.Config{Places: 20}, "CA", "TX")
	lib := newLibrary(b, w)
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	b.Run("recorded", func(b *testing.B) { benchPages(b, w, lib) })
	b.Run("requests not recorded", func(b *testing.B) {
		benchPages(b, w, &library{pages: lib.pages, silent: true})
	})
	b.Run("rows alone", func(b *testing.B) { benchRows(b, w) })
}

func benchPages(b *testing.B, w *world, lib *library) {
	const again = `UPDATE targets SET status = 'PLANNED', page_current = 0, next_page_url = NULL, last_listing_id = NULL,
		raw_count = 0, accepted_count = 0, bad_count = 0, crawl_started_at = NULL, finished_at = NULL, not_before = NULL, wait_reason = NULL`
	b.ReportAllocs()
	b.ResetTimer()
	cpu := time.Duration(0)
	for left := int64(b.N); left > 0; {
		b.StopTimer()
		w.write(again)
		b.StartTimer()
		began := cpuTime()
		e := w.engine(func(c *crawl.Config) { c.Fetch, c.Budget.Requests = lib, left })
		err := w.crawl(e)
		cpu += cpuTime() - began
		st := e.Stats()
		if done := st.Pages + st.Empty*2; done == 0 || err != nil && left > done {
			b.Fatal(err)
		}
		left -= st.Pages + st.Empty*2
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// pagesPerTarget is what the demo directory has, near enough.
const pagesPerTarget = 3

// benchRows writes what is recorded of a page, many to a transaction: the transaction
// itself is the page's.
func benchRows(b *testing.B, w *world) {
	const together = 30
	run, target := w.number("SELECT max(id) FROM runs"), w.number("SELECT min(id) FROM targets")
	token := w.number("SELECT max(claim_token) FROM crawl_attempts")
	b.ReportAllocs()
	b.ResetTimer()
	began := cpuTime()
	for n := 0; n < b.N; n += together {
		err := w.db.Write(b.Context(), func(tx *store.Tx) error {
			for i := range together {
				if err := saveRows(tx, w, run, target, &token, i); err != nil {
					return err
				}
			}
			return nil
		})
		storetest.NoError(b, err)
	}
	b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func saveRows(tx *store.Tx, w *world, run, target int64, token *int64, i int) error {
	key := store.AttemptKey{TargetID: target, Token: *token}
	if i%pagesPerTarget == 0 {
		*token++
		key.Token = *token
		if err := store.BeginAttempt(tx, key, run, "worker_0_pid_1", 1, 0); err != nil {
			return err
		}
	}
	err := store.SaveRequests(tx, []store.Request{{
		SourceID: w.scope.SourceID, TargetID: target, ClaimToken: key.Token, Page: 1 + i%pagesPerTarget, Correlation: "1.amber.12345", Type: yp.RequestListing,
		URL: w.URL + city(0) + "?page=2", Started: tx.At, Latency: 300 * time.Millisecond, Waited: 2 * time.Second, WaitReason: "delay between requests",
		Status: 200, Results: 30, Bytes: 40_000, Identity: "honest", Via: fetch.ViaNone,
	}})
	if err != nil || i%pagesPerTarget != pagesPerTarget-1 {
		return err
	}
	a := store.Attempt{HTTPStatus: 200, Identity: "honest", Pages: pagesPerTarget, Listings: 90, Upserted: 90, Bytes: 120_000, StartedAt: tx.At}
	for p := range pagesPerTarget {
		a.Trace.Add(tx.At, "committed", p+1, "30 listings, 12 new, 0 changed")
	}
	return store.EndAttempt(tx, key, &a, store.AttemptEnd{Ended: store.EndedDone, Code: yp.CodeSuccess})
}
