package cli

import (
	"embed"
	"fmt"

	"github.com/urfave/cli/v2"
)

// The scripts ask the program itself: they run it with the words typed so far, the last one as far as it goes,
// and --generate-bash-completion, and get one candidate a line, with what it is behind a tab.
//
//go:embed completion/ypcrawl.bash completion/ypcrawl.zsh completion/ypcrawl.fish
var completionScripts embed.FS

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
