package fetch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// poolOf makes a pool with n proxies that nobody asks, and a clock.
type poolOf struct {
	*Pool
	client  *Client
	now     time.Time
	changes []ProxyState
}

func proxiesOf(t *testing.T, n int) []Proxy {
	t.Helper()
	proxies := make([]Proxy, n)
	for i := range proxies {
		u, name, err := ParseProxy(fmt.Sprintf("scout:pw@proxy%d:1", i))
		noErr(t, err)
		proxies[i] = Proxy{ID: int64(i + 1), URL: u, Name: name}
	}
	return proxies
}

func newPoolOf(t *testing.T, policy Policy, n int, ids ...Identity) *poolOf {
	t.Helper()
	p := &poolOf{client: New(Config{}), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	t.Cleanup(p.client.Close)
	p.Pool = NewPool(p.client, PoolConfig{
		Policy: policy, Proxies: proxiesOf(t, n), Identities: ids,
		Now: func() time.Time { return p.now }, Changed: func(s ProxyState) { p.changes = append(p.changes, s) },
	})
	return p
}

func (p *poolOf) take(t *testing.T) *Session {
	t.Helper()
	s, err := p.Keep(nil)
	noErr(t, err)
	return s
}

// keeps checks that a session may be gone on with.
func (p *poolOf) keeps(t *testing.T, s *Session) {
	t.Helper()
	if kept, err := p.Keep(s); kept != s || err != nil {
		t.Errorf("kept %v, %v", kept, err)
	}
}

// rotatesNot checks that there is no other way for a page.
func (p *poolOf) rotatesNot(t *testing.T, s *Session) {
	t.Helper()
	if _, err := p.Rotate(s); !errors.Is(err, ErrNoProxy) {
		t.Errorf("rotated: %v", err)
	}
}

// number is which proxy a session has; -1 = none.
func number(s *Session) int {
	if s.member == nil {
		return -1
	}
	return int(s.member.ID) - 1
}

var errBroken = errors.New("broken")

// rest has the proxy of s fail until it rests. (Its first failure was long ago.)
func (p *poolOf) rest(s *Session) {
	for range yp.ProxyFailures {
		p.Report(s, errBroken)
		s.member.FailingSince = p.now.Add(-yp.ProxySpread)
	}
}

// TestDirectly: no proxy is wanted, or there is none.
func TestDirectly(t *testing.T) {
	for policy, n := range map[Policy]int{"": 3, PolicyPrefer: 0} {
		directly(t, newPoolOf(t, policy, n))
	}
}

func directly(t *testing.T, p *poolOf) {
	t.Helper()
	s := p.take(t)
	if s != p.client.direct || p.Active() != 0 {
		t.Errorf("%v, %d active", s, p.Active())
	}
	p.keeps(t, s)
	p.rotatesNot(t, s)
	s.Close() // the client's own stays
	if s.closed.Load() {
		t.Error("the direct session was closed")
	}
}

func TestPolicyOffAsBrowsers(t *testing.T) {
	p := newPoolOf(t, PolicyOff, 0, Browsers()...)
	a, b := p.take(t), p.take(t)
	if a == b || a.Identity() == b.Identity() || a.Via() != ViaBrowser || a.jar == b.jar {
		t.Errorf("%v and %v", a, b)
	}
	p.rotatesNot(t, a)
}

func TestPolicyPrefer(t *testing.T) {
	p := newPoolOf(t, PolicyPrefer, 2)
	s := p.take(t)
	p.rest(s)
	s, err := p.Keep(s)
	if err != nil || number(s) != 1 {
		t.Fatalf("kept %v, %v", s, err)
	}
	p.rest(s)
	p.rotatesNot(t, s) // a block is no reason to go directly
	if s, err = p.Keep(s); err != nil || s != p.client.direct {
		t.Errorf("with all at rest: %v, %v", s, err)
	}
	p.keeps(t, s)
	p.now = p.now.Add(yp.ProxyRest)
	if s, err = p.Keep(s); err != nil || number(s) == -1 {
		t.Errorf("with proxies back: %v, %v", s, err)
	}
}

func TestPolicyRequire(t *testing.T) {
	p := newPoolOf(t, PolicyRequire, 2)
	a, b := p.take(t), p.take(t)
	p.rest(a)
	p.now = p.now.Add(time.Minute)
	p.rest(b)
	for _, s := range []*Session{nil, a} { // a first one, and another
		if _, err := p.Keep(s); !errors.Is(err, ErrNoProxies) || !strings.Contains(err.Error(), "all 2 are in cooldown") {
			t.Errorf("after %v: %v", s, err)
		}
	}
	if a.closed.Load() { // it is the caller's to close
		t.Error("Keep closed what it could not replace")
	}
	p.now = p.now.Add(59 * time.Minute)
	if s := p.take(t); number(s) != number(a) {
		t.Errorf("took %v", s)
	}
	if _, err := newPoolOf(t, PolicyRequire, 0).Keep(nil); !errors.Is(err, ErrNoProxies) {
		t.Errorf("of none: %v", err)
	}
	if s, err := p.Keep(p.client.direct); err != nil || number(s) == -1 {
		t.Errorf("a direct session was kept: %v, %v", s, err)
	}
}

// Proxies are taken in turn, those at rest are passed over, and each session is another identity.
func TestTakeSpreads(t *testing.T) {
	p := newPoolOf(t, PolicyRequire, 3, Browsers()...)
	names := map[string]bool{}
	var order []int
	for range 6 {
		s := p.take(t)
		order = append(order, number(s))
		names[s.Identity()] = true
		storetest.Equal(t, s.Via(), ViaProxy, "via")
	}
	first := p.take(t)
	p.rest(p.take(t))
	for range 4 {
		order = append(order, number(p.take(t)))
	}
	if want := []int{0, 1, 2, 0, 1, 2, 2, 0, 2, 0}; !slices.Equal(order, want) || len(names) != 6 || number(first) != 0 {
		t.Errorf("took %v as %v, want %v", order, names, want)
	}
}

// Both change, whatever others take in between, and no proxy is tried twice for a page.
func TestRotate(t *testing.T) {
	p := newPoolOf(t, PolicyPrefer, 4, Browsers()[:2]...)
	s := p.take(t)
	tried := []*Session{s}
	for range 3 {
		p.take(t).Close() // so that the next identity's turn is that of s again
		next, err := p.Rotate(s, tried...)
		noErr(t, err)
		if slices.ContainsFunc(tried, func(old *Session) bool { return old.Proxy() == next.Proxy() }) {
			t.Errorf("%v was tried", next)
		}
		if next.Identity() == s.Identity() || next.jar == s.jar {
			t.Errorf("%v after %v", next, s)
		}
		if !s.closed.Load() {
			t.Errorf("%v is open", s)
		}
		s, tried = next, append(tried, next)
	}
	if _, err := p.Rotate(s, tried...); !errors.Is(err, ErrNoProxy) {
		t.Errorf("error %v", err)
	}
	p.keeps(t, s)                                                          // for the next page it will do
	if next, err := p.Rotate(s); err != nil || next.Proxy() == s.Proxy() { // another page, nothing tried
		t.Errorf("rotated to %v, %v", next, err)
	}
}

func TestPoolConcurrently(t *testing.T) {
	c := newClient(t, Config{})
	total := ProxyState{}
	p := NewPool(c, PoolConfig{Policy: PolicyPrefer, Proxies: proxiesOf(t, 5), Identities: Browsers(), Changed: func(s ProxyState) {
		total.Successes += s.Successes
		total.Failures += s.Failures
	}})
	atOnce(8, func(w int) {
		s, err := p.Keep(nil)
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
	if len(c.sessions) != 0 || total.Successes+total.Failures != 8*200 {
		t.Errorf("%d sessions are open, %+v", len(c.sessions), total)
	}
}
