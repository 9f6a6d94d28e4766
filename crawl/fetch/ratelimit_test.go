package fetch

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// headers of lines "Name: value".
func headers(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestLimitReset(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) int64 { return now.Add(d).Unix() }
	const left, reset = "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "
	for _, tt := range []struct {
		name  string
		lines []string
		want  time.Duration
	}{
		{"seconds", []string{left, reset + "600"}, 10 * time.Minute},
		{"a fraction", []string{left, reset + "90.5"}, 90*time.Second + 500*time.Millisecond},
		{"a fraction of a second", []string{left, reset + "0.1"}, time.Second},
		{"a plus", []string{left, reset + "+60"}, time.Minute},
		{"quotes", []string{`X-RateLimit-Remaining: "0"`, reset + `"60"`}, time.Minute},
		{"a unit", []string{left, reset + "90s"}, 90 * time.Second},
		{"more seconds than an hour", []string{left, reset + "999999999"}, time.Hour},
		{"zero", []string{left, reset + "0"}, 0},
		{"negative", []string{left, reset + "-5"}, 0},
		{"a word", []string{left, reset + "soon"}, 0},
		{"none", []string{left}, 0},
		{"empty", []string{left, reset}, 0},
		{"an exponent", []string{left, reset + "6e2"}, 0},
		{"an epoch", []string{left, reset + fmt.Sprint(in(10*time.Minute))}, 10 * time.Minute},
		{"an epoch with a fraction", []string{left, reset + fmt.Sprint(in(time.Minute)) + ".250"}, time.Minute + 250*time.Millisecond},
		{"an epoch that is over", []string{left, reset + fmt.Sprint(in(-time.Minute))}, 0},
		{"an epoch that is now", []string{left, reset + fmt.Sprint(in(0))}, 0},
		{"the first epoch", []string{left, reset + "1000000000"}, 0},
		{"the last epoch", []string{left, reset + "99999999999"}, time.Hour},
		{"milliseconds", []string{left, reset + fmt.Sprint(1000*in(5*time.Minute))}, 5 * time.Minute},
		{"milliseconds that are over", []string{left, reset + fmt.Sprint(1000*in(-time.Second))}, 0},
		{"the last milliseconds", []string{left, reset + "99999999999999"}, time.Hour},
		{"microseconds, which can't be read", []string{left, reset + fmt.Sprint(1000000*in(time.Minute))}, 0},
		{"digits without end", []string{left, reset + strings.Repeat("9", 5000)}, 0},
		{"an epoch by the server's own clock", []string{left, reset + fmt.Sprint(in(26*time.Hour)), "Date: " + now.Add(26*time.Hour-10*time.Second).Format(http.TimeFormat)}, 10 * time.Second},
		{"a date", []string{left, reset + now.Add(time.Minute).Format(http.TimeFormat)}, time.Minute},
		{"ISO 8601", []string{left, reset + "2026-11-20T12:05:00+00:00"}, 5 * time.Minute},
		{"something left", []string{"X-RateLimit-Remaining: 1", reset + "600"}, 0},
		{"nothing said of what is left", []string{reset + "600"}, 0},
		{"what is left can't be read", []string{"X-RateLimit-Remaining: none", reset + "600"}, 0},
		{"what is left is empty", []string{"X-RateLimit-Remaining: ", reset + "600"}, 0},
		{"two lines", []string{left, left, reset + "60", reset + "600"}, 10 * time.Minute},
		{"two limits, one of them used up", []string{"X-RateLimit-Remaining: 5, 0", reset + "600, 60"}, time.Minute},
		{"more limits than resets", []string{"X-RateLimit-Remaining: 5, 0", reset + "600"}, 0},
		{"values without end", []string{left, reset + strings.Repeat("60, ", 5000)}, 0},
		{"lines without end", append([]string{left}, strings.Split(strings.Repeat(reset+"60\n", 99), "\n")...), 0},
		{"the drafts' names", []string{"RateLimit-Remaining: 0", "RateLimit-Reset: 120"}, 2 * time.Minute},
		{"another name", []string{"x-rate-limit-remaining: 0", fmt.Sprint("x-rate-limit-reset: ", in(time.Minute))}, time.Minute},
		{"names of two kinds", []string{left, "RateLimit-Reset: 120"}, 0},

		{"a policy", []string{`RateLimit: "default";r=0;t=600`}, 10 * time.Minute},
		{"a policy by a token, with blanks and a key", []string{`RateLimit: default; r=0; t=600;pk=:cHNrZXk=:`}, 10 * time.Minute},
		{"no order", []string{`RateLimit: "a";t=60;r=0`}, time.Minute},
		{"a policy with something left", []string{`RateLimit: "default";r=50;t=600`}, 0},
		{"several, the longest that is used up", []string{`RateLimit: "burst";r=0;t=2, "day";r=0;t=900 , "month";r=7;t=86400`}, 15 * time.Minute},
		{"several lines", []string{`RateLimit: "burst";r=0;t=2`, `RateLimit: "day";r=0;t=900`}, 15 * time.Minute},
		{"a policy's name with a comma and more", []string{`RateLimit: "a, b;r=0;t=5 \"x\"";r=0;t=60`}, time.Minute},
		{"of two with one name the last", []string{`RateLimit: "a";r=5;r=0;t=60;t=90`}, 90 * time.Second},
		{"no r", []string{`RateLimit: "a";t=600`}, 0},
		{"no t", []string{`RateLimit: "a";r=0`}, 0},
		{"t of zero", []string{`RateLimit: "a";r=0;t=0`}, 0},
		{"t below zero", []string{`RateLimit: "a";r=0;t=-60`}, 0},
		{"t beyond an hour", []string{`RateLimit: "a";r=0;t=999999999999999`}, time.Hour},
		{"t beyond what an integer may be", []string{`RateLimit: "a";r=0;t=9999999999999999`}, 0},
		{"t that is no integer", []string{`RateLimit: "a";r=0;t=60.5`}, 0},
		{"r as a string", []string{`RateLimit: "a";r="0";t=60`}, 0},
		{"r without a value", []string{`RateLimit: "a";r;t=60`}, 0},
		{"capitals", []string{`RateLimit: "a";R=0;T=60`}, 0},
		{"malformed: a name that does not end", []string{`RateLimit: "a;r=0;t=600`}, 0},
		{"malformed: a comma at the end", []string{`RateLimit: "a";r=0;t=600,`}, 0},
		{"malformed: two commas", []string{`RateLimit: "a";r=0;t=600,,"b"`}, 0},
		{"malformed: no comma", []string{`RateLimit: "a";r=0;t=600 "b";r=1`}, 0},
		{"malformed: a blank before the value", []string{`RateLimit: "a";r=0;t= 600`}, 0},
		{"malformed: the second policy", []string{`RateLimit: "a";r=0;t=600, <b>`}, 0},
		{"malformed: UTF-8", []string{`RateLimit: "ä";r=0;t=600`}, 0},
		{"policies without end", []string{`RateLimit: "a";r=0;t=600` + strings.Repeat(`,"a";r=0;t=600`, 5000)}, 0},
		{"as it was once", []string{`RateLimit: limit=100, remaining=0, reset=60`}, time.Minute},
		{"as it was once, with something left", []string{`RateLimit: limit=100, remaining=4, reset=60`}, 0},
		{"as it was once, with parameters", []string{`RateLimit: limit=100;w=60, remaining=0;x="a,b", reset=60`}, time.Minute},
		{"the policy alone", []string{`RateLimit-Policy: "default";q=100;w=60`}, 0},

		{"Retry-After beside it", []string{left, reset + "600", "Retry-After: 7"}, 7 * time.Second},
		{"Retry-After that can't be read", []string{left, reset + "600", "Retry-After: soon"}, 10 * time.Minute},
		{"Retry-After of zero", []string{`RateLimit: "a";r=0;t=60`, "Retry-After: 0"}, time.Minute},
		{"both", []string{`RateLimit: "a";r=0;t=60`, left, reset + "600"}, 10 * time.Minute},
	} {
		h := headers(tt.lines...)
		got, instead := askedWait(http.StatusTooManyRequests, h, now)
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if (instead == "") != (got == 0 || got == 7*time.Second) {
			t.Errorf("%s: %s of %q", tt.name, got, instead)
		}
		h.Del("Retry-After")
		if got, _ := askedWait(http.StatusServiceUnavailable, h, now); got != 0 {
			t.Errorf("%s: %s of a 503", tt.name, got)
		}
	}
}

// Every refusal and failure may say when to come back, and a page may not.
func TestAskedWait(t *testing.T) {
	now := time.Now()
	for status := 100; status < 600; status++ {
		want := 2 * time.Minute
		if status < 400 || status == 404 || status == 410 {
			want = 0
		}
		if got, _ := askedWait(status, headers("Retry-After: 120"), now); got != want {
			t.Errorf("%d: %s", status, got)
		}
		want = 0
		if status == 429 || status == 503 {
			want = time.Second
		}
		for _, value := range []string{"0", "Fri, 20 Nov 1998 12:00:00 GMT"} {
			if got, _ := askedWait(status, headers("Retry-After: "+value), now); got != want {
				t.Errorf("%d with %s: %s", status, value, got)
			}
		}
		for _, value := range []string{"-5", "soon", ""} {
			if got, _ := askedWait(status, headers("Retry-After: "+value), now); got != 0 {
				t.Errorf("%d with %q: %s", status, value, got)
			}
		}
	}
}

func TestWaitsHold(t *testing.T) {
	for _, tt := range []struct {
		status int
		lines  []string
		why    string
	}{
		{500, []string{"Retry-After: 120"}, reasonRetryAfter},
		{502, []string{"Retry-After: Sat, 01 Jan 2000 00:02:00 GMT"}, reasonRetryAfter},
		{504, []string{"Retry-After: 120"}, reasonRetryAfter},
		{520, []string{"Retry-After: 120"}, reasonRetryAfter},
		{400, []string{"Retry-After: 120"}, reasonRetryAfter},
		{403, []string{"Retry-After: 120"}, reasonRetryAfter},
		{418, []string{"Retry-After: 120"}, reasonRetryAfter},
		{429, []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 120"}, "429 with X-RateLimit-Reset"},
		{429, []string{`RateLimit: "default";r=0;t=120`}, "429 with RateLimit"},
	} {
		inBubble(t, fmt.Sprint(tt.status, tt.lines), func(t *testing.T) { // a bubble begins at midnight of 1 January 2000
			var pairs []string
			for _, line := range tt.lines {
				name, value, _ := strings.Cut(line, ": ")
				pairs = append(pairs, name, value)
			}
			s := newPipeSite(t, noRobots(), status(tt.status, pairs...))
			_ = s.get(t.Context(), "/a")
			if _, why := s.client.HeldUntil("acme.com"); why != tt.why {
				t.Errorf("held for %q", why)
			}
			_ = s.get(t.Context(), "/a")
			if waited := time.Since(s.start); waited != 2*time.Minute {
				t.Errorf("waited %s", waited)
			}
		})
	}
	inBubble(t, "robots.txt that is refused, and says when to come back", func(t *testing.T) {
		s := newPipeSite(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.Header().Set("Retry-After", "120")
				w.WriteHeader(http.StatusForbidden)
			}
		})
		noErr(t, s.get(t.Context(), "/a"))
		if waited := time.Since(s.start); waited != 2*time.Minute {
			t.Errorf("waited %s", waited)
		}
	})
}

// A wait that came by a proxy is about that proxy, whatever the status, and also where the proxy says it of itself.
func TestWaitsByProxy(t *testing.T) {
	t.Parallel()
	for _, code := range []int{400, 403, 451, 429, 500, 503, 520} {
		eachWay(t, func(t *testing.T, scheme, to string) {
			site := newTarget(t, to, status(code, "Retry-After", "90"))
			p := (&proxyServer{hosts: site.hosts()}).start(t, scheme)
			c := newProxied(t, noRobots())
			s := open(t, c, p.url(), Honest(""))
			_, err := fetchVia(t, c, s, site, "/a")
			if e := asError(t, err); e.Way != s.Proxy() || e.RetryAfter != 90*time.Second || e.Proxy || e.Status != code {
				t.Errorf("%d: %+v", code, e)
			}
			if until, why := c.HeldUntil("www.example.com"); !until.IsZero() {
				t.Errorf("%d: the host is held for %q", code, why)
			}
		})
	}
}

func TestWaitOfProxyItself(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, to, says string
		want           time.Duration
	}{
		{"503 to CONNECT", "https", "503 Service Unavailable\r\nRetry-After: 90", 90 * time.Second},
		{"429 to CONNECT", "https", "429 Too Many Requests\r\nRetry-After: 90", 90 * time.Second},
		{"429 to CONNECT, by RateLimit", "https", "429 Too Many Requests\r\nRateLimit: \"a\";r=0;t=90", 90 * time.Second},
		{"429 to CONNECT without a word", "https", "429 Too Many Requests", 0},
		{"503 to CONNECT without a word", "https", "503 Service Unavailable", 0},
		{"503 of its own for a plain request", "http", "503 Service Unavailable\r\nX-Squid-Error: ERR_SHUTTING_DOWN 0\r\nRetry-After: 90", 90 * time.Second},
		{"429 of its own for a plain request", "http", "429 Too Many Requests\r\nX-Brd-Error: too many\r\nContent-Length: 0", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site := newTarget(t, tt.to, nil)
			server := (&proxyServer{says: "HTTP/1.1 " + tt.says + "\r\nConnection: close\r\n\r\n"}).start(t, "http")
			c := newProxied(t, noRobots())
			u := server.url()
			began := time.Now()
			var last ProxyState
			pool := NewPool(c, PoolConfig{Policy: PolicyRequire, Proxies: []Proxy{{ID: 7, URL: u, Name: u.String()}}, Changed: func(st ProxyState) { last = st }})
			s, err := pool.Keep(nil)
			noErr(t, err)
			_, err = fetchVia(t, c, s, site, "/a")
			e := asError(t, err)
			if !e.Proxy || e.Cause() != yp.CauseProxy || e.RetryAfter != tt.want || (e.Way == s.Proxy()) != (tt.want > 0) {
				t.Errorf("%+v", e)
			}
			if until, why := c.HeldUntil("www.example.com"); !until.IsZero() {
				t.Errorf("the host is held for %q", why)
			}
			pool.Report(s, e)
			rest := last.CooldownUntil.Sub(began)
			if tt.want == 0 && !last.CooldownUntil.IsZero() || tt.want > 0 && (rest < tt.want || rest > tt.want+30*time.Second) || last.Failures != 1 {
				t.Errorf("it rests for %s: %+v", rest, last)
			}
			storetest.Equal(t, pool.Active(), map[bool]int{true: 0, false: 1}[tt.want > 0], "active proxies")
		})
	}
}

func FuzzRateLimit(f *testing.F) {
	for _, v := range []string{
		"600", "0", "-1", "1700000600", "1700000600000", "17000006000000", "60, 600", "2023-11-14T22:20:00Z", `"60"`, `"default";r=0;t=600`,
		`a;r=0;t=1, "b\"";r=0;t=5;pk=:YQ==:`, "limit=10, remaining=0, reset=60", `"a;r=0`, `?1;r=0;t=@5`,
	} {
		f.Add(v, "0")
		f.Add(v, "5, 0")
	}
	now := time.Unix(1_700_000_000, 0)
	f.Fuzz(func(t *testing.T, value, left string) {
		for _, h := range []http.Header{
			{"Ratelimit": {value}},
			{"X-Ratelimit-Remaining": {left}, "X-Ratelimit-Reset": {value}},
			{"Ratelimit-Remaining": {left}, "Ratelimit-Reset": {value, value}},
		} {
			d, instead := askedWait(429, h, now)
			if d != 0 && (d < yp.MinRetryAfter || d > yp.MaxRetryAfter) || (d == 0) != (instead == "") {
				t.Errorf("%q, %q: %s by %q", value, left, d, instead)
			}
			if d != 0 && !strings.Contains(value+left, "0") {
				t.Errorf("%q, %q: %s, and nothing is used up", value, left, d)
			}
		}
		padded, _ := askedWait(429, http.Header{"Ratelimit": {" " + value + " "}}, now)
		if d, _ := askedWait(429, http.Header{"Ratelimit": {value}}, now); d != padded {
			t.Errorf("%q: with blanks around it %s, without %s", value, padded, d)
		}
	})
}
