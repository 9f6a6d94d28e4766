package health

import (
	"database/sql"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Monitor keeps how sources fare in the database. It holds no state of its own
// and is safe for concurrent use, by any number of processes on one file.
type Monitor struct{ db *store.DB }

// New returns the monitor of a database.
func New(db *store.DB) *Monitor { return &Monitor{db: db} }

// now is the transaction's time, to the millisecond as the database writes it: so what
// is returned is what a later reading gives.
func now(tx *store.Tx) time.Time { return tx.At }

// stamp writes a time; zero is NULL.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return yp.FormatTime(t)
}

// text writes a text; "" is NULL.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// clock scans a time; NULL is zero.
type clock struct{ at *time.Time }

func (c clock) Scan(value any) error {
	*c.at = time.Time{}
	if value == nil {
		return nil
	}
	s, ok := value.(string)
	if !ok {
		return fmt.Errorf("time %v is no text", value)
	}
	t, err := yp.ParseTime(s)
	*c.at = t
	return err
}

// millis scans a number of milliseconds; NULL is 0.
type millis struct{ d *time.Duration }

func (m millis) Scan(value any) error {
	var n sql.NullInt64
	err := n.Scan(value)
	*m.d = time.Duration(n.Int64) * time.Millisecond
	return err
}

// row is what *sql.Row and *sql.Rows share.
type row interface{ Scan(dest ...any) error }
