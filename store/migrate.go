package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"ypcrawl/yp"
)

// SchemaVersion is the PRAGMA user_version of files that this program makes.
const SchemaVersion = 1

// applicationID marks a SQLite file as ypcrawl's ("ypcr"), so that another
// program's database is refused rather than filled.
const applicationID = 0x79706372

// migrations holds the upgrade steps NNNN_title.sql: step N takes a file from
// version N-1 to N. Version 1 is schema.sql itself, so the first step will be 0002.
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
	have, err := fileVersion(ctx, conn)
	if err != nil {
		return err
	}
	if have == target {
		return verifyOwner(ctx, conn, cfg.Path, target)
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := upgrade(ctx, conn, cfg, now, target, steps); err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// upgrade runs inside the transaction, so the version is read again: another
// process may have been first.
func upgrade(ctx context.Context, conn *sql.Conn, cfg Config, now time.Time, target int, steps fs.FS) error {
	have, err := fileVersion(ctx, conn)
	if err != nil {
		return err
	}
	empty, err := isEmpty(ctx, conn)
	if err != nil {
		return err
	}
	switch {
	case have == 0 && empty:
		if err := create(ctx, conn, cfg.Schema, now); err != nil {
			return err
		}
	case have <= 0 || have > target:
		return &VersionError{Path: cfg.Path, Have: have, Max: target}
	default:
		if err := verifyOwner(ctx, conn, cfg.Path, target); err != nil {
			return err
		}
		if err := runSteps(ctx, conn, have, target, steps); err != nil {
			return err
		}
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
		if err != nil || len(names) != 1 {
			return fmt.Errorf("upgrade to schema version %d: want one step, found %v (%w)", v, names, err)
		}
		text, err := fs.ReadFile(steps, names[0])
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("upgrade step %s: %w", names[0], err)
		}
	}
	return nil
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func fileVersion(ctx context.Context, q queryer) (v int, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

func isEmpty(ctx context.Context, q queryer) (bool, error) {
	var n int
	err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n)
	return n == 0, err
}

func verifyOwner(ctx context.Context, q queryer, path string, target int) error {
	var id int
	if err := q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if id != applicationID {
		return &VersionError{Path: path, Have: 0, Max: target}
	}
	return nil
}

// checkVersion is what a reader, who can't upgrade, asks.
func checkVersion(ctx context.Context, q queryer, path string) error {
	have, err := fileVersion(ctx, q)
	if err != nil {
		return err
	}
	if have != SchemaVersion {
		return &VersionError{Path: path, Have: have, Max: SchemaVersion}
	}
	return verifyOwner(ctx, q, path, SchemaVersion)
}
