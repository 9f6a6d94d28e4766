package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
)

// sourcesAddCommand is `sources add`.
func (p *Program) sourcesAddCommand() *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "Store a definition of your own as a source, or in place of the one that a source of its name has; it is checked first",
		ArgsUsage: "FILE.yaml", Args: true,
		Description: fmt.Sprintf("A new source is in the sandbox: it has %d targets at most, and becomes active when 70 %% of its cards are\n", checkpoint.SandboxTargets) +
			"accepted, or by `sources promote`. A source that is there keeps its stage. `run --source-file FILE` crawls at once.\n" +
			"A definition whose secrets would go to another address than those of the stored one needs --yes.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "send the secrets to another address than before"}, frame.JSONFlag()}, Action: p.sourcesAdd,
	}
}

func (p *Program) sourcesAdd(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return frame.Usagef("want the file of one definition; `ypcrawl sources show yellowpages` prints one to start from")
	}
	src, err := readSource(c.Args().First())
	if err != nil {
		return err
	}
	if err := src.Usable(); err != nil {
		return err
	}
	n := sourceRow(src)
	n.Definition = string(src.YAML())
	if _, err := site.ParseWith(n.Name, src.YAML(), storedCities(n.Cities)); err != nil { // as `run` reads it
		return err
	}
	if isBuiltin(n.Name) {
		return fmt.Errorf("%s is the name of a built-in source: give it another name in the file", n.Name)
	}
	return p.with(c, create, func(k *database, _ store.Scope) error {
		stored, err := k.StoredSources(c.Context)
		if err == nil {
			err = checkStoredSecrets(src, stored)
		}
		if err != nil && (!errors.Is(err, errOtherOrigin) || !c.Bool("yes")) {
			return err
		}
		added, err := k.AddSource(c.Context, n)
		if err != nil {
			return err
		}
		p.noteSecrets(src)
		if added.Stage == checkpoint.StageSandbox {
			p.Note("%s is in the sandbox: it has %d targets at most. Next: `ypcrawl run --source %s%s`.", n.Name,
				checkpoint.SandboxTargets, n.Name, someState(src))
		}
		return p.showSources(c, k, n.Name)
	})
}
