package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"modernc.org/sqlite"
)

// ErrRestoring is returned for a database that a restore was replacing when it was cut off.
var ErrRestoring = errors.New("a restore of this database was interrupted and is not complete")

// RestoreMark is the file beside a database that stands there while a restore replaces it.
func RestoreMark(path string) string { return RealPath(path) + ".restoring" }

// CopyMark is what a copy made by `backup` says of itself, in meta under "backup".
type CopyMark struct {
	At   string `json:"at"`             // when no process could commit: the copy is the file as it was then
	Logs string `json:"logs,omitempty"` // name of the folder beside the copy that has its logs; "" = none
}

// Snapshot is one state of a database file, for as long as it is open. Crawls go on
// beside it; the file's -wal grows meanwhile, since nothing behind the snapshot can be folded in.
type Snapshot struct {
	At      time.Time // when it was taken
	Version int       // of the schema
	ID      string    // of the database
	Size    int64     // in bytes, of a copy
	Mark    *CopyMark // nil when the file was not made by `backup`, nor restored from one

	db   *sql.DB
	conn *sql.Conn
	last func() error // closes a connection that can write: whoever closes last removes the -wal, if he can
	path string
}

// TakeSnapshot opens a file of any schema version that this program can read. With frozen,
// which may be nil, no process commits from before the snapshot is taken until frozen has
// returned: what it looks at beside the file belongs to the same moment.
func TakeSnapshot(ctx context.Context, path string, frozen func() error) (s *Snapshot, err error) {
	if err := checkFile(Config{Path: path, ReadOnly: true}); err != nil {
		return nil, err
	}
	s = &Snapshot{path: path}
	defer func() {
		if err != nil {
			s.Close()
			s, err = nil, fmt.Errorf("read database %s: %w", path, classify(err))
		}
	}()
	if frozen != nil {
		var release func() error
		if release, s.last, err = stopCommits(ctx, path); err != nil {
			return s, err
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	if err := s.begin(ctx); err != nil {
		return s, err
	}
	s.At = time.Now().UTC().Truncate(time.Millisecond)
	if frozen != nil {
		err = frozen()
	}
	return s, err
}

// stopCommits takes the lock that every write transaction needs, until release; end closes the
// connection.
func stopCommits(ctx context.Context, path string) (release, end func() error, err error) {
	if _, err := inspectFile(ctx, path); err != nil { // another program's file is not to be touched
		return nil, nil, err
	}
	db, err := sql.Open("sqlite", dsn(Config{Path: path}, false)+"&mode=rw")
	if err != nil {
		return nil, nil, err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		err = useWAL(ctx, conn) // of a file that was restored and not crawled into: else a run had to wait for the copy
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, conn.Close())
	}, db.Close, nil
}

func inspectFile(ctx context.Context, path string) (version int, err error) {
	db, err := sql.Open("sqlite", dsn(Config{Path: path}, true))
	if err != nil {
		return 0, err
	}
	version, err = inspect(ctx, db, path, SchemaVersion)
	if err == nil && version == 0 {
		err = fmt.Errorf("%s is empty: nothing was crawled into it", path)
	}
	return version, errors.Join(err, db.Close())
}

// begin opens the read transaction.
func (s *Snapshot) begin(ctx context.Context) error {
	name := dsn(Config{Path: s.path}, true)
	err := s.tryBegin(ctx, name)
	if !errors.Is(classify(err), ErrReadOnly) || !standsAlone(s.path) {
		return err
	}
	s.Close()
	return s.tryBegin(ctx, name+"&immutable=1")
}

func (s *Snapshot) tryBegin(ctx context.Context, name string) (err error) {
	if s.db, err = sql.Open("sqlite", name); err != nil {
		return err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	if s.Version, err = inspect(ctx, s.conn, s.path, SchemaVersion); err != nil {
		return err
	}
	if s.Version == 0 {
		return fmt.Errorf("%s is empty: nothing was crawled into it", s.path)
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'database_id'").Scan(&s.ID); err != nil {
		return err
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&s.Size); err != nil {
		return err
	}
	s.Mark, err = readMark(ctx, s.conn)
	return err
}

func readMark(ctx context.Context, q queryer) (*CopyMark, error) {
	var text string
	err := q.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'backup'").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &CopyMark{}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("read when the copy was made: %w", err)
	}
	return m, nil
}

// Close ends the snapshot.
func (s *Snapshot) Close() {
	if s.conn != nil {
		_ = s.conn.Close() // only read
	}
	if s.db != nil {
		_ = s.db.Close()
	}
	if s.last != nil {
		_ = s.last() // nothing was written
	}
	s.conn, s.db, s.last = nil, nil, nil
}

// backupStep is how many pages are copied between two looks at the context.
const backupStep = 1000

// CopyTo writes the snapshot to a new file, private to its owner, with mark in its meta if that
// is not nil: a file that stands for itself, without a journal beside it. It is not synced.
func (s *Snapshot) CopyTo(ctx context.Context, to string, mark *CopyMark) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := s.copyPages(ctx, to); err != nil {
		return fmt.Errorf("copy database %s: %w", s.path, classify(err))
	}
	if err := sealCopy(ctx, to, mark); err != nil {
		return fmt.Errorf("finish the copy of database %s: %w", s.path, classify(err))
	}
	return nil
}

// scratchDSN opens a file that nobody knows yet: what a kill leaves of it is thrown away.
func scratchDSN(path string) string {
	return dsn(Config{Path: path, Synchronous: "OFF"}, false) + "&mode=rw"
}

func (s *Snapshot) copyPages(ctx context.Context, to string) error {
	return s.conn.Raw(func(driver any) error {
		src, ok := driver.(interface {
			NewBackup(name string) (*sqlite.Backup, error)
		})
		if !ok {
			return fmt.Errorf("the driver %T makes no copies", driver)
		}
		b, err := src.NewBackup(scratchDSN(to) + "&_pragma=journal_mode(off)")
		if err != nil {
			return err
		}
		for more := true; more; {
			if err := ctx.Err(); err != nil {
				return errors.Join(err, b.Finish())
			}
			if more, err = b.Step(backupStep); err != nil {
				return errors.Join(err, b.Finish())
			}
		}
		return b.Finish()
	})
}

// sealCopy leaves the write-ahead journal, which whoever opens the file for writing brings
// back, and enters the mark.
func sealCopy(ctx context.Context, path string, mark *CopyMark) (err error) {
	db, err := sql.Open("sqlite", scratchDSN(path)+"&_pragma=journal_mode(memory)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if mark == nil {
		return db.PingContext(ctx)
	}
	_, err = db.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('backup', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", JSON(mark))
	return err
}

// CheckCopy has SQLite read every page of a file that nobody writes.
func CheckCopy(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(Config{Path: path}, true)+"&immutable=1&_pragma=cache_size(-4000)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // only read
	if err := check(reader{ctx, db}, "PRAGMA quick_check(5)"); err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	return nil
}

// KeepWAL gives a file that nobody knows yet the write-ahead journal back, and leaves none beside it.
func KeepWAL(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", scratchDSN(path))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err == nil {
		err = errors.Join(useWAL(ctx, conn), conn.Close())
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("finish %s: %w", path, classify(err))
	}
	return nil
}

// FoldIn makes a database that is to be replaced one file: what its -wal holds is brought into
// it, and no journal stays beside it. ErrBusy means that some process has it open.
func FoldIn(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(Config{Path: path, BusyTimeout: time.Second}, false)+"&mode=rw")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	var mode string
	err = db.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode)
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("take database %s out of WAL mode: %w", path, classify(err))
	}
	if mode != "delete" {
		return fmt.Errorf("take database %s out of WAL mode: it keeps journal mode %s", path, mode)
	}
	return nil
}
