package cli

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// listing is a command that lists rows of one type: its question, and how its answer is
// shown to people. Programs get the rows themselves, as JSON or CSV.
type listing[T any] struct {
	ask     func(k *database, scope store.Scope, limit int) ([]T, error)
	columns []string
	least   []string                         // of them, see table.without
	cells   func(now time.Time, row T) []any // see table.row
	source  func(row T) string               // a last column, where the rows are of several sources; nil = none

	writes bool                                       // the question brings an index up to date first
	totals func(rows []T) (whole any, lines []string) // what JSON has around the rows, and people above them; nil = nothing
	noun   string                                     // "target": says how many rows the limit kept back, or that there is none
	none   string                                     // said instead where there is none and no program asks
}

// listRows asks, and shows at most --limit rows.
func listRows[T any](p *Program, c *cli.Context, l listing[T]) error {
	if err := bothForms(c); err != nil {
		return err
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	ask := limit
	if limit > 0 {
		ask++ // to know whether there are more
	}
	how := reading
	if l.writes {
		how = indexing
	}
	return p.with(c, how, func(k *database, scope store.Scope) error {
		rows, err := l.ask(k, scope, ask)
		if err != nil {
			return err
		}
		more := limit > 0 && len(rows) > limit
		if more {
			rows = rows[:limit]
		}
		if l.totals != nil {
			whole, lines := l.totals(rows)
			if c.Bool("json") {
				err = writeJSON(p.Out, whole)
			} else if !c.Bool("csv") {
				err = p.tell(c, nil, func(w *sections) { w.more(lines...) })
			}
		}
		if err == nil && (l.totals == nil || !c.Bool("json")) {
			err = show(p, c, rows, func() *table { return l.table(k.DB().Now(), rows) })
		}
		switch {
		case more:
			p.note("%s shown; there are more: --limit 0 shows all.", plural(len(rows), l.noun))
		case len(rows) == 0 && l.none == "":
			p.note("No %s matches.", l.noun)
		case len(rows) == 0 && !c.Bool("json") && !c.Bool("csv"):
			p.note("%s", l.none)
		}
		return err
	})
}

// table lays the rows out.
func (l listing[T]) table(now time.Time, rows []T) *table {
	several := l.source != nil && slices.ContainsFunc(rows, func(r T) bool { return l.source(r) != l.source(rows[0]) })
	t := newTable(l.columns...)
	if several {
		t = newTable(append(slices.Clone(l.columns), "source")...)
	}
	t.without(l.least...)
	for _, r := range rows {
		cells := l.cells(now, r)
		if several {
			cells = append(cells, l.source(r))
		}
		t.row(cells...)
	}
	return t
}

// formatFlags choose the form of a list of rows.
func formatFlags() []cli.Flag {
	return []cli.Flag{jsonFlag(), &cli.BoolFlag{Name: "csv", Usage: "print CSV to stdout, with the names of --json as its header"}}
}

// bothForms refuses two forms at once.
func bothForms(c *cli.Context) error {
	if c.Bool("json") && c.Bool("csv") {
		return Usagef("--json and --csv: want one of them")
	}
	return nil
}

// show prints rows in the form that was asked for; a table without rows is not shown.
func show[T any](p *Program, c *cli.Context, rows []T, tab func() *table) error {
	switch {
	case bothForms(c) != nil:
		return bothForms(c)
	case c.Bool("json"):
		return writeRows(p.Out, rows)
	case c.Bool("csv"):
		return writeCSV(p.Out, rows)
	case len(rows) == 0:
		return nil
	}
	return tab().flush(&p.Streams, p.Out)
}

// tell prints a thing: as JSON where that was asked for, else what text says of it.
func (p *Program) tell(c *cli.Context, v any, text func(w *sections)) error {
	if c.Bool("json") {
		return writeJSON(p.Out, v)
	}
	w := &sections{p: p, w: p.Out}
	text(w)
	return w.err
}

// answer prints what a command did: as JSON where that was asked for, as a line else.
func (p *Program) answer(c *cli.Context, v any, format string, args ...any) error {
	return p.tell(c, v, func(w *sections) { w.lines(fmt.Sprintf(format, args...)) })
}

// sections are the parts of a text, with an empty line between two. The first error of
// writing ends it, and stays.
type sections struct {
	p     *Program
	w     io.Writer
	begun bool
	err   error
}

// table is a section of its own, left out when the table is empty.
func (s *sections) table(t *table) {
	if len(t.rows) > 0 {
		s.next()
		s.keep(t.flush(&s.p.Streams, s.w))
	}
}

// lines is a section of plain lines, left out when there are none.
func (s *sections) lines(texts ...string) {
	if len(texts) > 0 {
		s.next()
		s.more(texts...)
	}
}

// title begins a section with a line in bold.
func (s *sections) title(text string) {
	s.next()
	s.write(s.p.paint(s.p.Out, bold, text) + "\n")
}

// more adds lines to a section. On a terminal those that are too long go on below themselves.
func (s *sections) more(texts ...string) {
	for _, text := range texts {
		s.begun = true
		s.write(foldLine(s.p.Out, yp.Printable(s.p.hints(text))) + "\n")
	}
}

// item adds a line whose text stands behind others: fold says how it goes on.
func (s *sections) item(lead, text string) {
	s.write(fold(s.p.Out, yp.Printable(lead), yp.Printable(s.p.hints(text))) + "\n")
}

func (s *sections) next() {
	if s.begun {
		s.write("\n")
	}
	s.begun = true
}

func (s *sections) write(text string) {
	if s.err == nil {
		_, err := io.WriteString(s.w, text)
		s.keep(err)
	}
}

func (s *sections) keep(err error) { s.err = cmp.Or(s.err, err) }

// writeRows writes rows as a JSON array, never null.
func writeRows[T any](w io.Writer, rows []T) error {
	if rows == nil {
		rows = []T{}
	}
	return writeJSON(w, rows)
}

// writeJSON writes v to w: indented for a person's terminal, on one line for a
// program.
func writeJSON(w io.Writer, v any) error {
	indent := ""
	if isTerminal(w) {
		indent = "  "
	}
	data, err := yp.JSON(v, indent)
	if err == nil {
		_, err = w.Write(data)
	}
	if err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}

// rowWriter writes rows one by one, for lists that are too long to be held in memory.
type rowWriter interface {
	add(row any) error
	end() error
}

// jsonArray writes what writeRows writes for a program: one line.
type jsonArray struct {
	w    io.Writer
	rows int
}

func (a *jsonArray) add(row any) error {
	head := ","
	if a.rows == 0 {
		head = "["
	}
	a.rows++
	data, err := yp.JSON(row, "")
	if err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	_, err = io.WriteString(a.w, head+strings.TrimSuffix(string(data), "\n"))
	return err
}

func (a *jsonArray) end() error {
	tail := "]\n"
	if a.rows == 0 {
		tail = "[]\n"
	}
	_, err := io.WriteString(a.w, tail)
	return err
}

// csvRows writes CSV: the names of the rows' JSON as the header, times in UTC, nothing for
// what is null, JSON for lists. Control characters are made visible.
type csvRows struct{ out *csv.Writer }

func newCSV[T any](w io.Writer) *csvRows {
	r := &csvRows{csv.NewWriter(w)}
	names, _ := csvFields(reflect.New(reflect.TypeFor[T]()).Elem())
	_ = r.out.Write(names) // end tells
	return r
}

func (r *csvRows) add(row any) error {
	_, values := csvFields(reflect.Indirect(reflect.ValueOf(row)))
	return r.out.Write(values)
}

func (r *csvRows) end() error {
	r.out.Flush()
	return r.out.Error()
}

// writeCSV writes rows as CSV.
func writeCSV[T any](w io.Writer, rows []T) error {
	out := newCSV[T](w)
	for i := range rows {
		if err := out.add(&rows[i]); err != nil {
			return err
		}
	}
	return out.end()
}

// csvFields returns the fields of a struct that JSON has, those of embedded structs in place.
func csvFields(v reflect.Value) (names, values []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			n, vs := csvFields(v.Field(i))
			names, values = append(names, n...), append(values, vs...)
		case f.IsExported() && name != "" && name != "-":
			names, values = append(names, name), append(values, yp.Printable(csvText(v.Field(i))))
		}
	}
	return names, values
}

func csvText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return ""
		}
	}
	v = reflect.Indirect(v)
	switch x := v.Interface().(type) {
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return yp.FormatTime(x)
	case json.Marshaler: // a length of time
		text, _ := yp.JSON(x, "")
		return strings.TrimSuffix(strings.TrimSpace(string(text)), "null")
	default:
		if kind := v.Kind(); kind == reflect.Slice || kind == reflect.Map || kind == reflect.Struct {
			text, _ := yp.JSON(x, "") // of plain data
			return strings.TrimSpace(string(text))
		}
		return fmt.Sprint(x)
	}
}
