package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"ypcrawl/yp"
)

// Querier runs queries: a Tx, or the readers of a DB.
type Querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

type reader struct {
	ctx  context.Context
	pool pool
}

// pool is a database, a connection of one, or a transaction.
type pool interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (r reader) Query(query string, args ...any) (*sql.Rows, error) {
	return r.pool.QueryContext(r.ctx, query, args...)
}

// ReaderOf returns a database, or a transaction, as a Querier for the time of ctx.
func ReaderOf(ctx context.Context, db pool) Querier { return reader{ctx, db} }

// Reader returns the readers as a Querier for the time of ctx.
func (db *DB) Reader(ctx context.Context) Querier { return reader{ctx, db.read} }

// Row reads the one row of a query, which is prepared once: it is asked again and again.
func (db *DB) Row(ctx context.Context, query string, args []any, dest ...any) error {
	st, err := db.stmt(ctx, query) //nolint:sqlclosecheck // closed with the readers
	if err != nil {
		return err
	}
	return st.QueryRowContext(ctx, args...).Scan(dest...)
}

// RowNamed is Row where into says, by the name of a column, where it goes; nil = there is no such column.
func (db *DB) RowNamed(ctx context.Context, query string, args []any, into func(column string) any) error {
	st, err := db.stmt(ctx, query) //nolint:sqlclosecheck // closed with the readers
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return scanNamed(rows, into)
}

// GetNamed is Get where into says, by the name of a column, where it goes; nil = there is no such column.
func (tx *Tx) GetNamed(query string, args []any, into func(column string) any) error {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	return scanNamed(rows, into)
}

// scanNamed reads the one row that there is, and closes the rows.
func scanNamed(rows *sql.Rows, into func(column string) any) error {
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	dest := make([]any, len(names))
	for i, name := range names {
		if dest[i] = into(name); dest[i] == nil {
			return fmt.Errorf("nothing takes the column %q", name)
		}
	}
	if !rows.Next() {
		return cmp.Or(rows.Err(), sql.ErrNoRows)
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	return rows.Close()
}

// stmt is a query of the readers, prepared once.
func (db *DB) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	kept, known := db.prepared.Load(query)
	if !known {
		st, err := db.read.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		var other bool
		if kept, other = db.prepared.LoadOrStore(query, st); other {
			_ = st.Close() //nolint:sqlclosecheck // the one that is kept is closed with the readers
		}
	}
	return kept.(*sql.Stmt), nil
}

// Each runs a query and hands every row to scan; the first error ends it.
func Each(q Querier, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := q.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// All reads the rows of a query; into returns where the columns of a row go.
func All[T any](q Querier, query string, args []any, into func(*T) []any) (all []T, err error) {
	err = Each(q, query, args, func(rows *sql.Rows) error {
		var row T
		err := rows.Scan(into(&row)...)
		all = append(all, row)
		return err
	})
	return all, err
}

// Column reads the rows of a query of one column.
func Column[T any](q Querier, query string, args ...any) ([]T, error) {
	return All(q, query, args, func(v *T) []any { return []any{v} })
}

// Run runs a statement of which nothing but its error is wanted.
func (tx *Tx) Run(query string, args ...any) error {
	_, err := tx.Exec(query, args...)
	return err
}

// JSON writes a value that is made of texts and numbers alone, which always can be written.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// JSONInts writes numbers as a JSON array for json_each.
func JSONInts(ids []int64) string {
	b := make([]byte, 0, 2+len(ids)*8)
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// JSONTexts writes texts as a JSON array for json_each; none is "[]".
func JSONTexts[T ~string](items []T) string {
	if len(items) == 0 {
		return "[]"
	}
	return JSON(items)
}

// Text binds an absent text as NULL.
func Text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func millis(d time.Duration) int64 { return max(d.Milliseconds(), 0) }

// Number binds 0 as NULL.
func Number(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// Instant scans a time that may be NULL into t: the zero time. One that can't be read is
// zero, too: whoever looks at a database must see the rest of it.
func Instant(t *time.Time) sql.Scanner { return instant{t} }

type instant struct{ t *time.Time }

// Scan implements sql.Scanner.
func (i instant) Scan(v any) error {
	*i.t = time.Time{}
	if s, ok := v.(string); ok {
		if parsed, err := yp.ParseTime(s); err == nil {
			*i.t = parsed
		}
	}
	return nil
}

// FromJSON scans a JSON text into v; NULL leaves it as it is.
func FromJSON(v any) sql.Scanner { return jsonText{v} }

type jsonText struct{ into any }

// Scan implements sql.Scanner.
func (j jsonText) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), j.into)
	case []byte:
		return json.Unmarshal(v, j.into)
	}
	return fmt.Errorf("want JSON as text, got %T", v)
}

// Fields says where the columns of a row go whose order is that of the exported fields of T:
// times that may be NULL, and lists as JSON, among them.
func Fields[T any](row *T) (into []any) {
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		switch field := v.Field(i).Addr().Interface().(type) {
		case *time.Time:
			into = append(into, Instant(field))
		case *[]string, *[]FieldChange:
			into = append(into, FromJSON(field))
		default:
			into = append(into, field)
		}
	}
	return into
}

// insert is an INSERT of many rows: in statements of several rows each, because a
// statement has its price, and of few sizes, because each is prepared once and kept.
type insert struct {
	columns int
	texts   [len(insertSizes)]string
}

var insertSizes = [...]int{32, 16, 8, 4, 2, 1}

// newInsert takes the statement up to its VALUES.
func newInsert(head string, columns int) *insert {
	in := &insert{columns: columns}
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	for i, n := range insertSizes {
		in.texts[i] = head + " VALUES " + row + strings.Repeat(", "+row, n-1)
	}
	return in
}

// run inserts the rows that args are, one after the other, and returns the row id of
// the first: the others follow it. The table must number them itself.
func (in *insert) run(tx *Tx, args []any) (first int64, err error) {
	rows := int64(len(args) / in.columns)
	var last int64
	for i, n := range insertSizes {
		for n *= in.columns; len(args) >= n; args = args[n:] {
			res, err := tx.Exec(in.texts[i], args[:n]...)
			if err != nil {
				return 0, err
			}
			if last, err = res.LastInsertId(); err != nil {
				return 0, err
			}
		}
	}
	return last - rows + 1, nil
}
