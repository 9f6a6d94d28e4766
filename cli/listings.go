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
	search := func(c *cli.Context) error {
		words := c.StringSlice("search")
		if c.Command.Name == "search" {
			if words = c.Args().Slice(); len(words) == 0 {
				return Usagef("want words to search for: `ypcrawl listings search austin plumb`")
			}
		}
		for _, word := range words {
			if !report.HasWords(word) {
				return Usagef("--search %q: want words of letters or digits", word)
			}
		}
		return p.list(c, report.Find("listings list"))
	}
	all := p.listCommand("listings list")
	all.Action = func(c *cli.Context) error {
		if !strings.EqualFold(c.String("status"), string(report.ListingRejected)) {
			return search(c)
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

// listingFlags select listings.
func listingFlags() []cli.Flag {
	return []cli.Flag{
		statesFlag(),
		list("cities", "only those in these: `CITY...` by name", "all"),
		list("categories", "only those found by a search for these, or listed under them: `CATEGORY...`", "all"),
		onlySourceFlag(),
		&cli.StringFlag{Name: "search", DefaultText: "any", Usage: "only those with all these `WORDS` in name, categories or city"},
		list("has", "only those that have these: `COLUMN...` is email, phone, website, hours ...", "any"),
		&cli.Float64Flag{Name: "min-rating", DefaultText: "any", Usage: "only those rated `STARS` or better, from 0.5 to 5"},
		&cli.GenericFlag{Name: "seen-since", Value: ageValue(0), DefaultText: "any time", Usage: "only those seen in the last `TIME`: 7d, 36h"},
		&cli.StringFlag{Name: "closed", Value: string(report.ClosedNo), Usage: "those that their source dropped: `WHICH` is no, yes, only"},
	}
}

// listingFilter reads listingFlags.
func listingFilter(c *cli.Context, k *database, scope store.Scope) (f report.ListingFilter, err error) {
	f = report.ListingFilter{
		SourceID: scope.SourceID, States: scope.States, Cities: SplitList(c.StringSlice("cities")), Categories: SplitList(c.StringSlice("categories")),
		Has: SplitList(c.StringSlice("has")), MinRating: c.Float64("min-rating"), Closed: report.Closed(strings.ToLower(c.String("closed"))),
	}
	if age := timeOf(c, "seen-since"); age > 0 {
		f.SeenSince = k.DB().Now().Add(-age)
	}
	if c.String("closed") != "" && !slices.Contains([]report.Closed{report.ClosedNo, report.ClosedYes, report.ClosedOnly}, f.Closed) {
		return f, Usagef("--closed %q: want no, yes or only", c.String("closed"))
	}
	if !(f.MinRating >= 0 && f.MinRating <= 5) {
		return f, Usagef("--min-rating %v: want stars from 0.5 to 5", f.MinRating)
	}
	for _, name := range f.Has {
		if !slices.Contains(report.ListingColumns, name) || strings.HasPrefix(name, "change") { // made, not stored
			return f, Usagef("--has: unknown column %q: %s", name, report.Meant(name, report.ListingColumns))
		}
	}
	if c.IsSet("search") {
		if f.Words = []string{c.String("search")}; !report.HasWords(f.Words[0]) {
			return f, Usagef("--search %q: want words of letters or digits", f.Words[0])
		}
	}
	return f, asUsage(k.CheckNames(c.Context, f.Cities, f.Categories))
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
