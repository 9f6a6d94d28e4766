package cli

import (
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl/kept"
	"ypcrawl/store"
)

// pagesFile has the pages that --keep-pages keeps, and those whose layout was not known.
func pagesFile(c *cli.Context) string { return store.RealPath(c.String("db")) + ".pages" }

const defaultPagesSize = 2_000_000_000

func keepPagesFlag() cli.Flag {
	return &cli.GenericFlag{
		Name: "keep-pages", Value: frame.DaysValue(0), DefaultText: "0: off",
		Usage: "keep pages of results and of listings for `DAYS`, compressed, in ypcrawl.db.pages, so that `reparse` can read them again; 0 = only pages of unknown layout, 10 per source",
	}
}

// leastPagesSize is what a run needs to keep pages in.
const leastPagesSize = 20_000_000

// pagesConfig is what the flags say of kept pages.
func (r *run) pagesConfig() kept.Config {
	return kept.Config{
		Path: pagesFile(r.c), Beside: store.RealPath(r.c.String("db")), Days: int(frame.TimeOf(r.c, "keep-pages") / frame.Day),
		MaxBytes: frame.Value[int64](r.c, "keep-pages-size"), Free: freeSpace, Logger: r.log,
	}
}
