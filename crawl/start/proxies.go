package start

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
)

// Egress is by which way and under which name requests leave.
type Egress struct {
	Policy  fetch.Policy
	Browser bool          // with headers as browsers send them; false = as ypcrawl itself
	Proxies []fetch.Proxy // used beside those that the database knows, and remembered there
}

// NoProxyError says that proxies are required, and none of those that are known is enabled.
type NoProxyError struct{ Known int }

// Error says how many are known, and what to do.
func (e *NoProxyError) Error() string {
	return fmt.Sprintf("--proxy-policy require: no proxy is active (%d known). `ypcrawl proxies list` shows why, `ypcrawl proxies enable ID` enables one, `ypcrawl proxies add` adds others", e.Known)
}

// pool makes the pool of a run's egress; nil when it goes out directly as itself.
// Proxies that were typed are remembered, so that their scores are.
func (w Egress) pool(ctx context.Context, m *health.Monitor, client *fetch.Client, uses *uses) (*fetch.Pool, error) {
	cfg := fetch.PoolConfig{Policy: w.Policy, Changed: uses.add}
	if w.Browser {
		cfg.Identities = fetch.Browsers()
		first := rand.IntN(len(cfg.Identities)) //nolint:gosec // runs differ, no secret hangs on it
		cfg.Identities = append(cfg.Identities[first:], cfg.Identities[:first]...)
	}
	known, err := w.proxies(ctx, m)
	if err != nil {
		return nil, err
	}
	if cfg.Proxies, err = activeProxies(known); err != nil {
		return nil, err
	}
	if w.Policy == fetch.PolicyOff && cfg.Identities == nil {
		return nil, nil
	}
	pool := fetch.NewPool(client, cfg)
	if w.Policy == fetch.PolicyRequire && pool.Active() == 0 {
		return nil, &NoProxyError{Known: len(known)}
	}
	return pool, nil
}

// proxies returns the proxies of the table, those that were typed among them.
func (w Egress) proxies(ctx context.Context, m *health.Monitor) ([]health.Proxy, error) {
	if w.Policy == fetch.PolicyOff {
		return nil, nil
	}
	for _, p := range w.Proxies {
		if _, err := m.AddProxy(ctx, p.URL.String(), p.Name); err != nil {
			return nil, err
		}
	}
	if err := m.CorrectClock(ctx); err != nil { // a rest of a year would leave none to choose from
		return nil, err
	}
	return m.Proxies(ctx)
}

// activeProxies are those that are enabled; some of them may rest.
func activeProxies(known []health.Proxy) (out []fetch.Proxy, err error) {
	for _, p := range known {
		if !p.Enabled {
			continue
		}
		u, _, err := fetch.ParseProxy(p.URL)
		if err != nil {
			return nil, fmt.Errorf("proxy %d (%s) has an invalid address; remove it with `ypcrawl proxies remove %d`", p.ID, p.Name, p.ID)
		}
		out = append(out, fetch.Proxy{ID: p.ID, URL: u, Name: p.Name, Consecutive: p.Consecutive, FailingSince: p.FailingSince, CooldownUntil: p.CooldownUntil})
	}
	return out, nil
}

// uses gathers how the proxies fare, so that a page costs no write of its own. The
// zero value is ready.
type uses struct {
	mu sync.Mutex
	of map[int64]health.ProxyUse // by the proxy's id
}

// add takes down one report of a pool.
func (u *uses) add(st fetch.ProxyState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[int64]health.ProxyUse{}
	}
	u.of[st.ID] = u.of[st.ID].Then(health.ProxyUse{
		Successes: st.Successes, Failures: st.Failures, Consecutive: st.Consecutive, CooldownUntil: st.CooldownUntil, LastError: st.LastError,
		FailingSince: st.FailingSince, LastFailure: st.LastFailure,
	})
}

// flush writes what was gathered; what can't be written is gathered on.
func (u *uses) flush(ctx context.Context, m *health.Monitor) error {
	u.mu.Lock()
	use := u.of
	u.of = nil
	u.mu.Unlock()
	if len(use) == 0 {
		return nil
	}
	err := m.CountProxies(ctx, use)
	if err == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, since := range u.of {
		use[id] = use[id].Then(since)
	}
	u.of = use
	return err
}

// refresh writes what was gathered and brings the pools what operators and other
// processes have made of the proxies meanwhile.
func (c *Crawl) refresh(ctx context.Context) error {
	return c.uses.refresh(ctx, c.cfg.Engine.Monitor, c.pools, c.cfg.Egress)
}

func (u *uses) refresh(ctx context.Context, m *health.Monitor, pools []*fetch.Pool, w Egress) error {
	if err := u.flush(ctx, m); err != nil || w.Policy == fetch.PolicyOff {
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

// tellUnused says once that there are proxies which this run does not use: nobody is
// to think that he is hidden behind them.
func (c *Crawl) tellUnused(ctx context.Context) {
	if c.cfg.Egress.Policy != fetch.PolicyOff {
		return
	}
	known, err := c.cfg.Engine.Monitor.Proxies(ctx)
	n := len(slices.DeleteFunc(known, func(p health.Proxy) bool { return !p.Enabled }))
	switch {
	case err != nil:
		c.cfg.Engine.Logger.Warn().Err(err).Msg("the stored proxies could not be read")
	case n > 0:
		c.cfg.Engine.Logger.Info().Int("proxies", n).Msg("requests go out directly: stored proxies are used only with --proxy-policy prefer or require")
	}
}
