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

// Rest has the proxy of a session rest for as long as a 429 that came by it says: it has
// brought an answer, so nothing counts against it. A longer rest stays. Of an answer that came
// another way (Error.Way), or directly, nothing is learned.
func (p *Pool) Rest(s *Session, refused *Error) {
	if s == nil || s.member == nil || refused.Way != s.proxy || refused.RetryAfter <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := s.member
	m.Consecutive, m.FailingSince = 0, time.Time{}
	if until := p.cfg.Now().Add(refused.RetryAfter); until.After(m.CooldownUntil) {
		m.CooldownUntil = until
	}
	if p.cfg.Changed != nil {
		p.cfg.Changed(ProxyState{ID: m.ID, Successes: 1, CooldownUntil: m.CooldownUntil, LastError: brief(refused)})
	}
}
