package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// poolOf makes a pool with n proxies that nobody asks, and a clock.
type poolOf struct {
	*Pool
	client  *Client
	now     time.Time
	changes []ProxyState
}

func newPoolOf(t *testing.T, policy Policy, n int, ids ...Identity) *poolOf {
	t.Helper()
	p := &poolOf{client: New(Config{}), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	t.Cleanup(p.client.Close)
	var proxies []Proxy
	for i := range n {
		u, name, err := ParseProxy(fmt.Sprintf("scout:pw@proxy%d:1", i))
		if err != nil {
			t.Fatal(err)
		}
		proxies = append(proxies, Proxy{ID: int64(i + 1), URL: u, Name: name})
	}
	p.Pool = NewPool(p.client, PoolConfig{
		Policy: policy, Proxies: proxies, Identities: ids,
		Now: func() time.Time { return p.now }, Changed: func(s ProxyState) { p.changes = append(p.changes, s) },
	})
	return p
}

func (p *poolOf) take(t *testing.T) *Session {
	t.Helper()
	s, err := p.Take()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// number is which proxy a session has; -1 = none.
func number(s *Session) int {
	if s.member == nil {
		return -1
	}
	return int(s.member.ID) - 1
}

var errBroken = errors.New("broken")

// rest has the proxy of s fail until it rests.
func (p *poolOf) rest(s *Session) {
	for range ProxyFailures {
		p.Report(s, errBroken)
	}
}

func TestPolicyOff(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, "", 3)
	s := p.take(t)
	if s != p.client.direct || p.Active() != 0 {
		t.Errorf("%v, %d active", s, p.Active())
	}
	if kept, err := p.Keep(s); kept != s || err != nil {
		t.Errorf("kept %v, %v", kept, err)
	}
	if _, err := p.Rotate(s); !errors.Is(err, ErrNoProxy) {
		t.Errorf("rotated: %v", err)
	}
	s.Close() // the client's own stays
	if !s.enter() {
		t.Error("the direct session was closed")
	}
	s.leave()
}

func TestPolicyOffAsBrowsers(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyOff, 0, Browsers()...)
	a, b := p.take(t), p.take(t)
	if a == b || a.Identity() == b.Identity() || a.Via() != ViaBrowser || a.jar == b.jar {
		t.Errorf("%v and %v", a, b)
	}
	if _, err := p.Rotate(a); !errors.Is(err, ErrNoProxy) {
		t.Errorf("rotated: %v", err)
	}
}

func TestPolicyPrefer(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyPrefer, 2)
	s := p.take(t)
	p.rest(s)
	s, err := p.Keep(s)
	if err != nil || number(s) != 1 {
		t.Fatalf("kept %v, %v", s, err)
	}
	p.rest(s)
	if _, err := p.Rotate(s); !errors.Is(err, ErrNoProxy) { // a block is no reason to go directly
		t.Errorf("rotated: %v", err)
	}
	if s, err = p.Keep(s); err != nil || s != p.client.direct {
		t.Errorf("with all at rest: %v, %v", s, err)
	}
	if again, err := p.Keep(s); again != s || err != nil {
		t.Errorf("kept %v, %v", again, err)
	}
	p.now = p.now.Add(ProxyRest)
	if s, err = p.Keep(s); err != nil || number(s) == -1 {
		t.Errorf("with proxies back: %v, %v", s, err)
	}
}

func TestPolicyPreferWithoutProxies(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyPrefer, 0)
	s := p.take(t)
	if s != p.client.direct {
		t.Errorf("%v", s)
	}
	if _, err := p.Rotate(s); !errors.Is(err, ErrNoProxy) {
		t.Errorf("rotated: %v", err)
	}
}

func TestPolicyRequire(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyRequire, 2)
	a, b := p.take(t), p.take(t)
	p.rest(a)
	p.now = p.now.Add(time.Minute)
	p.rest(b)
	for name, f := range map[string]func() (*Session, error){"Take": p.Take, "Keep": func() (*Session, error) { return p.Keep(a) }} {
		_, err := f()
		if !errors.Is(err, ErrNoProxies) || !strings.Contains(err.Error(), "all 2 rest, the first until 2026-11-20T13:00:00Z") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !a.enter() { // it is the caller's to close
		t.Error("Keep closed what it could not replace")
	}
	a.leave()
	p.now = p.now.Add(59 * time.Minute)
	if s := p.take(t); number(s) != number(a) {
		t.Errorf("took %v", s)
	}
	if _, err := newPoolOf(t, PolicyRequire, 0).Take(); !errors.Is(err, ErrNoProxies) {
		t.Errorf("of none: %v", err)
	}
	if s, err := p.Keep(p.client.direct); err != nil || number(s) == -1 {
		t.Errorf("a direct session was kept: %v, %v", s, err)
	}
}

// The nth failure in a row, and the time after the tenth.
func TestProxyRest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		failures int
		after    time.Duration
		active   bool
	}{
		{"9 failures", 9, 0, true},
		{"10 failures", 10, 0, false},
		{"10 failures, a second before the hour", 10, 60*time.Minute - time.Second, false},
		{"10 failures, an hour ago", 10, 60 * time.Minute, true},
		{"15 failures, an hour ago", 15, 60 * time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPoolOf(t, PolicyRequire, 1)
			s := p.take(t)
			start := p.now
			for range tt.failures {
				p.Report(s, errBroken)
			}
			p.now = start.Add(tt.after)
			if (p.Active() == 1) != tt.active {
				t.Errorf("%d active", p.Active())
			}
			want := time.Time{}
			if !tt.active {
				want = start.Add(ProxyRest)
			}
			if got := p.NextReturn(); !got.Equal(want) {
				t.Errorf("returns at %s, want %s", got, want)
			}
		})
	}
}

// Ten in a row: a success in between starts the count anew.
func TestSuccessClearsTheCount(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyRequire, 1)
	s := p.take(t)
	for range 3 {
		for range 9 {
			p.Report(s, errBroken)
		}
		p.Report(s, nil)
	}
	if p.Active() != 1 {
		t.Error("rests")
	}
}

// After its rest a proxy is on probation until a request succeeds.
func TestProbation(t *testing.T) {
	t.Parallel()
	for _, redeemed := range []bool{false, true} {
		p := newPoolOf(t, PolicyRequire, 1)
		s := p.take(t)
		p.rest(s)
		p.now = p.now.Add(ProxyRest)
		if redeemed {
			p.Report(s, nil)
		}
		p.Report(s, errBroken)
		if (p.Active() == 1) != redeemed {
			t.Errorf("redeemed %v: %d active", redeemed, p.Active())
		}
		if want := p.now.Add(ProxyRest); !redeemed && !p.NextReturn().Equal(want) {
			t.Errorf("returns at %s, want %s", p.NextReturn(), want)
		}
	}
}

// What comes in late changes nothing of a rest.
func TestReportsDuringRest(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyRequire, 1)
	s := p.take(t)
	p.rest(s)
	until := p.NextReturn()
	p.now = p.now.Add(time.Minute)
	p.Report(s, errBroken)
	p.Report(s, nil)
	if p.Active() != 0 || !p.NextReturn().Equal(until) {
		t.Errorf("%d active, returns at %s, want %s", p.Active(), p.NextReturn(), until)
	}
}

// What another process has written counts from the start.
func TestProxiesAsLoaded(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyRequire, 3)
	p.members[0].Consecutive, p.members[0].CooldownUntil = 10, p.now.Add(time.Minute)
	p.members[1].Consecutive = 9
	p.members[2].Consecutive, p.members[2].CooldownUntil = 12, p.now.Add(-time.Minute)
	if p.Active() != 2 {
		t.Errorf("%d active", p.Active())
	}
	for range 2 {
		p.Report(p.take(t), errBroken)
	}
	if p.Active() != 0 {
		t.Errorf("%d active after a failure of each", p.Active())
	}
}

// as is the pool's proxies as the table has them: those of the numbers, changed by
// each.
func (p *poolOf) as(each func(*Proxy), ids ...int64) []Proxy {
	var rows []Proxy
	for _, m := range p.members {
		if slices.Contains(ids, m.ID) {
			x := Proxy{ID: m.ID, URL: m.URL, Name: m.Name}
			if each != nil {
				each(&x)
			}
			rows = append(rows, x)
		}
	}
	return rows
}

// TestUpdate: what an operator or another process does to the proxies holds for the
// pool, too.
func TestUpdate(t *testing.T) {
	t.Parallel()
	t.Run("one that is gone is not handed out, and its sessions are replaced", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 2)
		a, b := p.take(t), p.take(t)
		p.Update(p.as(nil, 2))
		if kept, err := p.Keep(b); kept != b || err != nil {
			t.Errorf("of the one that stays: %v, %v", kept, err)
		}
		fresh, err := p.Keep(a)
		if err != nil || number(fresh) != 1 || a.enter() {
			t.Errorf("of the one that is gone: %v, %v", fresh, err)
		}
		p.Report(a, errBroken) // comes in late
		for range 4 {
			if s := p.take(t); number(s) != 1 {
				t.Errorf("took %v", s)
			}
		}
		if p.Active() != 1 {
			t.Errorf("%d active", p.Active())
		}
	})
	t.Run("all gone", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 1)
		s := p.take(t)
		p.Update(nil)
		if _, err := p.Keep(s); !errors.Is(err, ErrNoProxies) || !strings.Contains(err.Error(), "there is none") {
			t.Errorf("kept: %v", err)
		}
		prefer := newPoolOf(t, PolicyPrefer, 1)
		s = prefer.take(t)
		prefer.Update(nil)
		if s, err := prefer.Keep(s); err != nil || s != prefer.client.direct {
			t.Errorf("to prefer: %v, %v", s, err)
		}
	})
	t.Run("back again, and new ones", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyPrefer, 2)
		rows := p.as(nil, 1, 2)
		p.Update(nil)
		s := p.take(t)
		p.Update(append(rows, Proxy{ID: 3, URL: parse(t, "http://proxy3:1"), Name: "http://proxy3:1"}))
		s, err := p.Keep(s)
		if err != nil || number(s) == -1 {
			t.Fatalf("direct, with a proxy back: %v, %v", s, err)
		}
		numbers := map[int]bool{number(s): true, number(p.take(t)): true, number(p.take(t)): true}
		if len(numbers) != 3 || p.Active() != 3 {
			t.Errorf("took %v, %d active", numbers, p.Active())
		}
	})
	t.Run("the score of one that stays", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 1)
		s := p.take(t)
		for range 9 {
			p.Report(s, errBroken)
		}
		p.Update(p.as(nil, 1))
		p.Report(s, errBroken)
		if p.Active() != 0 {
			t.Error("the failures before were forgotten")
		}
		p.Update(p.as(nil, 1)) // read before the rest was written
		if p.Active() != 0 {
			t.Error("the rest was forgotten")
		}
	})
	t.Run("a rest ordered elsewhere, and probation after it", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 2)
		s := p.take(t)
		until := p.now.Add(time.Minute)
		p.Update(p.as(func(x *Proxy) {
			if x.ID == 1 {
				x.Consecutive, x.CooldownUntil = 10, until
			}
		}, 1, 2))
		if p.Active() != 1 || !p.NextReturn().Equal(until) {
			t.Errorf("%d active, the first back at %s", p.Active(), p.NextReturn())
		}
		p.now = until
		p.Report(s, errBroken)
		if p.Active() != 1 || !p.NextReturn().Equal(until.Add(ProxyRest)) {
			t.Errorf("after a failure more: %d active", p.Active())
		}
	})
	t.Run("a rest that was ended elsewhere", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 1)
		s := p.take(t)
		p.rest(s)
		until := p.NextReturn().Truncate(time.Millisecond)
		p.Update(p.as(func(x *Proxy) { x.Consecutive, x.CooldownUntil = 10, until }, 1))
		if p.Active() != 0 {
			t.Error("the rest was forgotten")
		}
		p.Update(p.as(nil, 1)) // an operator has enabled it
		p.Report(s, errBroken)
		if p.Active() != 1 {
			t.Error("it rests on, or is on probation")
		}
	})
	t.Run("without a policy", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyOff, 0)
		p.Update([]Proxy{{ID: 1, URL: parse(t, "http://proxy3:1"), Name: "http://proxy3:1"}})
		if s := p.take(t); s != p.client.direct || p.Active() != 0 {
			t.Errorf("took %v, %d active", s, p.Active())
		}
	})
}

func TestChanged(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyPrefer, 1)
	s := p.take(t)
	p.Report(s, fmt.Errorf("no way with pw, %w", errBroken))
	p.Report(s, nil)
	p.rest(s)
	p.Report(nil, errBroken)             // nobody's
	p.Report(p.client.direct, errBroken) // and nobody to blame
	name := "http://scout:xxxxx@proxy0:1"
	if len(p.changes) != 12 {
		t.Fatalf("%d changes", len(p.changes))
	}
	want := []ProxyState{
		{ID: 1, Name: name, Failures: 1, Consecutive: 1, UsedAt: p.now, LastError: "no way with xxxxx, broken"},
		{ID: 1, Name: name, Successes: 1, UsedAt: p.now},
		{ID: 1, Name: name, Failures: 1, Consecutive: 10, UsedAt: p.now, CooldownUntil: p.now.Add(ProxyRest), LastError: "broken"},
	}
	if diff := cmp.Diff(want, []ProxyState{p.changes[0], p.changes[1], p.changes[11]}); diff != "" {
		t.Error(diff)
	}
}

// The proxy that the fewest use, then the one that the fewest ever did.
func TestTakeSpreads(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyRequire, 3, Browsers()...)
	open := map[int][]*Session{}
	names := map[string]bool{}
	for range 6 {
		s := p.take(t)
		open[number(s)] = append(open[number(s)], s)
		names[s.Identity()] = true
		if s.Via() != ViaProxy {
			t.Errorf("via %s", s.Via())
		}
	}
	if len(open[0]) != 2 || len(open[1]) != 2 || len(open[2]) != 2 || len(names) != 6 {
		t.Errorf("%v", open)
	}
	open[1][0].Close()
	open[1][0].Close() // is closed once
	if s := p.take(t); number(s) != 1 {
		t.Errorf("took %v", s)
	}
	open[2][0].Close()
	open[0][0].Close()
	open[1][1].Close()
	if s := p.take(t); number(s) != 0 { // used as little as 2, and came first
		t.Errorf("took %v", s)
	}
}

// Both change, and no proxy is tried twice for a page.
func TestRotate(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyPrefer, 4, Browsers()[:2]...)
	s := p.take(t)
	tried := []*Session{s}
	for range 3 {
		next, err := p.Rotate(s, tried...)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(tried, func(old *Session) bool { return old.Proxy() == next.Proxy() }) {
			t.Errorf("%v was tried", next)
		}
		if next.Identity() == s.Identity() || next.jar == s.jar {
			t.Errorf("%v after %v", next, s)
		}
		if s.enter() {
			t.Errorf("%v is open", s)
		}
		s, tried = next, append(tried, next)
	}
	if _, err := p.Rotate(s, tried...); !errors.Is(err, ErrNoProxy) {
		t.Errorf("error %v", err)
	}
	if kept, err := p.Keep(s); kept != s || err != nil { // for the next page it will do
		t.Errorf("kept %v, %v", kept, err)
	}
	if next, err := p.Rotate(s); err != nil || next.Proxy() == s.Proxy() { // another page, nothing tried
		t.Errorf("rotated to %v, %v", next, err)
	}
}

// Identities come in an order that never has the same name twice in a row when
// a session rotates, however many others take theirs in between.
func TestRotateChangesIdentity(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyRequire, 3, Browsers()[:2]...)
	s := p.take(t)
	for range 20 {
		p.take(t).Close() // so that the next one's turn is that of s again
		next, err := p.Rotate(s)
		if err != nil || next.Identity() == s.Identity() {
			t.Fatalf("%v after %v: %v", next, s, err)
		}
		s = next
	}
}

func TestPoolConcurrently(t *testing.T) {
	t.Parallel()
	c := New(Config{})
	t.Cleanup(c.Close)
	var proxies []Proxy
	for i := range 5 {
		u, name, err := ParseProxy(fmt.Sprintf("proxy%d:1", i))
		if err != nil {
			t.Fatal(err)
		}
		proxies = append(proxies, Proxy{URL: u, Name: name})
	}
	total := ProxyState{}
	p := NewPool(c, PoolConfig{Policy: PolicyPrefer, Proxies: proxies, Identities: Browsers(), Changed: func(s ProxyState) {
		total.Successes += s.Successes
		total.Failures += s.Failures
	}})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			s, err := p.Take()
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 200 {
				failure := error(nil)
				if (i+w)%3 > 0 {
					failure = errBroken
				}
				p.Report(s, failure)
				if next, err := p.Rotate(s); err == nil {
					s = next
				}
				if s, err = p.Keep(s); err != nil {
					t.Error(err)
					return
				}
			}
			s.Close()
		})
	}
	wg.Wait()
	for _, m := range p.members {
		if m.open != 0 {
			t.Errorf("%s: %d open", m.Name, m.open)
		}
	}
	if len(c.sessions) != 0 || total.Successes+total.Failures != 8*200 {
		t.Errorf("%d sessions are open, %+v", len(c.sessions), total)
	}
}

// A 403 and the next try comes from another address, with another identity and
// without the cookies that gave the first one away.
func TestRotationOnBlock(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	agents := map[string]string{} // by peer
	var cookies []string
	bad := &proxyServer{}
	site := newTarget(t, "https", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		agents[r.RemoteAddr] = r.UserAgent()
		cookies = append(cookies, r.Header.Get("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "marked", Value: "1", Path: "/"})
		bad.mu.Lock()
		defer bad.mu.Unlock()
		if slices.Contains(bad.upstream, r.RemoteAddr) && r.URL.Path == "/2" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, "page")
	})
	bad.hosts = site.hosts()
	bad.start(t, "http")
	good := (&proxyServer{hosts: site.hosts()}).start(t, "socks5")
	c := newProxied(t, noRobots())
	pool := NewPool(c, PoolConfig{Policy: PolicyRequire, Identities: Browsers(), Proxies: []Proxy{{URL: bad.url()}, {URL: good.url()}}})
	s, err := pool.Take()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fetchVia(t, c, s, site, "/1"); err != nil {
		t.Fatal(err)
	}
	_, err = fetchVia(t, c, s, site, "/2")
	if e := asError(t, err); e.Status != 403 || e.Proxy {
		t.Fatalf("error %v", err)
	}
	pool.Report(s, err)
	if s, err = pool.Rotate(s, s); err != nil {
		t.Fatal(err)
	}
	if got, err := fetchVia(t, c, s, site, "/2"); err != nil || got != "page" {
		t.Errorf("%q, %v", got, err)
	}
	want := []string{"", "marked=1", ""}
	if !slices.Equal(cookies, want) {
		t.Errorf("cookies %q", cookies)
	}
	if peers, _ := site.seen(); len(peers) != 2 || len(agents) != 2 || agents[peers[0]] == agents[peers[1]] {
		t.Errorf("%v, %v", peers, agents)
	}
	s.Close()
	bad.until(0)
	good.until(0)
}
