package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store/report"
)

// maxShown bounds the listings and keys of a company that people are shown; JSON has all.
const maxShown = 100

func (p *Program) companiesShow(c *cli.Context) error {
	words := SplitList(c.Args().Slice())
	if len(words) == 0 {
		return Usagef("want companies to show, by their number or by a listing, SOURCE/ID; `ypcrawl companies list` shows those there are")
	}
	for _, word := range words {
		if _, err := companyID(word); err != nil && !strings.Contains(word, "/") {
			return err
		}
	}
	k, err := p.open(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
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
	if c.Bool("json") {
		return writeRows(p.Out, all)
	}
	w := &sections{w: p.Out}
	for _, d := range all {
		if err := p.printCompany(w, k.DB().Now(), d); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) printCompany(w *sections, now time.Time, d *report.CompanyDetail) error {
	for _, t := range []*table{companyTable(now, d), p.placesTable(now, d), p.keysTable(d), p.merges(nil).table(now, d.Merges)} {
		if err := w.table(p, t); err != nil {
			return err
		}
	}
	if len(d.Places) > maxShown || len(d.Keys) > maxShown {
		p.note("Only %d listings and keys of company %d are shown; --json shows all.", maxShown, d.ID)
	}
	return nil
}

// companyTable shows a company line by line.
func companyTable(now time.Time, d *report.CompanyDetail) *table {
	apart := ""
	if len(d.Apart) > 0 {
		apart = "company " + joined(d.Apart)
	}
	return facts(
		fmt.Sprintf("company %d", d.ID), d.Name,
		"website", d.Website,
		"phone", d.Phone,
		"address", strings.Join(present(d.Street, d.City, strings.TrimSpace(d.State+" "+d.PostalCode)), ", "),
		"listings", fmt.Sprintf("%s, %s gone", thousands(int64(d.Listings)), thousands(int64(d.Listings-d.Alive))),
		"confidence", fmt.Sprintf("%.3f", d.Confidence),
		"first seen", ago(now, d.FirstSeen),
		"kept apart from", apart,
	)
}

func present(texts ...string) (out []string) {
	for _, s := range texts {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (p *Program) placesTable(now time.Time, d *report.CompanyDetail) *table {
	return tableOf(d.Places[:min(len(d.Places), maxShown)], func(l report.CompanyListing) []any {
		gone := "-"
		if !l.Gone.IsZero() {
			gone = ago(now, l.Gone)
		}
		place := strings.Join(present(l.Street, l.City, l.State), ", ")
		return []any{l.Source + "/" + l.ID, short(l.Name, 34), short(orDash(place), p.widthLeft(100)), ago(now, l.FirstSeen), ago(now, l.LastSeen), gone}
	}, "listing", "name", "place", "first seen", "last seen", "gone")
}

// keysTable shows each key with the listings that give it now.
func (p *Program) keysTable(d *report.CompanyDetail) *table {
	names := map[int64]string{}
	for _, l := range d.Places {
		names[l.Row] = l.Source + "/" + l.ID
	}
	return tableOf(d.Keys[:min(len(d.Keys), maxShown)], func(k report.CompanyKey) []any {
		var who []string
		for _, row := range k.Listings[:min(len(k.Listings), 5)] {
			who = append(who, names[row])
		}
		text := strings.Join(who, " ")
		switch {
		case len(k.Listings) == 0:
			text = "nobody now: remembered"
		case len(k.Listings) > len(who):
			text += " …"
		}
		return []any{short(k.Key, 70), len(k.Listings), short(text, p.widthLeft(90))}
	}, "key", "given by", "listings")
}

// joined lists ids as people read them.
func joined(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = idText(id)
	}
	return strings.Join(words, ", ")
}
