package cli

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) companiesCommand() *cli.Command {
	return &cli.Command{
		Name:  "companies",
		Usage: "Businesses that listings belong to: list, show",
		Subcommands: []*cli.Command{
			p.listCommand("companies list"),
			{
				Name: "show", Usage: "Show companies: their listings, the keys that join them, and the confidence", ArgsUsage: "COMPANY...", Args: true,
				Description: confidenceHelp, Flags: []cli.Flag{jsonFlag()}, Action: p.companiesShow,
			},
		},
	}
}

const confidenceHelp = `A COMPANY is its number, or SOURCE/ID of one of its listings.
Confidence is a number from 0 to 1: that of the weakest key that joins the company's listings. Phone and name
count 0.98, name and address 0.96, a website 0.92, two of them more; a key that no listing has now 0.5.`

func companyID(word string) (int64, error) {
	id, err := strconv.ParseInt(word, 10, 64)
	if err != nil || id < 1 {
		return 0, Usagef("no company %q: want its number; `ypcrawl companies list --name TEXT` finds it", word)
	}
	return id, nil
}

func (p *Program) companiesShow(c *cli.Context) error {
	words := SplitList(c.Args().Slice())
	if len(words) == 0 {
		return Usagef("name the companies to show, by number or by a listing SOURCE/ID; `ypcrawl companies list` lists them all")
	}
	for _, word := range words {
		if _, err := companyID(word); err != nil && !strings.Contains(word, "/") {
			return err
		}
	}
	return p.with(c, reading, func(k *database, _ store.Scope) error {
		all := make([]*report.Record, 0, len(words))
		for _, word := range words {
			id, err := companyID(word)
			if err != nil {
				l, err := listingOf(c.Context, k, word)
				if err != nil {
					return err
				}
				id = l.Company
			}
			d, err := k.Company(c.Context, id)
			if err != nil {
				return asUsage(err)
			}
			all = append(all, d)
		}
		return p.show(c, k.DB().Now(), all)
	})
}
