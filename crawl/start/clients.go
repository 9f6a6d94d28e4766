package start

import (
	"cmp"
	"context"
	"time"

	"ypcrawl/crawl/fetch"
)

// connect makes a fetch client for every source, so that each has a pace and a robots.txt of its
// own, with its pool of proxies, which is nil where it is direct. Sources at one host share both: a
// host is not asked twice as fast because two definitions speak of it.
func (c *Crawl) connect(ctx context.Context) error {
	at := map[string]int{}
	for i, s := range c.cfg.Sources {
		host := s.Source.BaseURL().Host
		if first, shared := at[host]; shared {
			c.Clients, c.pools = append(c.Clients, c.Clients[first]), append(c.pools, c.pools[first])
			continue
		}
		at[host] = i
		client := fetch.New(c.fetchConfig(host, func(o fetch.Observation) { c.Observed(i, o) }))
		c.Clients = append(c.Clients, client)
		pool, err := c.cfg.Egress.pool(ctx, c.cfg.Engine.Monitor, client, &c.uses)
		if err != nil {
			return err
		}
		c.pools = append(c.pools, pool)
	}
	return nil
}

// fetchConfig is for the sources at a host: the longest of their delays and times for a request count.
func (c *Crawl) fetchConfig(host string, observe func(fetch.Observation)) fetch.Config {
	var shortest, longest, timeout time.Duration
	for _, s := range c.cfg.Sources {
		if s.Source.BaseURL().Host == host {
			shortest, longest, timeout = max(shortest, s.DelayMin), max(longest, s.DelayMax), max(timeout, cmp.Or(s.Source.RequestTimeout(), fetch.DefaultTimeout))
		}
	}
	return fetch.Config{
		UserAgent: c.cfg.UserAgent, DelayMin: shortest, DelayMax: longest, ConcurrencyPerHost: c.cfg.PerHost, Turns: c.cfg.Engine.Monitor,
		Timeout: timeout, IgnoreRobots: c.cfg.IgnoreRobots, Logger: c.cfg.Engine.Logger, Observe: observe,
	}
}
