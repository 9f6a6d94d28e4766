package frame

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// Tell prints a thing: as JSON where that was asked for, else what text says of it.
func (p *Invocation) Tell(c *cli.Context, v any, text func(w *Sections)) error {
	if c.Bool("json") {
		return WriteJSON(p.Out, v)
	}
	w := p.SectionsTo(p.Out)
	text(w)
	return w.err
}

// Answer prints what a command did: as JSON where that was asked for, as a line else.
func (p *Invocation) Answer(c *cli.Context, v any, format string, args ...any) error {
	return p.Tell(c, v, func(w *Sections) { w.Lines(fmt.Sprintf(format, args...)) })
}

// Sections are the parts of a text for people, with an empty line between two. The first error of
// writing ends it, and stays.
type Sections struct {
	p     *Invocation
	w     io.Writer
	begun bool
	err   error
}

// SectionsTo writes sections to w, as wide as stdout is.
func (p *Invocation) SectionsTo(w io.Writer) *Sections { return &Sections{p: p, w: w} }

// Err is the first error of writing.
func (s *Sections) Err() error { return s.err }

// Table is a section of its own, left out when the table is empty.
func (s *Sections) Table(t *Table) {
	if len(t.Rows) > 0 {
		s.next()
		s.Keep(t.flush(&s.p.Streams, s.w))
	}
}

// Part is a section of its own: a part of an answer, as lists are shown.
func (s *Sections) Part(now time.Time, t *report.Table) {
	shown := t.Shown()
	if len(shown.Columns) == 0 || len(shown.Rows) == 0 {
		return
	}
	rows := &shownRows{p: s.p, now: now}
	s.Keep(rows.Head(shown.Columns))
	for _, row := range shown.Rows {
		s.Keep(rows.Row(row))
	}
	laid := rows.laid()
	laid.Folds = shown.Columns[len(shown.Columns)-1] == "what"
	s.Table(laid)
}

// Record tells all that is known of a thing: its columns line by line, then its parts.
func (s *Sections) Record(now time.Time, r *report.Record) {
	called, name := r.Title()
	t := NewTable(called, name)
	t.Folds = true
	for _, f := range r.Facts(now) {
		t.Row(f.Name, s.p.Hints(f.Text))
	}
	s.Table(t)
	for _, p := range r.Parts {
		s.Part(now, p)
	}
}

// Lines is a section of plain lines, left out when there are none.
func (s *Sections) Lines(texts ...string) {
	if len(texts) > 0 {
		s.next()
		s.More(texts...)
	}
}

// More adds lines to a section. On a terminal those that are too long go on below themselves.
func (s *Sections) More(texts ...string) {
	for _, text := range texts {
		s.begun = true
		s.write(foldLine(s.p.Out, yp.Printable(s.p.Hints(text))) + "\n")
	}
}

// Item adds a line whose text is behind others: fold says how it goes on.
func (s *Sections) Item(lead, text string) {
	s.write(fold(s.p.Out, yp.Printable(lead), yp.Printable(s.p.Hints(text))) + "\n")
}

func (s *Sections) next() {
	if s.begun {
		s.write("\n")
	}
	s.begun = true
}

func (s *Sections) write(text string) {
	if s.err == nil {
		_, err := io.WriteString(s.w, text)
		s.Keep(err)
	}
}

// Keep keeps an error of what else was written between sections.
func (s *Sections) Keep(err error) { s.err = cmp.Or(s.err, err) }

// WriteJSON writes v to w: indented for a person's terminal, on one line for a
// program.
func WriteJSON(w io.Writer, v any) error {
	indent := ""
	if IsTerminal(w) {
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
