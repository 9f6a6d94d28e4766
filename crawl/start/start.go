package start

import (
	"cmp"
	"context"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
)

// Config says what to crawl, how sites are reached, and where logs and pages are kept.
type Config struct {
	// Engine is what all sources have in common: Keeper, Monitor and Run are required. What is of a
	// single source does not count (see crawl.NewSources), nor do OpenLog, Refresh and Pages: they are made here.
	Engine  crawl.Config
	Sources []Source

	UserAgent    string // sent with every request, but by a browser's identity
	PerHost      int    // requests in flight to a host at once
	IgnoreRobots bool
	Egress       Egress

	Logs  Logs
	Pages kept.Config // the file of kept pages; without a Path none is kept
}

// Source is one source of a crawl.
type Source struct {
	Source  *site.Source
	Secrets *fetch.Secrets // that its requests name; nil = none
	Scope   store.Scope    // what is crawled of it
	Index   *crawl.Index

	// Between two requests to its host: at least and at most.
	DelayMin, DelayMax time.Duration
}

// Crawl is a crawl of the sources of a Config, in their order.
type Crawl struct {
	*crawl.Sources
	Clients []*fetch.Client // of each source; those at one host share one

	cfg           Config
	pools         []*fetch.Pool
	uses          uses
	pages         *kept.Writer // nil = none is kept
	tidied        func()
	restoreMemory func()
}

// New assembles a crawl; Close ends what it holds, also one that never ran. Its error is a
// *NoProxyError where proxies are required and none can be used.
func New(ctx context.Context, cfg Config) (*Crawl, error) {
	c := &Crawl{cfg: cfg, restoreMemory: raiseMemory(len(cfg.Sources)), tidied: func() {}}
	c.tellUnused(ctx)
	if err := c.connect(ctx); err != nil {
		c.Close()
		return nil, err
	}
	config := cfg.Engine
	config.OpenLog = c.openLog
	config.Refresh = func(ctx context.Context) error { return c.refresh(ctx) }
	if c.pages = keepPages(cfg.Pages); c.pages != nil {
		config.Pages = c.pages
	}
	sources := make([]crawl.SourceConfig, len(cfg.Sources))
	for i, s := range cfg.Sources {
		sources[i] = crawl.SourceConfig{Source: s.Source, Secrets: s.Secrets, Scope: s.Scope, Fetch: c.Clients[i], Pool: c.pools[i], Delay: s.DelayMin, Index: s.Index}
	}
	c.Sources = crawl.NewSources(config, sources)
	return c, nil
}

// Run crawls until nothing is left to do, or Stop ends it: ctx cuts only what is done beside
// the crawl short. Old logs are compressed and removed meanwhile.
func (c *Crawl) Run(ctx context.Context) error {
	c.tidied = c.tidyLogs(ctx)
	err := c.Sources.Run(context.WithoutCancel(ctx))
	return cmp.Or(c.cfg.Engine.Run.InPlace(), err)
}

// Flush writes what was gathered of proxies and is not written yet.
func (c *Crawl) Flush(ctx context.Context) error { return c.uses.flush(ctx, c.cfg.Engine.Monitor) }

// Close ends what a crawl holds: it waits for the logs to be tidied, and closes pages and connections.
func (c *Crawl) Close() {
	c.tidied()
	if c.pages != nil {
		_ = c.pages.Close() // what is kept is nobody's truth
	}
	for _, client := range c.Clients { // a shared one twice, which is harmless
		client.Close()
	}
	c.restoreMemory()
}
