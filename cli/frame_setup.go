package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/wal"
	"ypcrawl/yp"
	"ypcrawl/yp/folder"
	"ypcrawl/yp/gazetteer"
)

// errNoSpace is what the operating system says when a log can't be written.
const errNoSpace = syscall.ENOSPC

// access says what a command does with the database.
type access int

const (
	create   access = iota // make the file if need be
	existing               // write to a file that must be there
	reading                // read only, all in one snapshot
	watching               // read only, for as long as somebody looks on
	indexing               // write to a file that must be there, or only read one that can't be written
	rebuild                // make the file if need be, from the logs that may stand beside it
)

// database is an open database: what changes it, and what tells of it.
type database struct {
	*checkpoint.Keeper
	*report.Reader
}

// open opens the database that --db names.
func (p *Program) open(c *cli.Context, how access) (*database, error) {
	absent, err := store.Absent(c.String("db"))
	if err == nil && absent && how != rebuild {
		err = p.lost(c, "")
	}
	if err != nil {
		return nil, err
	}
	cfg := store.Config{Path: c.String("db"), Schema: p.Schema, MustExist: how != create && how != rebuild, ReadOnly: how == reading || how == watching, LoseCommit: p.LoseCommit, Rewrite: p.Rewrite}
	if p.Reached != nil {
		cfg.BeforeCommit = func() { p.Reached(crawl.PointInTx) }
	}
	db, err := store.Open(c.Context, cfg)
	if cfg.ReadOnly = true; how == indexing && errors.Is(err, store.ErrReadOnly) {
		db, err = store.Open(c.Context, cfg)
	}
	if err == nil && how != rebuild {
		err = p.begunAnew(c, db)
	}
	if err != nil {
		return nil, err
	}
	return &database{checkpoint.New(db), report.New(db)}, nil
}

// lostError says that a database is gone, and that logs of it are there.
type lostError struct{ path, logs, id string }

func (e *lostError) Error() string {
	return fmt.Sprintf("there is nothing in %s, and the logs in %s are those of database %s", e.path, e.logs, e.id)
}

// lost looks for logs of another database beside one in which nothing stands, and whose id is own, "" = it
// has none. The default log folder is the file's alone; a --wal-dir may have logs of other databases, and is not looked at.
func (p *Program) lost(c *cli.Context, own string) error {
	path, dir := c.String("db"), logDir(c)
	if filepath.Clean(dir) != filepath.Clean(logsOf(path)) {
		return nil
	}
	ids, err := wal.Writers(dir)
	if errors.As(err, new(*folder.DeniedError)) { // they may be those of another database
		return fmt.Errorf("there is nothing in %s yet, and there may be logs of another database beside it: %w", path, err)
	}
	if err != nil {
		return nil //nolint:nilerr // there are none, or a run will tell why they can't be read
	}
	if ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" || id == own }); len(ids) == 0 {
		return nil
	}
	if absent, err := store.Absent(path); own == "" && err == nil && !absent {
		return nil // another process made it meanwhile, and logs
	}
	return &lostError{path, dir, ids[0]}
}

// begunAnew closes a database in which nothing stands and beside which there are logs of another one.
func (p *Program) begunAnew(c *cli.Context, db *store.DB) error {
	untouched, err := db.Untouched(c.Context)
	if err == nil && untouched {
		var own string
		if own, err = db.ID(c.Context); err == nil {
			err = p.lost(c, own)
		}
	}
	if err != nil {
		err = errors.Join(err, db.Close())
	}
	return err
}

// logger writes to w, which is stderr or the display in front of it.
func (p *Program) logger(c *cli.Context, w io.Writer) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(c.String("log-level"))
	if err != nil || level < zerolog.TraceLevel || level > zerolog.ErrorLevel || c.String("log-level") == "" {
		return zerolog.Nop(), Usagef("--log-level %q: want trace, debug, info, warn or error", c.String("log-level"))
	}
	if c.Bool("quiet") {
		level = max(level, zerolog.WarnLevel)
	}
	switch c.String("log-format") {
	case "json":
		w = escapingWriter{w}
	case "text":
		w = p.console(w)
	default:
		return zerolog.Nop(), Usagef("--log-format %q: want text or json", c.String("log-format"))
	}
	log := zerolog.New(w).Level(level).With().Timestamp().Logger()
	p.printed.log.Store(&log)
	return log, nil
}

// console writes log lines for people: what happened to what first, and no
// component, which says nothing to them. Control characters in values are quoted.
// Times are UTC; what goes to a file is read another day, and has its date.
func (p *Program) console(w io.Writer) io.Writer {
	layout := "2006-01-02 15:04:05Z"
	if isTerminal(p.Err) {
		layout = "15:04:05Z"
	}
	return zerolog.ConsoleWriter{
		Out: w, NoColor: !p.color(p.Err), TimeFormat: layout, TimeLocation: time.UTC,
		FieldsExclude: []string{"component"},
		FieldsOrder:   []string{"percent", "targets", "city", "state", "category", "error_code", "reason"},
	}
}

// escapingWriter keeps JSON log lines from acting on a terminal: encoding
// leaves bidi overrides and C1 controls as they are.
type escapingWriter struct{ w io.Writer }

// Write implements io.Writer.
func (e escapingWriter) Write(line []byte) (int, error) {
	if _, err := e.w.Write(yp.EscapeJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func statesFlag() cli.Flag {
	return list("states", "`STATE...` by code or name: --states CA TX", "all", "s")
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON to stdout"}
}

// selectFlags choose places, categories and pages.
func selectFlags() []cli.Flag {
	return []cli.Flag{
		statesFlag(),
		list("cities", "`CITY...` of those states only: --cities Austin \"El Paso\"", "all"),
		list("categories", "`CATEGORY...` to search for", "the source's own, or ten common ones"),
		anyCategoryFlag(),
		&cli.IntFlag{Name: "min-population", Usage: "leave out places with fewer `PEOPLE`"},
		&cli.IntFlag{Name: "max-cities", DefaultText: "all", Usage: "only the `N` largest places of each state"},
		&cli.GenericFlag{
			Name: "max-pages", Value: countValue("pages"), DefaultText: "3, 2 or 1 by the place's size",
			Usage: "`PAGES` of each target, or all",
		},
	}
}

func delayFlag() cli.Flag {
	return &cli.GenericFlag{
		Name: "delay", Value: delayValue(0), DefaultText: "the source's: 2s, none for the demo",
		Usage: "`TIME` between two requests to a host: 2s, 1s-3s or 0",
	}
}

// maxText bounds a settings file and a definition: a wrong path may name anything.
const maxText = 1 << 20

// readBounded reads a file that was named and is to be a small one of its kind.
func readBounded(path, kind string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(data) > maxText {
		err = fmt.Errorf("%s is larger than 1 MiB: no %s", path, kind)
	}
	return data, err
}

// openRegular opens a file that was named. A pipe or a device is refused before it is
// opened: that may wait for ever, deaf to every signal, or never come to an end.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name a file", path)
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a pipe or a device: name a regular file", path)
	}
	return os.Open(path)
}

func extent(src *site.Source) discover.Source {
	return discover.Source{Categories: src.Categories(), PlacesPerState: src.PlacesPerState(), PageCap: src.PageCap()}
}

// selection reads selectFlags.
func selection(c *cli.Context) (discover.Selection, error) {
	sel := discover.Selection{
		States: stateList(c.StringSlice("states")), Cities: cityList(c.StringSlice("cities")), Categories: SplitList(c.StringSlice("categories")),
		AnyCategory: c.Bool("any-category"), MinPopulation: c.Int("min-population"), MaxPages: countOf(c, "max-pages"),
		MaxTargets: c.Int("max-targets"), MaxCities: c.Int("max-cities"),
	}
	for name, words := range map[string][]string{"states": sel.States, "cities": sel.Cities, "categories": sel.Categories} {
		if err := notEmpty(c, name, words); err != nil {
			return sel, err
		}
	}
	for _, name := range []string{"min-population", "max-targets", "max-cities"} {
		if c.Int(name) < 0 {
			return sel, Usagef("--%s %d: want a number from 0 up", name, c.Int(name))
		}
	}
	return sel, nil
}

// notEmpty refuses a list that was given without a word in it: an unset variable
// of a script must not mean "everything".
func notEmpty(c *cli.Context, name string, words []string) error {
	if c.IsSet(name) && strings.TrimSpace(strings.Join(words, "")) == "" {
		return Usagef("--%s is empty: name what you want, or leave it out", name)
	}
	return nil
}

// resolve finds what the flags select; words that mean nothing are usage errors.
func resolve(src *site.Source, sel discover.Selection) (*discover.Resolved, error) {
	g, err := loadPlaces(sel.States)
	if err != nil {
		return nil, err
	}
	return resolveIn(g, src, sel)
}

func resolveIn(g *gazetteer.Gazetteer, src *site.Source, sel discover.Selection) (*discover.Resolved, error) {
	r, err := discover.Resolve(g, extent(src), sel)
	if err != nil {
		return nil, Usagef("%w", err)
	}
	if len(r.Cities) == 0 {
		return nil, Usagef("the selection has no places: lower --min-population or name other states")
	}
	return r, nil
}

// scopeOf is the selection as the condition under which targets are claimed.
func scopeOf(ctx context.Context, k *database, sourceID int64, r *discover.Resolved, sel discover.Selection) (store.Scope, error) {
	s := store.Scope{SourceID: sourceID, States: r.States, MinPopulation: sel.MinPopulation}
	var err error
	if r.ByCategory {
		if s.CategoryIDs, err = k.Categories(ctx, r.Categories); err != nil {
			return s, err
		}
	}
	if r.ByCity {
		s.CityIDs, err = k.CityIDs(ctx, r.Cities)
	}
	return s, err
}

// states reads --states as codes.
func states(c *cli.Context) ([]string, error) {
	if err := notEmpty(c, "states", c.StringSlice("states")); err != nil {
		return nil, err
	}
	codes, err := yp.ParseStates(stateList(c.StringSlice("states")))
	if err != nil {
		return nil, Usagef("--states: %w", err)
	}
	return codes, nil
}
