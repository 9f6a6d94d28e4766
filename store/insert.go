package store

import "strings"

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
