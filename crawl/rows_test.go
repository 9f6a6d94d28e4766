package crawl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// table runs a query and gives each row as its columns, joined by spaces; NULL is "-".
func (w *world) table(query string, args ...any) []string {
	w.t.Helper()
	return storetest.TableOf(w.t, w.db, " ", "-", query, args...)
}

// same compares two lists of words.
func (w *world) same(what string, got, want []string) {
	w.t.Helper()
	if slices.Equal(got, want) {
		return
	}
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	show := func(list []string) string { return strings.Join(list[n:min(n+20, len(list))], "\n  ") }
	w.t.Errorf("%s: %d, want %d; from the %dth on\n  %s\nwant\n  %s", what, len(got), len(want), n+1, show(got), show(want))
}

// requestRow is a row of requests as far as it tells of an answer: "http_503 503", or
// "ok 200, 3 listings", with ", unread" of a page that was not understood.
const requestRow = `SELECT CASE outcome WHEN 'success' THEN 'ok ' || http_status || ', ' || result_count || ' listings'
		ELSE error_class || ' ' || ifnull(http_status, 'no answer') || iif(parse_ok = 0, ', unread', '') END
	FROM requests `

// made lists the requests made for pages, our own deferrals among them, in their
// order.
func (w *world) made() []string {
	w.t.Helper()
	return w.table(requestRow + `WHERE type <> 'robots' ORDER BY id`)
}

// onRecord compares the requests made for pages with what they must be, one by one,
// and each with its neighbours: see tidy.
func (w *world) onRecord(want ...string) {
	w.t.Helper()
	w.same("requests on record", w.made(), want)
	w.tidy()
}

// tidy holds every row of requests to the rules of the table.
func (w *world) tidy() {
	w.t.Helper()
	for _, rule := range []struct{ broken, query string }{
		{"retries do not count from 0 under one correlation id", `SELECT correlation_id, group_concat(retry_seq) AS seqs FROM
			(SELECT * FROM requests ORDER BY correlation_id, id) GROUP BY correlation_id
			HAVING max(retry_seq) <> count(*) - 1 OR count(DISTINCT retry_seq) <> count(*) OR min(retry_seq) <> 0`},
		{"one correlation id is of two pages", `SELECT correlation_id FROM requests GROUP BY correlation_id
			HAVING count(DISTINCT ifnull(target_id, 0) || '.' || ifnull(claim_token, 0) || '.' || ifnull(page, 0) || type) > 1`},
		{"a listing's request has no attempt", `SELECT r.id FROM requests r LEFT JOIN crawl_attempts a
			ON a.target_id = r.target_id AND a.claim_token = r.claim_token WHERE r.type = 'listing' AND a.id IS NULL`},
		{"a robots.txt or a probe has a target", `SELECT id FROM requests WHERE type IN ('robots', 'probe') AND target_id IS NOT NULL`},
		{"outcome and class contradict each other", `SELECT id FROM requests WHERE (outcome = 'success') <> (error_class IS NULL)`},
		{"a success without a count", `SELECT id FROM requests WHERE outcome = 'success' AND type <> 'robots' AND (result_count IS NULL OR parse_ok IS NOT 1)`},
		{"a page not understood that counts as read", `SELECT id FROM requests WHERE error_class = 'parse_error' AND parse_ok IS NOT 0`},
		{"finished is not started and the latency", `SELECT id FROM requests
			WHERE abs(round((julianday(finished_at) - julianday(started_at)) * 86400000) - latency_ms) > 1`},
		{"a wait without a reason", `SELECT id FROM requests WHERE waited_ms > 0 AND wait_reason IS NULL`},
		{"a URL that is none", `SELECT id FROM requests WHERE url NOT LIKE 'http%://%'`},
		{"no identity", `SELECT id FROM requests WHERE error_class IS NOT 'rate_limited' AND identity IS NULL`},
	} {
		if bad := w.table(rule.query); len(bad) > 0 {
			w.t.Errorf("%s: %v", rule.broken, bad)
		}
	}
}

// attempt is a row of crawl_attempts.
type attempt struct {
	Ended, Code, Message   string
	Status                 int
	Proxy, Identity        string
	UserAgent              string // as it was sent
	Pages, Listings, Bytes int
	Backoff                time.Duration
	Steps                  []store.Step
}

// String is how it ended: "failed NETWORK_ERROR 503: retry retry retry", the events of
// its trace behind the colon.
func (a attempt) String() string {
	s := a.Ended
	if a.Code != "" {
		s += " " + a.Code
	}
	if a.Status != 0 {
		s += fmt.Sprint(" ", a.Status)
	}
	for i, step := range a.Steps {
		if i == 0 {
			s += ":"
		}
		s += " " + step.Event
	}
	return s
}

const attemptQuery = `SELECT ended, ifnull(error_code, ''), ifnull(error_message, ''), ifnull(http_status, 0), ifnull(proxy, ''), ifnull(identity, ''), ifnull(user_agent, ''),
	ifnull(pages, 0), ifnull(listings, 0), ifnull(bytes, 0), ifnull(backoff_delay_ms, 0), ifnull(metadata, '{}') FROM crawl_attempts WHERE target_id = ? ORDER BY id`

// attempts reads the attempts at a target, the oldest first.
func (w *world) attempts(target int64) (all []attempt) {
	w.t.Helper()
	rows, err := w.db.Read().QueryContext(context.Background(), attemptQuery, target)
	storetest.NoError(w.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var a attempt
		var ms int64
		var metadata string
		err := rows.Scan(&a.Ended, &a.Code, &a.Message, &a.Status, &a.Proxy, &a.Identity, &a.UserAgent, &a.Pages, &a.Listings, &a.Bytes, &ms, &metadata)
		storetest.NoError(w.t, err)
		var trace store.Trace
		storetest.NoError(w.t, json.Unmarshal([]byte(metadata), &trace))
		a.Backoff, a.Steps = time.Duration(ms)*time.Millisecond, trace.Steps
		all = append(all, a)
	}
	storetest.NoError(w.t, rows.Err())
	return all
}

// attempted compares how the attempts at the first target ended.
func (w *world) attempted(want ...string) []attempt {
	w.t.Helper()
	all := w.attempts(1)
	var got []string
	for _, a := range all {
		got = append(got, a.String())
	}
	w.same("attempts", got, want)
	return all
}

// source tells in words what is in force against the source: "held 30s: penalty",
// "paused 30m0s AUTH_FAILED", "paused HTML_CHANGED", "1 strikes, 1 pages kept".
func (w *world) source() string {
	w.t.Helper()
	now := w.db.Now()
	var words []string
	left := func(at string) string {
		until, err := yp.ParseTime(at)
		storetest.NoError(w.t, err)
		return until.Sub(now).Round(time.Second).String()
	}
	for _, h := range w.table("SELECT held_until || ' ' || held_for FROM hosts WHERE held_until > ?", yp.FormatTime(now)) {
		at, why, _ := strings.Cut(h, " ")
		words = append(words, "held "+left(at)+": "+why)
	}
	for _, p := range w.table("SELECT paused_until || ' ' || paused_code FROM sources WHERE paused_until > ?", yp.FormatTime(now)) {
		at, code, _ := strings.Cut(p, " ")
		words = append(words, "paused "+left(at)+" "+code)
	}
	for _, p := range w.table("SELECT paused_code FROM sources WHERE auto_disabled = 1") {
		words = append(words, "paused "+p)
	}
	if n := w.number("SELECT layout_strikes FROM sources"); n > 0 {
		words = append(words, fmt.Sprint(n, " strikes"))
	}
	if n := w.unknown(); n > 0 {
		words = append(words, fmt.Sprint(n, " pages kept"))
	}
	return strings.Join(words, ", ")
}

// inForce compares what is in force against the source.
func (w *world) inForce(want string) {
	w.t.Helper()
	storetest.Equal(w.t, w.source(), want, "in force against the source")
}

// times repeats a word.
func times(n int, word string) []string { return slices.Repeat([]string{word}, n) }
