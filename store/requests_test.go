package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// someRequest is a page that was fetched and read.
func someRequest() store.Request {
	return store.Request{
		SourceID: 1, TargetID: 1, ClaimToken: 7, Page: 2, Correlation: "c1", Retry: 1, Type: yp.RequestListing, URL: "http://x/2",
		Started: noon, Latency: 1234*time.Millisecond + 999*time.Microsecond, Waited: 2 * time.Second, WaitReason: "pace",
		Status: 200, Results: 30, Bytes: 4096, Proxy: "http://p:1", Identity: "firefox", Via: "proxy",
	}
}

func (w *world) record(requests ...store.Request) error {
	return w.Write(bg, func(tx *store.Tx) error { return store.SaveRequests(tx, requests) })
}

const requestRow = `SELECT source_id, target_id, claim_token, page, correlation_id, retry_seq, type, url, started_at, finished_at, waited_ms, wait_reason,
	outcome, error_class, http_status, latency_ms, parse_ok, result_count, bytes, proxy, proxy_failed, identity, via FROM requests ORDER BY id DESC LIMIT 1`

func TestSaveRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const head = "1|1|7|2|c1|1|listing|http://x/2|2026-11-20T12:00:00.000Z|"
	for _, c := range []struct {
		name   string
		change func(*store.Request)
		want   string
	}{
		{"success", func(*store.Request) {}, head + "2026-11-20T12:00:01.234Z|2000|pace|success||200|1234|1|30|4096|http://p:1|0|firefox|proxy"},
		{
			"an empty result is a success with 0", func(r *store.Request) { r.Results = 0 },
			head + "2026-11-20T12:00:01.234Z|2000|pace|success||200|1234|1|0|4096|http://p:1|0|firefox|proxy",
		},
		{
			"a page that could not be read", func(r *store.Request) { r.Class = yp.ClassParseError },
			head + "2026-11-20T12:00:01.234Z|2000|pace|failure|parse_error|200|1234|0||4096|http://p:1|0|firefox|proxy",
		},
		{
			"no answer", func(r *store.Request) { r.Class, r.Status, r.Bytes, r.Latency = yp.ClassConnectionRefused, 0, 0, 0 },
			head + "2026-11-20T12:00:00.000Z|2000|pace|failure|connection_refused||0|||0|http://p:1|0|firefox|proxy",
		},
		{
			"the proxy's own fault", func(r *store.Request) { r.Class, r.Status, r.ProxyFailed = yp.ClassUnknown, 0, true },
			head + "2026-11-20T12:00:01.234Z|2000|pace|failure|unknown||1234|||4096|http://p:1|1|firefox|proxy",
		},
		{
			"of no target, by no proxy, without a wait", func(r *store.Request) {
				*r = store.Request{SourceID: 2, Correlation: "c2", Type: yp.RequestRobots, URL: "/robots.txt", Started: noon}
			},
			"2||||c2|0|robots|/robots.txt|2026-11-20T12:00:00.000Z|2026-11-20T12:00:00.000Z|0||success|||0|1|0|0||0||none",
		},
		{
			"a deferral", func(r *store.Request) {
				*r = store.Request{SourceID: 1, TargetID: 1, ClaimToken: 7, Page: 2, Correlation: "c1", Type: yp.RequestListing, URL: "http://x/2", Latency: time.Hour}.
					Deferral(noon.Add(time.Second), "Retry-After")
			},
			"1|1|7|2|c1|0|listing|http://x/2|2026-11-20T12:00:01.000Z|2026-11-20T12:00:01.000Z|0|Retry-After|failure|rate_limited||0|||0||0||none",
		},
	} {
		r := someRequest()
		c.change(&r)
		if err := w.record(r); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := rows(t, w.DB, requestRow); got[0] != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got[0], c.want)
		}
	}
}

// TestEveryRequest: every type and every class has a row, and the outcome says
// whether there is a class.
func TestEveryRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []store.Request
	for _, typ := range yp.RequestTypes() {
		for _, class := range append(yp.ErrorClasses(), "") {
			r := someRequest()
			if r.Type, r.Class = typ, class; class == yp.ClassRateLimited {
				r = r.Deferral(noon, "pace")
			}
			all = append(all, r)
		}
	}
	noErr(t, w.record(all...))
	const q = `SELECT count(*), count(DISTINCT type), count(DISTINCT error_class), sum(outcome = 'success'), sum(error_class IS NULL), sum(result_count IS NOT NULL),
		sum(parse_ok = 1), sum(parse_ok = 0), sum(error_class = 'parse_error') FROM requests`
	same(t, "rows", rows(t, w.DB, q), []string{"78|6|12|6|6|6|6|6|6"})
}

// TestRequestRules: what the rules forbid, the schema does not take, and one bad row
// takes the others of its page with it.
func TestRequestRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, change := range map[string]func(*store.Request){
		"no such type":               func(r *store.Request) { r.Type = "page" },
		"no such class":              func(r *store.Request) { r.Class = "TIMEOUT" },
		"no such way":                func(r *store.Request) { r.Via = "pigeon" },
		"a success of less than 0":   func(r *store.Request) { r.Results = -1 },
		"a retry before the first":   func(r *store.Request) { r.Retry = -1 },
		"fewer bytes than none":      func(r *store.Request) { r.Bytes = -1 },
		"a deferral that took time":  func(r *store.Request) { r.Class = yp.ClassRateLimited },
		"of a source there is not":   func(r *store.Request) { r.SourceID = 99 },
		"of a target there is not":   func(r *store.Request) { r.TargetID = 99 },
		"of no source":               func(r *store.Request) { r.SourceID = 0 },
		"a deferral that ends later": func(r *store.Request) { r.Class, r.Latency = yp.ClassRateLimited, time.Millisecond },
	} {
		r := someRequest()
		change(&r)
		if err := w.record(someRequest(), r, someRequest()); err == nil || !strings.Contains(err.Error(), "record request") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := rows(t, w.DB, `SELECT * FROM requests`); len(got) > 0 {
		t.Errorf("%d rows are there", len(got))
	}
	for name, set := range map[string]string{
		"a failure without a class": `outcome = 'failure'`, "a success with one": `error_class = 'dns'`, "a success without a count": `result_count = NULL`,
	} {
		noErr(t, w.record(someRequest()))
		if err := w.try(`UPDATE requests SET ` + set); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func (w *world) try(query string, args ...any) error {
	return w.Write(bg, func(tx *store.Tx) error { _, err := tx.Exec(query, args...); return err })
}

// TestRollupReadsTheIndex: what the roll-ups ask stands in an index, so that a
// million rows cost no look at the table. Deferrals are told by their class, a
// proxy's fault is left out.
func TestRollupReadsTheIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan := rows(t, w.DB, `EXPLAIN QUERY PLAN SELECT count(*), sum(outcome = 'success' AND parse_ok = 1), avg(latency_ms) FROM requests
		WHERE source_id = 1 AND proxy_failed = 0 AND finished_at >= ? AND type IN ('listing', 'detail') AND error_class IS NOT 'rate_limited'`, "x")
	if !slices.ContainsFunc(plan, func(line string) bool {
		return strings.Contains(line, "USING COVERING INDEX requests_rollup (source_id=? AND finished_at>?)")
	}) {
		t.Errorf("the plan is %s", fmt.Sprint(plan))
	}
}
