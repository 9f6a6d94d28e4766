package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/store/report"
	"ypcrawl/wal"
)

// crawl runs the engines with the display beside them, and tells how it went.
func (r *run) crawl(ctx context.Context) error {
	defer r.raiseMemory()()
	var sources *crawl.Sources
	r.mentionProxies(ctx)
	clients, pools, err := r.clients(ctx, func(i int, o fetch.Observation) { sources.Observed(i, o) })
	defer func() {
		for _, c := range clients { // a shared one twice, which is harmless
			c.Close()
		}
	}()
	if err != nil {
		return errors.Join(err, r.row.Finish(ctx, checkpoint.OutcomeNoProxies, 0))
	}
	configs := make([]crawl.SourceConfig, len(r.sources))
	for i, c := range r.sources {
		shortest, _ := pace(r.c, c.src)
		configs[i] = crawl.SourceConfig{Source: c.src, Scope: c.scope, Fetch: clients[i], Pool: pools[i], Delay: shortest, Index: c.index}
	}
	config := r.engineConfig(pools)
	if pages := r.keepPages(); pages != nil {
		config.Pages = pages
		defer func() { _ = pages.Close() }() // what is kept is nobody's truth
	}
	sources = crawl.NewSources(config, configs)

	interrupted := context.AfterFunc(ctx, func() {
		r.log.Info().Msg("stopping after the current pages; Ctrl-C again ends at once")
		sources.Stop(crawl.ErrInterrupted)
	})
	defer interrupted()
	tidied := r.tidyLogs(ctx)
	defer tidied()
	stop := r.watch(sources, clients)
	written := r.scores.keep(ctx, r.monitor, pools, r.egress)
	unobserved := r.observe(ctx)
	err = sources.Run(context.WithoutCancel(ctx))
	written()
	stop()
	ended := r.endings(ctx, sources)
	err = errors.Join(err, r.scores.flush(context.WithoutCancel(ctx), r.monitor))
	if errors.Is(err, crawl.ErrBudget) && r.throughWith(ended) {
		err = nil // the budget was just enough
	}
	stats := sources.Stats()
	unobserved()
	outcome := outcomeOf(worst(err, ended))
	if ferr := r.row.Finish(ctx, outcome, stats.Requests); ferr != nil && err == nil {
		err = ferr
	}
	r.leavePage("the run has ended: " + report.OutcomeText(string(outcome)))
	r.judgeSandboxes(ctx)
	return r.report(stats, err, ended)
}

// throughWith tells whether nothing is left to do.
func (r *run) throughWith(all []ending) bool {
	if r.details().Wanted || r.onlyIndexes {
		return false // the engines have looked: what was left may have been no search
	}
	for _, e := range all {
		if e.now.toDo() > 0 || e.unknown {
			return false
		}
	}
	return true
}

func outcomeOf(err error) checkpoint.Outcome {
	switch {
	case err == nil:
		return checkpoint.OutcomeDone
	case errors.Is(err, crawl.ErrInterrupted):
		return checkpoint.OutcomeInterrupted
	case errors.Is(err, crawl.ErrBudget):
		return checkpoint.OutcomeBudget
	case errors.Is(err, crawl.ErrNoProxies):
		return checkpoint.OutcomeNoProxies
	case errors.Is(err, crawl.ErrLayout):
		return checkpoint.OutcomeLayout
	case errors.As(err, new(*crawl.BlockedError)):
		return checkpoint.OutcomeBlocked
	}
	return checkpoint.OutcomeError
}

// clients makes a fetch client for every source, so that each has a pace and a robots.txt of its
// own, with its pool of proxies, which is nil where it is direct. Sources at one host share both: a
// host is not asked twice as fast because two definitions speak of it.
func (r *run) clients(ctx context.Context, observe func(i int, o fetch.Observation)) ([]*fetch.Client, []*fetch.Pool, error) {
	var clients []*fetch.Client
	var pools []*fetch.Pool
	at := map[string]int{}
	for i, c := range r.sources {
		host := c.src.BaseURL().Host
		if first, shared := at[host]; shared {
			clients, pools = append(clients, clients[first]), append(pools, pools[first])
			continue
		}
		at[host] = i
		client := fetch.New(r.fetchConfig(host, func(o fetch.Observation) { observe(i, o) }))
		clients = append(clients, client)
		pool, err := r.egress.pool(ctx, r.monitor, client, &r.scores)
		if err != nil {
			return clients, nil, err
		}
		pools = append(pools, pool)
	}
	return clients, pools, nil
}

// fetchConfig is for the sources at a host: the longest of their delays and times for a request count.
func (r *run) fetchConfig(host string, observe func(fetch.Observation)) fetch.Config {
	var shortest, longest, timeout time.Duration
	for _, c := range r.sources {
		if c.src.BaseURL().Host == host {
			lo, hi := pace(r.c, c.src)
			shortest, longest, timeout = max(shortest, lo), max(longest, hi), max(timeout, cmp.Or(c.src.RequestTimeout(), fetch.DefaultTimeout))
		}
	}
	return fetch.Config{
		UserAgent: r.c.String("user-agent"), DelayMin: shortest, DelayMax: longest, ConcurrencyPerHost: r.c.Int("concurrency-per-host"), Turns: r.monitor,
		Timeout: timeout, IgnoreRobots: r.c.String("robots") == "ignore", Logger: r.log, Observe: observe,
	}
}

// mentionProxies says once that there are proxies which this run does not use: nobody is
// to think that he is hidden behind them.
func (r *run) mentionProxies(ctx context.Context) {
	if r.egress.policy != fetch.PolicyOff {
		return
	}
	known, err := r.monitor.Proxies(ctx)
	n := len(slices.DeleteFunc(known, func(p health.Proxy) bool { return !p.Enabled }))
	switch {
	case err != nil:
		r.log.Warn().Err(err).Msg("the stored proxies could not be read")
	case n > 0:
		r.log.Info().Int("proxies", n).Msg("requests go out directly: stored proxies are used only with --proxy-policy prefer or require")
	}
}

// engineConfig is what all engines have in common.
func (r *run) engineConfig(pools []*fetch.Pool) crawl.Config {
	c := r.c
	return crawl.Config{
		Keeper: r.keeper.Keeper, Monitor: r.monitor, Run: r.row, OpenLog: r.openLog, LazyLogs: c.String("wal-sync") == "interval",
		Workers: r.workers(), MaxPerState: c.Int("max-per-state"), Linger: timeOf(c, "linger"),
		Patience: timeOf(c, "patience"), Tolerant: c.IsSet("fail-above"), Watch: c.Bool("watch"), Keep: timeOf(c, "keep-requests"),
		Beat: func(ctx context.Context) error {
			return r.scores.beat(ctx, r.monitor, pools, r.egress)
		},
		Filter: keepFilter(c),
		Budget: crawl.Budget{Duration: timeOf(c, "max-duration"), Requests: c.Int64("max-requests"), Targets: int64(c.Int("max-targets")), Details: c.Int64("limit")}, Details: r.details(),
		Logger: r.log, Reached: r.p.Reached,
	}
}

// workers is how many there are for each source: of several, one unless more were
// asked for, and for indexes. They are polite to their hosts one by one, and fast all together.
func (r *run) workers() int {
	if (len(r.sources) > 1 || r.onlyIndexes) && !r.c.IsSet("workers") {
		return 1
	}
	return r.c.Int("workers")
}

// openLog opens the write-ahead log of a worker.
func (r *run) openLog(worker string) (crawl.Log, error) {
	log, err := wal.Create(wal.Config{Dir: logDir(r.c), WorkerID: worker, Database: r.id, RunID: r.row.ID, Logger: r.log})
	if err != nil {
		return nil, fmt.Errorf("open write-ahead log: %w", err)
	}
	return &countedLog{Log: log, logger: r.log, loseSync: r.p.LoseSync}, nil
}

// What the collector may spend before it works harder (main sets it for one source): a
// source has its connection, its buffers and a page in hand. Measured with 120 of them:
// within 48 MiB the collector takes more than the crawl. The most is half of a small VPS.
const (
	memoryOfSource = 1 << 20
	mostMemory     = 256 << 20
)

// raiseMemory raises the soft limit of memory for several sources, until restore is called.
// GOMEMLIMIT wins, and a limit that is higher already, or none, stays.
func (r *run) raiseMemory() (restore func()) {
	before := debug.SetMemoryLimit(-1)
	limit := min(before+int64(len(r.sources)-1)*memoryOfSource, mostMemory)
	if os.Getenv("GOMEMLIMIT") != "" || limit <= before || before == math.MaxInt64 {
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}
