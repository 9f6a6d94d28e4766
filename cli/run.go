package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp/gazetteer"
)

func (p *Program) runCommand() *cli.Command {
	return &cli.Command{
		Name:        "run",
		Usage:       "Crawl: plan what is new, go on where the last run ended, until all due work is done",
		UsageText:   runExamples,
		Description: runDescription,
		Flags:       slices.Concat(sourcesFlags(), selectFlags(), runFlags()),
		Action:      func(c *cli.Context) error { return p.runOf(c, false) },
	}
}

const runExamples = `  ypcrawl run --source demo --states CA TX      a built-in demo directory
  ypcrawl run --states CA TX --dry-run          what a crawl of two states costs
  ypcrawl run --states CA --details --linger 0  each night, from cron`

const runDescription = `Typing the same command again always resumes. Ctrl-C finishes the current pages and stops;
a second Ctrl-C ends at once, equally safe.

Without --states all states of the source are crawled. For yellowpages that is about 159,000
targets, a week's work at the default pace: --dry-run shows the cost before anything is requested from a site.
Listings are written to logs first, then to --db. The logs are in logs/yp_wal, for a --db of another name
in a folder of that name below it, or where --wal-dir says.

With several names after --source, or all, one run crawls those sources side by side, each at its own pace,
and each ends independently: one that is blocked, dead or slow does not delay the others.

When a host says when to come back, the run waits that long (up to --patience); with every block it
waits longer. --watch keeps the run alive when nothing is due.
Proxies (--proxy, --proxy-file, or "ypcrawl proxies add") and browser identities are your choice
and your responsibility; ypcrawl never solves a challenge.

Which listings and how long files are kept stands in ypcrawl.yaml: "ypcrawl help settings" tells.
Exit codes: "ypcrawl help exit-codes".`

// fetchDetails is `details` itself: a run without results pages.
func (p *Program) fetchDetails(c *cli.Context) error {
	return p.runOf(c, true)
}

// run is one invocation of `run` in the making. It is over several sources, of which there may be one.
type run struct {
	p       *Program
	c       *cli.Context
	sources []*sourceRun
	sel     discover.Selection
	places  *gazetteer.Gazetteer
	egress  egress
	display *Display
	log     zerolog.Logger
	out     *announcer

	keeper  *database
	monitor *health.Monitor
	page    *page             // with --web
	endPage func(last string) // and what ends it, once it is served
	scores  scores
	row     *checkpoint.Run
	id      string    // of the database, for its logs
	began   time.Time // by the database's clock
	before  selected  // of all sources

	onlyDetails bool // `details`: no results pages
	onlyIndexes bool // `discover`: indexes alone
}

// sourceRun is one source of a run.
type sourceRun struct {
	src      *site.Source
	resolved *discover.Resolved
	index    *crawl.Index // with --discover
	scope    store.Scope
	before   selected
}

func (p *Program) newDisplay(c *cli.Context) *Display {
	return NewDisplay(DisplayConfig{
		Out: p.Err, Live: p.live(p.Err), Quiet: c.Bool("quiet"), Width: func() int { return widthOf(p.Err) },
	})
}

// runOf crawls, with pings around it.
func (p *Program) runOf(c *cli.Context, onlyDetails bool) error {
	return p.announced(c, func(d *Display, log zerolog.Logger, a *announcer) error {
		r := &run{p: p, c: c, display: d, log: log, out: a, onlyDetails: onlyDetails}
		if err := r.check(); err != nil {
			return err
		}
		return r.do(c.Context)
	})
}

// check checks all that was typed before anything is touched.
func (r *run) check() (err error) {
	if r.sel, err = selection(r.c); err != nil {
		return err
	}
	if err := checkRunFlags(r.c); err != nil {
		return err
	}
	if r.egress, err = egressOf(r.c); err != nil {
		return err
	}
	if r.sources, err = r.chooseSources(); err != nil {
		return err
	}
	return r.checkDetails()
}

func (r *run) do(ctx context.Context) error {
	if r.c.Bool("dry-run") {
		return r.dryRun()
	}
	if err := r.takeAddress(); err != nil {
		return err
	}
	defer r.leavePage("the run has ended")
	return r.open(ctx, func() error {
		if err := r.servePage(); err != nil {
			return err
		}
		defer r.keepMetrics(ctx)()
		if err := r.register(ctx, r.prepare); err != nil {
			return err
		}
		return r.crawl(ctx)
	})
}

// open opens the database, starts what a crawl needs beside it, and ends both after do.
func (r *run) open(ctx context.Context, do func() error) (err error) {
	if r.onlyDetails { // of listings that are there: an empty folder stays empty
		r.keeper, err = r.p.open(r.c, existing)
	} else if err = checkLogFolder(logDir(r.c)); err == nil {
		r.keeper, err = r.p.open(r.c, create)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.keeper.DB().Close()) }()
	if err := checkLogFolder(logDir(r.c)); err != nil {
		return err
	}
	if r.id, err = r.keeper.DB().ID(ctx); err != nil {
		return err
	}
	r.monitor = health.New(r.keeper.DB())
	if err := quickCheck(ctx, r.keeper.DB()); err != nil {
		return err
	}
	stopDemo, err := r.startDemo(ctx)
	if err != nil {
		return err
	}
	defer stopDemo()
	return do()
}

// details is what the run is to do about the listings' own pages.
func (r *run) details() crawl.Details {
	return crawl.Details{Wanted: r.onlyDetails || r.c.Bool("details"), Only: r.onlyDetails}
}

// checkDetails refuses what can't be done, and says which sources have no such pages.
func (r *run) checkDetails() error {
	d := r.details()
	if n := r.c.Int64("limit"); n < 0 {
		return Usagef("--limit %d: want a number from 1 up, or 0 for no limit", n)
	}
	if !d.Wanted {
		return nil
	}
	without := []string{}
	for _, c := range r.sources {
		if !c.src.HasDetails() {
			without = append(without, c.src.Name())
		}
	}
	names := strings.Join(without, ", ")
	if len(without) == len(r.sources) {
		return Usagef("%s has no listings' own pages in its definition: add a `detail` section", names)
	}
	if len(without) > 0 {
		r.log.Warn().Str("sources", names).Msg("details are left out for sources without a detail section in their definition")
	}
	return nil
}

// checkLogFolder finds out before anything is planned or asked of a site
// whether the logs can be written.
func checkLogFolder(dir string) error {
	err := wal.MakeDir(dir)
	if err == nil {
		err = tryWrite(dir)
	}
	if err != nil {
		return fmt.Errorf("the folder of the write-ahead logs can't be written: %w: name another folder with --wal-dir", err)
	}
	return nil
}

func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// checkUpTo is the size up to which a database is checked at every start; a
// larger one takes too long, and `sqlite3 … 'PRAGMA quick_check'` does the same.
const checkUpTo = 64 << 20

func quickCheck(ctx context.Context, db *store.DB) error {
	info, err := os.Stat(db.Path())
	if err != nil || info.Size() > checkUpTo {
		return err
	}
	if err := db.QuickCheck(ctx); err != nil {
		return fmt.Errorf("database %s: %w", db.Path(), err)
	}
	return nil
}
