package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf16"
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

	noun string // "target": says how many rows the limit kept back, or that there is none
	none string // said instead where there is none and no program asks
}

// listRows opens the database, asks, and shows at most --limit rows. What was typed is looked at
// before the database is.
func listRows[T any](p *Program, c *cli.Context, l listing[T]) error {
	return listRowsOf(p, c, reading, l)
}

// listRowsOf is listRows over a database that is opened in another way.
func listRowsOf[T any](p *Program, c *cli.Context, how access, l listing[T]) error {
	if err := bothForms(c); err != nil {
		return err
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	k, scope, err := p.openScoped(c, how)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	rows, more, err := l.atMost(k, scope, limit)
	if err != nil {
		return err
	}
	err = show(p, c, rows, func() *table { return l.table(k.DB().Now(), rows) })
	l.noteRest(p, c, len(rows), more)
	return err
}

// atMost asks for a row beyond the limit, 0 = none, to know whether there are more.
func (l listing[T]) atMost(k *database, scope store.Scope, limit int) (rows []T, more bool, err error) {
	if limit == 0 {
		rows, err = l.ask(k, scope, 0)
		return rows, false, err
	}
	rows, err = l.ask(k, scope, limit+1)
	if len(rows) > limit {
		return rows[:limit], true, err
	}
	return rows, false, err
}

// noteRest says what a list does not show.
func (l listing[T]) noteRest(p *Program, c *cli.Context, shown int, more bool) {
	switch {
	case more:
		p.note("%s shown; there are more: --limit 0 shows all.", plural(shown, l.noun))
	case shown == 0 && l.none == "":
		p.note("No %s matches.", l.noun)
	case shown == 0 && !c.Bool("json") && !c.Bool("csv"):
		p.note("%s", l.none)
	}
}

// table lays the rows out.
func (l listing[T]) table(now time.Time, rows []T) *table {
	several := false
	for _, r := range rows {
		several = several || l.source != nil && l.source(r) != l.source(rows[0])
	}
	columns := l.columns
	if several {
		columns = append(columns[:len(columns):len(columns)], "source")
	}
	t := newTable(columns...)
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

// showEach prints things one by one, each with its tables.
func showEach[T any](p *Program, c *cli.Context, all []T, tables func(T) []*table) error {
	if c.Bool("json") {
		return writeRows(p.Out, all)
	}
	w := &sections{w: p.Out}
	for _, x := range all {
		for _, t := range tables(x) {
			if err := w.table(p, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer prints what a command did: as JSON where that was asked for, as a line else.
func (p *Program) answer(c *cli.Context, v any, format string, args ...any) error {
	if c.Bool("json") {
		return writeJSON(p.Out, v)
	}
	_, err := fmt.Fprintf(p.Out, format+"\n", args...)
	return err
}

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
	switch v := v.(type) {
	case nil:
		return "-", false
	case *int64:
		if v == nil {
			return "-", false
		}
		return thousands(*v), true
	case *int:
		if v == nil {
			return "-", false
		}
		return thousands(int64(*v)), true
	case int:
		return thousands(int64(v)), true
	case int64:
		return thousands(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', 1, 64), true
	case percent:
		return strconv.FormatFloat(float64(v), 'f', 1, 64) + "%", true
	}
	return yp.Printable(fmt.Sprint(v)), false
}

// percent is a cell shown as "12.5%"; 100 is the whole.
type percent float64

// flush writes the table to w, its header in bold where s allows colours.
func (t *table) flush(s *Streams, w io.Writer) error {
	var buf bytes.Buffer
	tw := tabwriter.NewWriter(&buf, 0, 8, 2, ' ', 0)
	widths := t.widths()
	for _, row := range append([][]string{t.header}, t.rows...) {
		_, _ = fmt.Fprintln(tw, strings.Join(t.align(row, widths), "\t")) // buf takes everything
	}
	_ = tw.Flush()
	for i, line := range strings.SplitAfter(buf.String(), "\n") {
		if text := strings.TrimRight(line, " \n"); i == 0 {
			line = s.paint(w, bold, text) + "\n"
		} else if text != line {
			line = text + "\n"
		}
		if _, err := io.WriteString(w, line); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	return nil
}

func (t *table) widths() []int {
	widths := make([]int, len(t.header))
	for i, h := range t.header {
		widths[i] = utf8.RuneCountInString(h)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return widths
}

// align pads the cells of number columns on the left; tabwriter pads the rest.
func (t *table) align(row []string, widths []int) []string {
	cells := make([]string, len(row))
	for i, text := range row {
		cells[i] = text
		if t.number[i] {
			cells[i] = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)) + text
		}
	}
	return cells
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
	return escapeControls(buf.Bytes()), err
}

// escapeControls writes what yp.Printable would change as \uXXXX. Such
// characters stand only inside JSON strings; the layout's own line ends stay.
func escapeControls(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		char := data[:size]
		data = data[size:]
		if r == '\n' || (r >= ' ' && r < 0x7f) || yp.Printable(string(char)) == string(char) {
			out = append(out, char...)
			continue
		}
		out = appendUTF16(out, r)
	}
	return out
}

// appendUTF16 appends r as JSON's \uXXXX, a surrogate pair where needed.
func appendUTF16(dst []byte, r rune) []byte {
	for _, unit := range utf16.Encode([]rune{r}) {
		dst = fmt.Appendf(dst, `\u%04x`, unit)
	}
	return dst
}

// jsonArray writes an array of JSON row by row, for listings that are too long to be
// held in memory. What it writes is what writeRows writes for a program: one line.
type jsonArray struct {
	w    io.Writer
	rows int
}

// add writes a row.
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
	return a.write(head + strings.TrimSuffix(string(data), "\n"))
}

// end closes the array, which may be empty.
func (a *jsonArray) end() error {
	if a.rows == 0 {
		return a.write("[]\n")
	}
	return a.write("]\n")
}

func (a *jsonArray) write(text string) error {
	if _, err := io.WriteString(a.w, text); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
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

// csvRows writes rows one by one as CSV: the names of their JSON as the header, times in
// UTC, nothing for what is null, JSON for lists. Control characters are made visible.
type csvRows struct{ out *csv.Writer }

func newCSV[T any](w io.Writer) *csvRows {
	r := &csvRows{csv.NewWriter(w)}
	names, _ := csvFields(reflect.New(reflect.TypeFor[T]()).Elem())
	_ = r.out.Write(names) // end tells
	return r
}

func (r *csvRows) add(row any) error {
	_, values := csvFields(reflect.Indirect(reflect.ValueOf(row)))
	if err := r.out.Write(values); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

func (r *csvRows) end() error {
	r.out.Flush()
	if err := r.out.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
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
