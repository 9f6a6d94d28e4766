package cli

import (
	"errors"
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
		Usage: "Businesses that listings belong to: list, look at, merge, take apart",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "List companies with how many listings they have", Action: p.companiesList,
				Flags: []cli.Flag{
					statesFlag(),
					&cli.StringFlag{Name: "name", DefaultText: "any", Usage: "only those with this `TEXT` in their name"},
					&cli.IntFlag{Name: "min-listings", Value: 1, Usage: "only those with so many `LISTINGS` or more"},
					limitFlag(), jsonFlag(),
				},
			},
			{
				Name: "show", Usage: "Show companies: their listings, the keys that hold them together, how sure that is", ArgsUsage: "COMPANY...", Args: true,
				Description: confidenceHelp, Flags: []cli.Flag{jsonFlag()}, Action: p.companiesShow,
			},
			{
				Name: "merges", Usage: "List companies that became one, and by which key, the newest first", Action: p.companiesMerges,
				Flags: []cli.Flag{
					&cli.GenericFlag{Name: "since", Value: ageValue(0), DefaultText: "ever", Usage: "only those of the last `TIME`: 7d, 36h"},
					limitFlag(), jsonFlag(),
				},
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
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	if f.MinListings < 0 {
		return Usagef("--min-listings %d: want a number from 1 up", f.MinListings)
	}
	if f.States, err = states(c); err != nil {
		return err
	}
	k, err := p.open(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	all, err := k.Companies(c.Context, f, oneMore(limit))
	if err != nil {
		return err
	}
	all, more := cutAt(all, limit)
	if c.Bool("json") {
		err = writeRows(p.Out, all)
	} else {
		err = p.printCompanies(all)
	}
	p.noteRest(len(all), more, "company")
	return err
}

func (p *Program) printCompanies(all []report.CompanyRow) error {
	if len(all) == 0 {
		return nil
	}
	t := newTable("id", "name", "listings", "city", "state", "phone", "website")
	for _, x := range all {
		t.row(idText(x.ID), short(x.Name, 40), x.Listings, orDash(x.City), orDash(x.State), orDash(x.Phone), short(orDash(x.Website), p.room(100)))
	}
	return t.flush(&p.Streams, p.Out)
}

func (p *Program) companiesMerges(c *cli.Context) error {
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	k, err := p.open(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	all, err := k.Merges(c.Context, timeOf(c, "since"), oneMore(limit))
	if err != nil {
		return err
	}
	all, more := cutAt(all, limit)
	if c.Bool("json") {
		err = writeRows(p.Out, all)
	} else if len(all) > 0 {
		err = p.mergeTable(k.DB().Now(), "merge", all).flush(&p.Streams, p.Out)
	}
	p.noteRest(len(all), more, "merge")
	return err
}

// mergeTable shows merges, one a line.
func (p *Program) mergeTable(now time.Time, title string, all []report.MergeRow) *table {
	t := newTable(title, "when", "kept", "name", "gone", "name", "listings", "by", "key")
	for _, m := range all {
		by := m.By
		if !m.Undone.IsZero() {
			by += ", undone"
		}
		t.row(idText(m.ID), ago(now, m.At), idText(m.Kept), short(orDash(m.KeptName), 24), idText(m.Gone), short(orDash(m.GoneName), 24),
			m.Listings, by, short(orDash(m.Key), p.room(110)))
	}
	return t
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
