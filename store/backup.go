package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

// ErrRestoring is returned for a database that a restore was replacing when it was cut off.
var ErrRestoring = errors.New("a restore of this database was interrupted and is not complete")

// RestoreMark is the file beside a database that is there while a restore replaces it.
func RestoreMark(path string) string { return RealPath(path) + ".restoring" }

// Snapshot is one state of a database file, for as long as it is open. Crawls go on
// beside it; the file's -wal grows meanwhile, since nothing behind the snapshot can be folded in.
type Snapshot struct {
	At time.Time // when it was taken
	ID string    // of the database

	path string
	db   *sql.DB
	conn *sql.Conn // has the read transaction
}

// TakeSnapshot opens a file of any schema version that this program can read. With frozen,
// which may be nil, no process commits from before the snapshot is taken until frozen has
// returned: what it looks at beside the file belongs to the same moment.
func TakeSnapshot(ctx context.Context, path string, frozen func() error) (s *Snapshot, err error) {
	if err := checkFile(Config{Path: path, ReadOnly: true}); err != nil {
		return nil, err
	}
	s = &Snapshot{path: path}
	if frozen != nil {
		err = s.freeze(ctx, frozen)
	} else {
		err = s.openStill(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("read database %s: %w", path, explain(err, filepath.Dir(RealPath(path)), unlockable))
	}
	return s, nil
}

// openStill opens a file that may be where nothing can be written.
func (s *Snapshot) openStill(ctx context.Context) error {
	err := s.open(ctx, dsn(Config{Path: s.path}, true))
	if errors.Is(classify(err), ErrReadOnly) && standsAlone(s.path) {
		s.Close()
		err = s.open(ctx, dsn(Config{Path: s.path}, true)+"&immutable=1")
	}
	return err
}

// freeze takes the snapshot while it holds the lock that every write transaction needs. A file that can't be locked so,
// because its disk is read-only or it has several names, is read as it is first, and then what is beside it: logs are
// ahead of their database, after a kill too.
func (s *Snapshot) freeze(ctx context.Context, frozen func() error) error {
	err := OneName(s.path)
	if err == nil {
		err = s.lockAndOpen(ctx, frozen)
	}
	if !errors.Is(classify(err), ErrReadOnly) {
		return err
	}
	s.Close()
	if err := s.openStill(ctx); err != nil {
		return err
	}
	return frozen()
}

func (s *Snapshot) lockAndOpen(ctx context.Context, frozen func() error) (err error) {
	if err := s.open(ctx, dsn(Config{Path: s.path}, true)); err != nil { // another program's file is not to be touched
		return err
	}
	s.Close()
	db, err := sql.Open("sqlite", dsn(Config{Path: s.path}, false)+"&mode=rw")
	if err != nil {
		return err
	}
	s.db = db // a connection that can write, so that the last one to close removes the -wal
	lock, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	// A file that was restored and not crawled into gets its -wal back: else a run had to wait for the copy.
	if err := useWAL(ctx, lock, filepath.Dir(RealPath(s.path))); err != nil {
		return err
	}
	if _, err := lock.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err = s.begin(ctx)
	if err == nil {
		err = frozen()
	}
	_, rollback := lock.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return errors.Join(err, rollback)
}

func (s *Snapshot) open(ctx context.Context, name string) (err error) {
	if s.db, err = sql.Open("sqlite", name); err != nil {
		return err
	}
	return s.begin(ctx)
}

// begin opens the read transaction.
func (s *Snapshot) begin(ctx context.Context) (err error) {
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	version, err := inspect(ctx, s.conn, s.path, SchemaVersion)
	if err == nil && version == 0 {
		err = fmt.Errorf("%s is empty: nothing has been crawled into it", s.path)
	}
	if err != nil {
		return err
	}
	s.At = time.Now().UTC().Truncate(time.Millisecond)
	return s.conn.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'database_id'").Scan(&s.ID)
}

// Reader reads from the snapshot.
func (s *Snapshot) Reader(ctx context.Context) Querier { return reader{ctx, s.conn} }

// Close ends the snapshot.
func (s *Snapshot) Close() {
	if s.conn != nil {
		_ = s.conn.Close() // only read
	}
	if s.db != nil {
		_ = s.db.Close()
	}
	s.conn, s.db = nil, nil
}

// backupStep is how many pages are copied between two looks at the context.
const backupStep = 1000

// A copy has the logs in a table of its own, in pieces: a log of 64 MB need not be in memory.
const (
	dropLogs   = `DROP TABLE IF EXISTS backup_logs; DELETE FROM meta WHERE key = 'backup';`
	createLogs = `
	DROP TABLE IF EXISTS backup_logs;
	DELETE FROM meta WHERE key = 'backup';
	CREATE TABLE backup_logs (id INTEGER PRIMARY KEY, name TEXT NOT NULL, changed_at INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
	INSERT INTO meta (key, value) VALUES ('backup', ?)` // when it was made
	insertLog = `INSERT INTO backup_logs (name, changed_at, body) VALUES (?, ?, ?)`
	madeAt    = `SELECT value FROM meta WHERE key = 'backup'`
	readLogs  = `SELECT name, changed_at, body FROM backup_logs ORDER BY id`
	pieceSize = 1 << 20
)

// CopiedLog is a log that goes into a copy: an open file, as long as it was when Info was taken.
type CopiedLog struct {
	File *os.File
	Info os.FileInfo
}

// CopyTo writes the snapshot with its logs to a file that is new or empty, without a write-ahead journal: whoever opens it for writing
// brings that back.
func (s *Snapshot) CopyTo(ctx context.Context, to string, logs []CopiedLog) error {
	return s.copyTo(ctx, to, "memory", func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, createLogs, yp.FormatTime(s.At)); err != nil {
			return err
		}
		piece := make([]byte, pieceSize)
		for _, l := range logs {
			for at := int64(0); at == 0 || at < l.Info.Size(); at += pieceSize { // an empty log has one piece
				n, err := l.File.ReadAt(piece[:min(pieceSize, l.Info.Size()-at)], at)
				if err != nil && !errors.Is(err, io.EOF) {
					return fmt.Errorf("copy log: %w", err)
				}
				if _, err := db.ExecContext(ctx, insertLog, l.Info.Name(), l.Info.ModTime().UnixMilli(), piece[:n]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// RestoreTo writes the database to a new file with a write-ahead journal, as it is crawled into, and gives its logs
// to log, piece by piece. at is when the copy was made, "" for a database that CopyTo did not make.
func (s *Snapshot) RestoreTo(ctx context.Context, to string,
	log func(name string, changed time.Time, piece []byte) error,
) (at string, err error) {
	err = s.copyTo(ctx, to, "wal", func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, dropLogs)
		return err
	})
	if err != nil {
		return "", err
	}
	q := reader{ctx, s.conn}
	made, err := Column[string](q, madeAt)
	if err != nil || len(made) == 0 {
		return "", err
	}
	return made[0], Each(q, readLogs, nil, func(rows *sql.Rows) error {
		var name string
		var changed int64
		var piece []byte
		if err := rows.Scan(&name, &changed, &piece); err != nil {
			return err
		}
		return log(name, time.UnixMilli(changed), piece)
	})
}

// copyTo writes the snapshot to a file that is new or empty, private to its owner and in no other use, gives it
// that journal, and lets finish change it. The file is synced, and no journal is left beside it.
func (s *Snapshot) copyTo(ctx context.Context, to, journal string, finish func(*sql.DB) error) (err error) {
	f, err := folder.New(to, os.O_WRONLY, 0o600, nil)
	if errors.Is(err, os.ErrExist) {
		f, err = folder.Open(to, os.O_WRONLY)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // after SQLite, whose locks on the file end with any close
	if info, err := f.Stat(); err != nil || info.Size() > 0 {
		return errors.Join(err, fmt.Errorf("copy database to %s: %w", to, os.ErrExist))
	}
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	// What a kill leaves of the file is thrown away.
	name := dsn(Config{Path: to, Synchronous: "OFF"}, false) + "&mode=rw"
	if journal != "wal" {
		name += "&nolock=1" // the caller may hold the file by a lock that some systems mix up with SQLite's
	}
	if err = s.copyPages(ctx, name+"&_pragma=journal_mode(off)"); err == nil && journal != "wal" {
		_, err = f.WriteAt([]byte{1, 1}, 18) // "no write-ahead journal" in the header (sqlite.org/fileformat2.html): with one, a file needs locks
	}
	if err != nil {
		return fmt.Errorf("copy database %s: %w", s.path, classify(err))
	}
	db, err := sql.Open("sqlite", name+"&_pragma=journal_mode("+journal+")")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err = db.PingContext(ctx); err == nil {
		err = finish(db)
	}
	if err = errors.Join(err, db.Close(), f.Sync()); err != nil {
		return fmt.Errorf("finish the copy of database %s: %w", s.path, classify(err))
	}
	return nil
}

func (s *Snapshot) copyPages(ctx context.Context, to string) error {
	return s.conn.Raw(func(driver any) error {
		src, ok := driver.(interface {
			NewBackup(name string) (*sqlite.Backup, error)
		})
		if !ok {
			return fmt.Errorf("the driver %T makes no copies", driver)
		}
		b, err := src.NewBackup(to)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if err = ctx.Err(); err == nil {
				more, err = b.Step(backupStep)
			}
		}
		return errors.Join(err, b.Finish())
	})
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

// FoldIn makes a database that is to be replaced one file: what its -wal holds is brought into
// it, and no journal stays beside it. ErrBusy means that some process has it open.
func FoldIn(ctx context.Context, path string) error {
	if err := cmp.Or(readable(path), OneName(path)); err != nil {
		return err
	}
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
