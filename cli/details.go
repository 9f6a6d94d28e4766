package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) detailsCommand() *cli.Command {
	return &cli.Command{
		Name:  "details",
		Usage: "The listings' own pages: fetch those that are due (e-mail, hours, geo, payment ...), show, count",
		Description: `Without a subcommand it fetches listings' own pages that are due, and no results pages
("ypcrawl run --details" does both, results pages first). Each is fetched again when the time is over that its definition says (30 days).
Pace, claims, recovery and exit codes are those of run: stop it at any time and type the same again to resume.`,
		Flags:  append(sourcesFlags(), detailsFlags()...),
		Action: p.fetchDetails,
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "Show what the page of a listing says", ArgsUsage: "LISTING", Args: true, Description: listingHelp,
				Flags: []cli.Flag{onlySourceFlag(), jsonFlag()}, Action: p.detailsShow,
			},
			p.listCommand("details stats"),
		},
	}
}

func (p *Program) detailsShow(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return Usagef("want one listing id, got %d; see '%s --help'", c.Args().Len(), c.Command.HelpName)
	}
	return p.with(c, reading, func(k *database, scope store.Scope) error {
		word := c.Args().First()
		found, err := k.FindListings(c.Context, word, scope.SourceID)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return unknownListing(word)
		}
		var all []*report.Record
		for _, l := range found {
			r, err := k.Detail(c.Context, l.Row)
			if err != nil {
				return err
			}
			if r != nil {
				all = append(all, r)
			}
		}
		if len(all) == 0 {
			return Usagef("the details of listing %s/%s were never planned: `ypcrawl run --details` plans those of every listing with an own page",
				found[0].Source, found[0].ID)
		}
		return p.show(c, k.DB().Now(), all)
	})
}

// listingHelp says how a listing is named.
const listingHelp = "A LISTING is its source's id of it, or SOURCE/ID as in demo/400110158."

func unknownListing(word string) error {
	return Usagef("no listing %q: write the source's id of it, or SOURCE/ID; `ypcrawl changes` and `ypcrawl companies show` show it", word)
}

// listingOf is the one listing that a word names.
func listingOf(ctx context.Context, k *database, word string) (l report.ListingName, err error) {
	found, err := k.FindListings(ctx, word, 0)
	switch {
	case err != nil:
		return l, err
	case len(found) == 0:
		return l, unknownListing(word)
	case len(found) > 1:
		return l, Usagef("%d sources have a listing %q: write %s/%s, for example", len(found), word, found[0].Source, word)
	}
	return found[0], nil
}
