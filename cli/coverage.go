package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) coverageCommand() *cli.Command {
	return &cli.Command{
		Name:  "coverage",
		Usage: "Show what sites say they have and what was seen of it, the thinnest first",
		Description: "Of each city and category: the listings that the site says it has, those the last crawl saw, and the pages\n" +
			"that only the limit of pages kept from it (--max-pages of `run` raises it). Retired targets are left out.",
		Flags: append(
			formatFlags(),
			onlySourceFlag(),
			statesFlag(),
			list("categories", "only these: `CATEGORY...` by name or slug", "all"),
			&cli.BoolFlag{Name: "all", Usage: "list targets that were never crawled, too"},
			&cli.IntFlag{Name: "limit", Value: 20, Usage: "at most so many `ROWS`; 0 = all"},
		),
		Action: p.coverage,
	}
}

func (p *Program) coverage(c *cli.Context) error {
	words := SplitList(c.StringSlice("categories"))
	if err := notEmpty(c, "categories", words); err != nil {
		return err
	}
	var totals report.CoverageTotals
	return listRows(p, c, listing[report.Coverage]{
		noun: "target",
		ask: func(k *database, scope store.Scope, limit int) (_ []report.Coverage, err error) {
			if scope.CategoryIDs, err = k.FindCategories(c.Context, words); err != nil {
				return nil, asUsage(fmt.Errorf("--categories: %w", err))
			}
			if totals, err = k.CoverageTotals(c.Context, scope); err != nil {
				return nil, err
			}
			return k.Coverage(c.Context, report.CoverageFilter{Scope: scope, All: c.Bool("all")}, limit)
		},
		totals: func(rows []report.Coverage) (any, string) {
			return struct {
				Totals report.CoverageTotals `json:"totals"`
				Rows   []report.Coverage     `json:"targets"`
			}{totals, rows}, coverageText(totals)
		},
		columns: []string{"city", "state", "category", "site says", "seen", "percent", "pages left", "last complete"},
		cells: func(now time.Time, r report.Coverage) []any {
			complete := ago(now, r.Complete)
			if r.Complete.IsZero() && r.Status == yp.Planned && r.Finished.IsZero() && r.Pages == 0 {
				complete = "never crawled"
			}
			return []any{
				short(r.City, 30), r.State, short(r.Category, 30), r.SiteTotal, r.Seen, percentOf(r.Percent, 1), r.PagesLeft, complete,
			}
		},
		source: func(r report.Coverage) string { return r.Source },
	})
}

// coverageText is the line of totals.
func coverageText(t report.CoverageTotals) string {
	text := plural(t.Targets, "target") + " crawled, " + thousands(t.NeverCrawled) + " never"
	if t.Again > 0 {
		text += ", " + thousands(t.Again) + " about to be crawled again"
	}
	text += "; " + thousands(t.Complete) + " were seen to a confirmed end"
	if t.Percent != nil {
		text += fmt.Sprintf("; %s of %s seen (%.1f%%), counted by city and category", thousands(t.SeenOfKnown), plural(t.SiteTotal, "listing"), *t.Percent)
	} else {
		text += "; " + plural(t.Seen, "listing") + " seen"
	}
	return text + "; " + plural(t.PagesLeft, "page") + " left by the limit"
}
