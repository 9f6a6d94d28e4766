package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// mergedRow is what `companies merge` did.
type mergedRow struct {
	Merge int64 `json:"merge"`
	Kept  int64 `json:"kept"`
	Gone  int64 `json:"gone"`
}

func (p *Program) companiesMerge(c *cli.Context) error {
	ids, err := companyIDs(c)
	if err != nil {
		return err
	}
	if len(ids) < 2 {
		return Usagef("want the company to keep and those that are the same: `ypcrawl companies merge 12 15`")
	}
	k, err := p.open(c, existing)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	var merges []int64
	err = p.edit(c, k, func(log checkpoint.EditLog) (err error) {
		merges, err = k.MergeCompanies(c.Context, log, ids[0], ids[1:])
		return err
	})
	if err != nil {
		return asUsage(err)
	}
	rows := make([]mergedRow, len(merges))
	for i, m := range merges {
		rows[i] = mergedRow{m, ids[0], ids[i+1]}
	}
	if c.Bool("json") {
		return writeRows(p.Out, rows)
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(p.Out, "company %d is a part of company %d now (merge %d)\n", r.Gone, r.Kept, r.Merge); err != nil {
			return err
		}
	}
	p.note("`%s companies split --merge N` takes a merge back.", p.self())
	return nil
}

// dividedRow is what `companies split` did.
type dividedRow struct {
	Company  int64    `json:"company"` // keeps the rest
	Other    int64    `json:"other"`   // new, or back again
	Listings []string `json:"listings"`
	Keys     []string `json:"keys"`
	Merge    int64    `json:"merge,omitempty"` // that was undone
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
		return Usagef("--merge takes back a whole merge: leave the company and --listings out")
	case undo && c.Int64("merge") < 1:
		return Usagef("--merge %d: want the number of a merge; `ypcrawl companies merges` shows them", c.Int64("merge"))
	case !undo && len(ids) != 1:
		return Usagef("want one company and --listings, or --merge: `ypcrawl companies split 12 --listings 4711`")
	case !undo && len(words) == 0:
		return Usagef("want the listings that leave company %d: --listings ID...; `ypcrawl companies show %d` shows them", ids[0], ids[0])
	}
	k, err := p.open(c, existing)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	var d *store.Divided
	err = p.edit(c, k, func(log checkpoint.EditLog) (err error) {
		if undo {
			d, err = k.UndoMerge(c.Context, log, c.Int64("merge"))
		} else {
			d, err = p.splitOff(c, k, log, ids[0], words)
		}
		return err
	})
	if err != nil {
		return asUsage(err)
	}
	return p.printDivided(c, k, d)
}

// edit runs an edit of companies with the log of this process, in which it stands before it
// is committed: so a replay makes it again.
func (p *Program) edit(c *cli.Context, k *database, fn func(checkpoint.EditLog) error) error {
	id, err := k.DB().ID(c.Context)
	if err != nil {
		return err
	}
	number, err := k.EditNumber(c.Context)
	if err != nil {
		return err
	}
	worker := yp.WorkerID(0, os.Getpid())
	log, err := wal.Create(wal.Config{Dir: logDir(c), WorkerID: worker, Spare: worker + "_" + rand.Text(), Database: id, RunNumber: number, NoCompress: true})
	if err != nil {
		return fmt.Errorf("open write-ahead log: %w", err)
	}
	return errors.Join(fn(log), log.Close())
}

func (p *Program) splitOff(c *cli.Context, k *database, log checkpoint.EditLog, id int64, words []string) (*store.Divided, error) {
	company, err := k.Company(c.Context, id)
	if err != nil {
		return nil, err
	}
	rows, err := listingRows(company, words)
	if err != nil {
		return nil, err
	}
	return k.SplitCompany(c.Context, log, id, rows)
}

func (p *Program) printDivided(c *cli.Context, k *database, d *store.Divided) error {
	other, err := k.Company(c.Context, d.Other)
	if err != nil {
		return err
	}
	row := dividedRow{Company: d.Company, Other: d.Other, Keys: d.Keys, Merge: d.Merge, Listings: []string{}}
	for _, l := range other.Places {
		if !slices.Contains(d.Listings, l.Row) {
			continue // it came since
		}
		row.Listings = append(row.Listings, l.Source+"/"+l.ID)
	}
	verb := "is new"
	if d.Merge != 0 {
		verb = "is back"
	}
	return p.answer(c, row, "company %d %s, with %s and %s of company %d; no crawl joins the two again", d.Other, verb,
		plural(len(d.Listings), "listing"), plural(len(d.Keys), "key"), d.Company)
}
