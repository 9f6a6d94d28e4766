package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) companiesCommand() *cli.Command {
	return &cli.Command{
		Name:  "companies",
		Usage: "Businesses that listings belong to: list, look at, merge, take apart",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "List companies with how many listings they have", Action: p.companiesList,
				Flags: append(
					formatFlags(), statesFlag(), limitFlag(),
					&cli.StringFlag{Name: "name", DefaultText: "any", Usage: "only those with this `TEXT` in their name"},
					&cli.IntFlag{Name: "min-listings", Value: 1, Usage: "only those with so many `LISTINGS` or more"},
				),
			},
			{
				Name: "show", Usage: "Show companies: their listings, the keys that hold them together, how sure that is", ArgsUsage: "COMPANY...", Args: true,
				Description: confidenceHelp, Flags: []cli.Flag{jsonFlag()}, Action: p.companiesShow,
			},
			{
				Name: "merges", Usage: "List companies that became one, and by which key, the newest first", Action: p.companiesMerges,
				Flags: append(
					formatFlags(), limitFlag(),
					&cli.GenericFlag{Name: "since", Value: ageValue(0), DefaultText: "ever", Usage: "only those of the last `TIME`: 7d, 36h"},
				),
			},
			{
				Name: "merge", Usage: "Make companies one that no key has joined; the first one keeps its number", ArgsUsage: "KEEP GONE...", Args: true,
				Description: "It may be done beside a crawl, and `ypcrawl companies split --merge N` takes it back.",
				Flags:       []cli.Flag{jsonFlag()}, Action: p.companiesMerge,
			},
			{
				Name: "split", Usage: "Take listings out of a company, or take a merge back; no crawl joins the two again", ArgsUsage: "[COMPANY]", Args: true,
				Description: splitHelp,
				Flags: []cli.Flag{
					list("listings", "`LISTING...` that leave: the source's id, with its source as in demo/123 where two sources have it", "none"),
					&cli.Int64Flag{Name: "merge", DefaultText: "none", Usage: "take back the merge with this `NUMBER`; see `companies merges`"},
					jsonFlag(),
				},
				Action: p.companiesSplit,
			},
		},
	}
}

const (
	confidenceHelp = `A COMPANY is its number, or SOURCE/ID of one of its listings.
Confidence goes from 0 to 1: the weakest link that the company's listings need to hang together. Phone and name
count 0.98, name and address 0.96, a website 0.92, two of them more; a key that is only remembered 0.5; by hand 1.`
	splitHelp = `ypcrawl companies split 12 --listings 4711 4712   makes a new company of them. The keys that only they give go with
                                                  them; a key that the others give too stays.
ypcrawl companies split --merge 7                 brings back the company that merge 7 made a part of another, under its
                                                  old number. Listings that came since stay, unless all their keys go back.`
)

// asUsage makes a usage error of what the database refused or does not have.
func asUsage(err error) error {
	var refused *store.RefusedError
	var unknown *report.NotFoundError
	if errors.As(err, &refused) || errors.As(err, &unknown) {
		return Usagef("%w", err)
	}
	return err
}

// companyIDs reads the arguments as numbers of companies.
func companyIDs(c *cli.Context) (ids []int64, err error) {
	for _, word := range SplitList(c.Args().Slice()) {
		id, err := companyID(word)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func companyID(word string) (int64, error) {
	id, err := strconv.ParseInt(word, 10, 64)
	if err != nil || id < 1 {
		return 0, Usagef("no company %q: want its number; `ypcrawl companies list --name TEXT` finds it", word)
	}
	return id, nil
}

func (p *Program) companiesList(c *cli.Context) error {
	f := report.CompanyFilter{Name: strings.TrimSpace(c.String("name")), MinListings: c.Int("min-listings")}
	if f.MinListings < 0 {
		return Usagef("--min-listings %d: want a number from 1 up", f.MinListings)
	}
	return listRows(p, c, listing[report.CompanyRow]{
		noun: "company",
		ask: func(k *database, scope checkpoint.Scope, limit int) ([]report.CompanyRow, error) {
			f.States = scope.States
			return k.Companies(c.Context, f, limit)
		},
		columns: []string{"id", "name", "listings", "city", "state", "phone", "website"},
		cells: func(_ time.Time, x report.CompanyRow) []any {
			return []any{idText(x.ID), short(x.Name, 40), x.Listings, orDash(x.City), orDash(x.State), orDash(x.Phone), short(orDash(x.Website), p.widthLeft(100))}
		},
	})
}

func (p *Program) companiesMerges(c *cli.Context) error {
	return listRows(p, c, p.merges(func(k *database, _ checkpoint.Scope, limit int) ([]report.MergeRow, error) {
		return k.Merges(c.Context, timeOf(c, "since"), limit)
	}))
}

// merges shows merges, one a line.
func (p *Program) merges(ask func(*database, checkpoint.Scope, int) ([]report.MergeRow, error)) listing[report.MergeRow] {
	return listing[report.MergeRow]{
		noun: "merge", ask: ask,
		columns: []string{"merge", "when", "kept", "name", "gone", "name", "listings", "by", "key"},
		cells: func(now time.Time, m report.MergeRow) []any {
			by := m.By
			if !m.Undone.IsZero() {
				by += ", undone"
			}
			return []any{
				idText(m.ID), ago(now, m.At), idText(m.Kept), short(orDash(m.KeptName), 24), idText(m.Gone), short(orDash(m.GoneName), 24),
				m.Listings, by, short(orDash(m.Key), p.widthLeft(110)),
			}
		},
	}
}

// listingRows finds the listings of a company that words name.
func listingRows(d *report.CompanyDetail, words []string) (rows []int64, err error) {
	for _, word := range words {
		var found []report.CompanyListing
		for _, l := range d.Places {
			if l.ID == word || l.Source+"/"+l.ID == word {
				found = append(found, l)
			}
		}
		switch len(found) {
		case 0:
			return nil, Usagef("--listings: company %d has no listing %q; `ypcrawl companies show %d` shows those it has", d.ID, word, d.ID)
		case 1:
			if !slices.Contains(rows, found[0].Row) {
				rows = append(rows, found[0].Row)
			}
		default:
			return nil, Usagef("--listings: two sources have %q: write %s/%s or %s/%s", word, found[0].Source, word, found[1].Source, word)
		}
	}
	return rows, nil
}
