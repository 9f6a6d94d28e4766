package export

import (
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"ypcrawl/store/report"
)

// The library holds a row group in memory until it is written: one ends with so many bytes of
// text. So many rows are handed to it at once.
const (
	groupBytes = 8 << 20
	rowsAhead  = 256
)

// parquetRows writes Parquet. Lists are lists of texts.
type parquetRows struct {
	out     *parquet.GenericWriter[any]
	columns []report.Column
	rows    []parquet.Row
	bytes   int // of the texts of the row group
}

func newParquet(w io.Writer, columns []report.Column) *parquetRows {
	// A struct, since the columns of the library's other schemas stand in alphabetical order.
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		var of any
		switch c.Kind {
		case report.ListColumn:
			of = []string(nil)
		case report.IntegerColumn:
			of = (*int64)(nil)
		case report.RealColumn:
			of = (*float64)(nil)
		default:
			of = (*string)(nil)
		}
		tag := c.Name + ",optional"
		if c.Kind == report.ListColumn {
			tag = c.Name
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeOf(of), Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))}
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	return &parquetRows{columns: columns, out: parquet.NewGenericWriter[any](w, schema,
		parquet.Compression(&parquet.Snappy), parquet.CreatedBy("ypcrawl", "", ""))}
}

func (p *parquetRows) Write(row []any) error {
	values := make(parquet.Row, 0, len(row)+4)
	for i, v := range row {
		text, isText := v.(string)
		p.bytes += len(text)
		switch {
		case p.columns[i].Kind == report.ListColumn:
			values = appendList(values, i, report.Texts(v))
		case v == nil:
			values = append(values, parquet.NullValue().Level(0, 0, i))
		case isText:
			values = append(values, parquet.ByteArrayValue([]byte(text)).Level(0, 1, i))
		default:
			values = append(values, parquet.ValueOf(v).Level(0, 1, i))
		}
	}
	if p.rows = append(p.rows, values); len(p.rows) < rowsAhead {
		return nil
	}
	return p.flush()
}

// appendList appends the items of a repeated column; none is a null.
func appendList(values parquet.Row, column int, items []string) parquet.Row {
	if len(items) == 0 {
		return append(values, parquet.NullValue().Level(0, 0, column))
	}
	for i, item := range items {
		values = append(values, parquet.ByteArrayValue([]byte(item)).Level(min(i, 1), 1, column))
	}
	return values
}

func (p *parquetRows) flush() error {
	_, err := p.out.WriteRows(p.rows)
	p.rows = p.rows[:0]
	if err == nil && p.bytes >= groupBytes {
		p.bytes = 0
		err = p.out.Flush()
	}
	return err
}

func (p *parquetRows) Close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.out.Close()
}
