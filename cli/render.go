package cli

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// listing is a command that lists rows of one type: its question, and how its answer is
// shown to people. Programs get the rows themselves, as JSON or CSV.
type listing[T any] struct {
	ask     func(k *database, scope store.Scope, limit int) ([]T, error)
	columns []string
	cells   func(now time.Time, row T) []any // see table.row
	source  func(row T) string               // a last column, where the rows are of several sources; nil = none

	writes bool                                    // the question brings an index up to date first
	totals func(rows []T) (whole any, line string) // what JSON has around the rows, and people above them; nil = nothing
	noun   string                                  // "target": says how many rows the limit kept back, or that there is none
	none   string                                  // said instead where there is none and no program asks
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
			whole, line := l.totals(rows)
			if c.Bool("json") {
				err = writeJSON(p.Out, whole)
			} else if !c.Bool("csv") {
				_, err = fmt.Fprintln(p.Out, line)
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

// more adds lines to a section.
func (s *sections) more(texts ...string) {
	for _, text := range texts {
		s.begun = true
		s.write(yp.Printable(text) + "\n")
	}
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

// table lays rows out in columns. Numbers stand to the right; every cell goes
// through yp.Printable. Rows are kept until flush, since the widest cell of a
// column decides.
type table struct {
	header []string
	rows   [][]string
	number []bool // column holds numbers
}

func newTable(header ...string) *table {
	return &table{header: header, number: make([]bool, len(header))}
}

// tableOf is a table with a row for each item.
func tableOf[T any](items []T, cells func(T) []any, columns ...string) *table {
	t := newTable(columns...)
	for _, x := range items {
		t.row(cells(x)...)
	}
	return t
}

// facts tells of one thing line by line, names and texts in turn; what is empty is left out.
func facts(title, name string, lines ...string) *table {
	t := newTable(title, yp.Printable(name))
	for i := 0; i+1 < len(lines); i += 2 {
		if lines[i+1] != "" {
			t.row(lines[i], lines[i+1])
		}
	}
	return t
}

// row adds a row: one cell a column, missing ones stay empty. Integers get
// thousands separators, floats one decimal; nil is shown as "-".
func (t *table) row(cells ...any) {
	if len(cells) > len(t.header) {
		panic(fmt.Sprintf("table: %d cells for %d columns", len(cells), len(t.header)))
	}
	row := make([]string, len(t.header))
	for i, c := range cells {
		text, number := cell(c)
		row[i] = text
		t.number[i] = t.number[i] || number
	}
	t.rows = append(t.rows, row)
}

// cell writes one value as text and tells whether it is a number.
func cell(v any) (text string, number bool) {
	r := reflect.ValueOf(v)
	if !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil() {
		return "-", false
	}
	switch r = reflect.Indirect(r); {
	case r.CanInt():
		return thousands(r.Int()), true
	case r.CanFloat():
		if _, ok := v.(percent); ok {
			return yp.Share(r.Float()), true
		}
		return strconv.FormatFloat(r.Float(), 'f', 1, 64), true
	}
	return yp.Printable(fmt.Sprint(v)), false
}

// percent is a cell shown as "12.5%"; 100 is the whole.
type percent float64

// hide takes columns out.
func (t *table) hide(names ...string) {
	for _, name := range names {
		i := slices.Index(t.header, name)
		t.header, t.number = slices.Delete(t.header, i, i+1), slices.Delete(t.number, i, i+1)
		for n, row := range t.rows {
			t.rows[n] = slices.Delete(row, i, i+1)
		}
	}
}

// hideZeros takes out those of the columns in which nothing was counted.
func (t *table) hideZeros(names ...string) {
	for _, name := range names {
		i := slices.Index(t.header, name)
		if !slices.ContainsFunc(t.rows, func(row []string) bool { return row[i] != "0" && row[i] != "" }) {
			t.hide(name)
		}
	}
}

// flush writes the table to w, its header in bold where s allows colours.
func (t *table) flush(s *Streams, w io.Writer) error {
	rows := append([][]string{t.header}, t.rows...)
	widths := make([]int, len(t.header))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	var out, line strings.Builder
	for n, row := range rows {
		line.Reset()
		for i, text := range row {
			width := widths[i]
			if !t.number[i] {
				width = -width // to the left
			}
			fmt.Fprintf(&line, "%*s  ", width, text)
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 {
			text = s.paint(w, bold, text)
		}
		out.WriteString(text + "\n")
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// writeRows writes rows as a JSON array, never null.
func writeRows[T any](w io.Writer, rows []T) error {
	if rows == nil {
		rows = []T{}
	}
	return writeJSON(w, rows)
}

// writeJSON writes v to w: indented for a person's terminal, on one line for a
// program. Control characters that encoding/json leaves as they are (bidi
// overrides, C1) are escaped, so that no name acts on a terminal.
func writeJSON(w io.Writer, v any) error {
	indent := ""
	if isTerminal(w) {
		indent = "  "
	}
	data, err := encodeJSON(v, indent)
	if err == nil {
		_, err = w.Write(data)
	}
	if err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}

func encodeJSON(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // "&" is common in names, and this is no page
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return yp.EscapeJSON(buf.Bytes()), err
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
	data, err := encodeJSON(row, "")
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
	default:
		if kind := v.Kind(); kind == reflect.Slice || kind == reflect.Map || kind == reflect.Struct {
			text, _ := encodeJSON(x, "") // of plain data
			return strings.TrimSpace(string(text))
		}
		return fmt.Sprint(x)
	}
}
