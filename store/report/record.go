package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/yp"
)

// A Record is an answer about one thing: its row of the view that its list shows, and parts that belong to it. As JSON it is an
// object with the names of the columns and of the parts.
type Record struct {
	Table          // of one row
	Noun  string   // what it is
	Parts []*Table // as lists
}

// A thing is what `show` shows.
type thing struct {
	list  string // the list that it is in
	named string // the column that people call it by, the one that says what it is, and those that another one says better: "id name"
	row   string // asks its row; ?1 is its id
	parts []Part // ?1 is its id, what follows is asked of the part
}

// record reads a thing. nil = there is none with that id.
func (k *Reader) record(ctx context.Context, t thing, args ...any) (*Record, error) {
	l := Find(t.list)
	row, err := k.ask(ctx, Part{Name: l.Noun, Query: t.row, Show: t.named, Lives: l.Lives}, args...)
	if err != nil || len(row.Rows) == 0 {
		return nil, err
	}
	r := &Record{Table: *row, Noun: l.Noun}
	for _, p := range t.parts {
		part, err := k.ask(ctx, p, args...)
		if err != nil {
			return nil, err
		}
		r.Parts = append(r.Parts, part)
	}
	return r, nil
}

// Get is what the row has in a column.
func (r *Record) Get(column string) any { return r.Value(r.Rows[0], column) }

// Int is the number in a column; 0 = none.
func (r *Record) Int(column string) int64 {
	n, _ := r.Get(column).(int64)
	return n
}

// Part finds a part by its name.
func (r *Record) Part(name string) *Table {
	for _, p := range r.Parts {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Title is what it is called: "target 1" or "demo/400110158", and "Plumbers in Austin, TX".
func (r *Record) Title() (called, name string) {
	names := strings.Fields(r.Show)
	called, own := r.Get(names[0]).(string)
	if !own {
		called = fmt.Sprintf("%s %v", r.Noun, r.Get(names[0]))
	}
	return yp.Printable(called), Cell(time.Time{}, names[1], r.Get(names[1]))
}

// Fact is something that is known of a thing.
type Fact struct {
	Column, Name, Text string
	At                 time.Time // where it is a time
}

// Facts are its columns as people see them, at a terminal and on the page; what is not known is left out.
func (r *Record) Facts(now time.Time) (all []Fact) {
	for i, v := range r.Rows[0] {
		column := r.Columns[i]
		if v == nil || slices.Contains(strings.Fields(r.Show), column) {
			continue
		}
		fact := Fact{Column: column, Name: Title(column), Text: Cell(now, column, v)}
		if at, ok := v.(string); ok && IsTime(column) {
			if t, err := yp.ParseTime(at); err == nil {
				fact.Text, fact.At = yp.Minute(t)+" ("+fact.Text+")", t
			}
		}
		all = append(all, fact)
	}
	return all
}

// MarshalJSON implements json.Marshaler.
func (r *Record) MarshalJSON() ([]byte, error) {
	o := rowObject(r.Columns, r.Rows[0])
	for _, p := range r.Parts {
		o = append(o, Named{p.Name, p})
	}
	return o.MarshalJSON()
}
