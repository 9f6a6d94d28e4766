package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) sourcesCommand() *cli.Command {
	return &cli.Command{
		Name:  "sources",
		Usage: "The directory sites that can be crawled: list, add, enable, reset, see pages that could not be read",
		Subcommands: slices.Concat([]*cli.Command{
			p.sourcesAddCommand(),
			{
				Name: "list", Usage: "List the built-in sources, and those of the database with how they fare", Flags: formatFlags(),
				Action: p.sourcesList,
			},
			p.sourcesShowCommand(), p.sourcesSetCommand(), p.sourcesPromoteCommand(),
			{
				Name: "check", Usage: "Check definition files of your own: every error with its line", ArgsUsage: "FILE...",
				Args: true, Flags: []cli.Flag{jsonFlag()}, Action: p.sourcesCheck,
			},
		}, p.switchCommands(), p.sampleCommands()),
	}
}

// sourceRow is a line of `sources list`.
type sourceRow struct {
	Name       string   `json:"name"`
	BaseURL    string   `json:"base_url"`
	Delay      string   `json:"delay"`
	PageCap    int      `json:"page_cap"` // 0 = none
	Categories []string `json:"categories"`
	Example    string   `json:"example,omitempty"` // URL of a target

	// What the database knows of it; empty without one.
	Gate   store.GateState  `json:"gate,omitempty"`
	Until  time.Time        `json:"gate_until,omitzero"`
	Reason string           `json:"gate_reason,omitempty"`
	Status string           `json:"status,omitempty"`
	Stage  checkpoint.Stage `json:"stage,omitempty"`
	Score  *int             `json:"score,omitempty"` // 0 to 100, of one that was added by its address
}

// fares takes over what the database knows.
func (r *sourceRow) fares(s report.SourceStatus) {
	r.Gate, r.Until, r.Reason, r.Status = s.Gate, s.Until, s.Reason, s.Profile.Status
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
	known, looked := p.knownSources(c)
	rows = withKnown(rows, known)
	if looked {
		if err := p.withStages(c, rows); err != nil {
			return err
		}
	}
	return show(p, c, rows, func() *table { return sourcesTable(rows, looked) })
}

// withKnown adds what the database knows, and sources that only it knows: those
// of definitions of the operator's own.
func withKnown(rows []sourceRow, known []report.SourceStatus) []sourceRow {
	for _, s := range known {
		i := slices.IndexFunc(rows, func(r sourceRow) bool { return r.Name == s.Name })
		if i < 0 {
			rows = append(rows, sourceRow{Name: s.Name, BaseURL: s.BaseURL, Categories: []string{}})
			i = len(rows) - 1
		}
		rows[i].fares(s)
	}
	return rows
}

func sourcesTable(rows []sourceRow, known bool) *table {
	header := []string{"source", "base URL", "delay", "pages at most", "example"}
	if known {
		header = append(header, "gate", "status")
	}
	staged := slices.ContainsFunc(rows, sourceRow.staged)
	if staged {
		header = append(header, "stage", "score")
	}
	t := newTable(header...)
	for _, r := range rows {
		pages := "no cap"
		switch {
		case r.Example == "":
			pages = "-"
		case r.PageCap > 0:
			pages = thousands(int64(r.PageCap))
		}
		row := []any{r.Name, r.BaseURL, orDash(r.Delay), pages, orDash(strings.TrimPrefix(r.Example, r.BaseURL))}
		if known {
			row = append(row, orDash(string(r.Gate)), orDash(r.Status))
		}
		if staged {
			row = append(row, orDash(string(r.Stage)), scoreCell(r.Score))
		}
		t.row(row...)
	}
	return t
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
