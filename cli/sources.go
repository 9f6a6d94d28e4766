package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

func (p *Program) sourcesCommand() *cli.Command {
	return &cli.Command{
		Name:  "sources",
		Usage: "The directory sites that can be crawled",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "List the built-in sources", Flags: []cli.Flag{jsonFlag()}, Action: p.sourcesList},
			{
				Name: "show", Usage: "Print a source's definition (YAML) to read or to start your own from", ArgsUsage: "SOURCE",
				Args: true, Action: p.sourcesShow,
			},
			{
				Name: "check", Usage: "Check definition files of your own: every error with its line", ArgsUsage: "FILE...",
				Args: true, Flags: []cli.Flag{jsonFlag()}, Action: p.sourcesCheck,
			},
		},
	}
}

// sourceRow is a line of `sources list`.
type sourceRow struct {
	Name       string   `json:"name"`
	BaseURL    string   `json:"base_url"`
	Delay      string   `json:"delay"`
	PageCap    int      `json:"page_cap"` // 0 = none
	Categories []string `json:"categories"`
	Example    string   `json:"example"` // URL of a target
}

func rowOf(s *site.Source) sourceRow {
	place := yp.Place{City: "Los Angeles", CitySlug: "los-angeles-ca", State: "CA", Category: "Plumbers", CategorySlug: "plumbers"}
	r := sourceRow{
		Name: s.Name(), BaseURL: s.BaseURL().String(), Delay: s.DefaultDelay().String(), PageCap: s.PageCap(),
		Categories: s.Categories(), Example: s.TargetURL(place, 1),
	}
	if r.Categories == nil {
		r.Categories = []string{}
	}
	return r
}

func (p *Program) sourcesList(c *cli.Context) error {
	rows := make([]sourceRow, 0, len(site.Builtins()))
	for _, name := range site.Builtins() {
		s, err := site.Builtin(name)
		if err != nil {
			return err
		}
		rows = append(rows, rowOf(s))
	}
	if c.Bool("json") {
		return writeRows(p.Out, rows)
	}
	return p.printSources(rows)
}

func (p *Program) printSources(rows []sourceRow) error {
	t := newTable("source", "base URL", "delay", "pages at most", "example")
	for _, r := range rows {
		pages := "no cap"
		if r.PageCap > 0 {
			pages = thousands(int64(r.PageCap))
		}
		t.row(r.Name, r.BaseURL, r.Delay, pages, r.Example)
	}
	return t.flush(&p.Streams, p.Out)
}

func (p *Program) sourcesShow(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return Usagef("want the name of one source; see `ypcrawl sources list`")
	}
	s, err := builtin("", c.Args().First())
	if err != nil {
		return err
	}
	_, err = p.Out.Write(s.YAML())
	return err
}

func (p *Program) sourcesCheck(c *cli.Context) error {
	if !c.Args().Present() {
		return Usagef("want the definition files to check")
	}
	var errs []error
	rows := []sourceRow{}
	for _, path := range c.Args().Slice() {
		s, err := readSource(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rows = append(rows, rowOf(s))
		if !c.Bool("json") {
			if _, err := fmt.Fprintf(p.Out, "%s: ok\n", yp.Printable(path)); err != nil {
				return err
			}
		}
	}
	if c.Bool("json") {
		if err := writeRows(p.Out, rows); err != nil {
			return err
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("`ypcrawl sources show yellowpages` prints a definition to compare with"))
	}
	return errors.Join(errs...)
}
