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
	Name         string            `json:"name"`
	Availability store.SourceState `json:"gate"`
	Until        time.Time         `json:"gate_until,omitzero"`
	Reason       string            `json:"gate_reason,omitempty"`
	Remedy       string            `json:"remedy,omitempty"`
	Status       string            `json:"status,omitempty"`
}

func switchedSourceOf(s report.SourceStatus) switchedSource {
	return switchedSource{s.Name, s.Availability, s.Until, s.Reason, s.Remedy, s.Profile.Status}
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

// judgeSandboxes decides on the sources of the run that are in the sandbox, and tells.
// What can't be decided now is decided after the next run.
func (r *run) judgeSandboxes(ctx context.Context) {
	for _, c := range r.sources {
		stage, text, err := r.keeper.JudgeSandbox(context.WithoutCancel(ctx), c.scope.SourceID)
		switch {
		case err != nil:
			r.log.Warn().Err(err).Msg("the sandbox was not judged")
		case stage == checkpoint.StageReview && text != "":
			r.log.Warn().Msg(text)
		case text != "":
			r.log.Info().Msg(text)
		}
	}
}
