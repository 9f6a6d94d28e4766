package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
)

// egressFlags choose by which way and under which name requests leave.
func egressFlags() []cli.Flag {
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

// egress is what those flags say.
type egress struct {
	policy   fetch.Policy
	identity string
	typed    []fetch.Proxy // on the command line and in the file
}

func egressOf(c *cli.Context) (w egress, err error) {
	if w.identity = c.String("identity"); w.identity != "honest" && w.identity != "browser" {
		return w, Usagef("--identity %q: want honest or browser", w.identity)
	}
	for _, text := range SplitList(c.StringSlice("proxy")) {
		u, name, err := parseProxy(text)
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
	f, err := openRegular(path)
	if err != nil {
		return nil, Usagef("--proxy-file: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	proxies, err := parseProxies(f)
	if err != nil {
		return nil, Usagef("--proxy-file %s: %w", path, err)
	}
	return proxies, nil
}

// errNoPort: "foo" is a slip far more often than a proxy, and what is taken for one
// is remembered.
var errNoPort = fmt.Errorf("%w: without a scheme the port must be there, as in host:8080 or http://host", fetch.ErrBadProxy)

// parseProxy reads a proxy that somebody wrote.
func parseProxy(text string) (*url.URL, string, error) {
	if lacksPort(text) {
		return nil, "", errNoPort
	}
	return fetch.ParseProxy(text)
}

// lacksPort reports whether a proxy is written with neither scheme nor port.
func lacksPort(text string) bool {
	if strings.Contains(text, "://") {
		return false
	}
	u, err := url.Parse("http://" + strings.TrimSpace(text))
	return err == nil && u.Hostname() != "" && u.Port() == ""
}

// parseProxies reads a list of proxies that somebody wrote, as fetch.ParseProxies
// does: the error names the bad lines, and the others are given.
func parseProxies(r io.Reader) ([]fetch.Proxy, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxProxyList))
	if err != nil {
		return nil, err
	}
	var bad []error
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		words := strings.Fields(strings.TrimPrefix(line, "\ufeff"))
		if len(words) > 0 && words[0][0] != '#' && lacksPort(words[0]) {
			bad = append(bad, fmt.Errorf("line %d: %w", i+1, errNoPort))
			lines[i] = ""
		}
	}
	list, err := fetch.ParseProxies(strings.NewReader(strings.Join(lines, "\n")))
	return list, errors.Join(append(bad, err)...)
}

// pool makes the pool of a run's egress; nil when it goes out directly as itself.
// Proxies that were typed are remembered, so that their scores are.
func (w egress) pool(ctx context.Context, m *health.Monitor, client *fetch.Client, scores *scores) (*fetch.Pool, error) {
	cfg := fetch.PoolConfig{Policy: w.policy, Changed: scores.add}
	if w.identity == "browser" {
		cfg.Identities = fetch.Browsers()
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
		return nil, &exitError{code: ExitNoProxies, err: noneActive(known, time.Now())}
	}
	return pool, nil
}

// idle tells how many proxies the database holds that could be used and are not, because
// the policy is off.
func (w egress) idle(ctx context.Context, m *health.Monitor) (n int, err error) {
	if w.policy != fetch.PolicyOff {
		return 0, nil
	}
	known, err := m.Proxies(ctx)
	for _, p := range known {
		if p.Enabled {
			n++
		}
	}
	return n, err
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
		u, err := url.Parse(p.URL)
		if err != nil {
			return nil, fmt.Errorf("proxy %d (%s) has a bad address: remove it with `ypcrawl proxies remove %d`", p.ID, p.Name, p.ID)
		}
		out = append(out, fetch.Proxy{ID: p.ID, URL: u, Name: p.Name, Consecutive: p.Consecutive, CooldownUntil: p.CooldownUntil})
	}
	return out, nil
}

// fewProxies is how many are named in an error.
const fewProxies = 10

// noneActive tells what has become of the proxies, and what makes them active.
func noneActive(known []health.Proxy, now time.Time) error {
	const none = "--proxy-policy require: no proxy is active"
	if len(known) == 0 {
		return errors.New(none + " (0 known): add one with `ypcrawl proxies add`")
	}
	ids, disabled, first := "", 0, time.Time{}
	for i, p := range known {
		if i < fewProxies {
			ids += " " + idText(p.ID)
		}
		switch {
		case !p.Enabled:
			disabled++
		case first.IsZero() || p.CooldownUntil.Before(first):
			first = p.CooldownUntil
		}
	}
	text := fmt.Sprintf("%s (%d known: %d disabled", none, len(known), disabled)
	if resting := len(known) - disabled; resting > 0 {
		text += fmt.Sprintf(", %d resting, the first until %s", resting, moment(now, first))
	}
	return fmt.Errorf("%s): `ypcrawl proxies enable%s` takes them back, `ypcrawl proxies list` tells how they fared", text, ids)
}
