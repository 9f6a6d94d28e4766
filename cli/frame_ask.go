package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// with opens the database, hands it to do with the scope of --source and --states, and
// closes it. What was typed is checked first.
func (p *Program) with(c *cli.Context, how access, do func(k *database, scope store.Scope) error) error {
	codes, err := states(c)
	if err != nil {
		return err
	}
	k, err := p.open(c, how)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }() // every transaction was acknowledged
	scope := store.Scope{States: codes}
	if name := c.String("source"); name != "" || c.IsSet("source") {
		if scope.SourceID, err = k.SourceID(c.Context, name); err == nil && scope.SourceID == 0 {
			err = Usagef("--source %q: nothing was planned for that source in %s", name, c.String("db"))
		}
	}
	if err != nil {
		return err
	}
	if how != reading {
		return do(k, scope)
	}
	return k.Snapshot(c.Context, func(at *report.Reader) error { return do(&database{k.Keeper, at}, scope) })
}

// asUsage makes a usage error of what the database refused or does not have.
func asUsage(err error) error {
	var refused *store.RefusedError
	var unknown *report.NotFoundError
	if errors.As(err, &refused) || errors.As(err, &unknown) {
		return Usagef("%w", err)
	}
	return err
}

func onlySourceFlag() cli.Flag {
	return &cli.StringFlag{Name: "source", DefaultText: "all", Usage: "only this `SOURCE`"}
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
}

func limitFlag() cli.Flag {
	return &cli.IntFlag{Name: "limit", Value: 50, Usage: "at most so many `ROWS`; 0 = all"}
}

// limitOf reads --limit.
func limitOf(c *cli.Context) (int, error) {
	if n := c.Int("limit"); n < 0 {
		return 0, Usagef("--limit %d: want a number from 0 up", n)
	}
	return c.Int("limit"), nil
}

// errorOf reads --error.
func errorOf(c *cli.Context) (code yp.ErrorCode, err error) {
	if word := c.String("error"); word != "" || c.IsSet("error") {
		if code, err = yp.ParseErrorCode(word); err != nil {
			return "", Usagef("--error: %w", err)
		}
	}
	return code, nil
}

// wordsOf reads a list flag whose words parse understands.
func wordsOf[T any](c *cli.Context, name string, parse func(string) (T, error)) (all []T, err error) {
	words := SplitList(c.StringSlice(name))
	if err := notEmpty(c, name, words); err != nil {
		return nil, err
	}
	for _, word := range words {
		v, err := parse(word)
		if err != nil {
			return nil, Usagef("--%s: %w", name, err)
		}
		all = append(all, v)
	}
	return all, nil
}

func anyCategoryFlag() cli.Flag {
	return &cli.BoolFlag{Name: "any-category", Usage: "accept unknown categories as typed"}
}

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "write nothing, print the cost of a crawl from the start: requests, time, disk"}
}

// batchFlags are those of a command that changes many targets at once.
func batchFlags() []cli.Flag {
	return []cli.Flag{yesFlag(), &cli.BoolFlag{Name: "dry-run", Usage: "only count"}, jsonFlag()}
}

// batch is an operation on many targets at once, with its words.
type batch struct {
	checkpoint.Operation
	checkpoint.Chosen
	question string       // with %s for "12 targets"
	past     string       // "planned again"
	nothing  func() error // tells that there is none
	key      string       // what JSON calls those that were changed
}

// apply counts, asks unless --yes answers or the targets were named one by one, and does it.
func (p *Program) apply(c *cli.Context, k *database, b batch) error {
	n, err := k.CountChosen(c.Context, b.Operation, b.Chosen)
	if err != nil {
		return err
	}
	done := 0
	if n == 0 {
		err = b.nothing()
	} else if !c.Bool("dry-run") {
		if ok, err := p.proceed(c, fmt.Sprintf(b.question, plural(n, "target")), len(b.IDs) > 0); !ok {
			return err
		}
		done, err = k.Operate(c.Context, b.Operation, b.Chosen)
	}
	out := report.Object{{Name: "selected", Value: n}, {Name: b.key, Value: done}}
	return errors.Join(p.answer(c, out, "%s selected, %s %s", plural(n, "target"), thousands(int64(done)), b.past), err)
}

// proceed asks whether to go on, unless --yes or named says so; a no is told.
func (p *Program) proceed(c *cli.Context, question string, named bool) (bool, error) {
	ok, err := p.confirm(c.Context, question, named || c.Bool("yes"))
	if err == nil && !ok {
		p.note("Nothing was changed.")
	}
	return ok, err
}

// loadPlaces loads the places of the states that were named; of all when none was. What is no
// state is left to who resolves the selection.
func loadPlaces(states []string) (*gazetteer.Gazetteer, error) {
	codes, _ := yp.ParseStates(states)
	g, err := gazetteer.Load(codes...)
	if err != nil {
		return nil, fmt.Errorf("load places: %w", err)
	}
	return g, nil
}
