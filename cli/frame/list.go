package frame

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/export"
	"ypcrawl/store/report"
)

// ListFlags are the flags of a list: its form, its columns, its filters.
func ListFlags(l report.List) []cli.Flag {
	flags := []cli.Flag{
		JSONFlag(), CSVFlag(), WordsFlag("columns", "show only these columns: `COLUMN...`; the names are those of --json", "the most important"),
	}
	limit := LimitFlag()
	if l.Few {
		limit = &cli.IntFlag{Name: "limit", Usage: "at most this many `ROWS`; 0 = all", DefaultText: "all"}
	}
	flags = append(flags, limit)
	for _, f := range l.Narrows() {
		flag := FilterFlag(f)
		if text, ok := flag.(*cli.StringFlag); ok && l.Default[f.Name] != "" {
			text.DefaultText = l.Default[f.Name]
		}
		flags = append(flags, flag)
	}
	return flags
}

// FilterFlag is the flag of a filter of lists, see FilterValue.
func FilterFlag(f report.ListFilter) cli.Flag {
	switch f.Name { // settings know them
	case "states":
		return StatesFlag()
	case "source":
		return OnlySourceFlag()
	}
	switch f.Kind {
	case report.ManyWords:
		return WordsFlag(f.Name, f.Usage, "all")
	case report.Number:
		return &cli.Float64Flag{Name: f.Name, Usage: f.Usage, DefaultText: "any"}
	case report.Switch, report.Only:
		return &cli.BoolFlag{Name: f.Name, Usage: f.Usage}
	}
	if f.Default != "" {
		return &cli.StringFlag{Name: f.Name, Usage: f.Usage, Value: f.Default}
	}
	return &cli.StringFlag{Name: f.Name, Usage: f.Usage, DefaultText: "any"}
}

// ChoiceOf reads what the command line chooses of a list. Where there is a limit it asks for one row more, so that
// Limited can tell whether there are more.
func ChoiceOf(c *cli.Context, l report.List) (choice report.Choice, err error) {
	limit, err := LimitOf(c)
	if err == nil {
		err = OneForm(c)
	}
	choice = report.Choice{Values: map[string]any{}, Columns: SplitList(c.StringSlice("columns")), Limit: limit}
	if err == nil {
		err = NotEmpty(c, "columns", choice.Columns)
	}
	if err != nil {
		return choice, err
	}
	if limit > 0 {
		choice.Limit++ // to know whether there are more
	}
	if len(choice.Columns) == 0 && !c.Bool("json") && !c.Bool("csv") {
		choice.Columns = strings.Fields(l.Show)
	}
	for _, f := range l.Narrows() {
		off := (f.Kind == report.Switch || f.Kind == report.Only) && !c.Bool(f.Name)
		if (c.IsSet(f.Name) || f.Default != "") && !off {
			if choice.Values[f.Name], err = FilterValue(c, f); err != nil {
				return choice, err
			}
		}
	}
	return choice, nil
}

// FilterValue reads the value of a filter, in the type that report.List takes.
func FilterValue(c *cli.Context, f report.ListFilter) (any, error) {
	words := []string{c.String(f.Name)}
	switch {
	case f.Name == "states": // which they are is for the database to say
		if err := NotEmpty(c, "states", c.StringSlice("states")); err != nil {
			return nil, err
		}
		return []string(nil), nil
	case f.Kind == report.ManyWords:
		words = SplitList(c.StringSlice(f.Name))
		if err := NotEmpty(c, f.Name, words); err != nil {
			return nil, err
		}
	case f.Kind == report.Number:
		words[0] = strconv.FormatFloat(c.Float64(f.Name), 'f', -1, 64)
	}
	value, err := f.Parse(words)
	if err != nil {
		return nil, Usagef("--%s: %w", f.Name, err)
	}
	return value, nil
}

// Rows takes rows, and is told when there are no more.
type Rows interface {
	report.Rows
	End() error
}

// RowsTo shows rows on stdout in the form that was asked for: JSON, CSV or a table, with times as they are told at now.
func (p *Invocation) RowsTo(c *cli.Context, now time.Time) Rows {
	switch {
	case c.Bool("json"):
		return &JSONRows{w: p.Out}
	case c.Bool("csv"):
		return &csvOut{w: p.Out}
	}
	return &shownRows{p: p, now: now, chosen: c.IsSet("columns") || c.Command.Name == "query"}
}

// ErrEnough ends a list early.
var ErrEnough = errors.New("enough rows")

// Limited hands at most so many rows over, then ends it with ErrEnough; it counts what it gets.
type Limited struct {
	Rows
	limit, n int

	mu      sync.Mutex
	stopped bool
}

// Limit hands at most so many rows over, 0 = all.
func Limit(to Rows, most int) *Limited { return &Limited{Rows: to, limit: most} }

// More reports whether there are more rows than were handed over.
func (l *Limited) More() bool { return l.limit > 0 && l.n > l.limit }

// None reports whether there was no row.
func (l *Limited) None() bool { return l.n == 0 }

// Stop has nothing more shown.
func (l *Limited) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// Row implements report.Rows. Its error is ErrEnough after Stop, and when there were enough.
func (l *Limited) Row(values []any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return ErrEnough
	}
	if l.n++; l.limit > 0 && l.n > l.limit {
		return ErrEnough
	}
	return l.Rows.Row(values)
}

// JSONRows writes an array of objects, row by row: indented for a terminal, on one line for a program.
type JSONRows struct {
	w          io.Writer
	head, tail string // around the array
	columns    []string
	rows       int
}

// Around puts text before and behind the array: it becomes a part of an object.
func (j *JSONRows) Around(head, tail string) { j.head, j.tail = head, tail }

// Head implements report.Rows.
func (j *JSONRows) Head(columns []string) error {
	j.columns = columns
	return nil
}

// Row implements report.Rows.
func (j *JSONRows) Row(values []any) error {
	head := ","
	if j.rows == 0 {
		head = j.head + "["
	}
	j.rows++
	object, err := report.RowJSON(j.columns, values)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	text.WriteString(head)
	if !IsTerminal(j.w) {
		text.Write(object)
	} else if err := json.Indent(&text, object, "", "  "); err != nil {
		return err
	}
	_, err = j.w.Write(text.Bytes())
	return err
}

// End ends the array, and the line.
func (j *JSONRows) End() error {
	text := "]"
	if j.rows == 0 {
		text = j.head + "[]"
	}
	_, err := io.WriteString(j.w, text+j.tail+"\n")
	return err
}

// csvOut writes CSV as exports do; a switch is true or false, as in JSON.
type csvOut struct {
	w       io.Writer
	columns []string
	out     export.Writer
}

func (o *csvOut) Head(columns []string) (err error) {
	o.columns = columns
	o.out, err = export.New(o.w, export.CSV, export.Options{Columns: columns})
	return err
}

func (o *csvOut) Row(values []any) error {
	row := slices.Clone(values)
	for i, v := range row {
		if x := report.JSONOf(o.columns[i], v); x == nil || x == true || x == false {
			row[i] = x
		}
	}
	return o.out.Write(row)
}

func (o *csvOut) End() error {
	if o.out == nil {
		return nil
	}
	return o.out.Close()
}

// TableRows shows rows on stdout as a table, with times as they are told at now.
func (p *Invocation) TableRows(now time.Time) Rows { return &shownRows{p: p, now: now} }

// shownRows are the rows of a table.
type shownRows struct {
	p   *Invocation
	now time.Time
	t   *Table

	chosen bool // somebody named the columns: all of them are shown
}

func (r *shownRows) Head(columns []string) error {
	r.t = NewTable(columns...)
	return nil
}

func (r *shownRows) Row(values []any) error {
	cells := make([]string, len(values))
	for i, v := range values {
		name := r.t.header[i]
		cells[i] = report.Cell(r.now, name, v)
		r.t.number[i] = r.t.number[i] || report.IsNumber(name, v)
	}
	r.t.Rows = append(r.t.Rows, cells)
	return nil
}

func (r *shownRows) End() error {
	if r.t == nil || len(r.t.Rows) == 0 {
		return nil
	}
	return r.laid().flush(&r.p.Streams, r.p.Out)
}

// laid is the table as people see it.
func (r *shownRows) laid() *Table {
	for i := len(r.t.header) - 1; i > 0 && !r.chosen; i-- { // of a single source, say, nobody needs to read the name in each row
		if r.t.header[i] == "source" && !slices.ContainsFunc(r.t.Rows, func(row []string) bool { return row[i] != r.t.Rows[0][i] }) {
			r.t.Remove(i)
		}
	}
	for i, name := range r.t.header {
		r.t.header[i] = report.Title(name)
	}
	return r.t
}
