package crawl

import (
	"cmp"
	"context"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
)

// Fetcher brings pages and keeps the pace; *fetch.Client is one.
type Fetcher interface {
	health.Pacer
	Get(ctx context.Context, req fetch.Request) (*fetch.Response, error)
	HeldUntil(host string) (time.Time, string)
}

// Log takes a worker's events; *wal.Log is one.
type Log interface {
	Append(e *wal.Event) error
	Sync() error
	Close() error
}

// Config says what to crawl and with what. The fields up to OpenLog are required.
type Config struct {
	Keeper  *checkpoint.Keeper
	Monitor *health.Monitor
	Run     *checkpoint.Run
	Source  *site.Source
	Secrets *fetch.Secrets // that requests of the source name; nil = none
	Scope   store.Scope    // SourceID and States must be set
	Fetch   Fetcher
	OpenLog func(workerID string) (Log, error)

	Pool        *fetch.Pool   // proxies and identities; nil = direct and honest
	Delay       time.Duration // configured time between two requests to a host: what the pace returns to
	Details     Details       // listings' own pages
	Index       *Index        // the source's indexes of cities; nil = not read
	Watch       bool          // stay when nothing is due, and take targets as they fall due
	Workers     int           // of the source; default 5
	MaxPerState int           // targets of a state in progress at once; 0 = as many as there are workers
	Filter      Filter        //
	Linger      time.Duration // wait for what falls due so soon; default 0
	Patience    time.Duration // wait for a host that says when to come back, at most so long; default 10 min, none: NoPatience
	RollUp      time.Duration // between two roll-ups of the sources' health; default 5 min
	Keep        time.Duration // age at which requests are forgotten; default 14 days
	Heartbeat   time.Duration // default 30 s
	Budget      Budget        //
	RetryBase   time.Duration // wait before the first retry of a network error, doubled each time; default 1 s
	Tolerant    bool          // single targets that fail are expected: logged at info, not as warnings
	Logger      zerolog.Logger

	// LazyLogs leaves a log to the disk until the next heartbeat: after a power cut the
	// database may then hold pages that no log has. Otherwise a page's line is on the disk
	// before the page is committed.
	LazyLogs bool

	// Refresh, when set, is called every two seconds, beside the reading of what other processes
	// were told by the hosts.
	Refresh func(ctx context.Context) error

	// Reached, when set, is called at the named points of a page's way, so that
	// a test can kill the process there.
	Reached func(point Point)

	// Pages keeps the pages of results and of listings as they come, and always those whose layout
	// is not known; nil = none is kept.
	Pages PageKeeper
}

// PageKeeper keeps pages; *kept.Writer is one.
type PageKeeper interface {
	Keep(p kept.Page, body []byte) (id int64)
}

// Defaults that the command line shows.
const (
	DefaultPatience = 10 * time.Minute
	DefaultKeep     = 14 * 24 * time.Hour
)

// NoPatience is the patience of a run that waits for no hold of a host.
const NoPatience = time.Nanosecond

// Budget ends a run early, resumable. Zero values set no limit.
type Budget struct {
	Duration time.Duration // then pages in hand are finished and their targets handed back
	Requests int64         // pages asked for, retries counted; those paid for are still made
	Targets  int64         // targets claimed; those claimed are still brought to their outcome
}

// Point names a place on a page's way.
type Point string

// The points at which a crash test may kill the process, in order.
const (
	PointClaimed   Point = "claimed"
	PointFetched   Point = "fetched"
	PointParsed    Point = "parsed"
	PointAppended  Point = "appended"  // the WAL line is written and durable, the commit not begun
	PointInTx      Point = "in_tx"     // inside the page's transaction, see store.Config.BeforeCommit
	PointCommitted Point = "committed" // the page is durable, its worker does not know yet
	PointEnded     Point = "ended"     // the target's outcome is durable
)

// Points lists the kill points.
func Points() []Point {
	return []Point{PointClaimed, PointFetched, PointParsed, PointAppended, PointInTx, PointCommitted, PointEnded}
}

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(c.Workers, 5)
	c.Heartbeat = cmp.Or(c.Heartbeat, 30*time.Second)
	c.RetryBase = cmp.Or(c.RetryBase, time.Second)
	c.Patience = cmp.Or(c.Patience, DefaultPatience)
	c.RollUp = cmp.Or(c.RollUp, 5*time.Minute)
	c.Keep = cmp.Or(c.Keep, DefaultKeep)
	c.Details.Every = cmp.Or(c.Details.Every, checkpoint.DetailsEvery)
	if c.Refresh == nil {
		c.Refresh = func(context.Context) error { return nil }
	}
	if c.Reached == nil {
		c.Reached = func(Point) {}
	}
	return c
}
