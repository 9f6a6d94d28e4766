package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ypcrawl/yp"
)

// PoolConfig says what a Pool hands out. The zero value hands out the client's
// own direct session.
type PoolConfig struct {
	Policy     Policy     // "" = PolicyOff
	Proxies    []Proxy    // not used when the policy is off
	Identities []Identity // taken in turn; none = honest

	Now func() time.Time // default time.Now

	// Changed, when set, is called after every report with what it changed. It must be quick
	// and must not call the pool; calls come one at a time, in order.
	Changed func(ProxyState)
}

// ProxyState is what one report made of a proxy. Successes and Failures are what it added, so
// that several processes can count in one row.
type ProxyState struct {
	ID                  int64
	Successes, Failures int
	Consecutive         int       // failures in a row, as this process knows
	FailingSince        time.Time // the first of them; zero = there is none, or it is not known when it was
	LastFailure         time.Time // when this one was; zero = it is a success
	CooldownUntil       time.Time // zero = it does not rest
	LastError           string    // of a failure: its class, its status, and the proxy's own word
}

// Pool hands out sessions: who asks, and through which proxy. A worker Takes one, asks Keep
// before each page, Rotates after a block, and closes what it holds in the end.
//
// After its rest a proxy is on probation: the count stands until a request succeeds, so a dead
// proxy costs one request an hour, not ten. Ten failures within yp.ProxySpread may be one that starts
// anew: it pauses for yp.ProxyPause, and likewise after each failure more, until they are spread.
// Pool is safe for concurrent use.
type Pool struct {
	client *Client
	cfg    PoolConfig

	mu      sync.Mutex
	members []*member
	turn    int // of the proxies: they are taken one after the other
	next    int // of the identities
}

// member is a proxy of a pool.
type member struct {
	Proxy
	removed bool      // an Update came without it
	paused  time.Time // until then
	told    time.Time // when its failure was logged; zero = not since it worked
}

// NewPool returns a pool of sessions of the client, which must outlive it.
func NewPool(client *Client, cfg PoolConfig) *Pool {
	cfg.Policy, cfg.Identities = cmp.Or(cfg.Policy, PolicyOff), slices.Clone(cfg.Identities)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.Identities) == 0 {
		cfg.Identities = []Identity{Honest(client.cfg.UserAgent)}
	}
	p := &Pool{client: client, cfg: cfg}
	if cfg.Policy != PolicyOff {
		for _, x := range cfg.Proxies {
			p.members = append(p.members, &member{Proxy: x})
		}
	}
	return p
}

// Update takes over the proxies as the table has them now, with what operators and other processes
// have made of them; what was reported here is to be written there before it is read. Those that stay
// keep their sessions. One that is not among them is never handed out again, and a session through it
// is replaced at the next Keep. With PolicyOff nothing changes.
func (p *Pool) Update(proxies []Proxy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cfg.Policy == PolicyOff {
		return
	}
	known := map[int64]*member{}
	for _, m := range p.members {
		known[m.ID], m.removed = m, true
	}
	p.members = nil
	for _, x := range proxies {
		m := known[x.ID]
		if m == nil {
			m = &member{}
		}
		if m.Proxy, m.removed = x, false; x.Consecutive == 0 {
			m.paused = time.Time{}
		}
		p.members = append(p.members, m)
	}
}

// Keep returns the session for a worker's next page. With nil that is the next identity through
// the next active proxy; directly when the policy is off, or is to prefer proxies
// and none is active. Else it is s itself as long as it is one of those, and another one in its place (s is closed)
// when its proxy rests or was removed or, with PolicyPrefer, when it is direct and a proxy is back.
//
// ErrNoProxies: a proxy is required and none is active; a *RestingError says how soon the first is. s stays open.
func (p *Pool) Keep(s *Session) (*Session, error) {
	return p.replace(s, func() (*Session, error) {
		m := p.active(nil)
		switch direct := m == nil && p.cfg.Policy != PolicyRequire; {
		case s != nil && s.member != nil && !s.member.removed && !p.rests(s.member), s != nil && s.member == nil && direct:
			return s, nil
		case m != nil || direct:
			return p.session(m, "")
		case len(p.members) == 0:
			return nil, fmt.Errorf("%w: none is known; add one", ErrNoProxies)
		}
		return nil, &RestingError{All: len(p.members), Back: p.firstBack()}
	})
}

// Rotate returns a session with another proxy and another identity than old's,
// which it closes, and none of the proxies that were tried for this page before
// (old counts as tried). One identity alone can't change. A direct session is
// nothing to rotate to.
//
// ErrNoProxy: no such proxy is active; old stays open.
func (p *Pool) Rotate(old *Session, tried ...*Session) (*Session, error) {
	return p.replace(old, func() (*Session, error) {
		m := p.active(append(tried, old))
		if m == nil {
			return nil, ErrNoProxy
		}
		return p.session(m, old.identity)
	})
}

// replace closes the old session once there is another. Not under the lock: closing takes it.
func (p *Pool) replace(old *Session, choose func() (*Session, error)) (*Session, error) {
	p.mu.Lock()
	fresh, err := choose()
	p.mu.Unlock()
	if err == nil && old != nil && old != fresh {
		old.Close()
	}
	return fresh, err
}

// session makes one through m (nil = direct), with the next identity that is not called unlike.
func (p *Pool) session(m *member, unlike string) (*Session, error) {
	var id Identity
	for range p.cfg.Identities {
		id = p.cfg.Identities[p.next%len(p.cfg.Identities)]
		if p.next++; id.Name != unlike {
			break
		}
	}
	if m == nil && !id.browser {
		return p.client.direct, nil
	}
	if m != nil {
		p.turn = slices.Index(p.members, m) + 1
	}
	return p.client.open(m, id)
}

// active returns the next proxy that does not rest and is none of the sessions tried; nil = there is none.
func (p *Pool) active(tried []*Session) *member {
	for i := range p.members {
		m := p.members[(p.turn+i)%len(p.members)]
		if !p.rests(m) && !slices.ContainsFunc(tried, func(s *Session) bool { return s != nil && s.member == m }) {
			return m
		}
	}
	return nil
}

func (p *Pool) rests(m *member) bool {
	return m.back().After(p.cfg.Now())
}

// back is when the proxy may be used again; not to come = now.
func (m *member) back() time.Time {
	if m.paused.After(m.CooldownUntil) {
		return m.paused
	}
	return m.CooldownUntil
}

// spread reports whether the failures of a proxy in a row are spread over long enough. A time
// that is not known is long ago, and one that is to come is of a clock that was set back.
func (m *member) spread(now time.Time) bool {
	d := now.Sub(m.FailingSince)
	return d < 0 || d >= yp.ProxySpread
}

// Report records how a request with s ended: failure is nil, or why the proxy is to
// blame (Error.Proxy, a block). A session without a proxy has nobody to blame. A
// failure that comes in while the proxy rests is counted and does not prolong the
// rest, unless it says for how long the proxy is to be left alone (Error.Way); a success then does not end it.
func (p *Pool) Report(s *Session, failure error) {
	if s == nil || s.member == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m, resting, now := s.member, p.rests(s.member), p.cfg.Now()
	st := ProxyState{ID: m.ID, Successes: 1}
	switch {
	case failure == nil:
		m.Consecutive, m.FailingSince, m.paused = 0, time.Time{}, time.Time{}
	case m.Consecutive == 0:
		m.FailingSince = now
		fallthrough
	default:
		m.Consecutive++
		st.Successes, st.Failures, st.LastFailure, st.LastError = 0, 1, now, brief(failure)
	}
	if !resting {
		m.CooldownUntil = time.Time{}
		switch {
		case failure == nil || m.Consecutive < yp.ProxyFailures:
		case m.spread(now):
			m.CooldownUntil = now.Add(yp.ProxyRest)
		default:
			m.paused = now.Add(yp.ProxyPause)
		}
	}
	p.tell(m, failure, now)
	if e, ok := errors.AsType[*Error](failure); ok && s.restsAfter(e) {
		m.restFor(e.RetryAfter, now)
	}
	st.Consecutive, st.FailingSince, st.CooldownUntil = m.Consecutive, m.FailingSince, m.CooldownUntil
	if p.cfg.Changed != nil {
		p.cfg.Changed(st)
	}
}

// tellAgain is how long a proxy that fails now and then is told of once.
const tellAgain = time.Minute

// tell logs that a proxy fails, once until it has worked again, and that it rests.
func (p *Pool) tell(m *member, failure error, now time.Time) {
	e, ok := errors.AsType[*Error](failure)
	log := p.client.log
	switch {
	case failure == nil && now.Sub(m.told) >= tellAgain:
		m.told = time.Time{}
	case ok && e.Proxy && m.told.IsZero():
		m.told = now
		log.Warn().Err(failure).Str("proxy", m.Name).
			Msg("a proxy failed: its requests use another one, or are repeated; no failure counts for the source")
	}
	if failure != nil && m.CooldownUntil.Equal(now.Add(yp.ProxyRest)) {
		log.Warn().Str("proxy", m.Name).Int("failures", m.Consecutive).Str("rest", yp.ProxyRest.String()).
			Msg("a proxy is cooling down: it failed too often in a row")
	}
}

// brief is what is kept of a failure: no text of others, but the proxy's word where it has one.
func brief(failure error) string {
	e, ok := errors.AsType[*Error](failure)
	switch {
	case !ok:
		return "failed"
	case e.Says != "":
		return fmt.Sprintf("%s: status %d: %s", e.Class, e.Status, e.Says)
	case e.Status != 0:
		return fmt.Sprintf("%s: status %d", e.Class, e.Status)
	}
	return string(e.Class)
}

// Active is how many proxies could be used now; 0 when the policy is off.
func (p *Pool) Active() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		if !p.rests(m) {
			n++
		}
	}
	return n
}
