package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// trouble is one thing that can go wrong with a page, and all that must come of it:
// the requests on record, the attempt, the target, and the source.
type trouble struct {
	name   string
	cause  yp.Cause         // its row of the policy table; "" = none, it is a good page
	page   http.HandlerFunc // what the first target's address answers
	search http.HandlerFunc // and its search
	change func(*world)     // made to the world beforehand

	made    []string  // requests on record
	asked   int       // at the server, when that is another number: 0 = one for each on record, -1 = none
	attempt string    // how it ended, with the steps of its trace
	status  yp.Status // of the target
	source  string    // what is in force against the source
	says    string    // part of last_error
	blocked bool      // the run ends because the source is closed
}

// check crawls the one target of a world of its own, once, without patience for holds.
func (tt trouble) check(t *testing.T) {
	t.Parallel()
	clock := newClock()
	w := setup(t, layout{now: clock.Now})
	w.on(target, tt.page)
	if tt.search != nil {
		w.on(search, tt.search)
	}
	if tt.change != nil {
		tt.change(w)
	}
	e := w.engine(func(c *crawl.Config) { c.Patience = time.Millisecond })
	err := w.crawl(e)
	var blocked *crawl.BlockedError
	if tt.blocked != errors.As(err, &blocked) || !tt.blocked && err != nil {
		t.Errorf("the run ended with %v, because the source is closed: want %v", err, tt.blocked)
	}
	w.onRecord(tt.made...)
	tt.counted(w)
	tt.ended(w, clock, e.Stats())
	w.inForce(tt.source)
}

// counted compares the rows with what the server saw.
func (tt trouble) counted(w *world) {
	w.t.Helper()
	want := max(tt.asked, 0)
	if tt.asked == 0 {
		want = int(w.number("SELECT count(*) FROM requests WHERE type <> 'robots' AND error_class IS NOT 'rate_limited'"))
	}
	if n := len(w.asked()); n != want {
		w.t.Errorf("the server was asked %d times, want %d: %v", n, want, w.asked())
	}
}

// ended checks attempt and target.
func (tt trouble) ended(w *world, clock *storetest.Clock, st crawl.Stats) {
	w.t.Helper()
	a := w.attempted(tt.attempt)[0]
	if code := string(tt.cause.Policy().Code); tt.cause != "" && a.Code != "" && a.Code != code {
		w.t.Errorf("the attempt's code is %s, of %s it is %s", a.Code, tt.cause, code)
	}
	failures, crawlStatus := 0, "active"
	r := w.row(1)
	switch tt.status {
	case waiting:
		failures = 1
		wait := a.Backoff
		if wait < 2*time.Minute || wait > 150*time.Second || r.Backoff != yp.FormatTime(clock.Now().Add(wait)) {
			w.t.Errorf("it waits %s until %s, want 2 to 2.5 minutes", wait, r.Backoff)
		}
	case yp.Parked:
		failures, crawlStatus = 1, "failed"
	}
	if got := w.table("SELECT crawl_status, backoff_level, next_crawl_at IS NULL FROM v_crawler_status WHERE id = 1")[0]; r.Status != tt.status || r.Failures != failures ||
		got != fmt.Sprintf("%s 0 %d", crawlStatus, map[bool]int{true: 0, false: 1}[tt.status == yp.Done]) {
		w.t.Errorf("the target is %s after %d failures, %s; want %s", r.Status, r.Failures, got, tt.status)
	}
	if !strings.Contains(r.Error, tt.says) || (tt.status == waiting || tt.status == yp.Parked) == (r.Error == "") && tt.cause != yp.CauseEmpty {
		w.t.Errorf("last_error %q does not say %q", r.Error, tt.says)
	}
	tt.told(w, st)
}

// told checks what log and statistics say.
func (tt trouble) told(w *world, st crawl.Stats) {
	w.t.Helper()
	end := map[yp.Status]string{waiting: "error", yp.Parked: "error", yp.Planned: "stop", yp.Done: "complete"}[tt.status]
	if got := w.story(); !strings.HasPrefix(got, "start") || !strings.HasSuffix(got, end) {
		w.t.Errorf("the log tells %q", got)
	}
	one := map[yp.Status]*int64{waiting: &st.Waiting, yp.Parked: &st.Parked, yp.Planned: &st.Released, yp.Done: &st.Done}[tt.status]
	if *one != 1 || st.Waiting+st.Parked+st.Released+st.Done != 1 || st.Failed != 0 {
		w.t.Errorf("stats %+v", st)
	}
}

// Attempts that end at once, after so many requests of one kind, or in a hold.
func failed(code yp.ErrorCode, status string) string {
	return strings.TrimSpace(fmt.Sprintf("failed %s %s", code, status))
}

func retried(n int, code yp.ErrorCode, status string) string {
	return failed(code, status) + ":" + strings.Repeat(" retry", n)
}

// slowly makes the client give up early on a host that hangs.
func slowly(w *world) {
	w.fetch = fetch.Config{HeaderTimeout: 100 * time.Millisecond, StallTimeout: 100 * time.Millisecond, IgnoreRobots: true}
}

// elsewhere moves the source to another base URL, where robots.txt is nobody's
// business.
func elsewhere(base func(w *world) string, dial func(context.Context, string, string) (net.Conn, error)) func(*world) {
	return func(w *world) {
		w.src = source(w.t, base(w), "")
		w.fetch = fetch.Config{IgnoreRobots: true, Dial: dial}
	}
}

// TestTaxonomy holds the engine to docs/health.md, sections 1 and 2, on a real
// server: whatever a page does is told apart, acted on and recorded as the table of
// policies says.
func TestTaxonomy(t *testing.T) {
	t.Parallel()
	covered := map[yp.Cause]bool{yp.CauseProxy: true} // TestProxies
	for _, group := range [][]trouble{rateLimits(), blocks(), refusals(), network(), strangers(), missing(), empties(), layouts(), odd()} {
		for _, tt := range group {
			covered[tt.cause] = true
			t.Run(tt.name, tt.check)
		}
	}
	for _, p := range yp.Policies() {
		if !covered[p.Cause] {
			t.Errorf("no test has cause %s", p.Cause)
		}
	}
}

func rateLimits() (all []trouble) {
	for _, tt := range []struct {
		name string
		page http.HandlerFunc
		held string
	}{
		{"without Retry-After", status(429, "slow down"), "held 30s: 429 without Retry-After"},
		{"in seconds", tooMany("7"), "held 7s: Retry-After"},
		{"in minutes", tooMany("900"), "held 15m0s: Retry-After"},
		{"as an HTTP date", inDate(90 * time.Second), "held 1m30s: Retry-After"},
		{"that is absurd: it is cut", tooMany("1000000000000"), "held 1h0m0s: Retry-After"},
		{"that is far away: it is cut", inDate(48 * time.Hour), "held 1h0m0s: Retry-After"},
		{"that is negative: it is none", tooMany("-5"), "held 30s: 429 without Retry-After"},
	} {
		all = append(all, trouble{
			name: "429 " + tt.name, cause: yp.CauseRateLimited, page: tt.page, made: []string{"http_429 429", "rate_limited no answer"},
			attempt: "released 429: retry", status: yp.Planned, source: tt.held, blocked: true,
		})
	}
	for _, tt := range []struct {
		name   string
		fields []string
		held   string
	}{
		{"X-RateLimit-Reset in seconds", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 600"}, "held 10m0s: 429 with X-RateLimit-Reset"},
		{"RateLimit", []string{`RateLimit: "default";r=0;t=600`}, "held 10m0s: 429 with RateLimit"},
		{"RateLimit and Retry-After", []string{`RateLimit: "default";r=0;t=600`, "Retry-After: 7"}, "held 7s: Retry-After"},
		{"RateLimit that is not used up", []string{`RateLimit: "default";r=1;t=600`}, "held 30s: 429 without Retry-After"},
	} {
		all = append(all, trouble{
			name: "429 with " + tt.name, cause: yp.CauseRateLimited, page: with(status(429, "slow down"), tt.fields...), made: []string{"http_429 429", "rate_limited no answer"},
			attempt: "released 429: retry", status: yp.Planned, source: tt.held, blocked: true,
		})
	}
	for _, tt := range []struct {
		class string
		cause yp.Cause
	}{
		{"http_5xx 500", yp.CauseNetwork},
		{"http_5xx 502", yp.CauseNetwork},
		{"http_5xx 503", yp.CauseNetwork},
		{"http_5xx 504", yp.CauseNetwork},
		{"http_5xx 520", yp.CauseNetwork},
		{"timeout 408", yp.CauseTimeout},
		{"unknown 400", yp.CauseOther},
		{"unknown 425", yp.CauseOther},
	} {
		code := tt.class[len(tt.class)-3:]
		n, _ := strconv.Atoi(code)
		all = append(all, trouble{
			name: code + " with Retry-After", cause: tt.cause, page: with(status(n, "later"), "Retry-After: 60"),
			made: []string{tt.class, "rate_limited no answer"}, attempt: "released " + code + ": retry", status: yp.Planned,
			source: "held 1m0s: Retry-After", blocked: true,
		})
	}
	return all
}

// blocks are answers that say no, in so many words or not (all that are known are in the test of challenges of
// package fetch). One alone costs the host nothing, and without a proxy there is no other way to ask.
func blocks() (all []trouble) {
	for _, tt := range []struct {
		name  string
		page  http.HandlerFunc
		class string
		says  string
	}{
		{"403", status(403, shell("no")), "http_403 403", "status 403"},
		{"402", status(402, shell("pay")), "unknown 402", "status 402 Payment Required"},
		{"402 with a price", with(status(402, shell("pay")), "crawler-price: USD 0.01"), "unknown 402", "402 Payment Required: crawler-price USD 0.01"},
		{"406", status(406, shell("no")), "unknown 406", "status 406"},
		{"412", status(412, noResults()), "unknown 412", "status 412"},
		{"418", status(418, shell("no")), "unknown 418", "status 418"},
		{"428", status(428, page("", shops(1, 3)...)), "unknown 428", "status 428"},
		{"451", status(451, shell("no")), "unknown 451", "status 451 Unavailable For Legal Reasons"},
		{
			"451 with who wants it", with(status(451, shell("no")), `Link: </privacy>; rel=privacy, <https://authority.example/order>; rel="blocked-by"`), "unknown 451",
			"451 Unavailable For Legal Reasons: blocked by https://authority.example/order",
		},
		{"cf-mitigated with 403", challenge, "cf_challenge 403", "challenge"},
		{"cf-mitigated with 429 is no rate limit", with(status(429, "x"), "cf-mitigated: challenge"), "cf_challenge 429", "cloudflare"},
		{"cf-mitigated with 503 is no outage", with(status(503, "x"), "cf-mitigated: challenge"), "cf_challenge 503", "cloudflare"},
		{"a page that says Just a moment, 200", ok("<html><head><title>Just a moment...</title></head><body></body></html>"), "cf_challenge 200", "cloudflare"},
		{"DataDome by its header", with(status(403, "<html>no</html>"), "X-DataDome: protected"), "cf_challenge 403", "datadome"},
		{"AWS WAF", with(status(405, "x"), "X-Amzn-Waf-Action: captcha"), "cf_challenge 405", "aws-waf"},
		{"a challenge with 428", status(428, `{"sec-cp-challenge": "true"}`), "cf_challenge 428", "akamai"},
		{"DataDome with 412", with(status(412, "<html>no</html>"), "X-DataDome: protected"), "cf_challenge 412", "datadome"},
		{"a block with 401 is no login", status(401, `<html><div id="px-captcha"></div></html>`), "cf_challenge 401", "perimeterx"},
		{"a firewall's page with 401", status(401, `<html>Access Denied https://errors.edgesuite.net/18.aa</html>`), "cf_challenge 401", "akamai"},
		{"202, tiny", status(202, "wait"), "cf_challenge 202", "soft block"},
	} {
		all = append(all, trouble{
			name: tt.name, cause: yp.CauseBlocked, page: tt.page, made: []string{tt.class},
			attempt: failed(yp.CodeBlockedProxy, tt.class[len(tt.class)-3:]), status: waiting, says: tt.says,
		})
	}
	for _, class := range []string{"http_403 403", "unknown 402", "unknown 418", "unknown 451"} {
		code := class[len(class)-3:]
		n, _ := strconv.Atoi(code)
		all = append(all, trouble{
			name: code + " that says when to come back", cause: yp.CauseBlocked, page: with(status(n, shell("no")), "Retry-After: 120"), made: []string{class},
			attempt: "failed BLOCKED_PROXY " + code, status: waiting, source: "held 2m0s: Retry-After", says: "retry after 2m0s",
		})
	}
	return append(all,
		trouble{
			name: "a challenge that says when to come back", cause: yp.CauseBlocked, page: with(status(429, "x"), "cf-mitigated: challenge", "Retry-After: 120"),
			made: []string{"cf_challenge 429"}, attempt: "failed BLOCKED_PROXY 429", status: waiting, source: "held 2m0s: Retry-After",
		},
		trouble{
			name: "a redirect to the homepage", cause: yp.CauseBlocked, page: redirectTo("/"), change: func(w *world) { w.on("/", ok(noResults())) },
			made: []string{"parse_error 200, unread"}, asked: 2, attempt: "failed BLOCKED_PROXY 200", status: waiting, says: "homepage",
		},
		trouble{
			name: "a redirect to a page of another kind", cause: yp.CauseBlocked, page: redirectTo("/about/us/and/more"),
			change: func(w *world) { w.on("/about/us/and/more", ok(page("", shops(1, 3)...))) },
			made:   []string{"parse_error 200, unread"}, asked: 2, attempt: "failed BLOCKED_PROXY 200", status: waiting, says: "another kind",
		},
		trouble{
			name: "a redirect to another domain", cause: yp.CauseBlocked, page: redirectTo("http://elsewhere.example/"),
			made: []string{"unknown 302"}, attempt: "failed BLOCKED_PROXY 302", status: waiting, says: "leads to another site",
		})
}

func refusals() (all []trouble) {
	for _, code := range []string{"401", "407"} {
		n := map[string]int{"401": 401, "407": 407}[code]
		all = append(all, trouble{
			name: code, cause: yp.CauseAuth, page: status(n, shell("no")), made: []string{"auth_error " + code},
			attempt: "failed AUTH_FAILED " + code, status: waiting, says: code, source: "paused 30m0s AUTH_FAILED",
		})
	}
	return append(all, trouble{
		name: "401 that says when to come back", cause: yp.CauseAuth, page: with(status(401, shell("no")), "Retry-After: 3600"), made: []string{"auth_error 401"},
		attempt: "failed AUTH_FAILED 401", status: waiting, source: "held 1h0m0s: Retry-After, paused 30m0s AUTH_FAILED",
	})
}

func network() []trouble {
	again := func(name, class, code string, page http.HandlerFunc, change func(*world)) trouble {
		words := strings.Fields(class)
		answer := ""
		if words[1] != "no" {
			answer = words[1]
		}
		return trouble{
			name: name, cause: yp.CauseNetwork, page: page, change: change, made: times(4, class),
			attempt: retried(3, yp.ErrorCode(code), answer), status: waiting, says: words[0],
		}
	}
	of := func(cause yp.Cause, asked int, tt trouble) trouble {
		tt.cause, tt.asked = cause, asked
		return tt
	}
	const netErr, late = string(yp.CodeNetworkError), string(yp.CodeTimeout)
	unknownCert := func(w *world) string {
		s := httptest.NewUnstartedServer(w.Config.Handler)
		s.Config.ErrorLog = discard()
		s.StartTLS()
		w.t.Cleanup(s.Close)
		return s.URL
	}
	noName := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "directory.example", IsNotFound: true}}
	}
	return []trouble{
		again("500", "http_5xx 500", netErr, status(500, "oops"), nil),
		again("500 with a Retry-After of 0", "http_5xx 500", netErr, with(status(500, "oops"), "Retry-After: 0"), nil),
		again("502 with a Retry-After that is over", "http_5xx 502", netErr, with(status(502, "oops"), "Retry-After: Mon, 02 Jan 2006 15:04:05 GMT"), nil),
		again("500 with a Retry-After that can't be read", "http_5xx 500", netErr, with(status(500, "oops"), "Retry-After: soon"), nil),
		again("500 with RateLimit", "http_5xx 500", netErr, with(status(500, "oops"), `RateLimit: "default";r=0;t=600`), nil),
		again("503", "http_5xx 503", netErr, status(503, "later"), nil),
		again("521", "http_5xx 521", netErr, status(521, "down"), nil),
		again("522", "http_5xx 522", netErr, status(522, "origin down"), nil),
		again("a body cut short", "unknown 200", netErr, truncated, nil),
		again("a reset in the middle of a body", "unknown 200", netErr, resetInBody, nil),
		{
			name: "a closed connection, at first that of robots.txt", cause: yp.CauseNetwork, page: reset, made: times(5, "unknown no answer"),
			attempt: "failed NETWORK_ERROR: again retry retry retry", status: waiting, says: "connection failed",
		},
		of(yp.CauseTimeout, 0, again("no answer", "timeout no answer", late, hang, slowly)),
		of(yp.CauseTimeout, 0, again("headers that trickle", "timeout no answer", late, trickle, slowly)),
		of(yp.CauseTimeout, 0, again("a body that stalls", "timeout 200", late, stall, slowly)),
		of(yp.CauseTimeout, 0, again("408", "timeout 408", late, status(408, "x"), nil)),
		of(yp.CauseNetwork, -1, again("an unknown certificate", "tls no answer", netErr, nil, elsewhere(unknownCert, nil))),
		of(yp.CauseNetwork, -1, again("a name that is none", "dns no answer", netErr, nil,
			elsewhere(func(*world) string { return "http://directory.example" }, noName))),
		of(yp.CauseNetwork, -1, again("a connection refused", "connection_refused no answer", netErr, nil,
			elsewhere(func(w *world) string { return "http://" + unused(w.t) }, nil))),
		{
			name: "time-outs and network errors share their retries", cause: yp.CauseNetwork, page: inTurn(hang, status(500, ""), hang, status(500, "")),
			change: func(w *world) {
				slowly(w)
				w.fetch.HeaderTimeout = 500 * time.Millisecond
			},
			made:    []string{"timeout no answer", "http_5xx 500", "timeout no answer", "http_5xx 500"},
			attempt: retried(3, yp.CodeNetworkError, "500"), status: waiting,
		},
		{
			name: "a target may allow fewer retries", cause: yp.CauseNetwork, page: status(500, ""),
			change: func(w *world) { w.write("UPDATE targets SET max_retries = 1") },
			made:   times(2, "http_5xx 500"), attempt: "failed NETWORK_ERROR 500: retry", status: waiting,
		},
		{
			name: "and never more", cause: yp.CauseBroken, page: garbled, change: func(w *world) { w.write("UPDATE targets SET max_retries = 9") },
			made: times(2, "parse_error 200, unread"), attempt: "failed PARSE_ERROR 200: retry", status: waiting,
		},
	}
}

// unused is an address on which nobody listens.
func unused(t testing.TB) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	storetest.NoError(t, err)
	defer func() { _ = ln.Close() }()
	u := url.URL{Host: ln.Addr().String()}
	return u.Host
}
