package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"ypcrawl/yp"
)

// maxBatch bounds how many callers share one transaction, and so how long a
// caller waits for the others.
const maxBatch = 48

// Where callers come together, a transaction waits up to worthWaiting for enough of them: each
// costs an fsync and writes the pages of the file anew that all of them touch. Where nothing is
// synced, none waits: there is nothing to share, and in a test whose clock jumps ahead such a wait
// would pass between any two of its steps, or not, as the machine is busy.
const (
	enough       = 3
	worthWaiting = 2 * time.Millisecond
)

// Tx is one caller's part of a write transaction. It must not be kept after the
// function it was given to returns.
type Tx struct {
	Now string // the one time of this transaction, in yp.TimeLayout
	At  time.Time
	w   *writer
	ctx context.Context
}

// Exec runs a statement, prepared once per process: query must be a constant.
func (tx *Tx) Exec(query string, args ...any) (sql.Result, error) {
	st, err := tx.w.stmt(tx.ctx, query) //nolint:sqlclosecheck // kept by the writer, closed with it
	if err != nil {
		return nil, err
	}
	return st.ExecContext(tx.ctx, args...)
}

// Changed runs a statement and returns how many rows it changed.
func (tx *Tx) Changed(query string, args ...any) (int64, error) {
	res, err := tx.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Query runs a prepared query. The rows must be closed before the next
// statement: there is one connection.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	st, err := tx.w.stmt(tx.ctx, query) //nolint:sqlclosecheck // kept by the writer, closed with it
	if err != nil {
		return nil, err
	}
	return st.QueryContext(tx.ctx, args...)
}

// Get runs a prepared query for one row and scans it into dest; it returns
// sql.ErrNoRows when there is none.
func (tx *Tx) Get(query string, args []any, dest ...any) error {
	st, err := tx.w.stmt(tx.ctx, query) //nolint:sqlclosecheck // kept by the writer, closed with it
	if err != nil {
		return err
	}
	return st.QueryRowContext(tx.ctx, args...).Scan(dest...)
}

type job struct {
	fn   func(*Tx) error
	done chan error
}

// writer owns the writing connection. Callers queue; the writer takes all that
// wait into one transaction, so that they share its fsync.
type writer struct {
	conn    *sql.Conn
	now     func() time.Time
	jobs    chan job
	quit    chan struct{}
	done    chan struct{}
	once    sync.Once
	closed  sync.Once
	dir     string // of the file
	foldAt  int64  // what the connection folds the journal in at; 0 = as the DSN says
	commits int    // so far
	journal string // its path
	waits   bool   // for others to share an fsync with
	stmts   map[string]*sql.Stmt

	keyHash      func(string) int64 // of the strong keys of companies
	beforeCommit func()
	loseCommit   func() bool
	rewrite      func(statement string) string
}

func startWriter(conn *sql.Conn, now func() time.Time, cfg Config) *writer {
	w := &writer{
		conn: conn, now: now, dir: filepath.Dir(RealPath(cfg.Path)), journal: RealPath(cfg.Path) + "-wal",
		waits: !strings.EqualFold(cfg.Synchronous, "OFF"), keyHash: cfg.KeyHash, beforeCommit: cfg.BeforeCommit,
		loseCommit: cfg.LoseCommit, rewrite: cfg.Rewrite, stmts: map[string]*sql.Stmt{},
		jobs: make(chan job, maxBatch), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go w.loop()
	return w
}

// Write runs fn in a transaction and returns when it is committed (nil) or
// rolled back (the error of fn, or of the commit). Once taken, it is carried
// through whatever happens to ctx: a half-cancelled commit helps nobody.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	if db.writer == nil {
		return fmt.Errorf("write to %s: %w", db.path, ErrReadOnly)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	j := job{fn: fn, done: make(chan error, 1)}
	select {
	case <-db.writer.quit:
		return ErrClosed
	default:
	}
	select {
	case db.writer.jobs <- j:
	case <-db.writer.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-j.done:
		return err
	case <-db.writer.done:
		select { // the last batch may have answered just before
		case err := <-j.done:
			return err
		default:
			return ErrClosed
		}
	}
}

func (w *writer) loop() {
	defer close(w.done)
	batch := make([]job, 0, maxBatch)
	for {
		select {
		case j := <-w.jobs:
			several := w.waits && len(batch) > 1 // the last time: others may come
			if batch = w.gather(append(batch[:0], j)); several {
				batch = w.await(batch)
			}
			w.commit(batch)
		case <-w.quit: // what was queued before is carried out
			for batch = w.gather(batch[:0]); len(batch) > 0; batch = w.gather(batch[:0]) {
				w.commit(batch)
			}
			return
		}
	}
}

func (w *writer) gather(batch []job) []job {
	for len(batch) < maxBatch {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// await gathers until there are enough, but not for long.
func (w *writer) await(batch []job) []job {
	timer := time.NewTimer(worthWaiting)
	defer timer.Stop()
	for len(batch) < enough {
		select {
		case j := <-w.jobs:
			batch = w.gather(append(batch, j))
		case <-timer.C:
			return batch
		case <-w.quit:
			return batch
		}
	}
	return batch
}

// commit runs one batch: BEGIN, each job under a savepoint, COMMIT, answers.
func (w *writer) commit(batch []job) {
	errs := make([]error, len(batch))
	err := w.transact(context.Background(), batch, errs)
	for i, j := range batch {
		if err != nil {
			j.done <- err
		} else {
			j.done <- errs[i]
		}
	}
}

// errBroken means that SQLite rolled the whole transaction back by itself, as it
// does on a full disk: no job of the batch is there.
var errBroken = errors.New("the transaction was rolled back")

func (w *writer) transact(ctx context.Context, batch []job, errs []error) error {
	if err := w.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", explain(err, w.dir, unlockable))
	}
	at := w.now()
	tx := &Tx{Now: yp.FormatTime(at), At: at, w: w, ctx: ctx}
	for i, j := range batch {
		errs[i] = w.one(ctx, tx, j, len(batch) > 1)
		if errs[i] != nil && (len(batch) == 1 || errors.Is(errs[i], errBroken)) {
			_ = w.exec(ctx, "ROLLBACK")
			return errs[i]
		}
	}
	if w.beforeCommit != nil {
		w.beforeCommit()
	}
	if w.loseCommit != nil && w.loseCommit() {
		return w.exec(ctx, "ROLLBACK")
	}
	if err := w.exec(ctx, "COMMIT"); err != nil {
		_ = w.exec(ctx, "ROLLBACK")
		return fmt.Errorf("commit: %w", classify(err))
	}
	_ = w.tuneJournal(ctx) // a journal that is longer than it should be harms nobody
	return nil
}

// one runs a job; a lone job needs no savepoint, its failure ends the transaction.
func (w *writer) one(ctx context.Context, tx *Tx, j job, shared bool) error {
	if shared {
		if err := w.exec(ctx, "SAVEPOINT page"); err != nil {
			return fmt.Errorf("%w: %w", errBroken, classify(err))
		}
	}
	jobErr := classify(guard(j.fn, tx))
	if !shared {
		return jobErr
	}
	if jobErr != nil {
		if err := w.exec(ctx, "ROLLBACK TO page"); err != nil {
			return fmt.Errorf("%w: %w", errBroken, jobErr)
		}
	}
	if err := w.exec(ctx, "RELEASE page"); err != nil {
		return fmt.Errorf("%w: %w", errBroken, classify(err))
	}
	return jobErr
}

// guard turns a panic of a caller's function into its error: odd data of one
// page must not end the process, and with it every later start on that page.
func guard(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(tx)
}

func (w *writer) exec(ctx context.Context, query string) error {
	st, err := w.stmt(ctx, query) //nolint:sqlclosecheck // kept by the writer, closed with it
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx)
	return err
}

func (w *writer) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := w.stmts[query]; ok {
		return st, nil
	}
	text := query
	if w.rewrite != nil {
		text = w.rewrite(query)
	}
	st, err := w.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = st
	return st, nil
}

// stop ends the writer once it has carried out what was queued.
func (w *writer) stop() {
	w.once.Do(func() { close(w.quit) })
	<-w.done
}

// close gives up the statements and the connection of a writer that has stopped.
func (w *writer) close() error {
	var err error
	w.closed.Do(func() {
		for _, st := range w.stmts {
			err = errors.Join(err, st.Close())
		}
		err = errors.Join(err, w.conn.Close())
	})
	return err
}
