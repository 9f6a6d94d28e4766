package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/store/report"
)

// batchFlags are those of a command that changes many targets at once.
func batchFlags() []cli.Flag {
	return []cli.Flag{frame.YesFlag(), &cli.BoolFlag{Name: "dry-run", Usage: "only count"}, frame.JSONFlag()}
}

// batch is an operation on many targets at once, with its words.
type batch struct {
	checkpoint.Operation
	checkpoint.Chosen
	effect  string       // a sentence, with %s for "12 targets"
	past    string       // "planned again"
	nothing func() error // tells that there is none
	key     string       // what JSON calls those that were changed
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
		if ok, err := p.Proceed(c, fmt.Sprintf(b.effect, plural(n, "target")), len(b.IDs) > 0); !ok {
			return err
		}
		done, err = k.Operate(c.Context, b.Operation, b.Chosen)
	}
	out := report.Object{{Name: "selected", Value: n}, {Name: b.key, Value: done}}
	return errors.Join(p.Answer(c, out, "%s selected, %s %s", plural(n, "target"), thousands(int64(done)), b.past), err)
}
