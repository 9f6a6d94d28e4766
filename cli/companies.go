package cli

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) companiesCommand() *cli.Command {
	return &cli.Command{
		Name:  "companies",
		Usage: "Companies that listings belong to: list, show",
		Subcommands: []*cli.Command{
			p.listCommand("companies list"),
			p.showCommand("Show companies with their listings, and why these belong together", "COMPANY",
				"name the companies to show, by number or by a listing SOURCE/ID; `ypcrawl companies list` lists them all",
				"COMPANY is its number, or SOURCE/ID of one of its listings.", showCompany),
		},
	}
}

func showCompany(c *cli.Context, k *database, _ store.Scope, word string) (*report.Record, error) {
	if strings.Contains(word, "/") {
		l, err := listingOf(c.Context, k, 0, word)
		if err != nil {
			return nil, err
		}
		return k.Company(c.Context, l.Company)
	}
	id, err := strconv.ParseInt(word, 10, 64)
	if err != nil || id < 1 {
		return nil, frame.Usagef("no company %q: want its number; `ypcrawl companies list --name TEXT` finds it", word)
	}
	return k.Company(c.Context, id)
}
