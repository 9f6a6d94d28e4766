package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store/report"
)

func (p *Program) detailsCommand() *cli.Command {
	return &cli.Command{
		Name:  "details",
		Usage: "Listings' own pages: fetch those that are due (e-mail, hours, geo, payment ...), count",
		Description: `Without a subcommand it fetches the own pages of listings that are due, and no pages of results
("ypcrawl run --details" does both, results first). Each page is fetched again after the time that the source's definition
sets (30 days). Pace, recovery and exit codes are those of run: stop it at any time, and run the same command to resume.`,
		Flags:  append(sourcesFlags(), detailsFlags()...),
		Action: func(c *cli.Context) error { return p.runOf(c, true) }, // without pages of results
		Subcommands: []*cli.Command{
			p.listCommand("details stats"),
		},
	}
}

// listingHelp says how a listing is named.
const listingHelp = "LISTING is the id that its source gives it, or SOURCE/ID as in demo/400110158."

// listingOf is the one listing that a word names; source 0 = of any source.
func listingOf(ctx context.Context, k *database, source int64, word string) (l report.ListingName, err error) {
	found, err := k.FindListings(ctx, word, source)
	switch {
	case err != nil:
		return l, err
	case len(found) == 0:
		return l, frame.Usagef("no listing %q: give the id of its source, or SOURCE/ID, as `ypcrawl changes` and `ypcrawl companies show` print it", word)
	case len(found) > 1:
		return l, frame.Usagef("%d sources have a listing %q: write %s/%s, for example", len(found), word, found[0].Source, word)
	}
	return found[0], nil
}
