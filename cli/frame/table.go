package frame

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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
	var out strings.Builder
	for n, row := range append([][]string{t.header}, t.Rows...) {
		for i, line := range t.lay(row, widths) {
			if n == 0 && i == 0 {
				line = s.paint(s.Out, bold, line+more)
			}
			out.WriteString(line + "\n")
		}
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// lay lays a row out in columns of these widths, on one line, or on several where its last cell folds.
func (t *Table) lay(row []string, widths []int) (lines []string) {
	cells, last := make([]string, len(row)), len(row)-1
	for i, cell := range row {
		cells[i] = yp.Shorten(cell, widths[i])
	}
	texts := []string{cells[last]}
	if t.Folds && cells[last] != row[last] {
		texts = yp.Wrap(row[last], widths[last], hanging)
	}
	for _, text := range texts {
		cells[last] = text
		lines = append(lines, t.line(cells, widths))
		clear(cells)
	}
	return lines
}

const gap = 2 // columns of the terminal between two of the table

// line is a line of a table, numbers to the right, without blanks at its end.
func (t *Table) line(cells []string, widths []int) string {
	var out strings.Builder
	for i, cell := range cells {
		blank := strings.Repeat(" ", max(widths[i]-yp.Columns(cell), 0))
		if t.number[i] {
			cell, blank = blank+cell, ""
		}
		out.WriteString(cell + blank + strings.Repeat(" ", gap))
	}
	return strings.TrimRight(out.String(), " ")
}

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
