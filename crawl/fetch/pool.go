package fetch

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Numbers of docs/health.md, section 6.
const (
	ProxyFailures = 10               // in a row, and a proxy rests
	ProxyRest     = 60 * time.Minute // for so long
)

// PoolConfig says what a Pool hands out. The zero value hands out the client's
// own direct session.
type PoolConfig struct {
	Policy     Policy     // "" = PolicyOff
	Proxies    []Proxy    // not used when the policy is off
	Identities []Identity // taken in turn; none = honest

	Now func() time.Time // default time.Now

	// Changed, when set, is called after every report with what it changed. It
	// must be quick and must not call the pool; calls come one at a time, in
	// order.
	Changed func(ProxyState)
}

// ProxyState is what one report made of a proxy. Successes and Failures are
// what it added (1 and 0, or 0 and 1), so that several processes can count in
// one row; in the same way, a failure adds 1 to the failures in a row and a
// success sets them to 0.
type ProxyState struct {
	ID                  int64
	Successes, Failures int
	Consecutive         int       // failures in a row, as this process knows
	CooldownUntil       time.Time // zero = it does not rest
	LastError           string    // of a failure, password redacted
}

// Pool hands out sessions: who asks, and through which proxy. A worker Takes one, asks Keep
// before each page, Rotates after a block, and closes what it holds in the end.
//
// Ten failures in a row and a proxy rests for an hour. After that it is on
// probation: the count stands until a request succeeds, so one failure more
// is another hour, and a dead proxy costs one request an hour, not ten.
//
// Pool has no goroutine of its own and is safe for concurrent use.
type Pool struct {
	client     *Client
	policy     Policy
	identities []Identity
	now        func() time.Time
	changed    func(ProxyState)

	mu      sync.Mutex
	members []*member
	next    int // of identities
}

// member is a proxy of a pool.
type member struct {
	Proxy
	open    int       // sessions that use it now
	uses    int       // sessions that ever did
	stored  time.Time // the rest that the last Update brought
	removed bool      // an Update came without it
}

// NewPool returns a pool of sessions of the client, which must outlive it.
func NewPool(client *Client, cfg PoolConfig) *Pool {
	p := &Pool{
		client: client, policy: cmp.Or(cfg.Policy, PolicyOff), identities: slices.Clone(cfg.Identities),
		now: cfg.Now, changed: cfg.Changed,
	}
	if p.now == nil {
		p.now = time.Now
	}
	if len(p.identities) == 0 {
		p.identities = []Identity{Honest(client.cfg.UserAgent)}
	}
	if p.policy != PolicyOff {
		for _, proxy := range cfg.Proxies {
			p.members = append(p.members, newMember(proxy))
		}
	}
	return p
}

func newMember(x Proxy) *member { return &member{Proxy: x, stored: x.CooldownUntil} }

// Update takes over the proxies as they stand now, each with the ID of its row.
// Those that stay keep their scores and their sessions; a rest that was ordered
// elsewhere is taken over, and so is its end. One that is not among them is never
// handed out again, and a session through it is replaced at the next Keep. With
// PolicyOff nothing changes.
func (p *Pool) Update(proxies []Proxy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.policy == PolicyOff {
		return
	}
	known := map[int64]*member{}
	for _, m := range p.members {
		known[m.ID], m.removed = m, true
	}
	now := p.now()
	p.members = make([]*member, 0, len(proxies))
	for _, x := range proxies {
		m := known[x.ID]
		if m == nil {
			m = newMember(x)
		}
		m.removed = false
		m.adopt(x, now)
		p.members = append(p.members, m)
	}
}

// adopt takes over what others have made of a proxy. A rest that stood at the last
// Update and stands no more was ended: by the operator's word, or because the proxy
// was seen to work. One of our own that nobody has written down yet stays.
func (m *member) adopt(x Proxy, now time.Time) {
	switch {
	case x.CooldownUntil.After(now):
		if x.CooldownUntil.After(m.CooldownUntil) {
			m.CooldownUntil = x.CooldownUntil
		}
		m.Consecutive = max(m.Consecutive, x.Consecutive) // on probation afterwards
	case m.stored.After(now):
		m.CooldownUntil, m.Consecutive = time.Time{}, x.Consecutive
	}
	m.stored = x.CooldownUntil
}

// Take returns a session for a worker: the next identity through the active proxy
// that the fewest use; directly when the policy is off, or is to prefer proxies
// and none is active. Close it, Rotate it, or Keep it.
//
// ErrNoProxies: a proxy is required and none is active.
func (p *Pool) Take() (*Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take()
}

func (p *Pool) take() (*Session, error) {
	m := p.leastUsed(nil)
	switch {
	case m != nil || p.policy != PolicyRequire:
		return p.session(m, "")
	case len(p.members) == 0:
		return nil, fmt.Errorf("%w: none is known; add one", ErrNoProxies)
	}
	return nil, fmt.Errorf("%w: all %d are in cooldown, the first until %s", ErrNoProxies, len(p.members), p.nextReturn().UTC().Format(time.RFC3339))
}

// Keep returns the session for a worker's next page: s itself as long as it is
// what Take would choose from, another one in its place (s is closed) when its
// proxy rests or was removed or, with PolicyPrefer, when it is direct and a proxy is back.
// With an error, which is Take's, s stays open.
func (p *Pool) Keep(s *Session) (*Session, error) {
	p.mu.Lock()
	fresh, err := s, error(nil)
	if !p.fits(s) {
		fresh, err = p.take()
	}
	p.mu.Unlock()
	return replace(s, fresh, err)
}

func (p *Pool) fits(s *Session) bool {
	switch {
	case s == nil:
		return false
	case s.member != nil:
		return !s.member.removed && !p.rests(s.member)
	}
	return p.policy != PolicyRequire && p.leastUsed(nil) == nil
}

// Rotate returns a session with another proxy and another identity than old's,
// which it closes, and none of the proxies that were tried for this page before
// (old counts as tried). One identity alone can't change. A direct session is
// nothing to rotate to.
//
// ErrNoProxy: no such proxy is active; old stays open.
func (p *Pool) Rotate(old *Session, tried ...*Session) (*Session, error) {
	unlike := ""
	if old != nil {
		unlike = old.identity
	}
	p.mu.Lock()
	fresh, err := (*Session)(nil), ErrNoProxy
	if m := p.leastUsed(append([]*Session{old}, tried...)); m != nil {
		fresh, err = p.session(m, unlike)
	}
	p.mu.Unlock()
	return replace(old, fresh, err)
}

// replace closes the old session once there is another. Not under the pool's
// lock: closing takes it.
func replace(old, fresh *Session, err error) (*Session, error) {
	if err != nil {
		return nil, err
	}
	if old != nil && old != fresh {
		old.Close()
	}
	return fresh, nil
}

// session makes one through m (nil = direct), with the next identity that is not
// called unlike.
func (p *Pool) session(m *member, unlike string) (*Session, error) {
	id := p.identity(unlike)
	if m == nil {
		if !id.browser {
			return p.client.direct, nil
		}
		return p.client.open(nil, id, nil, nil)
	}
	s, err := p.client.open(m.URL, id, m, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		m.open--
	})
	if err != nil {
		return nil, err
	}
	m.open++
	m.uses++
	return s, nil
}

func (p *Pool) identity(unlike string) Identity {
	for range p.identities {
		id := p.identities[p.next%len(p.identities)]
		p.next++
		if id.Name != unlike {
			return id
		}
	}
	return p.identities[0]
}

// leastUsed returns the active proxy that the fewest sessions use, then that the
// fewest ever did; nil = none but those of the sessions tried.
func (p *Pool) leastUsed(tried []*Session) *member {
	var best *member
	for _, m := range p.members {
		if p.rests(m) || slices.ContainsFunc(tried, func(s *Session) bool { return s != nil && s.member == m }) {
			continue
		}
		if best == nil || m.open < best.open || (m.open == best.open && m.uses < best.uses) {
			best = m
		}
	}
	return best
}

func (p *Pool) rests(m *member) bool { return m.CooldownUntil.After(p.now()) }

// Report records how a request with s fared: failure is nil, or why the proxy is to
// blame (Error.Proxy, a block). A session without a proxy has nobody to blame. A
// failure that comes in while the proxy rests is counted and does not prolong the
// rest; a success then does not end it.
func (p *Pool) Report(s *Session, failure error) {
	if s == nil || s.member == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now, m := p.now(), s.member
	st := ProxyState{ID: m.ID}
	if failure == nil {
		m.Consecutive, st.Successes = 0, 1
	} else {
		m.Consecutive++
		st.Failures, st.LastError = 1, hide(failure.Error(), m.URL)
	}
	switch resting := p.rests(m); {
	case failure != nil && m.Consecutive >= ProxyFailures && !resting:
		m.CooldownUntil = now.Add(ProxyRest)
	case !resting:
		m.CooldownUntil = time.Time{}
	}
	st.Consecutive, st.CooldownUntil = m.Consecutive, m.CooldownUntil
	if p.changed != nil {
		p.changed(st)
	}
}

// Active is how many proxies could be used now; 0 when the policy is off.
func (p *Pool) Active() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, m := range p.members {
		if !p.rests(m) {
			n++
		}
	}
	return n
}

// nextReturn is when the first of the resting proxies is active again; the zero
// time = none rests.
func (p *Pool) nextReturn() time.Time {
	var first time.Time
	for _, m := range p.members {
		if p.rests(m) && (first.IsZero() || m.CooldownUntil.Before(first)) {
			first = m.CooldownUntil
		}
	}
	return first
}
