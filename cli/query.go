package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
)

func (p *Program) queryCommand() *cli.Command {
	return &cli.Command{
		Name: "query", Usage: "Run an SQL query of your own (read-only)", ArgsUsage: "'SELECT ...'", Args: true,
		UsageText: "  ypcrawl query 'SELECT city, count(*) AS listings FROM listings GROUP BY city ORDER BY 2 DESC'\n" +
			"  ypcrawl query --file monthly.sql --csv",
		Description: "docs/database.md describes every table and view. Columns whose names end in _at, _seconds and so on are shown as in other lists.",
		Flags: []cli.Flag{
			frame.JSONFlag(), frame.CSVFlag(), frame.LimitFlag(),
			&cli.StringFlag{Name: "file", TakesFile: true, DefaultText: "none", Usage: "read the query from this `FILE`; - is standard input"},
			&cli.GenericFlag{Name: "timeout", Value: frame.AgeValue(time.Minute), Usage: "give up after this `TIME`: 90s, 5m"},
		},
		Action: p.query,
	}
}

const maxQuery = 1 << 20

func (p *Program) query(c *cli.Context) error {
	most, err := frame.LimitOf(c)
	if err == nil {
		err = frame.OneForm(c)
	}
	if err != nil {
		return err
	}
	text := c.Args().First()
	if (c.Args().Len() == 1) == c.IsSet("file") {
		return frame.Usagef("give one SQL query in quotes, or --file FILE")
	}
	if c.IsSet("file") {
		if text, err = p.readText(c.String("file"), maxQuery); err != nil {
			return err
		}
	}
	if strings.Trim(text, "; \t\r\n") == "" {
		return frame.Usagef("the query is empty; try 'SELECT count(*) FROM listings'")
	}
	if frame.TimeOf(c, "timeout") <= 0 {
		return frame.Usagef("--timeout: want more than 0, such as 90s")
	}
	ctx, cancel := context.WithTimeout(c.Context, frame.TimeOf(c, "timeout"))
	defer cancel()
	return p.with(c, reading, func(k *database, _ store.Scope) error {
		rows := frame.Limit(p.RowsTo(c, k.DB().Now()), most)
		done := make(chan error, 1)
		go func() { done <- k.Query(ctx, text, rows) }()
		var err error
		select {
		case err = <-done:
		case <-ctx.Done(): // SQLite may be busy for long with one row
			rows.Stop()
			err = ctx.Err()
		}
		switch {
		case errors.Is(err, frame.ErrEnough):
			err = nil
			p.Note("%s shown; there are more: --limit 0 shows all.", plural(most, "row"))
		case c.Context.Err() != nil:
			return err // stopped, which is no fault of the question
		case ctx.Err() != nil:
			return frame.Usagef("no answer within %s: ask for less, or allow more time with --timeout", lasting(frame.TimeOf(c, "timeout")))
		case err != nil:
			return frame.Usagef("%w", err)
		}
		return errors.Join(err, rows.End())
	})
}

// readText reads a file, or standard input where it is "-"; one of more bytes than limit is refused.
func (p *Program) readText(path string, limit int64) (string, error) {
	in := p.In
	if path != "-" {
		f, err := frame.OpenRegular(path)
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }() // opened for reading only
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = frame.Usagef("%s is too long: at most %d bytes are read", path, limit)
	}
	return string(text), err
}
