package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/yp"
)

func (p *Program) proxiesTestCommand() *cli.Command {
	return &cli.Command{
		Name: "test", Usage: "Request a page through proxies and show how long it took; the result counts for their scores", ArgsUsage: "[ID or NAME...]", Args: true,
		Description: "Without arguments it tests all enabled proxies. robots.txt of the site is obeyed, and is requested through the proxies too.\nA host that is held, or whose source is paused or in quarantine, gets no request.\nExit code 1 when one fails.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "url", DefaultText: "the base URL of the source crawled last", Usage: "`URL` to request"},
			&cli.GenericFlag{Name: "request-timeout", Value: ageValue(15 * time.Second), Usage: "`TIME` for one request"},
			&cli.GenericFlag{Name: "delay", Value: delayValue(2 * time.Second), Usage: "`TIME` between two requests to a host: 2s, 1s-3s or 0"},
			userAgentFlag(),
			jsonFlag(),
		},
		Action: p.proxiesTest,
	}
}

// testedRow is how a proxy fared in a test.
type testedRow struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	OK        bool   `json:"ok"`
	Status    int    `json:"http_status,omitempty"`
	LatencyMS int64  `json:"latency_ms"` // of the request for the page
	Error     string `json:"error,omitempty"`
	Counted   bool   `json:"counted"` // in the proxy's score: what the site itself refused is not its fault
}

func (p *Program) proxiesTest(c *cli.Context) error {
	if timeOf(c, "request-timeout") <= 0 {
		return Usagef("--request-timeout: want more than 0")
	}
	if err := checkUserAgent(c.String("user-agent")); err != nil {
		return err
	}
	var target *url.URL
	var rows []testedRow
	err := p.with(c, existing, func(k *database, _ store.Scope) (err error) {
		if target, err = testURL(c, k); err != nil {
			return err
		}
		m := health.New(k.DB())
		var found []health.Proxy
		if c.Args().Present() {
			found, err = namedProxies(c.Context, m, c.Args().Slice())
		} else if found, err = m.Proxies(c.Context); err == nil {
			found = slices.DeleteFunc(found, func(x health.Proxy) bool { return !x.Enabled })
		}
		if err == nil && len(found) == 0 {
			err = errors.New("there is no proxy to test: `ypcrawl proxies add` adds some")
		}
		if err != nil {
			return err
		}
		why, err := closedTo(c.Context, k, target)
		if err == nil && why != "" {
			err = fmt.Errorf("nothing was requested: %s", why)
		}
		if err == nil {
			rows, err = p.testAll(c, m, target, found)
		}
		return err
	})
	if err == nil && c.Bool("json") {
		err = writeRows(p.Out, rows)
	}
	if err != nil {
		return err
	}
	failed := 0
	for _, r := range rows {
		if !r.OK {
			failed++
		}
	}
	if failed == len(rows) && failed > 1 {
		p.note("All failed: check that %s can be reached at all.", yp.Printable(target.Redacted()))
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s failed", failed, plural(len(rows), "proxy"))
	}
	return nil
}

// testURL is the page to ask for.
func testURL(c *cli.Context, k *database) (*url.URL, error) {
	raw := c.String("url")
	if raw == "" {
		_, base, err := k.LastSource(c.Context)
		if err != nil {
			return nil, err
		}
		if raw = base; raw == "" {
			return nil, Usagef("nothing was crawled yet: name a page with --url")
		}
	}
	return webAddress("--url ", raw, "https://www.example.com")
}

// testsAtOnce is how many proxies are tested side by side: as many requests as a
// host gets at once by default.
const testsAtOnce = fetch.DefaultConcurrency

func (p *Program) testAll(c *cli.Context, m *health.Monitor, target *url.URL, found []health.Proxy) ([]testedRow, error) {
	shortest, longest := delayOf(c, "delay")
	client := fetch.New(fetch.Config{
		UserAgent: c.String("user-agent"), DelayMin: shortest, DelayMax: longest, Turns: m, Timeout: timeOf(c, "request-timeout"), MaxBody: 10 << 20,
	})
	defer client.Close()
	t := tester{client: client, monitor: m, target: target, patience: timeOf(c, "request-timeout")}
	var mu sync.Mutex
	var rows []testedRow
	g, ctx := errgroup.WithContext(c.Context)
	g.SetLimit(testsAtOnce)
	for _, x := range found {
		g.Go(func() error {
			row, err := t.test(ctx, x)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			rows = append(rows, row)
			if c.Bool("json") {
				return nil
			}
			text := fmt.Sprintf("failed  %s  after %s: %s", row.Name, millis(&row.LatencyMS), row.Error)
			if row.OK {
				text = fmt.Sprintf("ok      %s  answered %d in %s", row.Name, row.Status, millis(&row.LatencyMS))
			}
			_, err = fmt.Fprintln(p.Out, yp.Printable(text))
			return err
		})
	}
	err := g.Wait()
	sort.Slice(rows, func(i, j int) bool { return rows[i].ID < rows[j].ID })
	return rows, err
}

// tester asks for one page through several egresses.
type tester struct {
	client   *fetch.Client
	monitor  *health.Monitor
	target   *url.URL
	patience time.Duration
}

// test asks once through a proxy and counts how it fared. The error ends the whole
// test: robots.txt forbids the page, the user has enough, or the database fails.
func (t tester) test(ctx context.Context, x health.Proxy) (testedRow, error) {
	row := testedRow{ID: x.ID, Name: x.Name}
	proxy, name, err := fetch.ParseProxy(x.URL)
	if err != nil {
		row.Error = err.Error()
		return row, nil
	}
	var use health.ProxyUse
	pool := fetch.NewPool(t.client, fetch.PoolConfig{
		Policy:  fetch.PolicyRequire,
		Proxies: []fetch.Proxy{{ID: x.ID, URL: proxy, Name: name, Consecutive: x.Consecutive}}, // one that rests is tested as well
		Changed: func(s fetch.ProxyState) {
			use = health.ProxyUse{
				Successes: s.Successes, Failures: s.Failures, Consecutive: s.Consecutive, CooldownUntil: s.CooldownUntil, LastError: s.LastError,
			}
		},
	})
	s, err := pool.Take()
	if err != nil {
		return row, err
	}
	defer s.Close()
	began, last := time.Now(), time.Duration(0)
	res, err := t.client.Get(ctx, fetch.Request{
		URL: t.target.String(), Base: t.target, Session: s, MaxHold: t.patience,
		Observe: func(o fetch.Observation) { last = o.Latency },
	})
	defer res.Release()
	row.LatencyMS = cmp.Or(last, time.Since(began)).Milliseconds()
	switch {
	case err == nil:
		row.OK, row.Status = true, res.Status
	case ctx.Err() != nil:
		return row, ctx.Err()
	case errors.Is(err, fetch.ErrDisallowed):
		return row, fmt.Errorf("%s: %w: name another page with --url", t.target.Redacted(), fetch.ErrDisallowed)
	default:
		row.Error = proxyReason(err.Error(), row.Name)
		if failure, ok := errors.AsType[*fetch.Error](err); ok {
			row.Status = failure.Status
		}
		if !blames(err) {
			return row, nil
		}
	}
	pool.Report(s, err)
	row.Counted = true
	return row, t.monitor.CountProxies(ctx, map[int64]health.ProxyUse{x.ID: use})
}

// blames reports whether a failure is the proxy's: it failed itself, it was
// refused as one, or nothing came back. What the site answered is not its fault.
func blames(err error) bool {
	var fe *fetch.Error
	if !errors.As(err, &fe) || fe.Proxy || fe.Code() == yp.CodeBlockedProxy {
		return true
	}
	return fe.Status == 0 && !errors.Is(err, fetch.ErrHeld) && !errors.Is(err, fetch.ErrRobotsUnavailable)
}
