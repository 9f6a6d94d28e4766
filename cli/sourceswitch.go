package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// switchCommands are those of `sources` that write to the database.
func (p *Program) switchCommands() []*cli.Command {
	act := func(name, usage, description string, do sourceSwitch) *cli.Command {
		return &cli.Command{
			Name: name, Usage: usage, Description: description, ArgsUsage: "SOURCE...", Args: true, Flags: []cli.Flag{jsonFlag()},
			Action: func(c *cli.Context) error { return p.switchSources(c, do) },
		}
	}
	return []*cli.Command{
		act("enable", "Let a source be crawled, and clear what was set automatically",
			"Its pause, quarantine, penalties and failures in a row are forgotten, also when it is enabled already.\n"+
				"One that waits for a review goes to the sandbox.", p.enableSource),
		act("disable", "Leave a source alone until it is enabled", "Runs under way finish the pages they have in hand.",
			func(ctx context.Context, k *database, name string) (bool, error) {
				return health.New(k.DB()).SetEnabled(ctx, name, false)
			}),
		act("reset", "Clear pauses, quarantine, penalties and learned delays of a source",
			"What the site itself asked for (Retry-After) is kept to, and a source that is disabled stays so.",
			func(ctx context.Context, k *database, name string) (bool, error) {
				return health.New(k.DB()).Reset(ctx, name)
			}),
	}
}

// sourceSwitch does something to a source, and tells whether that changed it.
type sourceSwitch func(ctx context.Context, k *database, name string) (bool, error)

func (p *Program) enableSource(ctx context.Context, k *database, name string) (bool, error) {
	entered, err := k.EnterSandbox(ctx, name)
	if err != nil {
		return false, err
	}
	if entered {
		p.note("%s is in the sandbox: it has %d targets at most, until its layout has held.", name, checkpoint.SandboxTargets)
	}
	return health.New(k.DB()).SetEnabled(ctx, name, true)
}

// switchedSource is a source after it was switched.
type switchedSource struct {
	Name   string          `json:"name"`
	Gate   store.GateState `json:"gate"`
	Until  time.Time       `json:"gate_until,omitzero"`
	Reason string          `json:"gate_reason,omitempty"`
	Remedy string          `json:"remedy,omitempty"`
	Status string          `json:"status,omitempty"`
}

func switchedSourceOf(s report.SourceStatus) switchedSource {
	return switchedSource{s.Name, s.Gate, s.Until, s.Reason, s.Remedy, s.Profile.Status}
}

// switchSources does something to each named source, and shows what became of it.
// All names are looked at before anything is done.
func (p *Program) switchSources(c *cli.Context, do sourceSwitch) error {
	names := SplitList(c.Args().Slice())
	if len(names) == 0 {
		return Usagef("want the name of a source; see `ypcrawl sources list`")
	}
	k, err := p.open(c, existing)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	all, err := k.Sources(c.Context)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.mustKnow(c, all, name); err != nil {
			return err
		}
	}
	for _, name := range names {
		if _, err := do(c.Context, k, name); err != nil {
			return err
		}
	}
	if all, err = k.Sources(c.Context); err != nil {
		return err
	}
	return p.printSwitched(c, k, all, names)
}

// mustKnow refuses a source that the database does not know.
func (p *Program) mustKnow(c *cli.Context, all []report.SourceStatus, name string) error {
	known := site.Builtins()
	for _, s := range all {
		if s.Name == name {
			return nil
		}
		known = append(known, s.Name)
	}
	if slices.Contains(site.Builtins(), name) {
		return fmt.Errorf("the source %s has not been crawled yet: %s knows nothing of it", name, c.String("db"))
	}
	slices.Sort(known)
	known = slices.Compact(known)
	hint := "there are " + strings.Join(known, ", ")
	if near, ok := yp.Nearest(name, known); ok {
		hint = "did you mean " + near + "?"
	}
	return Usagef("unknown source %q: %s", name, hint)
}

func (p *Program) printSwitched(c *cli.Context, k *database, all []report.SourceStatus, names []string) error {
	var rows []switchedSource
	for _, s := range all {
		if !slices.Contains(names, s.Name) {
			continue
		}
		rows = append(rows, switchedSourceOf(s))
		if c.Bool("json") {
			continue
		}
		text := remedyText(k.DB().Now(), s)
		if text == "" {
			text = s.Name + " is open"
		}
		if _, err := fmt.Fprintln(p.Out, yp.Printable(text)); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return writeRows(p.Out, rows)
	}
	return nil
}

// knownSources reads the sources of the database where there is one. It makes
// none, and one that can't be read costs a word to stderr.
func (p *Program) knownSources(c *cli.Context) ([]report.SourceStatus, bool) {
	if _, err := os.Stat(c.String("db")); errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	k, err := p.open(c, reading)
	if err == nil {
		defer func() { _ = k.DB().Close() }()
		var all []report.SourceStatus
		if all, err = k.Sources(c.Context); err == nil {
			return all, true
		}
	}
	if !errors.Is(err, store.ErrNotFound) {
		p.note("How the sources fare is not known: %s", yp.Printable(err.Error()))
	}
	return nil, false
}
