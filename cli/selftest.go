package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/cli/selftest"
	"ypcrawl/crawl/demo"
	"ypcrawl/yp"
)

const defaultSelftestKills = 50

func (p *Program) selftestCommand() *cli.Command {
	return &cli.Command{
		Name: "selftest", Usage: "Check that a crawl survives kills on this machine and disk: crawl the demo, kill it, compare with the truth",
		Description: "It sends no request to any site, takes 10 to 30 seconds, and works in a new folder, which it removes if all is well.\n" +
			"It kills crawls at random, and stops one and continues it after others have taken over its work. It can't detect a disk\n" +
			"that reports a sync before the data is safe; only a real power cut shows that. Exit code 0 when all is well, otherwise 1.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "crash", Value: defaultSelftestKills, Usage: "kill it `N` times at random"},
			&cli.StringFlag{Name: "dir", TakesFile: true, Value: ".", Usage: "test the disk of this `FOLDER`"},
			frame.JSONFlag(),
		},
		Action: p.selftest,
	}
}

func (p *Program) selftest(c *cli.Context) error {
	kills := c.Int("crash")
	if kills < 0 {
		return frame.Usagef("--crash %d: want a number from 0 up", kills)
	}
	dir, err := filepath.Abs(c.String("dir"))
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return frame.Usagef("--dir %s: want an existing folder", c.String("dir"))
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, to start it as a child: %w", err)
	}
	site, err := newDirectory(demo.Config{Places: selftest.Places})
	if err != nil {
		return err
	}
	cfg := selftest.Config{Dir: dir, Schema: p.Schema, Kills: kills, Directory: site, Say: func(string) {}}
	if !c.Bool("quiet") {
		cfg.Say = func(step string) { p.Note("%s", step) }
	}
	cfg.Command = func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // this very program
		cmd.Args[0] = p.Args[0]
		for _, line := range os.Environ() { // what is set for other crawls is not for these
			if !strings.HasPrefix(line, frame.EnvPrefix) {
				cmd.Env = append(cmd.Env, line)
			}
		}
		return cmd
	}
	res, err := selftest.Run(c.Context, cfg)
	if err != nil {
		if res.Folder != "" {
			err = fmt.Errorf("%w: the files are in %s", err, res.Folder)
		}
		return fmt.Errorf("selftest: %w", err)
	}
	err = p.Tell(c, res, func(w *frame.Sections) { w.Table(selftestFacts(&res)) })
	if err != nil || len(res.Problems) == 0 {
		return err
	}
	return errors.New(strings.Join(append(res.Problems,
		fmt.Sprintf("try another disk with --dir; if it fails there, too, please report it with the files in %s",
			yp.Printable(res.Folder))), "\n"))
}

// selftestFacts tell the verdict.
func selftestFacts(v *selftest.Result) *frame.Table {
	b := ownBuild()
	stopped, verdict := "not tried: processes can't be stopped here", "all is well: every database holds the truth"
	if v.Stopped {
		stopped = "one crawl, continued after others had done its work"
	}
	if len(v.Problems) > 0 {
		verdict = "failed: " + plural(len(v.Problems), "problem")
	}
	return frame.Facts("verdict", verdict,
		"machine", fmt.Sprintf("%s, %s, ypcrawl %s, SQLite %s", b.Platform, plural(runtime.GOMAXPROCS(0), "processor"), b.Version, b.SQLite),
		"crawl", fmt.Sprintf("%s, %s", plural(v.Pages, "page"), plural(v.Listings, "listing")),
		"syncs", fmt.Sprintf("%d, for %s in the logs", v.Syncs, plural(v.Lines, "page")),
		"kills", fmt.Sprintf("%d at random", v.Kills), "stopped", stopped)
}
