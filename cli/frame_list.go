package cli

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

// listFlags are the flags of a list: its form, its columns, its filters.
func listFlags(l report.List) []cli.Flag {
	flags := []cli.Flag{
		jsonFlag(), csvFlag(), list("columns", "show these: `COLUMN...`; the names are those of --json", "the most important"),
	}
	if !l.Few {
		flags = append(flags, limitFlag())
	}
	for _, f := range l.Narrows() {
		flag := filterFlag(f)
		if text, ok := flag.(*cli.StringFlag); ok && l.Default[f.Name] != "" {
			text.DefaultText = l.Default[f.Name]
		}
		flags = append(flags, flag)
	}
	return flags
}

func filterFlag(f report.ListFilter) cli.Flag {
	switch f.Name { // settings know them
	case "states":
		return statesFlag()
	case "source":
		return onlySourceFlag()
	}
	switch f.Kind {
	case report.ManyWords:
		return list(f.Name, f.Usage, "all")
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

// choiceOf reads what the command line chooses of a list.
func choiceOf(c *cli.Context, l report.List) (choice report.Choice, err error) {
	limit, err := limitOf(c)
	if err == nil {
		err = bothForms(c)
	}
	choice = report.Choice{Values: map[string]any{}, Columns: SplitList(c.StringSlice("columns")), Limit: limit}
	if err == nil {
		err = notEmpty(c, "columns", choice.Columns)
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
			if choice.Values[f.Name], err = filterValue(c, f); err != nil {
				return choice, err
			}
		}
	}
	return choice, nil
}

// filterValue reads the value of a filter.
func filterValue(c *cli.Context, f report.ListFilter) (any, error) {
	words := []string{c.String(f.Name)}
	switch {
	case f.Name == "states":
		return states(c)
	case f.Kind == report.ManyWords:
		words = SplitList(c.StringSlice(f.Name))
		if err := notEmpty(c, f.Name, words); err != nil {
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

// rowsEnd takes rows, and is told when there are no more.
type rowsEnd interface {
	report.Rows
	End() error
}

// rowsTo shows rows in the form that was asked for.
func (p *Invocation) rowsTo(c *cli.Context, now time.Time) rowsEnd {
	switch {
	case c.Bool("json"):
		return &jsonRows{w: p.Out}
	case c.Bool("csv"):
		return &csvOut{w: p.Out}
	}
	return &shownRows{p: p, now: now, chosen: c.IsSet("columns") || c.Command.Name == "query"}
}

// errEnough ends a list early.
var errEnough = errors.New("enough rows")

// limited hands at most so many rows over, then ends it with errEnough; it counts what it gets.
type limited struct {
	rowsEnd
	limit, n int

	mu      sync.Mutex
	stopped bool
}

// limit hands at most so many rows over, 0 = all.
func limit(to rowsEnd, most int) *limited { return &limited{rowsEnd: to, limit: most} }

// more reports whether there are more rows than were handed over.
func (l *limited) more() bool { return l.limit > 0 && l.n > l.limit }

// none reports whether there was no row.
func (l *limited) none() bool { return l.n == 0 }

// stop has nothing more shown.
func (l *limited) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

func (l *limited) Row(values []any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return errEnough
	}
	if l.n++; l.limit > 0 && l.n > l.limit {
		return errEnough
	}
	return l.rowsEnd.Row(values)
}

// jsonRows writes an array of objects, row by row: indented for a terminal, on one line for a program.
type jsonRows struct {
	w          io.Writer
	head, tail string // around the array
	columns    []string
	rows       int
}

// around puts text before and behind the array.
func (j *jsonRows) around(head, tail string) { j.head, j.tail = head, tail }

func (j *jsonRows) Head(columns []string) error {
	j.columns = columns
	return nil
}

func (j *jsonRows) Row(values []any) error {
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
	if !isTerminal(j.w) {
		text.Write(object)
	} else if err := json.Indent(&text, object, "", "  "); err != nil {
		return err
	}
	_, err = j.w.Write(text.Bytes())
	return err
}

func (j *jsonRows) End() error {
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

// tableRows shows rows as a table.
func (p *Invocation) tableRows(now time.Time) *shownRows { return &shownRows{p: p, now: now} }

// shownRows are the rows of a table.
type shownRows struct {
	p   *Invocation
	now time.Time
	t   *table

	chosen bool // somebody named the columns: all of them are shown
}

func (r *shownRows) Head(columns []string) error {
	r.t = newTable(columns...)
	return nil
}

func (r *shownRows) Row(values []any) error {
	cells := make([]string, len(values))
	for i, v := range values {
		name := r.t.header[i]
		cells[i] = report.Cell(r.now, name, v)
		r.t.number[i] = r.t.number[i] || report.IsNumber(name, v)
	}
	r.t.rows = append(r.t.rows, cells)
	return nil
}

func (r *shownRows) End() error {
	if r.t == nil || len(r.t.rows) == 0 {
		return nil
	}
	return r.laid().flush(&r.p.Streams, r.p.Out)
}

// laid is the table as people see it.
func (r *shownRows) laid() *table {
	for i := len(r.t.header) - 1; i > 0 && !r.chosen; i-- { // of a single source, say, nobody needs to read the name in each row
		if r.t.header[i] == "source" && !slices.ContainsFunc(r.t.rows, func(row []string) bool { return row[i] != r.t.rows[0][i] }) {
			r.t.remove(i)
		}
	}
	for i, name := range r.t.header {
		r.t.header[i] = report.Title(name)
	}
	return r.t
}
