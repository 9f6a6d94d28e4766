package cli

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// The scripts ask the program itself: they run it with the words typed so far, the last one as far as it goes,
// and --generate-bash-completion, and get one candidate a line, with what it is behind a tab.
//
//go:embed completion/ypcrawl.bash completion/ypcrawl.zsh completion/ypcrawl.fish
var completionScripts embed.FS

// statesToComplete returns the states that the sources of a line have: of the definition that it names, else of the database. It waits for
// nobody, and what can't be read has those of the USA.
func (p *Program) statesToComplete(words []string) []yp.State {
	valueOf := func(name string) string {
		for i, word := range words {
			flag, value, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
			switch {
			case !strings.HasPrefix(word, "-") || flag != name:
			case joined:
				return value
			case i+1 < len(words):
				return words[i+1]
			}
		}
		return ""
	}
	if path := valueOf("source-file"); path != "" {
		if src, err := readSource(path); err == nil {
			return named(src.States().All())
		}
	}
	if name := valueOf("source"); isBuiltin(name) {
		return yp.States()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	path := cmp.Or(valueOf("db"), os.Getenv(frame.Variable("db")), frame.DefaultDB)
	db, err := store.Open(ctx, store.Config{Path: path, Schema: p.Schema, MustExist: true, ReadOnly: true})
	if err != nil {
		return yp.States()
	}
	defer func() { _ = db.Close() }() // opened for reading only
	k := report.New(db)
	id, err := k.SourceID(ctx, valueOf("source"))
	if err != nil {
		return yp.States()
	}
	known, err := k.KnownStates(ctx, id)
	if err != nil {
		return yp.States()
	}
	return named(known.All())
}

// named are the states that can be typed.
func named(states []yp.State) []yp.State {
	return slices.DeleteFunc(states, func(st yp.State) bool { return st.Code == "" })
}

// completionCommand is `completion bash|zsh|fish`.
func completionCommand() *cli.Command {
	shell := func(name, how string) *cli.Command {
		return &cli.Command{
			Name:        name,
			Usage:       "Print the completion script for " + name,
			Description: "Set it up with\n\n" + how,
			Action: func(c *cli.Context) error {
				script, err := completionScripts.ReadFile("completion/ypcrawl." + name)
				if err == nil {
					_, err = c.App.Writer.Write(script)
				}
				if err != nil {
					return fmt.Errorf("write completion script: %w", err)
				}
				return nil
			},
		}
	}
	return &cli.Command{
		Name:  "completion",
		Usage: "Print a script that completes commands, flags and values in a shell",
		Subcommands: []*cli.Command{
			shell("bash", "   echo 'source <(ypcrawl completion bash)' >> ~/.bashrc"),
			shell("zsh", "   ypcrawl completion zsh > \"${fpath[1]}/_ypcrawl\""),
			shell("fish", "   ypcrawl completion fish > ~/.config/fish/completions/ypcrawl.fish"),
		},
	}
}
