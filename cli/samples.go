package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// sampleCommands show pages that could not be read.
func (p *Program) sampleCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "samples", Usage: "List the pages that were kept because their layout was not recognized", ArgsUsage: "[SOURCE]",
			Args: true, Flags: formatFlags(), Action: p.samples,
		},
		{
			Name: "sample", Usage: "Print a kept page as it came; see `sources samples` for its ID", ArgsUsage: "ID",
			Args: true, Action: p.sample,
		},
	}
}

// sampleRow is a line of `sources samples`.
type sampleRow struct {
	ID       int64     `json:"id"`
	Source   string    `json:"source"`
	TargetID int64     `json:"target_id,omitempty"`
	URL      string    `json:"url"`
	Reason   string    `json:"reason"`
	TakenAt  time.Time `json:"taken_at"`
	Size     int       `json:"size"` // bytes
}

func (p *Program) samples(c *cli.Context) error {
	if c.Args().Len() > 1 {
		return Usagef("want one source at most, got %d", c.Args().Len())
	}
	return listRows(p, c, listing[sampleRow]{
		none:    "No page was kept: every layout was known.",
		ask:     func(k *database, _ store.Scope, _ int) ([]sampleRow, error) { return p.sampleRows(c, k) },
		columns: []string{"id", "source", "target", "taken", "bytes", "reason"},
		least:   []string{"bytes", "taken", "target"},
		cells: func(now time.Time, r sampleRow) []any {
			target := "-"
			if r.TargetID != 0 {
				target = idText(r.TargetID)
			}
			return []any{idText(r.ID), r.Source, target, ago(now, r.TakenAt), r.Size, r.Reason}
		},
	})
}

func (p *Program) sampleRows(c *cli.Context, k *database) (rows []sampleRow, err error) {
	all, err := k.Sources(c.Context)
	if err != nil {
		return nil, err
	}
	name := c.Args().First()
	if name != "" {
		if err := p.mustKnow(c, all, name); err != nil {
			return nil, err
		}
	}
	for _, s := range all {
		if name != "" && s.Name != name {
			continue
		}
		id, err := k.SourceID(c.Context, s.Name)
		if err != nil {
			return nil, err
		}
		kept, err := health.New(k.DB()).Samples(c.Context, id)
		if err != nil {
			return nil, err
		}
		for _, x := range kept {
			rows = append(rows, sampleRow{x.ID, s.Name, x.TargetID, x.URL, x.Reason, x.TakenAt, x.Size})
		}
	}
	return rows, nil
}

func (p *Program) sample(c *cli.Context) error {
	id, err := strconv.ParseInt(c.Args().First(), 10, 64)
	if err != nil || c.Args().Len() != 1 {
		return Usagef("want the id of one sample; see `ypcrawl sources samples`")
	}
	return p.with(c, reading, func(k *database, _ store.Scope) error {
		body, err := health.New(k.DB()).ReadSample(c.Context, id)
		if errors.Is(err, health.ErrNoSample) {
			return Usagef("there is no sample %d: only the newest of each source are kept; see `ypcrawl sources samples`", id)
		}
		if err != nil {
			return err
		}
		return p.printPage(body)
	})
}

// printPage writes a page as it is to a file or a pipe. A terminal gets its lines
// with what would act on it made visible.
func (p *Program) printPage(body []byte) error {
	if !isTerminal(p.Out) {
		_, err := p.Out.Write(body)
		return err
	}
	for line := range bytes.Lines(body) {
		text := strings.ReplaceAll(strings.TrimRight(string(line), "\r\n"), "\t", "    ")
		if _, err := fmt.Fprintln(p.Out, yp.Printable(text)); err != nil {
			return err
		}
	}
	p.note("To keep the page as it came: `ypcrawl sources sample ID > page.html`.")
	return nil
}
