package health

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

var (
	// ErrProbeLost means that the probe is no longer the source's: it took longer
	// than ProbeTime and another has begun, or the quarantine has ended meanwhile.
	// Its outcome was not written.
	ErrProbeLost = errors.New("the probe came too late: the source is in other hands")
	// ErrNoSource means that no source has that id.
	ErrNoSource = errors.New("no such source")
	// ErrNoSample means that no page sample has that id: only the newest of each
	// source are kept.
	ErrNoSample = errors.New("no such page sample")
	// ErrAmbiguous means that a name stands for several proxies: their id tells
	// them apart.
	ErrAmbiguous = errors.New("the name stands for several proxies: use the id")
)

// Monitor keeps how sources fare in the database. It holds no state of its own
// and is safe for concurrent use, by any number of processes on one file.
type Monitor struct{ db *store.DB }

// New returns the monitor of a database.
func New(db *store.DB) *Monitor { return &Monitor{db: db} }

// stamp writes a time; zero is NULL.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return yp.FormatTime(t)
}

// orNull writes a value; the zero value is NULL.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
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

// duration scans a number of units; NULL is 0.
type duration struct {
	d    *time.Duration
	unit time.Duration
}

func (s duration) Scan(value any) error {
	var n sql.NullInt64
	err := n.Scan(value)
	*s.d = time.Duration(n.Int64) * s.unit
	return err
}

func millis(d *time.Duration) duration { return duration{d, time.Millisecond} }

// collect reads all rows of a query; dest says where the columns of one go.
func collect[T any](ctx context.Context, q querier, dest func(*T) []any, query string, args ...any) (all []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var one T
		if err := rows.Scan(dest(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// querier is the pool of readers, or one reading transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
