package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) listingsCommand() *cli.Command {
	all := p.listCommand("listings list")
	all.Action = func(c *cli.Context) error {
		if !strings.EqualFold(c.String("status"), string(report.ListingRejected)) {
			return p.list(c, report.Find("listings list"))
		}
		for _, flag := range []string{"cities", "categories", "search", "has", "min-rating", "since"} {
			if c.IsSet(flag) {
				return frame.Usagef("--status rejected: these are not stored as listings; only --source and --states can narrow them")
			}
		}
		return p.list(c, report.Find("listings list --status rejected"))
	}
	return &cli.Command{
		Name:  "listings",
		Usage: "Listings, as sources show them: list, show",
		Subcommands: []*cli.Command{
			all,
			p.showCommand("Show everything known of listings: fields, where and when they were seen, companies, history", "LISTING",
				"name the listings to show, as SOURCE/ID; `ypcrawl listings list --search WORD...` finds them", listingHelp,
				func(c *cli.Context, k *database, _ store.Scope, word string) (*report.Record, error) {
					l, err := listingOf(c.Context, k, 0, word)
					if err != nil {
						return nil, err
					}
					return k.Listing(c.Context, l.Row)
				}),
		},
	}
}

// indexWords brings the full-text index up to date. Where the file can't be written, what the index
// has is searched, and how far it goes is said.
func (p *Program) indexWords(ctx context.Context, k *database) error {
	err := k.DB().IndexWords(ctx)
	if !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrDiskFull) {
		return err
	}
	lacking, err := k.DB().WordsLacking(ctx)
	if err == nil && lacking > 0 {
		p.Note("%s can't be written, so %s not in the index of words yet and can't be found.", k.DB().Path(),
			wereOf(lacking, "listing", "is", "are"))
	}
	return err
}
