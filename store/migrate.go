package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"ypcrawl/yp"
)

const (
	// SchemaVersion is the PRAGMA user_version of files that this program makes.
	SchemaVersion = 1
)

// SQLiteVersion is that of the SQLite that is linked in.
const SQLiteVersion = sqlite3.SQLITE_VERSION

const (
	// applicationID marks a SQLite file as ypcrawl's ("ypc3"), so that another program's
	// database is refused rather than filled.
	applicationID = 0x79706333
)

// migrations holds the upgrade steps NNNN_title.sql: step N takes a file from
// version N-1 to N.
//
//go:embed migrations
var migrations embed.FS

// migrate brings the file to SchemaVersion in one transaction; of several
// processes that open a new file at once, one makes the schema.
func migrate(ctx context.Context, conn *sql.Conn, cfg Config, now time.Time) error {
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	return migrateTo(ctx, conn, cfg, now, SchemaVersion, steps)
}

func migrateTo(ctx context.Context, conn *sql.Conn, cfg Config, now time.Time, target int, steps fs.FS) error {
	have, err := inspect(ctx, conn, cfg.Path, target)
	if err == nil {
		err = cfg.sameFile()
	}
	if err != nil {
		return err
	}
	if err := useWAL(ctx, conn, filepath.Dir(RealPath(cfg.Path))); err != nil || have == target {
		return err
	}
	// A step that rebuilds a table drops the old one: rows that refer to it must
	// not be in its way. The switch works outside of transactions only.
	if _, err := conn.ExecContext(ctx, "PRAGMA foreign_keys = OFF"); err != nil {
		return err
	}
	if have > 0 {
		release, err := aloneToUpgrade(ctx, conn, cfg.Path, target)
		if err != nil {
			return err
		}
		defer release()
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err = upgrade(ctx, conn, cfg, now, target, steps); err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return err
	}
	_, err = conn.ExecContext(ctx, "PRAGMA foreign_keys = ON")
	return err
}

// RunLock is the name of the lock that every run holds: shared, or exclusively where it wants to be alone. Whoever holds it
// exclusively keeps runs from beginning.
const RunLock = "run"

// upgradeLock is held by whoever upgrades the file.
const upgradeLock = "upgrade"

// aloneToUpgrade waits until no other process upgrades the file, however long that
// takes, and makes sure that no run of the older version works on it: it would go
// on writing what the new schema does not allow. release must be called.
func aloneToUpgrade(ctx context.Context, conn *sql.Conn, path string, target int) (release func(), err error) {
	mine, err := TakeLock(path, upgradeLock, false)
	for errors.Is(err, ErrLocked) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		mine, err = TakeLock(path, upgradeLock, false)
	}
	if err != nil {
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	release = func() { _ = mine.Release() }
	// Who was waited for may have done it, and be running by now: its lock is none of
	// an older version's, and must not even be tried.
	have, err := inspect(ctx, conn, path, target)
	if err == nil && have < target {
		var runs *Lock
		if runs, err = TakeLock(path, RunLock, false); err == nil {
			err = runs.Release()
		} else if errors.Is(err, ErrLocked) {
			err = ErrOlderRun
		}
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	return release, nil
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// One statement sees one state of the file: another process may make the schema between two.
const describeFile = `
	SELECT user_version, application_id, EXISTS (SELECT 1 FROM sqlite_schema), page_count * page_size
	FROM pragma_user_version, pragma_application_id, pragma_page_count, pragma_page_size`

// inspect returns the file's version, or a *VersionError for a file that is not
// ours to touch. It writes nothing: another program's file stays as it is.
func inspect(ctx context.Context, q queryer, path string, target int) (have int, err error) {
	var id int
	var tables bool
	var size int64
	whole := journaled(path) // what the file lacks is in its journal
	if err := q.QueryRowContext(ctx, describeFile).Scan(&have, &id, &tables, &size); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	whole = whole || err != nil || info.Size() >= size || journaled(path)
	switch {
	case have == 0 && !tables:
		return 0, nil
	case id != applicationID:
		return have, &VersionError{Path: path, Have: 0, Max: target}
	case have <= 0 || have > target:
		return have, &VersionError{Path: path, Have: have, Max: target}
	case !whole: // SQLite says nothing while a part of the last page is there
		return have, fmt.Errorf("%w: the file was cut off: it has %d bytes, and its header says %d", ErrCorrupt, info.Size(), size)
	}
	return have, nil
}

// checkVersion is what a reader, who can't upgrade, asks.
func checkVersion(ctx context.Context, q queryer, path string, target int) error {
	have, err := inspect(ctx, q, path, target)
	if err == nil && have == 0 {
		err = notFound(path + " is empty")
	}
	if err == nil && have != target {
		err = &VersionError{Path: path, Have: have, Max: target}
	}
	return err
}

// useWAL switches a file that is ours to the write-ahead journal, which it keeps.
// The switch needs the file alone and does not wait for its turn by itself, so of
// several processes that open a new file at once each tries until one has done it.
func useWAL(ctx context.Context, conn *sql.Conn, dir string) error {
	for try := 1; ; try++ {
		var mode string
		err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil && mode != "wal" {
			err = fmt.Errorf("the file keeps journal mode %s: want wal", mode)
		}
		if err = explain(err, dir, unlockable); !errors.Is(err, ErrBusy) || try == 100 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try) * time.Millisecond):
		}
	}
}

// upgrade runs inside the transaction, so the version is read again: another
// process may have been first.
func upgrade(ctx context.Context, conn *sql.Conn, cfg Config, now time.Time, target int, steps fs.FS) error {
	have, err := inspect(ctx, conn, cfg.Path, target)
	if err != nil || have == target {
		return err
	}
	if have == 0 {
		err = create(ctx, conn, cfg.Schema, now)
	} else {
		err = runSteps(ctx, conn, have, target, steps)
	}
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", target))
	return err
}

func create(ctx context.Context, conn *sql.Conn, schema string, now time.Time) error {
	if schema == "" {
		return fmt.Errorf("make the schema: no schema given")
	}
	if _, err := conn.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('created_at', ?)", yp.FormatTime(now))
	return err
}

func runSteps(ctx context.Context, conn *sql.Conn, have, target int, steps fs.FS) error {
	for v := have + 1; v <= target; v++ {
		names, err := fs.Glob(steps, fmt.Sprintf("%04d_*.sql", v))
		if err != nil {
			return err
		}
		if len(names) != 1 {
			return fmt.Errorf("upgrade to schema version %d: want one step, found %v", v, names)
		}
		text, err := fs.ReadFile(steps, names[0])
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("upgrade step %s: %w", names[0], err)
		}
	}
	// They ran with foreign keys off: no row may refer to nothing.
	var table, parent string
	err := conn.QueryRowContext(ctx, `SELECT "table", "parent" FROM pragma_foreign_key_check LIMIT 1`).Scan(&table, &parent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("upgrade: a row of %s refers to no row of %s", table, parent)
}
