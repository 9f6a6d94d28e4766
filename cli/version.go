package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
)

// buildInfo is what `version` tells of the program.
type buildInfo struct {
	Version  string `json:"version"` // module version, "devel" for a build from a work tree
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"` // of the commit, RFC 3339
	Dirty    bool   `json:"dirty"`          // built with changes that are in no commit
	Go       string `json:"go"`
	Platform string `json:"platform"` // "linux/amd64"
	Schema   int    `json:"schema"`   // version of the databases that it makes
	SQLite   string `json:"sqlite"`   // "3.51.1"
}

// versionCommand is `version [--json]`.
func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "Show the version, commit and platform; with --json also schema and SQLite",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}},
		Action: func(c *cli.Context) error {
			b := ownBuild()
			if c.Bool("json") {
				return frame.WriteJSON(c.App.Writer, b)
			}
			return b.print(c.App.Writer, c.App.Name)
		},
	}
}

// ownBuild is of the running binary.
func ownBuild() buildInfo {
	info, _ := debug.ReadBuildInfo() // nil in a binary built without modules
	return readBuild(info)
}

func readBuild(info *debug.BuildInfo) buildInfo {
	b := buildInfo{
		Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Schema: store.SchemaVersion, SQLite: store.SQLiteVersion,
	}
	if info == nil {
		return b
	}
	b.Version = cmp.Or(strings.Trim(info.Main.Version, "()"), b.Version)
	b.Go = cmp.Or(info.GoVersion, b.Go)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	return b
}

// print writes one line: "ypcrawl v1.2.0 (1a2b3c4d5e6f, 2026-11-20T23:50:00Z) go1.26.8 linux/amd64".
func (b buildInfo) print(w io.Writer, program string) error {
	dirty, from := "", ""
	if b.Dirty {
		dirty = "with changes"
	}
	if commit := commas(b.Commit[:min(12, len(b.Commit))], b.Time, dirty); commit != "" {
		from = " (" + commit + ")"
	}
	if _, err := fmt.Fprintf(w, "%s %s%s %s %s\n", program, b.Version, from, b.Go, b.Platform); err != nil {
		return fmt.Errorf("write version: %w", err)
	}
	return nil
}
