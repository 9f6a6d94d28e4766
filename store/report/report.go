package report

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"ypcrawl/store"
)

// Reader answers questions about one database.
type Reader struct {
	db   *store.DB
	tx   *sql.Tx // of a snapshot; nil = each question sees what is there when it is asked
	host string
}

// New returns a Reader over db.
func New(db *store.DB) *Reader {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Reader{db: db, host: host}
}

// pool is what is asked: the readers of the database, or a snapshot.
type pool interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (k *Reader) pool() pool {
	if k.tx != nil {
		return k.tx
	}
	return k.db.Read()
}

func (k *Reader) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	return store.Each(store.ReaderOf(ctx, k.pool()), query, args, scan)
}

// at hands do a reader of one moment, which this one may be.
func (k *Reader) at(ctx context.Context, do func(*Reader) error) error {
	if k.tx != nil {
		return do(k)
	}
	return k.Snapshot(ctx, do)
}

// InPlace returns store.ErrReplaced when another file, or none, has the name of the one that is read.
func (k *Reader) InPlace() error { return k.db.InPlace() }

// Snapshot hands do a reader of one moment: what it answers to one question belongs to what it answers to the next.
func (k *Reader) Snapshot(ctx context.Context, do func(*Reader) error) error {
	tx, err := k.db.Read().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin to read: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	at := *k
	at.tx = tx
	return do(&at)
}

// placesOf are the arguments ?1 and ?2 by which statements choose among sources and states, then more: "(?1 = 0 OR source_id = ?1)",
// of views, which have the name of the source, "(?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))", and
// "(?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))". Those of a whole scope are of store.InScope.
func placesOf(scope store.Scope, more ...any) []any {
	return append([]any{scope.SourceID, store.JSONTexts(scope.States)}, more...)
}

// atMost is a limit for SQL: of 0 or less there is none.
func atMost(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// list returns the rows of a query; into says where the columns of a row go, and what
// says what is done, for the error.
func list[T any](ctx context.Context, k *Reader, what, query string, args []any, into func(*T) []any) ([]T, error) {
	all, err := store.All(store.ReaderOf(ctx, k.pool()), query, args, into)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if all == nil {
		all = []T{}
	}
	return all, nil
}

// value is where the only column of a row goes.
func value[T any](v *T) []any { return []any{v} }

// one reads the row of a query that has one at most, and reports whether it has.
func (k *Reader) one(ctx context.Context, what, query string, args []any, into ...any) (found bool, err error) {
	err = k.pool().QueryRowContext(ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", what, err)
	}
	return true, nil
}

// alive looks at the lock of a run, which lived in the snapshot that is read if it has ended in order since. Where the
// lock can't be looked at (another user's file, a disk without locks), a heartbeat younger than store.SilentElsewhere
// is a sign of life; without one nobody knows, and unseen says why.
func (k *Reader) alive(uuid string, heartbeat time.Time) (lives bool, unseen error) {
	lives, err := store.Alive(k.db.Path(), uuid)
	switch {
	case err != nil && store.Beats(k.db.Now(), heartbeat):
		return true, nil
	case err != nil || lives || k.tx == nil:
		return lives, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err = k.db.Read().QueryRowContext(ctx, `SELECT outcome NOT IN ('running', 'dead') FROM runs WHERE uuid = ?`, uuid).Scan(&lives)
	return lives && err == nil, nil
}

// at scans a time that may be NULL into t.
func at(t *time.Time) sql.Scanner { return store.Instant(t) }

// fields says where the columns of a row go that are the fields of T.
func fields[T any](row *T) []any { return store.Fields(row) }
