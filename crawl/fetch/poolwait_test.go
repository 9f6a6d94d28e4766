package fetch

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestProxyToldToWait: a 429 rests the proxy that it came by for as long as it says, and counts
// neither against it nor against another.
func TestProxyToldToWait(t *testing.T) {
	p := newPoolOf(t, PolicyRequire, 2)
	a := p.take(t)
	refused := &Error{Class: yp.ClassHTTP429, Status: 429, RetryAfter: 30 * time.Second, Way: a.Proxy()}
	p.Rest(a, &Error{Class: yp.ClassHTTP429, RetryAfter: time.Hour, Way: "http://proxy1:1"}) // robots.txt, which another session asked for
	p.Rest(a, &Error{Class: yp.ClassHTTP429, RetryAfter: time.Hour})
	p.keeps(t, a)
	storetest.Equal(t, p.Back(), 0, "rest of none")
	p.Report(a, errBroken)
	p.Rest(a, refused)
	storetest.Equal(t, p.changes[len(p.changes)-1], ProxyState{ID: 1, Successes: 1, CooldownUntil: p.now.Add(30 * time.Second), LastError: "http_429: status 429"}, "told")
	b, err := p.Keep(a)
	noErr(t, err)
	storetest.Equal(t, number(b), 1, "the other one")
	p.now = p.now.Add(10 * time.Second)
	refused.Way = b.Proxy()
	p.Rest(b, refused)
	if _, err := p.Keep(b); !errors.Is(err, ErrNoProxies) {
		t.Errorf("with both at rest: %v", err)
	}
	storetest.Equal(t, p.Back(), 20*time.Second, "the first is back in")
	refused.RetryAfter = time.Second
	p.Rest(b, refused)
	p.now = p.now.Add(20 * time.Second)
	c, err := p.Keep(b)
	noErr(t, err)
	storetest.Equal(t, number(c), 0, "is back")
	p.rest(c)
	storetest.Equal(t, p.Back(), 10*time.Second, "a longer rest stays, the other one's ends in")
}

// Back is how soon the first proxy is back, 0 = one is.
func (p *poolOf) Back() time.Duration {
	_, err := p.Keep(nil)
	if resting, ok := errors.AsType[*RestingError](err); ok {
		return resting.Back
	}
	return 0
}

// TestProxyBackMeanwhile: a proxy that comes back just while it is looked at is waited for a moment, and the rest of another
// one is not taken for what is left.
func TestProxyBackMeanwhile(t *testing.T) {
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	proxies := proxiesOf(t, 2)
	proxies[0].CooldownUntil, proxies[1].CooldownUntil = begin.Add(5*time.Millisecond), begin.Add(time.Hour)
	client := New(Config{})
	t.Cleanup(client.Close)
	now := begin
	p := NewPool(client, PoolConfig{Policy: PolicyRequire, Proxies: proxies, Now: func() time.Time {
		now = now.Add(2 * time.Millisecond)
		return now
	}})
	_, err := p.Keep(nil)
	resting, ok := errors.AsType[*RestingError](err)
	if !ok || resting.Back != time.Millisecond || !errors.Is(err, ErrNoProxies) {
		t.Fatal(err)
	}
	if s, err := p.Keep(nil); err != nil || number(s) != 0 {
		t.Error(s, err)
	}
}

// Test429ByProxy: it holds nobody else back, not even at robots.txt.
func Test429ByProxy(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, scheme, to string) {
		for _, path := range []string{"/a", "/robots.txt"} {
			site := newTarget(t, to, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == path {
					w.Header().Set("Retry-After", "90")
					w.WriteHeader(http.StatusTooManyRequests)
				}
			})
			p := (&proxyServer{hosts: site.hosts()}).start(t, scheme)
			var last Observation
			c := newProxied(t, Config{DelayMin: time.Millisecond, Observe: func(o Observation) { last = o }})
			s := open(t, c, p.url(), Honest(""))
			_, err := fetchVia(t, c, s, site, "/a")
			e := asError(t, err)
			if e.Class != yp.ClassHTTP429 || e.Way != s.Proxy() || e.RetryAfter != 90*time.Second || e.Proxy {
				t.Errorf("%s: %+v", path, e)
			}
			if last.Gap < time.Millisecond {
				t.Errorf("%s: came at one request in %s", path, last.Gap)
			}
			if until, why := c.HeldUntil("www.example.com"); !until.IsZero() {
				t.Errorf("%s: the host is held for %q", path, why)
			}
		}
	})
}
