package fetch

import "time"

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

// Back is how long it takes until the first proxy that rests or pauses is back; 0 = none does.
func (p *Pool) Back() (least time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		if left := m.back().Sub(p.cfg.Now()); left > 0 && (least == 0 || left < least) {
			least = left
		}
	}
	return least
}
