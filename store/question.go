package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrReadsOnly says that a question would do more than read.
var ErrReadsOnly = errors.New("query is read-only: use SELECT")

// ErrStatements says that a question is more than one statement: SQLite would answer the last one alone.
var ErrStatements = errors.New("query takes one statement at a time")

// notCode is what a semicolon may be in: texts, names and comments.
var notCode = regexp.MustCompile("(?s)'[^']*'|\"[^\"]*\"|`[^`]*`|\\[[^]]*]|--[^\n]*|/\\*.*?\\*/")

// Question asks what somebody else wrote, and hands its rows to do. It may read and nothing else, and sees no password of a proxy.
func (db *DB) Question(ctx context.Context, query string, do func(*sql.Rows) error) error {
	if code := notCode.ReplaceAllString(query, " "); strings.Contains(strings.TrimRight(code, "; \t\r\n"), ";") {
		return ErrStatements
	}
	conn, err := db.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it was read from
	guard := func(by sqlite.AuthorizerFn) error {
		return conn.Raw(func(c any) error {
			own, ok := c.(sqlite.AuthorizerRegisterer)
			if !ok {
				return fmt.Errorf("%T: %w", c, driver.ErrSkip)
			}
			return own.RegisterAuthorizer(by)
		})
	}
	defer func() { _ = guard(nil) }() // the connection goes back to the others
	if err := guard(readsOnly); err != nil {
		return fmt.Errorf("guard the question: %w", err)
	}
	rows, err := conn.QueryContext(ctx, query)
	if refused, ok := errors.AsType[*sqlite.Error](err); ok && refused.Code() == sqlite3.SQLITE_AUTH {
		return ErrReadsOnly
	}
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if err := do(rows); err != nil {
		return err
	}
	return rows.Err()
}

func readsOnly(action sqlite.AuthorizerActionCode, table, column, _, _ string) sqlite.AuthorizerReturnCode {
	switch {
	case action == sqlite.AuthRead && table == "proxies" && column == "url":
		return sqlite.AuthorizerIgnore // NULL
	case action == sqlite.AuthRead && strings.HasPrefix(table, "sqlite_") && table != "sqlite_schema" &&
		table != "sqlite_master": // raw pages, samples of indexes
		return sqlite.AuthorizerDeny
	case action == sqlite.AuthSelect, action == sqlite.AuthRead,
		action == sqlite.AuthFunction && column != "load_extension", action == sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	}
	return sqlite.AuthorizerDeny
}
