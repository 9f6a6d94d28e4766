package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"ypcrawl/yp"
)

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
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // "&" is common in names, and this is no page
	if isTerminal(w) {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	if _, err := w.Write(escapeControls(buf.Bytes())); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
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
