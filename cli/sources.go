package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) sourcesCommand() *cli.Command {
	act := func(name, usage, description string, do sourceSwitch) *cli.Command {
		return &cli.Command{
			Name: name, Usage: usage, Description: description, ArgsUsage: "SOURCE...", Args: true, Flags: []cli.Flag{frame.JSONFlag()},
			Action: func(c *cli.Context) error { return p.switchSources(c, do) },
		}
	}
	enable := func(on bool) sourceSwitch {
		return func(ctx context.Context, k *database, name string) error {
			_, err := health.New(k.DB()).SetEnabled(ctx, name, on)
			return err
		}
	}
	return &cli.Command{
		Name:  "sources",
		Usage: "Directory sites that can be crawled: list, add, try, enable, disable",
		Subcommands: []*cli.Command{
			p.sourcesAddCommand(),
			p.sourcesTryCommand(),
			p.sourcesListCommand(),
			{
				Name: "show", Usage: "Print the definition of a source, to start your own from", ArgsUsage: "SOURCE", Args: true,
				Flags:  []cli.Flag{&cli.BoolFlag{Name: "yaml", Usage: "as always", Hidden: true}},
				Action: p.sourcesShow,
			},
			act("promote", "Take a source out of its sandbox by hand", "", p.promoteSource),
			{
				Name: "check", Usage: "Check your own definition files: show every error with its line, or else an address that would be requested", ArgsUsage: "FILE...", Args: true, Action: p.sourcesCheck,
			},
			act("enable", "Enable a source, and clear what was set automatically",
				"This clears its pause, quarantine, waits after refusals, learned delays and failures in a row, even if it is already enabled.\n"+
					"A Retry-After of the site is still obeyed.", enable(true)),
			act("disable", "Disable a source: it is not crawled until it is enabled", "Runs in progress finish their current pages.", enable(false)),
		},
	}
}

func (p *Program) sourcesListCommand() *cli.Command {
	cmd := p.listCommand("sources")
	cmd.Name, cmd.Action = "list", func(c *cli.Context) error {
		if !c.Bool("json") && !c.Bool("csv") {
			p.Note("Built in: %s. `ypcrawl sources show NAME` prints a definition.", strings.Join(site.Builtins(), ", "))
		}
		err := p.list(c, report.Find("sources"))
		if errors.Is(err, store.ErrNotFound) { // nothing was crawled yet
			err = p.RowsTo(c, time.Now()).End()
		}
		return err
	}
	return cmd
}

func (p *Program) sourcesCheck(c *cli.Context) error {
	if !c.Args().Present() {
		return frame.Usagef("name the definition files to check")
	}
	var errs []error
	for _, path := range c.Args().Slice() {
		src, err := readSource(path)
		if err == nil {
			err = src.Usable()
		}
		if err == nil {
			_, err = fmt.Fprintf(p.Out, "%s: ok\n%s", yp.Printable(path), sampleOf(src))
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("`ypcrawl sources show yellowpages` prints a definition to compare with"))
	}
	return errors.Join(errs...)
}

// sampleOf says which addresses a crawl would ask for, with the values of a real place: a wrong placeholder shows there.
func sampleOf(src *site.Source) string {
	category, place := sampleCategory(src), samplePlace(src)
	place.Category, place.CategorySlug = category, yp.CategorySlug(category)
	where := inState(place.City, place.State)
	target := src.TargetRequest(place, site.Position{Page: 1})
	text := fmt.Sprintf("  would request %s (%s in %s)\n", yp.Printable(target.Label()), yp.Printable(category), yp.Printable(where)) + bodyOf(target)
	if search, ok := src.SearchRequest(place, site.Position{Page: 1}); ok {
		text += fmt.Sprintf("  or, if that finds nothing, %s\n", yp.Printable(search.Label())) + bodyOf(search)
	}
	if pages := src.IndexRequests(indexState(src, place.State)); len(pages) > 0 {
		of := place.State
		if src.WholeIndex() {
			of = "all states"
		}
		text += fmt.Sprintf("  reads the cities of %s from %s on\n", yp.Printable(of), yp.Printable(pages[0].Label())) + bodyOf(pages[0])
	}
	if ignored := ignoredText(src); ignored != "" {
		text += "  " + ignored + "\n"
	}
	if unsaid := src.EndsUnsaid(); unsaid != "" {
		text += "  " + unsaid + "\n"
	}
	return text
}

// inState is a city with its state: "Austin, TX".
func inState(city, state string) string {
	if state == "" {
		return city
	}
	return city + ", " + state
}

// sampleCategory is a category that a crawl may ask for.
func sampleCategory(src *site.Source) string {
	if all := src.Categories(); len(all) > 0 {
		return all[0]
	}
	return "Plumbers"
}

// samplePlace is a place that a crawl may ask for: the largest that the source names, in the USA Austin.
func samplePlace(src *site.Source) yp.Place {
	if all := src.Cities(); len(all) > 0 {
		return yp.Place{City: all[0].Name, CitySlug: all[0].Slug, State: all[0].State}
	}
	if !src.OwnPlaces() {
		return yp.Place{City: "Austin", CitySlug: yp.CitySlug("Austin", "TX"), State: "TX"}
	}
	place := yp.Place{City: "Example", CitySlug: "example"}
	if codes := src.States().Codes(); len(codes) > 0 {
		place.State = codes[0]
	}
	return place
}

// someState is a flag that names a state of a source, "" = it has none.
func someState(src *site.Source) string {
	if !src.OwnPlaces() {
		return " --states CA"
	}
	if place := samplePlace(src); place.State != "" {
		return " --states " + frame.ShellWord(place.State)
	}
	return ""
}

// indexState is the state whose index has the cities of a state: "" where one has those of all.
func indexState(src *site.Source, state string) string {
	if src.WholeIndex() {
		return ""
	}
	return state
}

// mostBody bounds how much of a body is shown, in bytes.
const mostBody = 500

// bodyOf says what a request carries, "" = nothing.
func bodyOf(r site.Request) string {
	if len(r.Body) == 0 {
		return ""
	}
	return fmt.Sprintf("    with %s\n", yp.Printable(yp.Clip(string(r.Body), mostBody)))
}

// ignoredText says which keys of a definition are not read, "" = all are.
func ignoredText(src *site.Source) string {
	keys := src.Ignored()
	if len(keys) == 0 {
		return ""
	}
	return fmt.Sprintf("ignores %s: with structured, listings are only read from JSON-LD and microdata; leave out one of the two",
		strings.Join(keys, " and "))
}

func (p *Program) sourcesShow(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return frame.Usagef("give the name of one source; see `ypcrawl sources list`")
	}
	name, definition := c.Args().First(), ""
	if isBuiltin(name) {
		src, err := site.Builtin(name)
		if err != nil {
			return err
		}
		definition = string(src.YAML())
	} else {
		stored, err := p.storedSources(c)
		if err != nil {
			return err
		}
		s, ok := stored.find(name)
		switch {
		case !ok:
			return stored.unknown("", name)
		case s.Definition == "":
			return frame.Usagef("the definition of %s is in a file, not in the database", name)
		}
		definition = s.Definition
	}
	_, err := io.WriteString(p.Out, definition)
	return err
}

// sourceSwitch does something to a source.
type sourceSwitch func(ctx context.Context, k *database, name string) error

func (p *Program) promoteSource(ctx context.Context, k *database, name string) error {
	before, err := k.Promote(ctx, name)
	if errors.Is(err, checkpoint.ErrNotStaged) {
		return frame.Usagef("%s: %w", name, checkpoint.ErrNotStaged)
	}
	if err == nil && before == checkpoint.StageActive {
		p.Note("%s is already active.", name)
	}
	return err
}

// switchSources does something to each named source, and shows what became of it.
// All names are looked at before anything is done.
func (p *Program) switchSources(c *cli.Context, do sourceSwitch) error {
	names := frame.SplitList(c.Args().Slice())
	if len(names) == 0 {
		return frame.Usagef("give the name of a source; see `ypcrawl sources list`")
	}
	return p.with(c, existing, func(k *database, _ store.Scope) error {
		stored, err := k.StoredSources(c.Context)
		if err != nil {
			return err
		}
		for _, name := range names {
			switch _, known := storedList(stored).find(name); {
			case known:
			case isBuiltin(name):
				return fmt.Errorf("source %s has not been crawled yet and is not in %s", name, c.String("db"))
			default:
				return storedList(stored).unknown("", name)
			}
		}
		for _, name := range names {
			if err := do(c.Context, k, name); err != nil {
				return err
			}
		}
		return p.showSources(c, k, names...)
	})
}

// showSources shows rows of the list of sources.
func (p *Program) showSources(c *cli.Context, k *database, names ...string) error {
	l := report.Find("sources")
	rows := &sourceRows{p.RowsTo(c, k.DB().Now()), names}
	return errors.Join(k.List(c.Context, l, report.Choice{Columns: strings.Fields(l.Show)}, rows), rows.End())
}

// sourceRows hands the rows of some sources over.
type sourceRows struct {
	frame.Rows
	names []string
}

func (s *sourceRows) Row(values []any) error {
	if name, _ := values[0].(string); !slices.Contains(s.names, name) {
		return nil
	}
	return s.Rows.Row(values)
}

// judgeSandboxes makes the sources of the run active that have proved themselves in the sandbox, and
// tells. What can't be decided now is decided after the next run.
func (r *run) judgeSandboxes(ctx context.Context) {
	for _, c := range r.sources {
		promoted, err := r.keeper.PromoteBySelf(context.WithoutCancel(ctx), c.scope.SourceID)
		switch {
		case err != nil:
			r.log.Warn().Err(err).Msg("the sandbox could not be judged")
		case promoted:
			r.log.Info().Msgf("%s leaves the sandbox and is active", c.src.Name())
		}
	}
}
