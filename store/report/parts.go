package report

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// A Part is one table of an answer that has several: what views say, in columns that are named as people see them.
type Part struct {
	Name  string // in JSON
	Query string // ?1 is the id of a source, 0 = all; ?2 is states as JSON, [] = all
	Show  string // columns that people see, the most important first; "" = they see none
	Zeros string // those of them that are left out where nothing was counted, or said
	Lives bool   // as of a List
}

// Table is what a part answers. As JSON it is an array of objects with the names of the columns.
type Table struct {
	Part
	Columns []string
	Rows    [][]any
}

// Head implements Rows.
func (t *Table) Head(columns []string) error {
	t.Columns = columns
	return nil
}

// Row implements Rows.
func (t *Table) Row(values []any) error {
	t.Rows = append(t.Rows, slices.Clone(values))
	return nil
}

// table asks a part.
func (k *Reader) table(ctx context.Context, p Part, scope store.Scope) (*Table, error) {
	return k.ask(ctx, p, placesOf(scope)...)
}

// ask asks a part with arguments, of which it may use the first ones alone.
func (k *Reader) ask(ctx context.Context, p Part, args ...any) (*Table, error) {
	for len(args) > 0 && !strings.Contains(p.Query, fmt.Sprint("?", len(args))) {
		args = args[:len(args)-1]
	}
	t := &Table{Part: p}
	to := Rows(t)
	if p.Lives {
		to = &judged{Rows: t, k: k}
	}
	if err := rowsOf(ctx, k.pool(), p.Query, args, to); err != nil {
		return nil, fmt.Errorf("read %s: %w", p.Name, err)
	}
	return t, nil
}

// Value is what a row has in a column; nil = nothing, or no such column.
func (t *Table) Value(row []any, column string) any {
	if i := slices.Index(t.Columns, column); i >= 0 {
		return row[i]
	}
	return nil
}

// Add adds a column that is no column of a view.
func (t *Table) Add(column string, of func(row []any) any) {
	for i, row := range t.Rows {
		t.Rows[i] = append(row, of(row))
	}
	t.Columns = append(t.Columns, column)
}

// Shown is the table as people see it.
func (t *Table) Shown() *Table {
	shown := &Table{Part: t.Part}
	zeros := strings.Fields(t.Zeros)
	for _, name := range strings.Fields(t.Show) {
		counted := func(row []any) bool { v := t.Value(row, name); return v != nil && v != "" && v != int64(0) }
		if !slices.Contains(zeros, name) || slices.ContainsFunc(t.Rows, counted) {
			shown.Columns = append(shown.Columns, name)
		}
	}
	for _, row := range t.Rows {
		values := make([]any, len(shown.Columns))
		for i, name := range shown.Columns {
			values[i] = t.Value(row, name)
		}
		shown.Rows = append(shown.Rows, values)
	}
	return shown
}

// MarshalJSON implements json.Marshaler.
func (t *Table) MarshalJSON() ([]byte, error) {
	rows := make([][]byte, len(t.Rows))
	for i, row := range t.Rows {
		var err error
		if rows[i], err = RowJSON(t.Columns, row); err != nil {
			return nil, err
		}
	}
	return slices.Concat([]byte{'['}, bytes.Join(rows, []byte{','}), []byte{']'}), nil
}

// RowJSON is a row as a JSON object.
func RowJSON(columns []string, values []any) ([]byte, error) {
	return rowObject(columns, values).MarshalJSON()
}

func rowObject(columns []string, values []any) Object {
	object := make(Object, len(values))
	for i, v := range values {
		object[i] = Named{columns[i], JSONOf(columns[i], v)}
	}
	return object
}

// Object is a JSON object whose names keep their order.
type Object []Named

// Named is a value with its name.
type Named struct {
	Name  string
	Value any
}

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, field := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(yp.AppendJSON(text, field.Name), ':')
		if value, ok := field.Value.(string); ok { // most are, and this takes a fifth of the time
			text = yp.AppendJSON(text, value)
			continue
		}
		value, err := yp.JSON(field.Value, "")
		if err != nil {
			return nil, err
		}
		text = append(text, bytes.TrimSpace(value)...)
	}
	return append(text, '}'), nil
}
