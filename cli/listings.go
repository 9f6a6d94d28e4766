package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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
			if c.IsSet(flag) || c.Command.Name == "search" {
				return Usagef("--status rejected: these are not stored as listings: choose by --source and --states alone")
			}
		}
		return p.list(c, report.Find("listings list --status rejected"))
	}
	words := p.listCommand("listings list")
	words.Name, words.Usage, words.ArgsUsage, words.Args, words.Action = "search", "List listings that have all these words in their name, categories or city", "WORD...", true, all.Action
	words.Flags = slices.DeleteFunc(words.Flags, func(f cli.Flag) bool { return f.Names()[0] == "search" })
	return &cli.Command{
		Name:  "listings",
		Usage: "Businesses as sources list them: list, search, show",
		Subcommands: []*cli.Command{
			all, words,
			{
				Name: "show", Usage: "Show all that is known of a listing: fields, where and when it was seen, its company, its history",
				ArgsUsage: "LISTING...", Args: true, Description: listingHelp, Flags: []cli.Flag{jsonFlag()}, Action: p.listingsShow,
			},
		},
	}
}

// indexWords brings the full-text index up to date. Where the file can't be written, what the index
// has is searched, and how far it goes is said.
func (p *Program) indexWords(ctx context.Context, k *database) error {
	err := k.DB().IndexWords(ctx)
	if !errors.Is(err, store.ErrReadOnly) {
		return err
	}
	lacking, err := k.DB().WordsLacking(ctx)
	if err == nil && lacking > 0 {
		p.note("%s can't be written: %s not in the index of words yet and can't be found.", k.DB().Path(), plural(lacking, "listing"))
	}
	return err
}

func (p *Program) listingsShow(c *cli.Context) error {
	words := SplitList(c.Args().Slice())
	if len(words) == 0 {
		return Usagef("want listings to show, as SOURCE/ID; `ypcrawl listings list --search WORD...` finds them")
	}
	return p.with(c, reading, func(k *database, _ store.Scope) error {
		var all []*report.Record
		for _, word := range words {
			l, err := listingOf(c.Context, k, word)
			if err != nil {
				return err
			}
			r, err := k.Listing(c.Context, l.Row)
			if err != nil {
				return asUsage(err)
			}
			all = append(all, r)
		}
		return p.show(c, k.DB().Now(), all)
	})
}
