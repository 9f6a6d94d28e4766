package frame

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// Table lays rows out in columns. Numbers are aligned to the right; every cell goes
// through yp.Printable. Rows are kept until flush, since the widest cell of a
// column decides. On a terminal it is made to fit; elsewhere nothing is cut.
type Table struct {
	header []string
	Rows   [][]string
	number []bool // column holds numbers
	Folds  bool   // the last column goes on below itself, where others are cut
}

// NewTable returns a table with these columns and no rows.
func NewTable(header ...string) *Table {
	return &Table{header: header, number: make([]bool, len(header))}
}

// Facts tells of one thing line by line, names and texts in turn; what is empty is left out.
func Facts(title, name string, lines ...string) *Table {
	t := NewTable(title, yp.Printable(name))
	t.Folds = true
	for i := 0; i+1 < len(lines); i += 2 {
		if lines[i+1] != "" {
			t.Row(lines[i], lines[i+1])
		}
	}
	return t
}

// Row adds a row: one cell a column, missing ones stay empty. Numbers are int64; nil is shown as "–".
func (t *Table) Row(cells ...any) {
	if len(cells) > len(t.header) {
		panic(fmt.Sprintf("table: %d cells for %d columns", len(cells), len(t.header)))
	}
	row := make([]string, len(t.header))
	for i, c := range cells {
		row[i], t.number[i] = report.Cell(time.Time{}, "", c), t.number[i] || report.IsNumber("", c)
	}
	t.Rows = append(t.Rows, row)
}

// Remove takes a column out.
func (t *Table) Remove(column int) {
	t.header, t.number = slices.Delete(t.header, column, column+1), slices.Delete(t.number, column, column+1)
	for n, row := range t.Rows {
		t.Rows[n] = slices.Delete(row, column, column+1)
	}
}

// flush writes the table to w, its header in bold where s allows colours. On the terminal of s it fits the
// width; a "…" behind the header says that columns were left out.
func (t *Table) flush(s *Streams, w io.Writer) error {
	widths, more := t.widths(), ""
	if IsTerminal(s.Out) {
		widths, more = t.fit(widthOf(s.Out))
	}
	out := pretty.NewWriter()
	out.SetStyle(plainTable)
	out.SuppressTrailingSpaces()
	configs := make([]pretty.ColumnConfig, len(widths))
	for i, width := range widths {
		configs[i] = pretty.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: yp.Shorten}
		if t.number[i] {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
		if t.Folds && i == len(widths)-1 {
			configs[i].WidthMaxEnforcer = func(cell string, width int) string { return strings.Join(yp.Wrap(cell, width), "\n") }
		}
	}
	out.SetColumnConfigs(configs)
	for n, row := range append([][]string{t.header}, t.Rows...) {
		cells := make(pretty.Row, len(row))
		for i, cell := range row {
			cells[i] = cell
		}
		if n == 0 {
			out.AppendHeader(cells)
		} else {
			out.AppendRow(cells)
		}
	}
	head, body, _ := strings.Cut(out.Render()+"\n", "\n")
	if _, err := io.WriteString(w, s.paint(s.Out, bold, head+more)+"\n"+body); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

const gap = 2 // columns of the terminal between two of the table

// plainTable has no lines, only the gaps.
var plainTable = pretty.Style{Name: "plain", Box: pretty.BoxStyle{PaddingRight: strings.Repeat(" ", gap), UnfinishedRow: "…"}}

// widths are the columns that the widest cells take.
func (t *Table) widths() []int {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.Rows...) {
		for i, text := range row {
			widths[i] = max(widths[i], yp.Columns(text))
		}
	}
	return widths
}

// fit makes the table at most width columns wide: the widest texts are shortened, then columns go from the end, where the least
// important stand, until two are left, which are shortened further. more is behind the header where columns went.
func (t *Table) fit(width int) (widths []int, more string) {
	const readable, shortest, called = 20, 4, 12
	for len(t.header) > 2 && !t.Folds {
		// The first column, by which a row is called, stays as it is.
		if widths = t.shrink(width-yp.Columns(more), width, readable); total(widths) <= width-yp.Columns(more) {
			return widths, more
		}
		t.Remove(len(t.header) - 1)
		t.Rows = slices.DeleteFunc(t.Rows, func(row []string) bool { return strings.Join(row[1:], "") == "" }) // it said something there alone
		more = "  …"
	}
	return t.shrink(width-yp.Columns(more), called, shortest), more
}

// total is the width of a table with columns of these widths.
func total(widths []int) int {
	sum := -gap
	for _, w := range widths {
		sum += w + gap
	}
	return sum
}

// shrink takes from the widest text until the table has the width, or the first column and the others are as
// short as they may be. Numbers stay.
func (t *Table) shrink(width, first, others int) []int {
	widths := t.widths()
	for total(widths) > width {
		widest, shortest := -1, first
		for i, w := range widths {
			if !t.number[i] && w > shortest && (widest < 0 || w > widths[widest]) {
				widest = i
			}
			shortest = others
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}
