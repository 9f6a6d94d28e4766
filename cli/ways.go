package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
)

// wayFlags choose by which way and under which name requests leave.
func wayFlags() []cli.Flag {
	return []cli.Flag{
		list("proxy", "also use these proxies: `URL...`, http, https or socks5", "none"),
		&cli.StringFlag{Name: "proxy-file", DefaultText: "none", Usage: "also use the proxies in `FILE`, one a line"},
		&cli.StringFlag{
			Name: "proxy-policy", DefaultText: "off; require with --proxy or --proxy-file",
			Usage: "`POLICY`: off (no proxy), prefer (directly when none is left) or require (never directly)",
		},
		&cli.StringFlag{Name: "identity", Value: "honest", Usage: "who requests say they are: honest or browser (`KIND`)"},
	}
}

// ways is what those flags say.
type ways struct {
	policy   fetch.Policy
	identity string
	typed    []fetch.Proxy // on the command line and in the file
}

func waysOf(c *cli.Context) (w ways, err error) {
	if w.identity = c.String("identity"); w.identity != "honest" && w.identity != "browser" {
		return w, Usagef("--identity %q: want honest or browser", w.identity)
	}
	for _, text := range SplitList(c.StringSlice("proxy")) {
		u, name, err := fetch.ParseProxy(text)
		if err != nil {
			return w, Usagef("--proxy: %w", err)
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
			return w, Usagef("--proxy-policy: %w", err)
		}
	}
	return w, nil
}

func readProxies(path string) ([]fetch.Proxy, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Usagef("--proxy-file: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	proxies, err := fetch.ParseProxies(f)
	if err != nil {
		return nil, Usagef("--proxy-file %s: %w", path, err)
	}
	return proxies, nil
}

// pool makes the pool of a run's ways out; nil when it goes out directly as itself.
// Proxies that were typed are remembered, so that their scores are.
func (w ways) pool(ctx context.Context, m *health.Monitor, client *fetch.Client, scores *scores) (*fetch.Pool, error) {
	cfg := fetch.PoolConfig{Policy: w.policy, Changed: scores.add}
	if w.identity == "browser" {
		cfg.Identities = fetch.Browsers()
	}
	if w.policy != fetch.PolicyOff {
		for _, p := range w.typed {
			if _, err := m.AddProxy(ctx, p.URL.String(), p.Name); err != nil {
				return nil, err
			}
		}
		var err error
		if cfg.Proxies, err = activeProxies(ctx, m); err != nil {
			return nil, err
		}
	}
	if w.policy == fetch.PolicyOff && cfg.Identities == nil {
		return nil, nil
	}
	pool := fetch.NewPool(client, cfg)
	if w.policy == fetch.PolicyRequire && pool.Active() == 0 {
		return nil, &exitError{code: ExitNoProxies, err: fmt.Errorf("--proxy-policy require: no proxy is active (%d known): add one with `ypcrawl proxies add`, or see `ypcrawl proxies list`", len(cfg.Proxies))}
	}
	return pool, nil
}

func activeProxies(ctx context.Context, m *health.Monitor) ([]fetch.Proxy, error) {
	rows, err := m.Proxies(ctx)
	if err != nil {
		return nil, err
	}
	var out []fetch.Proxy
	for _, p := range rows {
		if !p.Enabled {
			continue
		}
		u, err := url.Parse(p.URL)
		if err != nil {
			return nil, fmt.Errorf("proxy %d (%s) has a bad address: remove it with `ypcrawl proxies remove %d`", p.ID, p.Name, p.ID)
		}
		out = append(out, fetch.Proxy{ID: p.ID, URL: u, Name: p.Name, Consecutive: p.Consecutive, CooldownUntil: p.CooldownUntil})
	}
	return out, nil
}

// scores gathers how the proxies fare, so that a page costs no write of its own.
type scores struct {
	mu  sync.Mutex
	use map[int64]health.ProxyUse
}

func (s *scores) add(st fetch.ProxyState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.use == nil {
		s.use = map[int64]health.ProxyUse{}
	}
	u := s.use[st.ID]
	u.Successes += st.Successes
	u.Failures += st.Failures
	u.Consecutive, u.CooldownUntil = st.Consecutive, st.CooldownUntil
	if st.LastError != "" {
		u.LastError = st.LastError
	}
	s.use[st.ID] = u
}

// flush writes what was gathered.
func (s *scores) flush(ctx context.Context, m *health.Monitor) error {
	s.mu.Lock()
	use := s.use
	s.use = nil
	s.mu.Unlock()
	var errs []error
	for id, u := range use {
		errs = append(errs, m.CountProxy(ctx, id, u))
	}
	return errors.Join(errs...)
}
