package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

func (p *Program) sourcesSetCommand() *cli.Command {
	return &cli.Command{
		Name: "set", Usage: "Store a definition of your own under a name, or put an edited one back; it is checked first",
		Description: "A source that is new, or in the sandbox, is crawled there (again); one that waits for a review goes on waiting\n" +
			"until it is enabled; one that is active stays so.",
		ArgsUsage: "SOURCE", Args: true,
		Flags:  []cli.Flag{&cli.StringFlag{Name: "file", DefaultText: "none", Usage: "definition `FILE` (YAML)"}, jsonFlag()},
		Action: p.sourcesSet,
	}
}

func (p *Program) sourcesSet(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return Usagef("want the name of one source; see `ypcrawl sources list`")
	}
	name, path := c.Args().First(), c.String("file")
	if path == "" {
		return Usagef("want --file with the definition; `ypcrawl sources show %s --yaml` prints the one there is", yp.Printable(name))
	}
	src, err := readSource(path)
	if err != nil {
		return err
	}
	if src.Name() != name {
		return Usagef("%s defines the source %s, not %s: change name in it, or type that name", path, src.Name(), yp.Printable(name))
	}
	if _, err := site.Parse(name, src.YAML()); err != nil { // as `run` reads it
		return err
	}
	k, err := p.open(c, create)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	old, known, err := k.StoredSource(c.Context, name)
	if err != nil {
		return err
	}
	row := &stagedRow{Name: name, BaseURL: src.BaseURL().String(), Stage: checkpoint.StageSandbox, definition: src.YAML(), Reasons: []string{"definition set by an operator"}}
	if known {
		row.Stage = old.Stage
		if row.Score, _, err = k.SourceNotes(c.Context, old.ID); err != nil {
			return err
		}
	}
	if err := storeSource(c.Context, k, row, true); err != nil {
		return setError(err)
	}
	return p.printAdded(c, row)
}

// setError gives a name or host that is taken its next step.
func setError(err error) error {
	var taken *checkpoint.SourceTakenError
	if !errors.As(err, &taken) {
		return err
	}
	if taken.Host {
		return fmt.Errorf("%w: set that one, or change base_url", taken)
	}
	return fmt.Errorf("%w: give it another name in the file", taken)
}

func (p *Program) sourcesPromoteCommand() *cli.Command {
	return &cli.Command{
		Name: "promote", Usage: "Make a source active by hand, whatever its sandbox says", ArgsUsage: "SOURCE...", Args: true,
		Flags: []cli.Flag{jsonFlag()}, Action: p.sourcesPromote,
	}
}

func (p *Program) sourcesPromote(c *cli.Context) error {
	return p.switchSources(c, func(ctx context.Context, k *database, name string) (bool, error) {
		before, err := k.Promote(ctx, name)
		if errors.Is(err, checkpoint.ErrNotStaged) {
			return false, Usagef("%s: %w", name, checkpoint.ErrNotStaged)
		}
		if err == nil && before == checkpoint.StageActive {
			p.note("%s is active already.", name)
		}
		return err == nil, err
	})
}
