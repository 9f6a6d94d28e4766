package cli

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
)

// egressFlags choose by which way and under which name requests leave.
func egressFlags() []cli.Flag {
	return []cli.Flag{
		frame.WordsFlag("proxy", "also use these proxies: `URL...`, http, https or socks5", "none"),
		&cli.StringFlag{Name: "proxy-file", TakesFile: true, DefaultText: "none", Usage: "also use the proxies in `FILE`, one a line"},
		&cli.StringFlag{
			Name: "proxy-policy", DefaultText: "off; require with --proxy or --proxy-file",
			Usage: "`POLICY`: off (no proxy), prefer (directly when none is left) or require (never directly)",
		},
		&cli.StringFlag{Name: "identity", Value: "honest", Usage: "headers of requests: `KIND` is honest or browser"},
	}
}

// egress is what those flags say.
type egress struct {
	policy   fetch.Policy
	identity string
	typed    []fetch.Proxy // on the command line and in the file
}

func egressOf(c *cli.Context) (w egress, err error) {
	if w.identity = c.String("identity"); w.identity != "honest" && w.identity != "browser" {
		return w, frame.Usagef("--identity %q: want honest or browser", w.identity)
	}
	for _, text := range frame.SplitList(c.StringSlice("proxy")) {
		u, name, err := fetch.ParseProxy(text)
		if err != nil {
			return w, frame.Usagef("--proxy: %w", err)
		}
		w.typed = append(w.typed, fetch.Proxy{URL: u, Name: name})
	}
	if path := c.String("proxy-file"); path != "" {
		more, err := readProxies(path)
		if err != nil {
			return w, err
		}
		w.typed = append(w.typed, more...)
	}
	w.policy = fetch.PolicyOff
	if len(w.typed) > 0 {
		w.policy = fetch.PolicyRequire // whoever names a proxy does not want to be seen without it
	}
	if text := c.String("proxy-policy"); text != "" {
		if w.policy, err = fetch.ParsePolicy(text); err != nil {
			return w, frame.Usagef("--proxy-policy: %w", err)
		}
	}
	return w, nil
}

func readProxies(path string) ([]fetch.Proxy, error) {
	f, err := frame.OpenRegular(path)
	if err != nil {
		return nil, frame.Usagef("--proxy-file: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	proxies, err := fetch.ParseProxies(io.LimitReader(f, maxProxyList))
	if err != nil {
		return nil, frame.Usagef("--proxy-file %s: %w", path, err)
	}
	return proxies, nil
}

// pool makes the pool of a run's egress; nil when it goes out directly as itself.
// Proxies that were typed are remembered, so that their scores are.
func (w egress) pool(ctx context.Context, m *health.Monitor, client *fetch.Client, scores *scores) (*fetch.Pool, error) {
	cfg := fetch.PoolConfig{Policy: w.policy, Changed: scores.add}
	if w.identity == "browser" {
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
	if w.policy == fetch.PolicyOff && cfg.Identities == nil {
		return nil, nil
	}
	pool := fetch.NewPool(client, cfg)
	if w.policy == fetch.PolicyRequire && pool.Active() == 0 {
		return nil, &exitError{code: ExitNoProxies, err: fmt.Errorf("--proxy-policy require: no proxy is active (%d known): `ypcrawl proxies list` shows why, `ypcrawl proxies enable ID` enables one again, `ypcrawl proxies add` adds others", len(known))}
	}
	return pool, nil
}

// proxies returns the proxies of the table, those that were typed among them.
func (w egress) proxies(ctx context.Context, m *health.Monitor) ([]health.Proxy, error) {
	if w.policy == fetch.PolicyOff {
		return nil, nil
	}
	for _, p := range w.typed {
		if _, err := m.AddProxy(ctx, p.URL.String(), p.Name); err != nil {
			return nil, err
		}
	}
	if err := m.MendClock(ctx); err != nil { // a rest of a year would leave none to choose from
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
			return nil, fmt.Errorf("proxy %d (%s) has a bad address: remove it with `ypcrawl proxies remove %d`", p.ID, p.Name, p.ID)
		}
		out = append(out, fetch.Proxy{ID: p.ID, URL: u, Name: p.Name, Consecutive: p.Consecutive, FailingSince: p.FailingSince, CooldownUntil: p.CooldownUntil})
	}
	return out, nil
}

// scores gathers how the proxies fare, so that a page costs no write of its own. The
// zero value is ready.
type scores struct {
	mu  sync.Mutex
	use map[int64]health.ProxyUse
}

// add takes down one report of a pool.
func (s *scores) add(st fetch.ProxyState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.use == nil {
		s.use = map[int64]health.ProxyUse{}
	}
	s.use[st.ID] = s.use[st.ID].Then(health.ProxyUse{
		Successes: st.Successes, Failures: st.Failures, Consecutive: st.Consecutive, CooldownUntil: st.CooldownUntil, LastError: st.LastError,
		FailingSince: st.FailingSince, LastFailure: st.LastFailure,
	})
}

// flush writes what was gathered; what can't be written is gathered on.
func (s *scores) flush(ctx context.Context, m *health.Monitor) error {
	s.mu.Lock()
	use := s.use
	s.use = nil
	s.mu.Unlock()
	if len(use) == 0 {
		return nil
	}
	err := m.CountProxies(ctx, use)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, since := range s.use {
		use[id] = use[id].Then(since)
	}
	s.use = use
	return err
}

// refresh writes what was gathered and brings the pools what operators and other
// processes have made of the proxies meanwhile.
func (s *scores) refresh(ctx context.Context, m *health.Monitor, pools []*fetch.Pool, w egress) error {
	if err := s.flush(ctx, m); err != nil || w.policy == fetch.PolicyOff {
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
