package cli

import (
	"context"
	"sync"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
)

// scores gathers how the proxies fare, so that a page costs no write of its own. The
// zero value is ready.
type scores struct {
	writing sync.Mutex // one flush at a time, taken before mu: what was seen first is written first

	mu    sync.Mutex
	use   map[int64]health.ProxyUse
	rests map[int64]time.Time // as last reported
	rest  chan struct{}       // told when a proxy goes to rest; nil = nobody listens
}

// add takes down one report of a pool.
func (s *scores) add(st fetch.ProxyState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.use == nil {
		s.use, s.rests = map[int64]health.ProxyUse{}, map[int64]time.Time{}
	}
	s.use[st.ID] = s.use[st.ID].Then(health.ProxyUse{
		Successes: st.Successes, Failures: st.Failures, Consecutive: st.Consecutive, CooldownUntil: st.CooldownUntil, LastError: st.LastError,
	})
	if !st.CooldownUntil.IsZero() && !st.CooldownUntil.Equal(s.rests[st.ID]) {
		select {
		case s.rest <- struct{}{}:
		default:
		}
	}
	s.rests[st.ID] = st.CooldownUntil
}

// flush writes what was gathered; what can't be written is gathered on.
func (s *scores) flush(ctx context.Context, m *health.Monitor) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	use := s.taken()
	if len(use) == 0 {
		return nil
	}
	err := m.CountProxies(ctx, use)
	if err != nil {
		s.giveBack(use)
	}
	return err
}

func (s *scores) taken() map[int64]health.ProxyUse {
	s.mu.Lock()
	defer s.mu.Unlock()
	use := s.use
	s.use = map[int64]health.ProxyUse{}
	if s.rests == nil {
		s.rests = map[int64]time.Time{}
	}
	return use
}

func (s *scores) giveBack(use map[int64]health.ProxyUse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, u := range use {
		if since, more := s.use[id]; more {
			u = u.Then(since)
		}
		s.use[id] = u
	}
}

// beat writes what was gathered and brings the pools what operators and other
// processes have made of the proxies meanwhile.
func (s *scores) beat(ctx context.Context, m *health.Monitor, pools []*fetch.Pool, w egress) error {
	if err := s.flush(ctx, m); err != nil || len(pools) == 0 || w.policy == fetch.PolicyOff {
		return err
	}
	known, err := m.Proxies(ctx)
	if err != nil {
		return err
	}
	active, err := activeProxies(known)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		pool.Update(active)
	}
	return nil
}

// flushEvery is how much a kill may cost of the scores.
const flushEvery = 2 * time.Second

// keep flushes every two seconds, and beats at once when a proxy goes to rest, until
// stop is called. What fails is left to the heartbeat, which tells.
func (s *scores) keep(ctx context.Context, m *health.Monitor, pools []*fetch.Pool, w egress) (stop func()) {
	if len(pools) == 0 || w.policy == fetch.PolicyOff {
		return func() {}
	}
	ctx = context.WithoutCancel(ctx) // a stop lets the pages in hand end
	rest, quit, done := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	s.rest = rest
	s.mu.Unlock()
	go func() {
		defer close(done)
		tick := time.NewTicker(flushEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = s.flush(ctx, m)
			case <-rest:
				_ = s.beat(ctx, m, pools, w)
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
