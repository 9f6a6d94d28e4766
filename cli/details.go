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
		Usage: "The listings' own pages: fetch those that are due (e-mail, hours, geo, payment ...), count",
		Description: `Without a subcommand it fetches listings' own pages that are due, and no results pages
("ypcrawl run --details" does both, results pages first). Each is fetched again when the time is over that its definition says (30 days).
Pace, claims, recovery and exit codes are those of run: stop it at any time and type the same again to resume.`,
		Flags:  append(sourcesFlags(), detailsFlags()...),
		Action: func(c *cli.Context) error { return p.runOf(c, true) }, // without results pages
		Subcommands: []*cli.Command{
			p.listCommand("details stats"),
		},
	}
}

// listingHelp says how a listing is named.
const listingHelp = "A LISTING is its source's id of it, or SOURCE/ID as in demo/400110158."

// listingOf is the one listing that a word names; source 0 = of any source.
func listingOf(ctx context.Context, k *database, source int64, word string) (l report.ListingName, err error) {
	found, err := k.FindListings(ctx, word, source)
	switch {
	case err != nil:
		return l, err
	case len(found) == 0:
		return l, frame.Usagef("no listing %q: write the source's id of it, or SOURCE/ID; `ypcrawl changes` and `ypcrawl companies show` show it", word)
	case len(found) > 1:
		return l, frame.Usagef("%d sources have a listing %q: write %s/%s, for example", len(found), word, found[0].Source, word)
	}
	return found[0], nil
}
