package fetch

import (
	"fmt"
	"time"
)

// RestingError is the ErrNoProxies of a pool whose proxies all rest or pause.
type RestingError struct {
	All  int
	Back time.Duration // until the first of them is back; never 0
}

// Error tells how many they are.
func (e *RestingError) Error() string {
	return fmt.Sprintf("%v: all %d are in cooldown", ErrNoProxies, e.All)
}

// Unwrap returns ErrNoProxies.
func (e *RestingError) Unwrap() error { return ErrNoProxies }

// firstBack is how long it takes until the first of the proxies, which all rest, is back: a moment if
// that has come since they were looked at.
func (p *Pool) firstBack() time.Duration {
	first := p.members[0].back()
	for _, m := range p.members[1:] {
		if m.back().Before(first) {
			first = m.back()
		}
	}
	return max(first.Sub(p.cfg.Now()), time.Millisecond)
}

// Rest has the proxy of a session rest for as long as an answer says that came by it: it has
// brought an answer, so nothing counts against it, unless that is its own. A longer rest stays. Of an answer that came
// another way (Error.Way), or directly, nothing is learned.
func (p *Pool) Rest(s *Session, refused *Error) {
	if s == nil || s.member == nil || !s.restsAfter(refused) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m, brought := s.member, 0
	if !refused.Unreached {
		brought, m.Consecutive, m.FailingSince = 1, 0, time.Time{}
	}
	m.restFor(refused.RetryAfter, p.cfg.Now())
	if p.cfg.Changed != nil {
		p.cfg.Changed(ProxyState{
			ID: m.ID, Successes: brought, Consecutive: m.Consecutive, FailingSince: m.FailingSince,
			CooldownUntil: m.CooldownUntil, LastError: brief(refused),
		})
	}
}

// restsAfter reports whether an answer says for how long the session's proxy is to be left alone.
func (s *Session) restsAfter(e *Error) bool { return e.RetryAfter > 0 && e.Way == s.proxy }

// restFor has it rest for d. A longer rest stays.
func (m *member) restFor(d time.Duration, now time.Time) {
	if until := now.Add(d); until.After(m.CooldownUntil) {
		m.CooldownUntil = until
	}
}
