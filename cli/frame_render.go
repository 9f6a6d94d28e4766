package cli

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// tell prints a thing: as JSON where that was asked for, else what text says of it.
func (p *Invocation) tell(c *cli.Context, v any, text func(w *sections)) error {
	if c.Bool("json") {
		return writeJSON(p.Out, v)
	}
	w := p.sectionsTo(p.Out)
	text(w)
	return w.err
}

// answer prints what a command did: as JSON where that was asked for, as a line else.
func (p *Invocation) answer(c *cli.Context, v any, format string, args ...any) error {
	return p.tell(c, v, func(w *sections) { w.lines(fmt.Sprintf(format, args...)) })
}

// sections are the parts of a text, with an empty line between two. The first error of
// writing ends it, and stays.
type sections struct {
	p     *Invocation
	w     io.Writer
	begun bool
	err   error
}

// sectionsTo writes sections to w, as wide as stdout is.
func (p *Invocation) sectionsTo(w io.Writer) *sections { return &sections{p: p, w: w} }

// fault is the first error of writing.
func (s *sections) fault() error { return s.err }

// table is a section of its own, left out when the table is empty.
func (s *sections) table(t *table) {
	if len(t.rows) > 0 {
		s.next()
		s.keep(t.flush(&s.p.Streams, s.w))
	}
}

// part is a section of its own: a part of an answer, as lists are shown.
func (s *sections) part(now time.Time, t *report.Table) {
	shown := t.Shown()
	if len(shown.Columns) == 0 || len(shown.Rows) == 0 {
		return
	}
	rows := s.p.tableRows(now)
	s.keep(rows.Head(shown.Columns))
	for _, row := range shown.Rows {
		s.keep(rows.Row(row))
	}
	laid := rows.laid()
	laid.folds = shown.Columns[len(shown.Columns)-1] == "what"
	s.table(laid)
}

// record tells all that is known of a thing: its columns line by line, then its parts.
func (s *sections) record(now time.Time, r *report.Record) {
	called, name := r.Title()
	t := newTable(called, name)
	t.folds = true
	for _, f := range r.Facts(now) {
		t.row(f.Name, s.p.hints(f.Text))
	}
	s.table(t)
	for _, p := range r.Parts {
		s.part(now, p)
	}
}

// lines is a section of plain lines, left out when there are none.
func (s *sections) lines(texts ...string) {
	if len(texts) > 0 {
		s.next()
		s.more(texts...)
	}
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
