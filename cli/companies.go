package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

func (p *Program) companiesCommand() *cli.Command {
	return &cli.Command{
		Name:  "companies",
		Usage: "Businesses that listings belong to: list, show, merge, split",
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
				Name: "show", Usage: "Show companies: their listings, the keys that join them, and the confidence", ArgsUsage: "COMPANY...", Args: true,
				Description: confidenceHelp, Flags: []cli.Flag{jsonFlag()}, Action: p.companiesShow,
			},
			{
				Name: "merges", Usage: "List merges of companies and the key of each, the newest first", Action: p.companiesMerges,
				Flags: append(
					formatFlags(), limitFlag(),
					&cli.GenericFlag{Name: "since", Value: ageValue(0), DefaultText: "ever", Usage: "only those of the last `TIME`: 7d, 36h"},
				),
			},
			{
				Name: "merge", Usage: "Merge companies that share no key; the first one keeps its number", ArgsUsage: "KEEP OTHER...", Args: true,
				Description: "This is safe while a crawl runs. `ypcrawl companies split --merge N` undoes it.",
				Flags:       []cli.Flag{jsonFlag()}, Action: p.companiesMerge,
			},
			{
				Name: "split", Usage: "Take listings out of a company, or undo a merge; no crawl merges the two again", ArgsUsage: "[COMPANY]", Args: true,
				Description: splitHelp,
				Flags: []cli.Flag{
					list("listings", "`LISTING...` to take out: the source's id, or SOURCE/ID as in demo/123 where two sources have it", "none"),
					&cli.Int64Flag{Name: "merge", DefaultText: "none", Usage: "undo the merge with this `NUMBER`; see `companies merges`"},
					jsonFlag(),
				},
				Action: p.companiesSplit,
			},
		},
	}
}

const (
	confidenceHelp = `A COMPANY is its number, or SOURCE/ID of one of its listings.
Confidence is a number from 0 to 1: that of the weakest key that joins the company's listings. Phone and name
count 0.98, name and address 0.96, a website 0.92, two of them more; a key that no listing has now 0.5; a merge by hand 1.`
	splitHelp = `  ypcrawl companies split 12 --listings 4711 4712

makes a new company of these listings. Keys that only they have move with them; keys that the others have too stay.

  ypcrawl companies split --merge 7

brings back the company that merge 7 absorbed, with its old number. Later listings stay, unless
all their keys go back.`
)

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
		ask: func(k *database, scope store.Scope, limit int) ([]report.CompanyRow, error) {
			f.States = scope.States
			return k.Companies(c.Context, f, limit)
		},
		columns: []string{"id", "name", "listings", "city", "state", "phone", "website"},
		least:   []string{"website", "listings", "phone", "state", "city"},
		cells: func(_ time.Time, x report.CompanyRow) []any {
			return []any{idText(x.ID), x.Name, x.Listings, orDash(x.City), orDash(x.State), orDash(x.Phone), orDash(x.Website)}
		},
	})
}

func (p *Program) companiesMerges(c *cli.Context) error {
	return listRows(p, c, p.merges(func(k *database, _ store.Scope, limit int) ([]report.MergeRow, error) {
		return k.Merges(c.Context, timeOf(c, "since"), limit)
	}))
}

// merges shows merges, one a line.
func (p *Program) merges(ask func(*database, store.Scope, int) ([]report.MergeRow, error)) listing[report.MergeRow] {
	return listing[report.MergeRow]{
		noun: "merge", ask: ask,
		columns: []string{"merge", "when", "kept", "name", "absorbed", "name", "listings", "by", "key"},
		least:   []string{"key", "by", "listings", "when"},
		cells: func(now time.Time, m report.MergeRow) []any {
			by := m.By
			if !m.Undone.IsZero() {
				by += ", undone"
			}
			return []any{
				idText(m.ID), ago(now, m.At), idText(m.Kept), orDash(m.KeptName), idText(m.Absorbed), orDash(m.AbsorbedName),
				m.Listings, by, orDash(m.Key),
			}
		},
	}
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

// companyText tells of a company, its listings, its keys and the merges that made it.
func (p *Program) companyText(w *sections, now time.Time, d *report.CompanyDetail) {
	if len(d.Places) > maxShown || len(d.Keys) > maxShown {
		p.note("Only %d listings and keys of company %d are shown; --json shows all.", maxShown, d.ID)
	}
	var others []string
	for _, id := range d.Apart {
		others = append(others, idText(id))
	}
	apart := commas(others...)
	if apart != "" {
		apart = "company " + apart
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
		"kept apart from", apart,
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
	w.table(p.merges(nil).table(now, d.Merges))
}

// commas joins the parts of an address that there are.
func commas(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// mergedRow is what `companies merge` did.
type mergedRow struct {
	Merge    int64 `json:"merge"`
	Kept     int64 `json:"kept"`
	Absorbed int64 `json:"absorbed"`
}

func (p *Program) companiesMerge(c *cli.Context) error {
	ids, err := companyIDs(c)
	if err != nil {
		return err
	}
	if len(ids) < 2 {
		return Usagef("name the company to keep and those that are the same: `ypcrawl companies merge 12 15`")
	}
	rows := make([]mergedRow, 0, len(ids))
	err = p.edit(c, func(k *database, log checkpoint.EditLog) error {
		merges, err := k.MergeCompanies(c.Context, log, ids[0], ids[1:])
		for i, m := range merges {
			rows = append(rows, mergedRow{m, ids[0], ids[i+1]})
		}
		return err
	})
	if err != nil {
		return err
	}
	err = p.tell(c, rows, func(w *sections) {
		for _, r := range rows {
			w.more(fmt.Sprintf("company %d is now a part of company %d (merge %d)", r.Absorbed, r.Kept, r.Merge))
		}
	})
	if err == nil && !c.Bool("json") {
		p.note("`%s companies split --merge N` undoes a merge.", p.self())
	}
	return err
}

// dividedRow is what `companies split` did.
type dividedRow struct {
	Company  int64    `json:"company"` // keeps the rest
	Other    int64    `json:"other"`   // new, or back again
	Listings []string `json:"listings"`
	Keys     []string `json:"keys"`
	Merge    int64    `json:"merge,omitempty"` // that was undone

	moved int // listings
}

func (p *Program) companiesSplit(c *cli.Context) error {
	ids, err := companyIDs(c)
	if err != nil {
		return err
	}
	words := SplitList(c.StringSlice("listings"))
	undo := c.IsSet("merge")
	switch {
	case undo && (len(ids) > 0 || len(words) > 0):
		return Usagef("--merge undoes a whole merge: leave out the company and --listings")
	case undo && c.Int64("merge") < 1:
		return Usagef("--merge %d: want the number of a merge; `ypcrawl companies merges` shows them", c.Int64("merge"))
	case !undo && len(ids) != 1:
		return Usagef("name one company and --listings, or --merge: `ypcrawl companies split 12 --listings 4711`")
	case !undo && len(words) == 0:
		return Usagef("name the listings to take out of company %d: --listings ID...; `ypcrawl companies show %d` shows them", ids[0], ids[0])
	}
	var row dividedRow
	err = p.edit(c, func(k *database, log checkpoint.EditLog) (err error) {
		var d *store.Divided
		if undo {
			d, err = k.UndoMerge(c.Context, log, c.Int64("merge"))
		} else {
			d, err = splitOff(c, k, log, ids[0], words)
		}
		if err != nil {
			return err
		}
		other, err := k.Company(c.Context, d.Other)
		if err != nil {
			return err
		}
		row = dividedRow{Company: d.Company, Other: d.Other, Keys: d.Keys, Merge: d.Merge, Listings: []string{}, moved: len(d.Listings)}
		for _, l := range other.Places {
			if slices.Contains(d.Listings, l.Row) { // else it came since
				row.Listings = append(row.Listings, l.Source+"/"+l.ID)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	verb := "is new"
	if undo {
		verb = "is back"
	}
	return p.answer(c, row, "company %d %s, with %s and %s of company %d; no crawl merges the two again", row.Other, verb,
		plural(row.moved, "listing"), plural(len(row.Keys), "key"), row.Company)
}

// edit runs an edit of companies with the log of this process, in which it stands before it
// is committed: so a replay makes it again.
func (p *Program) edit(c *cli.Context, fn func(*database, checkpoint.EditLog) error) error {
	return p.with(c, existing, func(k *database, _ store.Scope) error {
		id, err := k.DB().ID(c.Context)
		if err != nil {
			return err
		}
		number, err := k.EditNumber(c.Context)
		if err != nil {
			return err
		}
		worker := yp.WorkerID(0, os.Getpid())
		log, err := wal.Create(wal.Config{
			Dir: logDir(c), WorkerID: worker, Spare: worker + "_" + rand.Text(), Database: id, RunNumber: number, NoCompress: true,
		})
		if err != nil {
			return fmt.Errorf("open write-ahead log: %w", err)
		}
		return asUsage(errors.Join(fn(k, log), log.Close()))
	})
}

// splitOff makes a new company of the listings that words name.
func splitOff(c *cli.Context, k *database, log checkpoint.EditLog, id int64, words []string) (*store.Divided, error) {
	company, err := k.Company(c.Context, id)
	if err != nil {
		return nil, err
	}
	var rows []int64
	for _, word := range words {
		var found []report.CompanyListing
		for _, l := range company.Places {
			if l.ID == word || l.Source+"/"+l.ID == word {
				found = append(found, l)
			}
		}
		switch len(found) {
		case 0:
			return nil, Usagef("--listings: company %d has no listing %q; `ypcrawl companies show %d` lists its listings", id, word, id)
		case 1:
			if !slices.Contains(rows, found[0].Row) {
				rows = append(rows, found[0].Row)
			}
		default:
			return nil, Usagef("--listings: two sources have %q: write %s/%s or %s/%s", word, found[0].Source, word, found[1].Source, word)
		}
	}
	return k.SplitCompany(c.Context, log, id, rows)
}
