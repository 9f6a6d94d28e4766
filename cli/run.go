package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/crawl/start"
	"ypcrawl/store"
	"ypcrawl/yp"
	"ypcrawl/yp/folder"
	"ypcrawl/yp/gazetteer"
)

func (p *Program) runCommand() *cli.Command {
	return &cli.Command{
		Name:        "run",
		Usage:       "Crawl: plan what is new and continue where the last run ended, until all due work is done",
		UsageText:   runExamples,
		Description: runDescription,
		Flags:       slices.Concat(sourcesFlags(), selectFlags(), runFlags()),
		Action:      func(c *cli.Context) error { return p.runOf(c, false) },
	}
}

const runExamples = `  ypcrawl run --source demo --states CA TX      a built-in demo directory
  ypcrawl run --states CA TX --dry-run          what a crawl of two states costs
  ypcrawl run --states CA --details --linger 0  each night, from cron`

const runDescription = `Running the same command again always resumes. Ctrl-C finishes the current pages and stops;
a second Ctrl-C stops at once, and loses nothing either.

Without --states all states of the source are crawled. For yellowpages that is about 159,000
searches, a week's work at the default pace: --dry-run shows the cost before anything is requested from a site.
Listings are written to logs first, then to --db. The logs are in logs/yp_wal beside the database (in a
subfolder with its name if it isn't ypcrawl.db), or where --wal-dir says.

With several names after --source, or all, one run crawls those sources side by side, each at its own pace,
and each ends independently: one that is blocked, down or slow does not delay the others.

If a host names a time to come back, the run waits until then (up to --patience). After each refusal in a row it
waits longer. --watch keeps the run alive when nothing is due.
Proxies (--proxy, --proxy-file, or "ypcrawl proxies add") and browser identities are your choice
and your responsibility; ypcrawl never solves a challenge.

ypcrawl.yaml sets which listings to keep, and how long to keep old files: see "ypcrawl help settings".
Exit codes: "ypcrawl help exit-codes".`

// run is one invocation of `run` in the making. It is over several sources, of which there may be one.
type run struct {
	p       *Program
	c       *cli.Context
	sources []*sourceRun
	sel     discover.Selection
	egress  start.Egress
	display *frame.Display
	log     zerolog.Logger
	out     *announcer

	keeper  *database
	monitor *health.Monitor
	page    *page             // with --web
	endPage func(last string) // and what ends it, once it is served
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
	secrets  *fetch.Secrets // nil = none
	resolved *discover.Resolved
	places   *gazetteer.Gazetteer
	index    *crawl.Index // with --discover
	scope    store.Scope
	before   selected
}

// runOf crawls, with pings around it.
func (p *Program) runOf(c *cli.Context, onlyDetails bool) error {
	return p.announced(c, func(d *frame.Display, log zerolog.Logger, a *announcer) error {
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
	r.p.outlive()
	if r.onlyDetails { // of listings that are there: an empty folder stays empty
		r.keeper, err = r.p.open(r.c, existing)
	} else if err = checkLogFolder(logDir(r.c), r.c.String("db")); err == nil {
		r.keeper, err = r.p.open(r.c, create)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.keeper.DB().Close()) }()
	if err := checkLogFolder(logDir(r.c), r.c.String("db")); err != nil {
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
		return frame.Usagef("--details: the definition of %s has no own pages of listings; add a `detail` section", names)
	}
	if len(without) > 0 {
		r.log.Warn().Str("sources", names).Msg("sources without a detail section in their definition have no own pages to read")
	}
	return nil
}

// checkLogFolder finds out before anything is planned or asked of a site
// whether the logs can be written.
func checkLogFolder(dir, db string) error {
	if err := mayBegin(db); err != nil {
		return err
	}
	err := folder.MakeBeside(dir, db)
	if err == nil {
		err = tryWrite(dir)
	}
	if err = folder.Denied(dir, err); err != nil {
		return fmt.Errorf("can't write to the folder of the write-ahead logs: %w; name another folder with --wal-dir, or another file with --db", err)
	}
	return nil
}

// mayBegin refuses a database that root would have to make behind a link of another user: the logs, which would be
// beside it, are made first.
func mayBegin(db string) error {
	if _, err := os.Stat(db); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	at, err := folder.Find(db)
	if err == nil {
		return at.Close()
	}
	if refused, ok := errors.AsType[*folder.LinkError](err); ok {
		return fmt.Errorf("database %s: %w", db, refused)
	}
	return nil // a folder that isn't there is made, and what else is wrong is told by who opens the file
}

func tryWrite(dir string) error {
	f, err := folder.New(filepath.Join(dir, ".writable-"+rand.Text()[:10]), os.O_RDWR, 0o600, nil)
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

func runFlags() []cli.Flag {
	return slices.Concat(paceFlags(), egressFlags(), budgetFlags(), []cli.Flag{
		&cli.GenericFlag{
			Name: "every", Value: frame.AgeValue(0), DefaultText: "unchanged; 7d for new ones",
			Usage: "crawl the selected searches every `TIME`: 1d, 12h (due a tenth earlier, so that a daily run finds them); 0 = never automatically",
		},
		&cli.GenericFlag{
			Name: "recrawl", Value: frame.AgeValue(0), DefaultText: "only what is due",
			Usage: "also crawl what was last crawled more than `TIME` ago: 1d, 12h; 0 = everything, except what was crawled less than 2 minutes ago. After a stop, the same command continues",
		},
		&cli.BoolFlag{Name: "include-sponsored", Usage: "keep ads too"},
		&cli.BoolFlag{
			Name:  "discover",
			Usage: "first read the source's index of the cities of each state, if it was not read in the last 7 days, and plan searches for them",
		},
		&cli.BoolFlag{Name: "details", Usage: "then fetch listings' own pages that are due: e-mail, hours, geo, payment, social links"},
		keepPagesFlag(),
		webFlag(),
	}, notifyFlags(), []cli.Flag{
		dryRunFlag(),
		frame.JSONFlag(),
	}, filterSettings(), settingFlags())
}

// detailsFlags are those of `details` itself.
func detailsFlags() []cli.Flag {
	own := []cli.Flag{
		frame.StatesFlag(),
		frame.WordsFlag("cities", "only listings found by searches in these `CITY...`: \"Los Angeles, CA\"", "all"),
		frame.WordsFlag("categories", "only listings found by searches for these `CATEGORY...`", "all"),
		anyCategoryFlag(),
		&cli.IntFlag{Name: "min-population", Usage: "only cities with this many `PEOPLE` or more"},
	}
	flags := slices.Concat(own, paceFlags(), egressFlags(), budgetFlags())
	for _, f := range flags {
		if n, ok := f.(*cli.IntFlag); ok && (n.Name == "max-per-state" || n.Name == "max-targets") {
			n.Hidden = true // of targets
		}
	}
	return slices.Concat(flags, []cli.Flag{keepPagesFlag(), webFlag()}, notifyFlags(), []cli.Flag{frame.JSONFlag()}, settingFlags())
}

// settingFlags are what the settings may say of every command that crawls; help/settings.txt explains each.
func settingFlags() []cli.Flag {
	return frame.AsSettings(
		&cli.BoolFlag{Name: "exclusive", Usage: "be the only run on this database; otherwise exit 11"},
		&cli.GenericFlag{Name: "keep-pages-size", Value: frame.SizeValue(defaultPagesSize), Usage: "maximum `SIZE` of the kept pages"},
		&cli.GenericFlag{Name: "keep-requests", Value: frame.DaysValue(crawl.DefaultKeep), Usage: "`DAYS` for which requests are recorded"},
		&cli.GenericFlag{Name: "keep-logs", Value: frame.DaysValue(90 * frame.Day), Usage: "`DAYS` for which logs are kept"},
		&cli.StringFlag{Name: "wal-sync", Value: "page", Usage: "`WHEN` logs are synced to the disk"},
		&cli.StringFlag{Name: "metrics-file", TakesFile: true, DefaultText: "none", Usage: "`FILE` for Prometheus"},
		allowHostFlag(),
	)
}

// filterSettings say which listings of a page are kept.
func filterSettings() []cli.Flag {
	return frame.AsSettings(
		frame.WordsFlag("allow-categories", "keep only listings that show one of these: `CATEGORY...`", "all"),
		frame.WordsFlag("block-categories", "leave out listings that show one of these: `CATEGORY...`", "none"),
		frame.WordsFlag("block-words", "leave out listings with one of these in their name: `WORD...`", "none"),
		&cli.IntFlag{Name: "min-score", Usage: "leave out listings less complete than `SCORE` (0 to 100)"},
	)
}

// paceFlags say how fast and under which name a site is asked.
func paceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{
			Name: "workers", Value: 5, DefaultText: "5; 1 per source if there are several",
			Usage: "`WORKERS` that crawl at the same time, per source",
		},
		delayFlag(),
		&cli.IntFlag{Name: "concurrency-per-host", Value: 5, Usage: "at most this many `REQUESTS` to a host at the same time"},
		&cli.IntFlag{
			Name: "max-per-state", DefaultText: "as many as there are workers",
			Usage: "at most this many `TARGETS` in progress per state and source, over all runs",
		},
		&cli.StringFlag{Name: "robots", Value: "obey", Usage: "`RULE` for robots.txt: obey or ignore"},
		&cli.StringFlag{Name: "user-agent", Value: "ypcrawl", Usage: "the User-Agent `TEXT`; say who you are"},
		&cli.GenericFlag{
			Name: "linger", Value: frame.MinutesValue(5 * time.Minute),
			Usage: "wait for searches that fall due within `MINUTES` (or 2h); 0 for cron",
		},
		&cli.GenericFlag{
			Name: "patience", Value: frame.MinutesValue(crawl.DefaultPatience),
			Usage: "wait at most `MINUTES` (or 2h) for a host that says when to come back, then exit 5; 0 = not at all",
		},
		&cli.BoolFlag{Name: "watch", Usage: "keep running when nothing is due, and crawl searches as they fall due"},
	}
}

// budgetFlags end a run early.
func budgetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{
			Name: "max-duration", Value: frame.MinutesValue(0), DefaultText: "no limit",
			Usage: "end after `MINUTES` (or 2h); the same command continues",
		},
		&cli.Int64Flag{Name: "max-requests", DefaultText: "no limit", Usage: "end after this many `REQUESTS` for pages; the same command continues"},
		&cli.IntFlag{Name: "max-targets", DefaultText: "no limit", Usage: "end after this many `TARGETS`; the same command continues"},
		&cli.GenericFlag{
			Name: "fail-above", Value: frame.ShareValue(0), DefaultText: "any",
			Usage: "exit 3 only if a larger `SHARE` of the targets failed: 10%",
		},
	}
}

// checkRunFlags refuses numbers that make no sense.
func checkRunFlags(c *cli.Context) error {
	if every := frame.TimeOf(c, "every"); c.IsSet("every") && every != 0 && every < 5*time.Minute { // `details` has no such flag
		return frame.Usagef("--every %s: want 5m or more, or 0 for once only", every)
	}
	for _, f := range []struct {
		name     string
		min, max int
	}{
		{"workers", 1, 1024},
		{"concurrency-per-host", 1, 1024},
		{"max-per-state", 1, 1_000_000},
	} {
		if v := c.Int(f.name); (v < f.min || v > f.max) && (c.IsSet(f.name) || v != 0) {
			return frame.Usagef("--%s %d: want a number from %s to %s", f.name, v, thousands(int64(f.min)), thousands(int64(f.max)))
		}
	}
	if v := frame.TimeOf(c, "keep-pages"); v%frame.Day != 0 {
		return frame.Usagef("--keep-pages %s: want whole days", yp.ShortTime(v))
	}
	if v := c.Int64("max-requests"); v < 0 {
		return frame.Usagef("--max-requests %d: want a number from 1 up, or 0 for no limit", v)
	}
	if err := checkSettings(c); err != nil {
		return err
	}
	return checkManners(c)
}

// checkSettings refuses settings that make no sense.
func checkSettings(c *cli.Context) error {
	if v := c.Int("min-score"); v < 0 || v > 100 {
		return frame.Usagef("min-score %d: want a number from 0 to 100", v)
	}
	if v := frame.TimeOf(c, "keep-requests"); v < frame.Day || v > 90*frame.Day {
		return frame.Usagef("keep-requests %s: want 1d to 90d", yp.ShortTime(v))
	}
	if size := frame.Value[int64](c, "keep-pages-size"); size < leastPagesSize {
		return frame.Usagef("keep-pages-size %s: want %s or more", bytesText(size), bytesText(leastPagesSize))
	}
	if s := c.String("wal-sync"); s != "page" && s != "interval" {
		return frame.Usagef("wal-sync %q: want page or interval", s)
	}
	return nil
}

// checkManners refuses settings for asking a site that make no sense.
func checkManners(c *cli.Context) error {
	if r := c.String("robots"); r != "obey" && r != "ignore" {
		return frame.Usagef("--robots %q: want obey or ignore", r)
	}
	return checkUserAgent(c.String("user-agent"))
}

func keepFilter(c *cli.Context) crawl.Filter {
	return crawl.Filter{
		Allow: frame.SplitList(c.StringSlice("allow-categories")), Block: frame.SplitList(c.StringSlice("block-categories")),
		Words: frame.SplitList(c.StringSlice("block-words")), MinScore: c.Int("min-score"), Sponsored: c.Bool("include-sponsored"),
	}
}

// checkUserAgent refuses what no request can carry.
func checkUserAgent(s string) error {
	if strings.TrimSpace(s) == "" {
		return frame.Usagef("--user-agent is empty: say who you are, \"acme-research (+https://acme.example/crawling)\" say")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return frame.Usagef("--user-agent %q: a header can't hold control characters", s)
	}
	return nil
}
