package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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

// maxShown bounds the listings and keys of a company that people are shown; JSON has all.
const maxShown = 100

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
		all := make([]*report.CompanyDetail, 0, len(words))
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
		return p.tell(c, all, func(w *sections) {
			for _, d := range all {
				p.companyText(w, k.DB().Now(), d)
			}
		})
	})
}

// companyText tells of a company, its listings and its keys.
func (p *Program) companyText(w *sections, now time.Time, d *report.CompanyDetail) {
	if len(d.Places) > maxShown || len(d.Keys) > maxShown {
		p.note("Only %d listings and keys of company %d are shown; --json shows all.", maxShown, d.ID)
	}
	w.table(facts(
		fmt.Sprintf("company %d", d.ID), d.Name,
		"website", d.Website,
		"phone", d.Phone,
		"e-mail", d.Email,
		"hours", d.Hours,
		"address", commas(d.Street, d.City, strings.TrimSpace(d.State+" "+d.PostalCode)),
		"listings", fmt.Sprintf("%s, %s dropped", thousands(int64(d.Listings)), thousands(int64(d.Listings-d.Alive))),
		"confidence", fmt.Sprintf("%.3f", d.Confidence),
		"first seen", ago(now, d.FirstSeen),
	))
	names := map[int64]string{}
	for _, l := range d.Places {
		names[l.Row] = l.Source + "/" + l.ID
	}
	w.table(tableOf(d.Places[:min(len(d.Places), maxShown)], func(l report.CompanyListing) []any {
		dropped := "-"
		if !l.Dropped.IsZero() {
			dropped = ago(now, l.Dropped)
		}
		place := orDash(commas(l.Street, l.City, l.State))
		return []any{names[l.Row], l.Name, place, ago(now, l.FirstSeen), ago(now, l.LastSeen), dropped}
	}, "listing", "name", "place", "first seen", "last seen", "dropped").without("dropped", "first seen", "last seen", "place"))
	w.table(tableOf(d.Keys[:min(len(d.Keys), maxShown)], func(k report.CompanyKey) []any {
		var givers []string
		for _, row := range k.Listings[:min(len(k.Listings), 5)] {
			givers = append(givers, names[row])
		}
		text := strings.Join(givers, " ")
		switch {
		case len(k.Listings) == 0:
			text = "no listing now: remembered"
		case len(k.Listings) > len(givers):
			text += " …"
		}
		return []any{k.Key, len(k.Listings), text}
	}, "key", "given by", "listings"))
}

// commas joins the parts of an address that there are.
func commas(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}
