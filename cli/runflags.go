package cli

import (
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl"
)

func runFlags() []cli.Flag {
	return slices.Concat(paceFlags(), egressFlags(), budgetFlags(), []cli.Flag{
		&cli.GenericFlag{
			Name: "every", Value: ageValue(0), DefaultText: "as before: 7d for new targets",
			Usage: "crawl the selected targets again `TIME` (like 1d, 12h) after their last crawl began, less a tenth; 0 = never automatically",
		},
		&cli.GenericFlag{
			Name: "recrawl", Value: ageValue(0), DefaultText: "only what is due",
			Usage: "crawl again what was done longer ago than `TIME`: 1d, 12h; 0 = all that is done, at least 2 minutes after its last crawl began. The same command continues until all is crawled",
		},
		&cli.BoolFlag{Name: "include-sponsored", Usage: "keep ads too"},
		&cli.BoolFlag{Name: "discover", Usage: "first read the source's indexes of cities for states not read in the last 7 days, and plan the cities found"},
		&cli.BoolFlag{Name: "details", Usage: "then fetch listings' own pages that are due: e-mail, hours, geo, payment, social links"},
		keepPagesFlag(),
		webFlag(),
	}, notifyFlags(), []cli.Flag{
		dryRunFlag(),
		jsonFlag(),
	}, filterSettings(), settingFlags())
}

// detailsFlags are those of `details` itself.
func detailsFlags() []cli.Flag {
	own := []cli.Flag{
		statesFlag(),
		list("cities", "only of listings that the search of these `CITY...` found: \"Los Angeles, CA\"", "all"),
		list("categories", "only of listings that the search for these `CATEGORY...` found", "all"),
		anyCategoryFlag(),
		&cli.IntFlag{Name: "min-population", Usage: "only of cities with so many `PEOPLE` or more"},
		&cli.Int64Flag{Name: "limit", DefaultText: "no limit", Usage: "end after `PAGES`, resumable"},
	}
	flags := slices.Concat(own, paceFlags(), egressFlags(), budgetFlags())
	for _, f := range flags {
		if n, ok := f.(*cli.IntFlag); ok && (n.Name == "max-per-state" || n.Name == "max-targets") {
			n.Hidden = true // of targets
		}
	}
	return slices.Concat(flags, []cli.Flag{keepPagesFlag(), webFlag()}, notifyFlags(), []cli.Flag{jsonFlag()}, settingFlags())
}

func maxDurationFlag(shown string) cli.Flag {
	return &cli.GenericFlag{Name: "max-duration", Value: minutesValue(0), DefaultText: shown, Usage: "end after `MINUTES` (or 2h), resumable"}
}

func failAboveFlag(shown string) cli.Flag {
	return &cli.GenericFlag{Name: "fail-above", Value: shareValue(0), DefaultText: shown, Usage: "exit 3 only when more than this `SHARE` of the targets that this run tried failed: 10%"}
}

const day = 24 * time.Hour

// settingCategory marks what is set in ypcrawl.yaml or by a variable alone: a crawl has enough flags.
const settingCategory = "ypcrawl.yaml"

func isSetting(f cli.Flag) bool {
	c, ok := f.(cli.CategorizableFlag)
	return ok && c.GetCategory() == settingCategory
}

// settingFlags are what the settings may say of every command that crawls; help/settings.txt explains each.
func settingFlags() []cli.Flag {
	return asSettings(
		&cli.BoolFlag{Name: "exclusive", Usage: "be the only run on this database, or exit 11"},
		&cli.GenericFlag{Name: "keep-pages-size", Value: sizeValue(defaultPagesSize), Usage: "`SIZE` of the kept pages at most"},
		&cli.GenericFlag{Name: "keep-requests", Value: daysValue(crawl.DefaultKeep), Usage: "`DAYS` for which requests are recorded"},
		&cli.GenericFlag{Name: "keep-logs", Value: daysValue(90 * day), Usage: "`DAYS` for which logs are kept"},
		&cli.StringFlag{Name: "wal-sync", Value: "page", Usage: "`WHEN` logs are synced to the disk"},
		&cli.StringFlag{Name: "metrics-file", DefaultText: "none", Usage: "`FILE` for Prometheus"},
		allowHostFlag(),
	)
}

// filterSettings say which listings of a page are kept.
func filterSettings() []cli.Flag {
	return asSettings(
		list("allow-categories", "keep only listings that show one of these: `CATEGORY...`", "all"),
		list("block-categories", "leave out listings that show one of these: `CATEGORY...`", "none"),
		list("block-words", "leave out listings with one of these in their name: `WORD...`", "none"),
		&cli.IntFlag{Name: "min-score", Usage: "leave out listings less complete than `SCORE` (0 to 100)"},
	)
}

func asSettings(flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		v := reflect.ValueOf(f).Elem()
		v.FieldByName("Category").SetString(settingCategory)
		v.FieldByName("Hidden").SetBool(true)
	}
	return flags
}

// paceFlags say how fast and under which name a site is asked.
func paceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "workers", Value: 5, DefaultText: "5; with several sources 1 for each", Usage: "`WORKERS` that crawl at once, for each source"},
		delayFlag(),
		&cli.IntFlag{Name: "concurrency-per-host", Value: 5, Usage: "`REQUESTS` in flight to a host at most"},
		&cli.IntFlag{Name: "max-per-state", Value: 5, Usage: "`TARGETS` of a state of a source in progress at once"},
		robotsFlag(),
		userAgentFlag(),
		&cli.GenericFlag{
			Name: "linger", Value: minutesValue(5 * time.Minute),
			Usage: "wait for targets that fall due within `MINUTES` (or 2h); 0 for cron",
		},
		patienceFlag(),
		&cli.BoolFlag{Name: "watch", Usage: "keep running when nothing is due, and crawl targets as they fall due"},
	}
}

// budgetFlags end a run early.
func budgetFlags() []cli.Flag {
	return []cli.Flag{
		maxDurationFlag("no limit"),
		&cli.Int64Flag{Name: "max-requests", DefaultText: "no limit", Usage: "end after `REQUESTS` for pages, resumable"},
		&cli.IntFlag{Name: "max-targets", DefaultText: "no limit", Usage: "end after `TARGETS`, resumable"},
		failAboveFlag("any"),
	}
}

// checkRunFlags refuses numbers that make no sense.
func checkRunFlags(c *cli.Context) error {
	if every := timeOf(c, "every"); c.IsSet("every") && every != 0 && every < 5*time.Minute { // `details` has no such flag
		return Usagef("--every %s: want 5m or more, or 0 for once only", every)
	}
	for _, f := range []struct {
		name     string
		min, max int
	}{
		{"workers", 1, 1024},
		{"concurrency-per-host", 1, 1024},
		{"max-per-state", 1, 1_000_000},
	} {
		if v := c.Int(f.name); v < f.min || v > f.max {
			return Usagef("--%s %d: want a number from %s to %s", f.name, v, thousands(int64(f.min)), thousands(int64(f.max)))
		}
	}
	if v := timeOf(c, "keep-pages"); v%day != 0 {
		return Usagef("--keep-pages %s: want whole days", shortTime(v))
	}
	if v := c.Int64("max-requests"); v < 0 {
		return Usagef("--max-requests %d: want a number from 1 up, or 0 for no limit", v)
	}
	if err := checkSettings(c); err != nil {
		return err
	}
	return checkManners(c)
}

// checkSettings refuses settings that make no sense.
func checkSettings(c *cli.Context) error {
	if v := c.Int("min-score"); v < 0 || v > 100 {
		return Usagef("min-score %d: want a number from 0 to 100", v)
	}
	if v := timeOf(c, "keep-requests"); v < day || v > 90*day {
		return Usagef("keep-requests %s: want 1d to 90d", shortTime(v))
	}
	if size := flagValue[int64](c, "keep-pages-size"); size < leastPagesSize {
		return Usagef("keep-pages-size %s: want %s or more", bytesText(size), bytesText(leastPagesSize))
	}
	if s := c.String("wal-sync"); s != "page" && s != "interval" {
		return Usagef("wal-sync %q: want page or interval", s)
	}
	return nil
}

// checkManners refuses settings for asking a site that make no sense.
func checkManners(c *cli.Context) error {
	if timeOf(c, "patience") <= 0 {
		return Usagef("--patience: want more than 0, 1s say: with 0, the shortest Retry-After ends the run")
	}
	if r := c.String("robots"); r != "obey" && r != "ignore" {
		return Usagef("--robots %q: want obey or ignore", r)
	}
	return checkUserAgent(c.String("user-agent"))
}

func keepFilter(c *cli.Context) crawl.Filter {
	return crawl.Filter{
		Allow: SplitList(c.StringSlice("allow-categories")), Block: SplitList(c.StringSlice("block-categories")),
		Words: SplitList(c.StringSlice("block-words")), MinScore: c.Int("min-score"), Sponsored: c.Bool("include-sponsored"),
	}
}

// checkUserAgent refuses what no request can carry.
func checkUserAgent(s string) error {
	if strings.TrimSpace(s) == "" {
		return Usagef("--user-agent is empty: say who you are, \"acme-research (+https://acme.example/crawling)\" say")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return Usagef("--user-agent %q: a header can't hold control characters", s)
	}
	return nil
}
