package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/export"
	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

const exportHelp = `  ypcrawl export -o plumbers.csv --states TX --categories plumbers --has email
  ypcrawl export -o w.xlsx --as boss --since last-export --only new,changed,dropped
  ypcrawl export -o 'tx-{date}.geojson' --states TX

The column "change" shows what has happened to a listing since --since (by default, since the last pass of crawls began).
Closed listings (those that their site no longer shows) are left out. With --since or --only, the listings closed since
then are included, unless --dropped no is given. If searches were not fully read, "new" may only mean "seen for the first
time", and closed listings go unnoticed; stderr shows the share of listings that was seen.

--as NAME remembers what was delivered to NAME. With --since last-export, "change" then says how NAME's data differs, and each change is reported once:

  new        NAME never had it
  changed    fields have changed or become known since NAME got it
  dropped    it is closed: its site no longer shows it
  left       it is still listed, but no longer selected (it lost its e-mail)
  restored   NAME was told that it dropped or left, and it is back

The fields that changed are in changed_fields. Changes that --only leaves out are kept for a later export. The selection and the columns may differ each time. If an export
is killed after its file is complete, the file counts as delivered, unless the next export replaces it.

If --since names a pass, a time or a run, earlier selections don't matter: a listing that is selected only now is not
"new" for that reason, and no listing has "left".

`

func (p *Program) exportCommand() *cli.Command {
	return &cli.Command{
		Subcommands: []*cli.Command{p.deliveriesCommand()},
		Name:        "export", Usage: "Write listings to a file: CSV, TSV, JSON lines, XLSX, GeoJSON",
		Description: exportHelp + "Columns that count as changed: " + strings.Join(report.TellableFields(), ", ") +
			".\n\nColumns other than the default ones: " + strings.Join(report.ListingColumns[report.DefaultColumns:], ", "),
		Flags: slices.Concat(
			[]cli.Flag{
				&cli.StringFlag{
					Name: "output", TakesFile: true, Aliases: []string{"o"}, Value: "-",
					Usage: "`FILE`; its ending sets the format. {date} in the name becomes today's date, {date_utc} today's date in UTC; - = stdout",
				},
				&cli.StringFlag{Name: "format", DefaultText: "by the file's ending, else csv", Usage: "`FORMAT`: " + formatNames()},
			},
			exportFilters(),
			[]cli.Flag{
				frame.WordsFlag("columns", "`COLUMN...` in this order",
					fmt.Sprintf("%d: ", report.DefaultColumns)+strings.Join(report.ListingColumns[:report.DefaultColumns], ", ")),
				&cli.StringFlag{Name: "since", DefaultText: "last-pass", Usage: "report changes since `last-export|last-pass|7d|DATE|RUN`"},
				frame.WordsFlag("only", "only `CHANGE...`: new, changed, dropped, restored, left", "all"),
				&cli.StringFlag{
					Name: "as", DefaultText: "not remembered",
					Usage: "remember this file as a delivery to `NAME`, for the next --since last-export",
				},
				&cli.BoolFlag{Name: "bom", Usage: "begin CSV with a byte order mark, so that Excel reads UTF-8"},
				&cli.BoolFlag{Name: "raw", Usage: "leave CSV cells that a spreadsheet would run as a formula (= + - @) as they are"},
				&cli.BoolFlag{Name: "overwrite", Usage: "replace an existing file"},
				frame.JSONFlag(),
			}, []cli.Flag{pingFlag()}),
		Action: func(c *cli.Context) error {
			return p.announced(c, func(_ *frame.Display, _ zerolog.Logger, a *announcer) error { return p.export(c, a) })
		},
	}
}

// exportFilters select listings, as the filters of the list of listings do; since and status mean other things here.
func exportFilters() (flags []cli.Flag) {
	for _, f := range listingFilters() {
		flags = append(flags, frame.FilterFlag(f))
	}
	return append(flags,
		&cli.GenericFlag{
			Name: "seen-since", Value: frame.AgeValue(0), DefaultText: "any time",
			Usage: "only those seen in the last `TIME`: 7d, 36h",
		},
		&cli.StringFlag{
			Name: "dropped", Value: string(report.DroppedNo),
			Usage: "listings that their site no longer shows: `WHICH` is no, yes, only",
		},
		&cli.StringFlag{Name: oldDropped, Usage: "`WHICH` of them", DefaultText: "as --dropped says", Hidden: true})
}

func listingFilters() []report.ListFilter {
	return slices.DeleteFunc(report.Find("listings list").Narrows(),
		func(f report.ListFilter) bool { return f.Name == "since" || f.Name == "status" })
}

// delivery is one export: what is asked, and where the answer goes.
type delivery struct {
	p     *Program
	c     *cli.Context
	out   *announcer
	k     *database
	query report.ListingQuery
	since since
	opts  export.Options

	name   string // of the file, "-" = stdout
	format export.Format

	file   *export.File // nil = stdout
	rows   int64
	sheets []string // on which the rows go on
	cut    int64    // cells whose text was too long
	mark   report.Since

	scope store.Scope // the searches that it is about
	seen  report.CoverageTotals
	of    string // what that counts
	open  []report.OpenPass
}

func (p *Program) export(c *cli.Context, a *announcer) error {
	d := &delivery{p: p, c: c, out: a}
	if err := d.read(); err != nil {
		return err
	}
	how := reading
	if c.String("as") != "" {
		how = existing
	} else if c.IsSet("search") {
		how = indexing
	}
	return p.with(c, how, func(k *database, scope store.Scope) (err error) {
		d.k = k
		if age := frame.TimeOf(c, "seen-since"); age > 0 {
			d.query.Values["since"] = yp.FormatTime(k.DB().Now().Add(-age))
		}
		if err := k.Check(c.Context, report.Find("listings list"), report.Choice{Values: d.query.Values}); err != nil {
			return asUsage(err)
		}
		if scope, err = k.SearchScope(c.Context, scope, report.TextsOf(d.query.Values, "cities"),
			report.TextsOf(d.query.Values, "categories")); err != nil {
			return err
		}
		d.scope = scope
		if c.IsSet("states") {
			d.query.Values["states"] = scope.States
		}
		if err := d.readSince(scope); err != nil {
			return err
		}
		if d.query.Values["search"] != nil {
			if err := p.indexWords(c.Context, k); err != nil {
				return err
			}
		}
		if d.seen, err = k.CoverageTotals(c.Context, scope); err != nil {
			return err
		}
		d.of = report.OfScope(scope)
		if d.name != "-" { // one that is refused is none that was begun
			if err := export.Free(d.name, c.Bool("overwrite")); err != nil {
				return d.explain(err)
			}
		}
		if err := d.beginDelivery(); err != nil {
			return err
		}
		if err := d.write(); err != nil {
			return d.explain(err)
		}
		return d.finish()
	})
}

// read reads what was typed, as far as that needs no database.
func (d *delivery) read() (err error) {
	c, names := d.c, frame.SplitList(d.c.StringSlice("columns"))
	if err := frame.NotEmpty(c, "columns", names); err != nil {
		return err
	}
	for _, name := range names {
		switch name = strings.ToLower(name); {
		case !slices.Contains(report.ListingColumns, name):
			return frame.Usagef("--columns: unknown column %q: %s", name, report.Meant(name, report.ListingColumns))
		case slices.Contains(d.query.Columns, name):
			return frame.Usagef("--columns: %s is named twice", name)
		}
		d.query.Columns = append(d.query.Columns, name)
	}
	if len(d.query.Columns) == 0 {
		d.query.Columns = report.ListingColumns[:report.DefaultColumns]
	}
	d.query.Values = map[string]any{}
	for _, f := range listingFilters() {
		if c.IsSet(f.Name) {
			if d.query.Values[f.Name], err = frame.FilterValue(c, f); err != nil {
				return err
			}
		}
	}
	d.query.Dropped = report.Dropped(strings.ToLower(droppedOf(c)))
	if d.query.Dropped != "" && !slices.Contains([]report.Dropped{report.DroppedNo, report.DroppedYes, report.DroppedOnly}, d.query.Dropped) {
		return frame.Usagef("--dropped %q: want no, yes or only", droppedOf(c))
	}
	if d.query.Only, err = frame.WordsOf(c, "only", parseChangeWord); err != nil {
		return err
	}
	d.opts = export.Options{Columns: d.query.Columns, BOM: c.Bool("bom"), Raw: c.Bool("raw")}
	if err := d.readName(); err != nil {
		return err
	}
	if lacking := d.format.Lacks(d.query.Columns); len(lacking) > 0 {
		return frame.Usagef("--columns: %s needs %s among them", d.format, strings.Join(lacking, " and "))
	}
	return nil
}

func (d *delivery) readName() (err error) {
	if name := d.c.String("as"); yp.Printable(name) != name {
		return frame.Usagef("--as %q: use a name without control characters", name)
	}
	if d.c.IsSet("as") && strings.TrimSpace(d.c.String("as")) == "" {
		return frame.Usagef("--as is empty: give the delivery a name")
	}
	d.name = d.c.String("output")
	d.format, err = export.ParseFormat(strings.TrimPrefix(filepath.Ext(d.name), "."))
	switch {
	case d.c.IsSet("format"):
		if d.format, err = export.ParseFormat(d.c.String("format")); err != nil {
			return frame.Usagef("--format: %w", err)
		}
	case d.name == "-" || d.name == "":
		d.format = export.CSV
	case err != nil:
		return frame.Usagef("--output %q: its ending is not a known format; use one of %s, or --format", d.name, formatNames())
	}
	if d.name = dated(d.name, time.Now()); d.name != "-" && d.name != "" {
		for _, part := range []string{"", "-wal", "-shm"} {
			if store.RealPath(d.name) == store.RealPath(d.c.String("db"))+part {
				return frame.Usagef("--output %q is the database itself: name another file", d.name)
			}
		}
		return nil
	}
	d.name = "-"
	if d.c.IsSet("as") {
		return frame.Usagef("--as needs a file: name one with -o")
	}
	if d.c.Bool("json") {
		return frame.Usagef("--json describes a written file: name the file with -o, or write the rows as JSON with --format jsonl")
	}
	if frame.IsTerminal(d.p.Out) && d.format.Binary() {
		return frame.Usagef("%s can't be shown on a terminal: name a file with -o", d.format)
	}
	return nil
}

// dated puts days into a file's name: {date} by the machine's clock, as cron and `schedule --daily` go, {date_utc} in UTC.
func dated(name string, now time.Time) string {
	return strings.NewReplacer("{date}", now.Format(time.DateOnly), "{date_utc}", now.UTC().Format(time.DateOnly)).Replace(name)
}

// oldDropped is what dropped was called, the flag and the change.
const oldDropped = "closed"

// droppedOf is which dropped listings are asked for.
func droppedOf(c *cli.Context) string { return cmp.Or(c.String(oldDropped), c.String("dropped")) }

func parseChangeWord(s string) (report.ChangeWord, error) {
	var names []string
	if strings.EqualFold(s, oldDropped) {
		return report.WordDropped, nil
	}
	for _, w := range report.ChangeWords() {
		if names = append(names, string(w)); strings.EqualFold(s, string(w)) {
			return w, nil
		}
	}
	return "", fmt.Errorf("unknown change %q: %s", s, report.Meant(s, names))
}

// readSince finds out since when changes are told. Listings that were dropped since belong to the
// answer when changes are what is asked for.
func (d *delivery) readSince(scope store.Scope) (err error) {
	if !d.c.IsSet("dropped") && !d.c.IsSet(oldDropped) && (d.c.IsSet("since") || d.c.IsSet("only")) {
		d.query.Dropped = report.DroppedSince
	}
	d.query.Difference = strings.EqualFold(strings.TrimSpace(d.c.String("since")), "last-export")
	switch name := d.c.String("as"); {
	case d.query.Difference && name == "":
		return frame.Usagef("--since last-export: add --as NAME, as in the last export")
	case d.query.Difference:
		return nil // told when the delivery is begun
	case slices.Contains(d.query.Only, report.WordLeft):
		return frame.Usagef("--only left needs a delivery to compare with; add --as NAME --since last-export")
	}
	d.since, err = sinceOf(d.c, d.k, scope)
	if d.query.Since = (&report.Since{At: d.since.at}); len(d.since.passes) > 0 {
		d.query.Since = report.MarkOf(d.since.passes)
	}
	return err
}

// write writes the rows to where they are to go.
func (d *delivery) write() (err error) {
	if d.name == "-" {
		return d.p.piped(func() error { return d.writeTo(bufio.NewWriterSize(d.p.Out, 1<<16)) })
	}
	if d.file, err = export.Create(d.name, d.c.Bool("overwrite")); err != nil {
		return err
	}
	if err = d.writeTo(d.file.Writer); err != nil {
		d.file.Abort()
	}
	return err
}

// writeTo writes the rows as they are read.
func (d *delivery) writeTo(out *bufio.Writer) error {
	done, err := d.makeTempDir()
	if err != nil {
		return err
	}
	defer done()
	rows, err := export.New(untilStopped{d.c.Context, out}, d.format, d.opts)
	if err != nil {
		return err
	}
	d.mark, err = d.k.EachListing(d.c.Context, d.query, func(row []any) error {
		d.rows++
		return rows.Write(row)
	})
	if err != nil {
		return err
	}
	if d.open, err = d.k.OpenPasses(d.c.Context, d.scope); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	d.p.reachedStep("export_written")
	return out.Flush()
}

// explain says what can be done about a failure.
func (d *delivery) explain(err error) error {
	if errors.Is(err, export.ErrExists) {
		return frame.Usagef("%w: choose another name, put {date} into it, or replace the file with --overwrite", err)
	}
	return fmt.Errorf("export to %s: %w", d.name, err)
}

// exported is what --json tells of a file.
type exported struct {
	File     string                `json:"file"`
	Rows     int64                 `json:"rows"`
	Bytes    int64                 `json:"bytes"`
	Format   export.Format         `json:"format"`
	Columns  []string              `json:"columns"`
	Filters  map[string]string     `json:"filters"`
	Since    string                `json:"since"`
	Open     []report.OpenPass     `json:"open_passes"` // in the middle of which it was made
	Passes   []report.Pass         `json:"passes"`      // whose changes are told; none = those since a time, a run or a delivery
	Of       string                `json:"coverage_of"`
	Coverage report.CoverageTotals `json:"coverage"`
	At       yp.Stamp              `json:"exported_at"`
	Database string                `json:"database_id"`
	Cut      int64                 `json:"cells_cut"` // whose text was longer than Excel allows
}

// publish gives the file its name.
func (d *delivery) publish() (size int64, err error) {
	if size, err = d.file.Publish(); err != nil {
		err = d.explain(err)
	}
	return size, err
}

// finish gives the file its name, and remembers it.
func (d *delivery) finish() (err error) {
	d.out.say("%s in %s", plural(d.rows, "listing"), string(d.format))
	if d.name == "-" {
		d.tell(0)
		return nil
	}
	defer d.file.Abort()
	publish := d.publish
	if d.query.To != nil {
		publish = d.deliver
	}
	size, err := publish()
	if err != nil {
		return err
	}
	if !d.c.Bool("json") {
		d.tell(size)
		return nil
	}
	x := exported{
		File: d.name, Rows: d.rows, Cut: d.cut, Bytes: size, Format: d.format, Columns: d.query.Columns, Filters: d.filters(), Since: d.since.text,
		Passes: []report.Pass{}, Open: d.open, Of: d.of, Coverage: d.seen, At: yp.Stamp{Time: d.mark.At},
	}
	if len(d.since.passes) > 0 { // with what became of listings
		if x.Passes, err = d.k.Passes(d.c.Context, d.scope); err != nil {
			return err
		}
	}
	if x.Database, err = d.k.DB().ID(d.c.Context); err != nil {
		return err
	}
	return frame.WriteJSON(d.p.Out, x)
}

// tell says on stderr what was written, and how much of the whole that is; not with --quiet.
func (d *delivery) tell(size int64) {
	if d.c.Bool("quiet") {
		return
	}
	to := d.name
	if d.file != nil {
		to += " (" + bytesText(size) + ")"
	}
	d.p.Note("%s to %s; changes since %s.", plural(d.rows, "listing"), to, d.since.text)
	if len(d.sheets) > 0 {
		d.p.Note("A sheet holds no more than 1,048,575 listings: the others are on %s.", strings.Join(d.sheets, ", "))
	}
	if d.cut > 0 {
		d.p.Note("%s. Other formats have the whole text.", d.cutText())
	}
	for _, line := range d.passLines() {
		d.p.Note("%s", line)
	}
	d.p.Note("%s", d.seen.Line(d.of))
}

// passLines are the passes whose changes are told, and those in the middle of which the file was made.
func (d *delivery) passLines() []string {
	lines := report.PassLines(d.since.passes)
	for _, pass := range d.open {
		lines = append(lines, fmt.Sprintf("In the middle of the %s: %s. A later export reports what changed in the others.", pass.Text(), pass.Share()))
	}
	return lines
}

// filters is what was asked for, by the names of the flags.
func (d *delivery) filters() map[string]string {
	asked := map[string]string{}
	for _, f := range exportFilters() {
		name := f.Names()[0]
		if !d.c.IsSet(name) {
			continue
		}
		if name == oldDropped {
			asked["dropped"] = droppedOf(d.c)
			continue
		}
		switch f.(type) {
		case *cli.StringFlag:
			asked[name] = d.c.String(name)
		case *cli.Float64Flag:
			asked[name] = fmt.Sprint(d.c.Float64(name))
		case *cli.GenericFlag:
			asked[name] = fmt.Sprint(d.c.Generic(name))
		default:
			words := frame.SplitList(d.c.StringSlice(name))
			slices.Sort(words)
			asked[name] = strings.Join(words, ", ")
		}
	}
	return asked
}

// formatNames are the formats, and the endings of their files.
func formatNames() string { return strings.Join(export.Names(), ", ") }
