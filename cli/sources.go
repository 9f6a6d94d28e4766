package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

func (p *Program) sourcesCommand() *cli.Command {
	act := func(name, usage, description string, do sourceSwitch) *cli.Command {
		return &cli.Command{
			Name: name, Usage: usage, Description: description, ArgsUsage: "SOURCE...", Args: true, Flags: []cli.Flag{jsonFlag()},
			Action: func(c *cli.Context) error { return p.switchSources(c, do) },
		}
	}
	return &cli.Command{
		Name:  "sources",
		Usage: "The directory sites that can be crawled: list, add, try, enable, disable",
		Subcommands: []*cli.Command{
			p.sourcesAddCommand(),
			p.sourcesTryCommand(),
			{
				Name: "list", Usage: "List the built-in sources, and those of the database with their health", Flags: []cli.Flag{jsonFlag(), csvFlag()},
				Action: p.sourcesList,
			},
			{
				Name: "show", Usage: "Show what is known of a source that was added; --yaml prints its definition to read or to edit",
				Description: "For a built-in source its definition is printed, as a start for your own.",
				ArgsUsage:   "SOURCE", Args: true,
				Flags:  []cli.Flag{&cli.BoolFlag{Name: "yaml", Usage: "print only the definition"}, jsonFlag()},
				Action: p.sourcesShow,
			},
			act("promote", "Make a source active by hand, without regard to its sandbox", "", p.promoteSource),
			{
				Name: "check", Usage: "Check definition files of your own: every error with its line", ArgsUsage: "FILE...",
				Args: true, Flags: []cli.Flag{jsonFlag()}, Action: p.sourcesCheck,
			},
			act("enable", "Allow crawls of a source, and clear what was set automatically",
				"Its pause, quarantine, penalties, learned delays and failures in a row are cleared, also when it is enabled already.\n"+
					"A Retry-After of the site is still obeyed.",
				func(ctx context.Context, k *database, name string) error {
					_, err := health.New(k.DB()).SetEnabled(ctx, name, true)
					return err
				}),
			act("disable", "Do not crawl a source until it is enabled", "Runs under way finish their current pages.",
				func(ctx context.Context, k *database, name string) error {
					_, err := health.New(k.DB()).SetEnabled(ctx, name, false)
					return err
				}),
		},
	}
}

// sourceRow is a line of `sources list`.
type sourceRow struct {
	Name       string   `json:"name"`
	BaseURL    string   `json:"base_url"`
	Delay      *float64 `json:"delay_seconds"`
	PageCap    int      `json:"page_cap"` // 0 = none
	Categories []string `json:"categories"`
	Example    string   `json:"example,omitempty"` // URL of a target

	// What the database knows of it; empty without one.
	sourceState
	Stage checkpoint.Stage `json:"stage,omitempty"`
}

// sourceState says whether a source may be asked, and how it answers.
type sourceState struct {
	Availability store.SourceState `json:"gate,omitempty"`
	Until        time.Time         `json:"gate_until"`
	Reason       string            `json:"gate_reason,omitempty"`
	Status       string            `json:"status,omitempty"`
}

func stateOf(s report.SourceStatus) sourceState {
	return sourceState{s.Availability, s.Until, s.Reason, s.Profile.Status}
}

func rowOf(s *site.Source) sourceRow {
	place := yp.Place{City: "Los Angeles", CitySlug: "los-angeles-ca", State: "CA", Category: "Plumbers", CategorySlug: "plumbers"}
	r := sourceRow{
		Name: s.Name(), BaseURL: s.BaseURL().String(), Delay: new(s.DefaultDelay().Seconds()), PageCap: s.PageCap(),
		Categories: s.Categories(), Example: s.TargetURL(place, 1),
	}
	if r.Categories == nil {
		r.Categories = []string{}
	}
	return r
}

func (p *Program) sourcesList(c *cli.Context) error {
	var builtIn []sourceRow
	for _, name := range site.Builtins() {
		s, err := site.Builtin(name)
		if err != nil {
			return err
		}
		builtIn = append(builtIn, rowOf(s))
	}
	rows := slices.Clone(builtIn)
	err := p.with(c, reading, func(k *database, _ store.Scope) (err error) {
		rows, err = withKnown(c, k, rows)
		return err
	})
	if err != nil {
		rows = builtIn
		if !errors.Is(err, store.ErrNotFound) {
			p.note("The health of the sources is not known: %s", yp.Printable(err.Error()))
		}
	}
	return p.showSources(c, rows)
}

// withKnown adds what the database knows of the built-in sources, and those that only it
// knows: added by their address, or with a definition of the operator's own.
func withKnown(c *cli.Context, k *database, rows []sourceRow) ([]sourceRow, error) {
	known, err := k.Sources(c.Context)
	if err != nil {
		return nil, err
	}
	stored, err := k.StoredSources(c.Context)
	if err != nil {
		return nil, err
	}
	for _, s := range known {
		i := slices.IndexFunc(rows, func(r sourceRow) bool { return r.Name == s.Name })
		if i < 0 {
			rows = append(rows, sourceRow{Name: s.Name, BaseURL: s.BaseURL, Categories: []string{}})
			i = len(rows) - 1
		}
		r := &rows[i]
		r.sourceState = stateOf(s)
		x, ok := storedList(stored).find(s.Name)
		if !ok {
			continue
		}
		r.Stage = x.Stage
		if x.Definition == "" {
			continue
		}
		if src, err := site.Parse(s.Name, []byte(x.Definition)); err == nil {
			own := rowOf(src)
			r.Delay, r.PageCap, r.Categories = own.Delay, own.PageCap, own.Categories
			r.Example = r.BaseURL + strings.TrimPrefix(own.Example, own.BaseURL)
		}
	}
	return rows, nil
}

// showSources shows rows of sources in the form that was asked for.
func (p *Program) showSources(c *cli.Context, rows []sourceRow) error {
	columns := strings.Fields("source availability status stage delay_seconds page_cap base_url example until reason categories")
	to, shown := p.rowsTo(c, time.Now()), len(columns)
	if !c.Bool("json") && !c.Bool("csv") {
		shown = 7
	}
	err := to.Head(columns[:shown])
	for _, r := range rows {
		var delay, until any
		if r.Delay != nil {
			delay = *r.Delay
		}
		if !r.Until.IsZero() {
			until = yp.FormatTime(r.Until)
		}
		err = errors.Join(err, to.Row([]any{
			r.Name, store.Text(string(r.Availability)), store.Text(r.Status), store.Text(string(r.Stage)), delay, store.Number(int64(r.PageCap)), r.BaseURL,
			store.Text(r.Example), until, store.Text(r.Reason), store.JSON(r.Categories),
		}[:shown]))
	}
	return errors.Join(err, to.End())
}

func (p *Program) sourcesCheck(c *cli.Context) error {
	if !c.Args().Present() {
		return Usagef("name the definition files to check")
	}
	var errs []error
	var good []string
	rows := []sourceRow{}
	for _, path := range c.Args().Slice() {
		s, err := readSource(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		good, rows = append(good, path+": ok"), append(rows, rowOf(s))
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("`ypcrawl sources show yellowpages` prints a definition to compare with"))
	}
	return errors.Join(p.tell(c, rows, func(w *sections) { w.more(good...) }), errors.Join(errs...))
}

// sourceFacts is what `sources show` tells of a source of the database.
type sourceFacts struct {
	switchedSource
	BaseURL string             `json:"base_url"`
	Stage   checkpoint.Stage   `json:"stage"`
	Enabled bool               `json:"enabled"`
	Sandbox checkpoint.Sandbox `json:"targets"`
	YAML    string             `json:"definition,omitempty"`
}

func (p *Program) sourcesShow(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return Usagef("want the name of one source; see `ypcrawl sources list`")
	}
	name := c.Args().First()
	if c.Bool("yaml") && c.Bool("json") {
		return Usagef("--yaml and --json: want one of them")
	}
	if isBuiltin(name) {
		if c.Bool("json") {
			return Usagef("%s is built in: only its definition can be shown (--yaml)", name)
		}
		s, err := site.Builtin(name)
		if err != nil {
			return err
		}
		_, err = p.Out.Write(s.YAML())
		return err
	}
	stored, err := p.storedSources(c)
	if err != nil {
		return err
	}
	s, ok := stored.find(name)
	switch {
	case !ok:
		return stored.unknown("", name)
	case c.Bool("yaml") && s.Definition == "":
		return Usagef("the definition of %s is in a file: the database does not hold it", name)
	case c.Bool("yaml"):
		_, err = fmt.Fprint(p.Out, s.Definition)
		return err
	}
	return p.showFacts(c, s)
}

func (p *Program) showFacts(c *cli.Context, s checkpoint.StoredSource) error {
	return p.with(c, reading, func(k *database, _ store.Scope) (err error) {
		f := sourceFacts{BaseURL: s.BaseURL, Stage: s.Stage, Enabled: s.Enabled, YAML: s.Definition}
		if f.Sandbox, err = k.Sandbox(c.Context, s.ID); err != nil {
			return err
		}
		all, err := k.Sources(c.Context)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(x report.SourceStatus) bool { return x.Name == s.Name }); i >= 0 {
			f.switchedSource = switchedSource{s.Name, stateOf(all[i]), all[i].Remedy}
		}
		return p.tell(c, f, func(w *sections) { f.text(w, k.DB().Now()) })
	})
}

// text tells what is known of a source, the most important first.
func (f *sourceFacts) text(w *sections, now time.Time) {
	head := fmt.Sprintf("%s: %s, stage %s", f.Name, f.BaseURL, f.Stage)
	availability := "availability: " + string(f.Availability)
	if !f.Until.IsZero() {
		availability += " until " + moment(now, f.Until)
	}
	if f.Reason != "" {
		availability += ", " + f.Reason
	}
	w.lines(head, availability, "targets: "+targetsText(&f.Sandbox, f.Stage))
	switch {
	case f.Stage == checkpoint.StageSandbox:
		w.more(fmt.Sprintf("Next: `ypcrawl run --source %s` crawls the sandbox; `ypcrawl sources promote %s` ends it by hand.", f.Name, f.Name))
	case !f.Enabled:
		w.more(fmt.Sprintf("Next: `ypcrawl sources enable %s`.", f.Name))
	default:
		w.more(fmt.Sprintf("Next: `ypcrawl run --source %s`.", f.Name))
	}
}

func targetsText(s *checkpoint.Sandbox, stage checkpoint.Stage) string {
	text := fmt.Sprintf("%s planned, %s read", thousands(int64(s.Targets)), thousands(int64(s.Done)))
	if stage != checkpoint.StageActive {
		text += fmt.Sprintf(" (the sandbox has %d)", checkpoint.SandboxTargets)
	}
	return text + fmt.Sprintf("; %s, %s of them rejected or unread", plural(int64(s.Cards), "card"), thousands(int64(s.Bad)))
}

// sourceSwitch does something to a source.
type sourceSwitch func(ctx context.Context, k *database, name string) error

func (p *Program) promoteSource(ctx context.Context, k *database, name string) error {
	before, err := k.Promote(ctx, name)
	if errors.Is(err, checkpoint.ErrNotStaged) {
		return Usagef("%s: %w", name, checkpoint.ErrNotStaged)
	}
	if err == nil && before == checkpoint.StageActive {
		p.note("%s is active already.", name)
	}
	return err
}

// switchedSource is a source after it was switched.
type switchedSource struct {
	Name string `json:"name"`
	sourceState
	Remedy string `json:"remedy,omitempty"`
}

// switchSources does something to each named source, and shows what became of it.
// All names are looked at before anything is done.
func (p *Program) switchSources(c *cli.Context, do sourceSwitch) error {
	names := SplitList(c.Args().Slice())
	if len(names) == 0 {
		return Usagef("want the name of a source; see `ypcrawl sources list`")
	}
	return p.with(c, existing, func(k *database, _ store.Scope) error {
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
			if err := do(c.Context, k, name); err != nil {
				return err
			}
		}
		if all, err = k.Sources(c.Context); err != nil {
			return err
		}
		var rows []switchedSource
		var texts []string
		for _, s := range all {
			if slices.Contains(names, s.Name) {
				rows = append(rows, switchedSource{s.Name, stateOf(s), s.Remedy})
				texts = append(texts, cmp.Or(remedyText(k.DB().Now(), s), s.Name+" is open"))
			}
		}
		return p.tell(c, rows, func(w *sections) { w.more(texts...) })
	})
}

// mustKnow refuses a source that the database does not know.
func (p *Program) mustKnow(c *cli.Context, all []report.SourceStatus, name string) error {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	switch {
	case slices.Contains(names, name):
		return nil
	case isBuiltin(name):
		return fmt.Errorf("the source %s has not been crawled yet: %s knows nothing of it", name, c.String("db"))
	}
	return Usagef("%s", unknownSource(name, names))
}

// judgeSandboxes makes the sources of the run active that have proved themselves in the sandbox, and
// tells. What can't be decided now is decided after the next run.
func (r *run) judgeSandboxes(ctx context.Context) {
	for _, c := range r.sources {
		promoted, err := r.keeper.PromoteBySelf(context.WithoutCancel(ctx), c.scope.SourceID)
		switch {
		case err != nil:
			r.log.Warn().Err(err).Msg("the sandbox was not judged")
		case promoted:
			r.log.Info().Msgf("%s leaves the sandbox and is active", c.src.Name())
		}
	}
}
