package cli

import (
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

// shower finds what a word names, and tells all that is known of it.
type shower func(c *cli.Context, k *database, scope store.Scope, word string) (*report.Record, error)

// showCommand is the command `show` of a thing; want says how arguments name it.
func (p *Program) showCommand(usage, argument, want, help string, find shower, more ...cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: usage, ArgsUsage: argument + "...", Args: true, Description: help, Flags: append(more, frame.JSONFlag()),
		Action: func(c *cli.Context) error {
			if len(frame.SplitList(c.Args().Slice())) == 0 {
				return frame.Usagef("%s", want)
			}
			return p.with(c, reading, func(k *database, scope store.Scope) error {
				var all []*report.Record
				for _, word := range c.Args().Slice() {
					found, err := findRecords(c, k, scope, word, find)
					if err != nil {
						return asUsage(err)
					}
					all = append(all, found...)
				}
				return p.Tell(c, all, func(w *frame.Sections) {
					for _, r := range all {
						w.Record(k.DB().Now(), r)
					}
				})
			})
		},
	}
}

// findRecords returns what a word names: an id may hold a comma, else commas separate.
func findRecords(c *cli.Context, k *database, scope store.Scope, word string, find shower) (all []*report.Record, err error) {
	words := frame.SplitList([]string{word})
	if len(words) > 1 {
		if r, err := find(c, k, scope, word); err == nil {
			return []*report.Record{r}, nil
		}
	}
	for _, word := range words {
		r, err := find(c, k, scope, word)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
