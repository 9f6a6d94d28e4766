package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) sourcesCommand() *cli.Command {
	return &cli.Command{
		Name:  "sources",
		Usage: "The directory sites that can be crawled: list, add, enable, reset, see pages that could not be read",
		Subcommands: slices.Concat([]*cli.Command{
			p.sourcesAddCommand(),
			{
				Name: "list", Usage: "List the built-in sources, and those of the database with how they fare", Flags: formatFlags(),
				Action: p.sourcesList,
			},
			p.sourcesShowCommand(), p.sourcesSetCommand(), p.sourcesPromoteCommand(),
			{
				Name: "check", Usage: "Check definition files of your own: every error with its line", ArgsUsage: "FILE...",
				Args: true, Flags: []cli.Flag{jsonFlag()}, Action: p.sourcesCheck,
			},
		}, p.switchCommands(), p.sampleCommands()),
	}
}

// sourceRow is a line of `sources list`.
type sourceRow struct {
	Name       string   `json:"name"`
	BaseURL    string   `json:"base_url"`
	Delay      string   `json:"delay"`
	PageCap    int      `json:"page_cap"` // 0 = none
	Categories []string `json:"categories"`
	Example    string   `json:"example,omitempty"` // URL of a target

	// What the database knows of it; empty without one.
	Availability store.SourceState `json:"gate,omitempty"`
	Until        time.Time         `json:"gate_until,omitzero"`
	Reason       string            `json:"gate_reason,omitempty"`
	Status       string            `json:"status,omitempty"`
	Stage        checkpoint.Stage  `json:"stage,omitempty"`
	Score        *int              `json:"score,omitempty"` // 0 to 100, of one that was added by its address
}

func rowOf(s *site.Source) sourceRow {
	place := yp.Place{City: "Los Angeles", CitySlug: "los-angeles-ca", State: "CA", Category: "Plumbers", CategorySlug: "plumbers"}
	r := sourceRow{
		Name: s.Name(), BaseURL: s.BaseURL().String(), Delay: s.DefaultDelay().String(), PageCap: s.PageCap(),
		Categories: s.Categories(), Example: s.TargetURL(place, 1),
	}
	if r.Categories == nil {
		r.Categories = []string{}
	}
	return r
}

func (p *Program) sourcesList(c *cli.Context) error {
	rows := make([]sourceRow, 0, len(site.Builtins()))
	for _, name := range site.Builtins() {
		s, err := site.Builtin(name)
		if err != nil {
			return err
		}
		rows = append(rows, rowOf(s))
	}
	known, looked := p.knownSources(c)
	rows = withKnown(rows, known)
	if looked {
		if err := p.withStages(c, rows); err != nil {
			return err
		}
	}
	return show(p, c, rows, func() *table { return sourcesTable(rows, looked) })
}

// withKnown adds what the database knows, and sources that only it knows: those
// of definitions of the operator's own.
func withKnown(rows []sourceRow, known []report.SourceStatus) []sourceRow {
	for _, s := range known {
		i := slices.IndexFunc(rows, func(r sourceRow) bool { return r.Name == s.Name })
		if i < 0 {
			rows = append(rows, sourceRow{Name: s.Name, BaseURL: s.BaseURL, Categories: []string{}})
			i = len(rows) - 1
		}
		r := &rows[i]
		r.Availability, r.Until, r.Reason, r.Status = s.Availability, s.Until, s.Reason, s.Profile.Status
	}
	return rows
}

func sourcesTable(rows []sourceRow, known bool) *table {
	header := []string{"source", "base URL", "delay", "pages at most", "example"}
	if known {
		header = append(header, "gate", "status")
	}
	staged := slices.ContainsFunc(rows, sourceRow.staged)
	if staged {
		header = append(header, "stage", "score")
	}
	t := newTable(header...)
	for _, r := range rows {
		pages := "no cap"
		switch {
		case r.Example == "":
			pages = "-"
		case r.PageCap > 0:
			pages = thousands(int64(r.PageCap))
		}
		row := []any{r.Name, r.BaseURL, orDash(r.Delay), pages, orDash(strings.TrimPrefix(r.Example, r.BaseURL))}
		if known {
			row = append(row, orDash(string(r.Availability)), orDash(r.Status))
		}
		if staged {
			row = append(row, orDash(string(r.Stage)), r.Score)
		}
		t.row(row...)
	}
	return t
}

func (p *Program) sourcesCheck(c *cli.Context) error {
	if !c.Args().Present() {
		return Usagef("want the definition files to check")
	}
	var errs []error
	rows := []sourceRow{}
	for _, path := range c.Args().Slice() {
		s, err := readSource(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rows = append(rows, rowOf(s))
		if !c.Bool("json") {
			if _, err := fmt.Fprintf(p.Out, "%s: ok\n", yp.Printable(path)); err != nil {
				return err
			}
		}
	}
	if c.Bool("json") {
		if err := writeRows(p.Out, rows); err != nil {
			return err
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("`ypcrawl sources show yellowpages` prints a definition to compare with"))
	}
	return errors.Join(errs...)
}

func (p *Program) sourcesShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "Show what is known of a source that was added; --yaml prints its definition to read or to edit",
		Description: "Of a built-in source, the definition is all there is: it is printed, to start your own from.",
		ArgsUsage:   "SOURCE", Args: true,
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "yaml", Usage: "print the definition, nothing else"}, jsonFlag()},
		Action: p.sourcesShow,
	}
}

// sourceFacts is what `sources show` tells of a source of the database.
type sourceFacts struct {
	switchedSource
	BaseURL string             `json:"base_url"`
	Stage   checkpoint.Stage   `json:"stage"`
	Enabled bool               `json:"enabled"`
	Score   *int               `json:"score"`
	Notes   []string           `json:"notes"`
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
	if slices.Contains(site.Builtins(), name) {
		if c.Bool("json") {
			return Usagef("%s is built in: there is nothing to show of it but its definition (--yaml)", name)
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
		return Usagef("the definition of %s is a file of yours: the database does not hold it", name)
	case c.Bool("yaml"):
		_, err = fmt.Fprint(p.Out, s.Definition)
		return err
	}
	return p.showFacts(c, s)
}

func (p *Program) showFacts(c *cli.Context, s checkpoint.StoredSource) error {
	k, err := p.open(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	f := sourceFacts{BaseURL: s.BaseURL, Stage: s.Stage, Enabled: s.Enabled, YAML: s.Definition}
	if f.Score, f.Notes, err = k.SourceNotes(c.Context, s.ID); err != nil {
		return err
	}
	if f.Sandbox, err = k.Sandbox(c.Context, s.ID); err != nil {
		return err
	}
	all, err := k.Sources(c.Context)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(x report.SourceStatus) bool { return x.Name == s.Name }); i >= 0 {
		f.switchedSource = switchedSourceOf(all[i])
	}
	if c.Bool("json") {
		if f.Notes == nil {
			f.Notes = []string{}
		}
		return writeJSON(p.Out, f)
	}
	w := &sections{w: p.Out}
	return w.lines(factLines(k.DB().Now(), &f)...)
}

// factLines tell what is known of a source, the most important first.
func factLines(now time.Time, f *sourceFacts) []string {
	head := fmt.Sprintf("%s: %s, stage %s", f.Name, f.BaseURL, f.Stage)
	if f.Score != nil {
		head += fmt.Sprintf(", score %d", *f.Score)
	}
	gate := "gate: " + string(f.Availability)
	if !f.Until.IsZero() {
		gate += " until " + moment(now, f.Until)
	}
	if f.Reason != "" {
		gate += ", " + f.Reason
	}
	lines := []string{head, gate, "targets: " + targetsText(&f.Sandbox, f.Stage)}
	for _, note := range f.Notes {
		lines = append(lines, "  "+note)
	}
	return append(lines, stageNext(f))
}

func targetsText(s *checkpoint.Sandbox, stage checkpoint.Stage) string {
	text := fmt.Sprintf("%s planned, %s with an outcome, %s read", thousands(int64(s.Targets)), thousands(int64(s.Settled)), thousands(int64(s.Done)))
	if stage != checkpoint.StageActive {
		text += fmt.Sprintf(" (the sandbox has %d)", checkpoint.SandboxTargets)
	}
	text += fmt.Sprintf("; %s, %s with a phone or an address", plural(int64(s.Listings), "listing"), thousands(int64(s.Reached)))
	if s.Broken > 0 {
		text += fmt.Sprintf("; %s could not be read", plural(int64(s.Broken), "target"))
	}
	return text
}

// stageNext says what a source waits for.
func stageNext(f *sourceFacts) string {
	switch f.Stage {
	case checkpoint.StageReview:
		return fmt.Sprintf("Next: `ypcrawl sources show %s --yaml`, edit, `ypcrawl sources set %s --file FILE`, `ypcrawl sources enable %s`.", f.Name, f.Name, f.Name)
	case checkpoint.StageSandbox:
		return fmt.Sprintf("Next: `ypcrawl run --source %s` crawls the sandbox; `ypcrawl sources promote %s` ends it by hand.", f.Name, f.Name)
	}
	if !f.Enabled {
		return fmt.Sprintf("Next: `ypcrawl sources enable %s`.", f.Name)
	}
	return fmt.Sprintf("Next: `ypcrawl run --source %s`.", f.Name)
}

// staged tells whether the source has more than the usual stage to show.
func (r sourceRow) staged() bool {
	return r.Score != nil || r.Stage != "" && r.Stage != checkpoint.StageActive
}

// withStages adds the stages and scores of stored sources, and how their URLs are formed.
func (p *Program) withStages(c *cli.Context, rows []sourceRow) error {
	k, err := p.open(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	stored, err := k.StoredSources(c.Context)
	if err != nil {
		return err
	}
	for _, s := range stored {
		i := slices.IndexFunc(rows, func(r sourceRow) bool { return r.Name == s.Name })
		if i < 0 {
			continue
		}
		if err := rows[i].storedAs(c, k, s); err != nil {
			return err
		}
	}
	return nil
}

func (r *sourceRow) storedAs(c *cli.Context, k *database, s checkpoint.StoredSource) (err error) {
	if s.Definition != "" {
		if src, err := site.Parse(s.Name, []byte(s.Definition)); err == nil {
			own := rowOf(src)
			r.Delay, r.PageCap, r.Categories = own.Delay, own.PageCap, own.Categories
			r.Example = r.BaseURL + strings.TrimPrefix(own.Example, own.BaseURL)
		}
	}
	r.Stage = s.Stage
	r.Score, _, err = k.SourceNotes(c.Context, s.ID)
	return err
}
