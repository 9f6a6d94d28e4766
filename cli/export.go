package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/export"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

const exportHelp = `  ypcrawl export -o plumbers.csv --states TX --categories plumbers --has email
  ypcrawl export -o w.xlsx --as boss --since last-export --only new,changed,closed
  ypcrawl export -o tx-{date}.parquet --states TX --manifest

The column "change" shows what happened to a listing since --since; without it, since the last pass of crawls began. Listings
that closed before are left out, see --closed. If targets were not read to their end, "new" may mean "seen for the first
time", and closed listings are not noticed; stderr shows the share that was seen.

--as NAME stores what the file has of each listing, and --since last-export writes the difference between what NAME has and
the listings now, each change once:
  new        NAME never had it
  changed    a value differs, is new or is missing now: see changed_fields
  closed     its source dropped it
  left       it is still listed, but no longer selected (its e-mail is missing)
  restored   NAME has it as closed or left, and it is back
Changes that --only leaves out stay for a later export. The selection and the columns may differ each time.

Since a pass, a time or a run, changes are those of the listings themselves, whatever was selected then: a listing that
matches only now is not new, and none is left. The first read of a listing's own page is no change; other hours or another
e-mail address in a later read are.

`

func (p *Program) exportCommand() *cli.Command {
	return &cli.Command{
		Subcommands: []*cli.Command{p.deliveriesCommand()},
		Name:        "export", Usage: "Write listings to a file: CSV, TSV, JSON lines, XLSX, Parquet, GeoJSON",
		Description: exportHelp + "Columns that count as changed: " + strings.Join(report.TellableFields(), ", ") +
			".\n\nColumns beside the default ones: " + strings.Join(columnNames(report.ListingColumns()[report.DefaultColumns:]), ", "),
		Flags: slices.Concat(
			[]cli.Flag{
				&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE`; its ending names the format, an added .gz or .zst compresses; {date} in it is today; - = stdout"},
				&cli.StringFlag{Name: "format", DefaultText: "by the file's ending, else csv", Usage: "only these: `FORMAT` is csv, tsv, jsonl, xlsx, parquet, geojson"},
			},
			listingFlags(),
			[]cli.Flag{
				list("columns", "`COLUMN...` in this order", fmt.Sprintf("%d: ", report.DefaultColumns)+strings.Join(columnNames(report.ListingColumns()[:report.DefaultColumns]), ", ")),
				&cli.BoolFlag{Name: "one-per-company", Usage: "one row for each company: its first matching listing, an open one if there is one"},
				&cli.StringFlag{Name: "since", DefaultText: "last-pass", Usage: "report changes since `last-export|last-pass|7d|DATE|RUN`"},
				list("only", "only what is `CHANGE...`: new, changed, closed, restored, left", "all"),
				&cli.StringFlag{Name: "as", DefaultText: "not remembered", Usage: "remember this file as a delivery to `NAME`, for the next --since last-export"},
				&cli.StringFlag{Name: "split-by", DefaultText: "one file", Usage: "a file for each `GROUP`: state, or searched category"},
				&cli.StringFlag{Name: "list-separator", Value: "; ", Usage: "`TEXT` between the items of a list"},
				&cli.BoolFlag{Name: "no-header", Usage: "leave out the names of the columns"},
				&cli.BoolFlag{Name: "bom", Usage: "begin CSV with a byte order mark, so that Excel reads UTF-8"},
				&cli.BoolFlag{Name: "raw", Usage: "leave CSV cells that a spreadsheet would run as a formula (= + - @) as they are"},
				&cli.BoolFlag{Name: "overwrite", Usage: "replace an existing file"},
				&cli.BoolFlag{Name: "manifest", Usage: "write FILE.manifest.json beside it: rows, filters, share seen, checksum"},
				&cli.StringFlag{Name: "min-coverage", DefaultText: "any", Usage: "write nothing and exit with 3 if less than this `SHARE` of what the site lists was seen: 95%"},
				jsonFlag(),
			}, pingFlags()),
		Action: func(c *cli.Context) error {
			return p.announced(c, func(_ *Display, _ zerolog.Logger, a *announcer) error { return p.export(c, a) })
		},
	}
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

	name     string // of the file, "-" = stdout; with {group} in it when it is split
	format   export.Format
	compress export.Compression

	files   []*deliveredFile
	mark    report.Since
	pattern string // of their names, with {date} and {group}

	scope store.Scope // the searches that it is about
	seen  report.CoverageTotals
	of    string // what that counts
}

// deliveredFile is a file of an export.
type deliveredFile struct {
	Group string `json:"group,omitempty"`
	Name  string `json:"file"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes,omitempty"`
	Sum   string `json:"sha256,omitempty"`

	file *export.File // nil = stdout
	rows export.Writer
	end  func() error // after the rows
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
		if d.query.ListingFilter, err = listingFilter(c, k, scope); err != nil {
			return err
		}
		if scope, err = k.SearchScope(c.Context, scope, d.query.Cities, d.query.Categories); err != nil {
			return err
		}
		d.scope = scope
		if err := d.readSince(scope); err != nil {
			return err
		}
		if d.query.Words != "" {
			if err := p.indexWords(c.Context, k); err != nil {
				return err
			}
		}
		if err := d.checkCoverage(scope); err != nil {
			return err
		}
		if d.name != "-" && d.query.Group == "" { // one that is refused is none that was begun
			if err := export.Free(d.name, c.Bool("overwrite")); err != nil {
				return d.explain(err)
			}
		}
		if d.name != "-" {
			export.RemoveParts(d.pattern)
		}
		if err := d.beginDelivery(); err != nil {
			return err
		}
		if err := d.write(); err != nil {
			d.abort()
			return d.explain(err)
		}
		return d.finish()
	})
}

// read reads what was typed, as far as that needs no database.
func (d *delivery) read() (err error) {
	c := d.c
	for _, name := range SplitList(c.StringSlice("columns")) {
		col, err := report.ListingColumn(strings.ToLower(name))
		if err != nil {
			return Usagef("--columns: %w", err)
		}
		if slices.Contains(d.query.Columns, col) {
			return Usagef("--columns: %s is named twice", col.Name)
		}
		d.query.Columns = append(d.query.Columns, col)
	}
	if len(d.query.Columns) == 0 {
		d.query.Columns = report.ListingColumns()[:report.DefaultColumns]
	}
	words, err := wordsOf(c, "only", parseChangeWord)
	if err != nil {
		return err
	}
	d.query.Only, d.query.OnePerCompany = words, c.Bool("one-per-company")
	d.opts = export.Options{
		Columns: d.query.Columns, Separator: c.String("list-separator"), NoHeader: c.Bool("no-header"), BOM: c.Bool("bom"), Raw: c.Bool("raw"),
	}
	switch by := report.Group(strings.ToLower(c.String("split-by"))); by {
	case "", report.GroupState, report.GroupCategory:
		d.query.Group = by
	default:
		return Usagef("--split-by %q: want state or category", c.String("split-by"))
	}
	if err := d.readName(); err != nil {
		return err
	}
	if names := columnNames(d.query.Columns); d.format == export.GeoJSON && (!slices.Contains(names, "lat") || !slices.Contains(names, "lon")) {
		return Usagef("--columns: GeoJSON needs lat and lon among them")
	}
	return nil
}

func (d *delivery) readName() (err error) {
	if name := d.c.String("as"); yp.Printable(name) != name {
		return Usagef("--as %q: want a name without control characters", name)
	}
	if d.c.IsSet("as") && strings.TrimSpace(d.c.String("as")) == "" {
		return Usagef("--as is empty: name the delivery")
	}
	d.name = d.c.String("output")
	var known bool
	d.format, d.compress, known = export.FormatOf(d.name)
	switch {
	case d.c.IsSet("format"):
		if d.format, err = export.ParseFormat(d.c.String("format")); err != nil {
			return Usagef("--format: %w", err)
		}
	case d.name == "-" || d.name == "":
		d.format = export.CSV
	case !known:
		return Usagef("--output %q: its ending names no format; use .csv, .tsv, .jsonl, .xlsx, .parquet or .geojson, or --format", d.name)
	}
	d.pattern = d.name
	if d.name = strings.ReplaceAll(d.name, "{date}", time.Now().UTC().Format(time.DateOnly)); d.name != "-" && d.name != "" {
		for _, part := range []string{"", "-wal", "-shm"} {
			if sameFile(d.name, d.c.String("db")+part) {
				return Usagef("--output %q is the database itself: name another file", d.name)
			}
		}
		if d.query.Group != "" && !strings.Contains(d.name, "{group}") {
			d.name, d.pattern = withGroup(d.name), withGroup(d.pattern)
		}
		return nil
	}
	d.name = "-"
	for _, flag := range []string{"split-by", "manifest", "as"} {
		if d.c.IsSet(flag) {
			return Usagef("--%s needs a file: name one with -o", flag)
		}
	}
	if d.c.Bool("json") {
		return Usagef("--json describes a written file: name the file with -o, or write the rows as JSON with --format jsonl")
	}
	if isTerminal(d.p.Out) && (d.format == export.XLSX || d.format == export.Parquet) {
		return Usagef("%s can't be shown on a terminal: name a file with -o", d.format)
	}
	return nil
}

func parseChangeWord(s string) (report.ChangeWord, error) {
	var names []string
	for _, w := range report.ChangeWords() {
		if names = append(names, string(w)); strings.EqualFold(s, string(w)) {
			return w, nil
		}
	}
	if near, ok := yp.Nearest(s, names); ok {
		return "", fmt.Errorf("unknown change %q: did you mean %s?", s, near)
	}
	return "", fmt.Errorf("unknown change %q: want one of %s", s, strings.Join(names, ", "))
}

// readSince finds out since when changes are told. Listings that closed since belong to the
// answer when changes are what is asked for.
func (d *delivery) readSince(scope store.Scope) (err error) {
	d.query.ClosedSince = d.c.IsSet("since") || d.c.IsSet("only") || d.c.IsSet("as")
	d.query.Difference = strings.EqualFold(strings.TrimSpace(d.c.String("since")), "last-export")
	switch name := d.c.String("as"); {
	case d.query.Difference && name == "":
		return Usagef("--since last-export: name the delivery with --as NAME, as in the last export")
	case d.query.Difference:
		return nil // told when the delivery is begun
	case slices.Contains(d.query.Only, report.WordLeft):
		return Usagef("--only left needs a delivery to compare with: add --as NAME --since last-export")
	}
	d.since, err = sinceOf(d.c, d.k, scope)
	if d.query.Since = (&report.Since{At: d.since.at}); len(d.since.passes) > 0 {
		d.query.Since = report.MarkOf(d.since.passes)
	}
	return err
}

// checkCoverage says how much of what the sites list was seen of the targets that the export
// is about, and refuses to write if that is too little.
func (d *delivery) checkCoverage(scope store.Scope) (err error) {
	least := 0.0
	if d.c.IsSet("min-coverage") {
		least, err = strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(d.c.String("min-coverage")), "%"), 64)
		if err != nil || !(least >= 0 && least <= 100) {
			return Usagef("--min-coverage %q: want a share like 95%%", d.c.String("min-coverage"))
		}
	}
	if d.seen, err = d.k.CoverageTotals(d.c.Context, scope); err != nil {
		return err
	}
	d.of = report.OfScope(scope)
	if !d.c.IsSet("min-coverage") || d.seen.AtLeast(least) {
		return nil
	}
	text := d.seen.Text()
	if d.seen.Untold > 0 {
		text += fmt.Sprintf("; of %s the share is not known", plural(d.seen.Untold, "target"))
	}
	return &exitError{code: ExitFailures, err: fmt.Errorf("nothing was written: %s, and --min-coverage wants %v%%; `ypcrawl coverage --all` shows which targets lack", text, least)}
}

// write writes the rows into one file, or into one for each group. Reading and writing go
// on side by side.
func (d *delivery) write() error {
	defer d.lowerMemory()()
	ctx, cancel := context.WithCancel(d.c.Context)
	defer cancel()
	const atOnce = 256 // rows that are handed over together
	type batch [][]any
	batches, done := make(chan batch, 4), make(chan error, 1)
	go func() {
		defer close(batches)
		b := make(batch, 0, atOnce)
		send := func() error {
			select {
			case batches <- b:
				b = make(batch, 0, atOnce)
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		mark, err := d.k.EachListing(ctx, d.query, func(row []any) error {
			if b = append(b, row); len(b) == atOnce {
				return send()
			}
			return nil
		})
		d.mark = mark
		if err == nil && len(b) > 0 {
			err = send()
		}
		done <- err
	}()
	var failed error
	for b := range batches {
		for _, row := range b {
			if failed == nil {
				failed = d.add(row)
			}
		}
		if failed != nil {
			cancel()
		}
	}
	if err := <-done; failed == nil {
		failed = err
	}
	if failed == nil && len(d.files) == 0 && d.query.Group == "" {
		failed = d.begin("")
	}
	if failed == nil {
		failed = d.emptyOthers()
	}
	if err := d.endFile(); failed == nil {
		failed = err
	}
	return failed
}

func (d *delivery) add(row []any) error {
	group := ""
	if d.query.Group != "" {
		group, _ = row[len(row)-1].(string)
		row = row[:len(row)-1]
	}
	if len(d.files) == 0 || d.files[len(d.files)-1].Group != group {
		if err := errors.Join(d.endFile(), d.begin(group)); err != nil {
			return err
		}
	}
	f := d.files[len(d.files)-1]
	f.Rows++
	return f.rows.Write(row)
}

// begin begins the file of a group.
func (d *delivery) begin(group string) (err error) {
	f := &deliveredFile{Group: group, Name: d.name}
	var out io.Writer
	if d.name == "-" {
		buf := bufio.NewWriterSize(d.p.Out, 1<<16)
		out, f.end = buf, buf.Flush
	} else {
		f.Name = d.fileOf(group)
		if f.file, err = export.Create(f.Name, d.compress, d.c.Bool("overwrite")); err != nil {
			return err
		}
		out, f.end = f.file, f.file.Finish
	}
	d.files = append(d.files, f)
	f.rows, err = export.New(out, d.format, d.opts)
	if err != nil {
		f.rows = nil
	}
	return err
}

// endFile ends the file in hand, if there is one.
func (d *delivery) endFile() error {
	if len(d.files) == 0 {
		return nil
	}
	f := d.files[len(d.files)-1]
	if f.end == nil || f.rows == nil {
		return nil
	}
	err := f.rows.Close()
	if err == nil {
		err = f.end()
	}
	f.end, f.rows = nil, nil // with their buffers: there may be hundreds of files
	if f.file != nil {
		f.Bytes, f.Sum = f.file.Size(), f.file.SHA256()
	}
	return err
}

func (d *delivery) abort() {
	for _, f := range d.files {
		if f.file != nil {
			f.file.Abort()
		}
	}
}

// explain says what can be done about a failure.
func (d *delivery) explain(err error) error {
	if errors.Is(err, export.ErrExists) {
		return Usagef("%w: name another one, put {date} into the name, or replace it with --overwrite", err)
	}
	return fmt.Errorf("export to %s: %w", d.name, err)
}

// manifest is what FILE.manifest.json holds.
type manifest struct {
	Files    []*deliveredFile      `json:"files"`
	Rows     int64                 `json:"rows"`
	Format   export.Format         `json:"format"`
	Columns  []string              `json:"columns"`
	Filters  map[string]string     `json:"filters"`
	Since    string                `json:"since"`
	Passes   []report.Pass         `json:"passes"` // whose changes are told; none = those since a time, a run or a delivery
	Of       string                `json:"coverage_of"`
	Coverage report.CoverageTotals `json:"coverage"`
	At       time.Time             `json:"exported_at"`
	Schema   int                   `json:"schema_version"`
	Database string                `json:"database_id"`
	Program  string                `json:"program"`
}

// finish gives the files their names, and remembers them.
func (d *delivery) finish() error {
	m := manifest{
		Files: append([]*deliveredFile{}, d.files...), Format: d.format, Columns: columnNames(d.query.Columns), Filters: d.filters(), Since: d.since.text,
		Passes: append([]report.Pass{}, d.since.passes...), Of: d.of, Coverage: d.seen, At: d.mark.At, Schema: store.SchemaVersion, Program: "ypcrawl " + ownBuild().Version,
	}
	for _, f := range d.files {
		m.Rows += f.Rows
	}
	var err error
	if len(m.Passes) > 0 && (d.c.Bool("json") || d.c.Bool("manifest")) { // with what became of listings
		m.Passes, err = d.k.Passes(d.c.Context, d.scope)
	}
	if err == nil {
		m.Database, err = d.k.DB().ID(d.c.Context)
	}
	if err != nil {
		d.abort()
		return err
	}
	d.out.say("%s of %s in %s", plural(m.Rows, "listing"), plural(len(m.Files), "file"), string(m.Format))
	if d.name == "-" {
		d.tell(m)
		return nil
	}
	if d.query.To != nil {
		if err := d.query.To.Check(d.c.Context); err != nil {
			d.abort()
			return fmt.Errorf("nothing was written: %w; export again when that one has ended", err)
		}
	}
	files := make([]*export.File, len(d.files))
	for i, f := range d.files {
		files[i] = f.file
	}
	if d.c.Bool("manifest") {
		about, err := d.makeManifest(m)
		if err != nil {
			d.abort()
			return d.explain(err)
		}
		defer about.Abort()
		files = append(files, about)
	}
	if err := export.Publish(files); err != nil {
		d.abort()
		return d.explain(err)
	}
	if to := d.query.To; to != nil {
		if err := to.Complete(d.c.Context, store.Delivery{At: d.mark.At, Event: d.mark.Event, File: d.name, Rows: m.Rows}); err != nil {
			return fmt.Errorf("%s is written, but the next --since last-export will report the same changes again: %w", d.name, err)
		}
	}
	if d.c.Bool("json") {
		return writeJSON(d.p.Out, m)
	}
	d.tell(m)
	return nil
}

// tell says on stderr what was written, and how much of the whole that is; not with --quiet.
func (d *delivery) tell(m manifest) {
	if d.c.Bool("quiet") {
		return
	}
	to := d.name
	if len(m.Files) != 1 {
		to = plural(len(m.Files), "file")
	} else if m.Files[0].Bytes > 0 {
		to = fmt.Sprintf("%s (%s)", m.Files[0].Name, bytesText(m.Files[0].Bytes))
	}
	d.p.note("%s to %s; changes since %s.", plural(m.Rows, "listing"), to, d.since.text)
	for i, pass := range m.Passes {
		if i == mostNamed {
			d.p.note("And the passes of %s.", plural(len(m.Passes)-i, "more source"))
			break
		}
		d.p.note("%s.", pass.Text())
	}
	for _, line := range d.seen.Lines(m.Of) {
		d.p.note("%s", line)
	}
}

func (d *delivery) manifestName() string {
	return strings.NewReplacer("-{group}", "", "{group}", "all").Replace(d.name) + ".manifest.json"
}

// makeManifest makes the manifest, which gets its name together with the files that it is about.
func (d *delivery) makeManifest(m manifest) (*export.File, error) {
	f, err := export.Create(d.manifestName(), "", d.c.Bool("overwrite"))
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	data, err := yp.JSON(m, "  ")
	if err == nil {
		_, err = f.Write(data)
	}
	if err = errors.Join(err, f.Finish()); err != nil {
		f.Abort()
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return f, nil
}

// filters is what was asked for, by the names of the flags.
func (d *delivery) filters() map[string]string {
	asked := map[string]string{}
	for _, f := range listingFlags() {
		name := f.Names()[0]
		if !d.c.IsSet(name) {
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
			words := SplitList(d.c.StringSlice(name))
			slices.Sort(words)
			asked[name] = strings.Join(words, ", ")
		}
	}
	return asked
}

// sameFile tells whether two names are of one file, which need not be there.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	a, errX = filepath.Abs(a)
	b, errY = filepath.Abs(b)
	return errX == nil && errY == nil && a == b
}
