package cli

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/backup"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl/start"
	"ypcrawl/store"
	"ypcrawl/yp/folder"
)

// Exit codes, as `help exit-codes` tells them.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitFailures    = 3
	ExitBudget      = 4
	ExitBlocked     = 5 // the source is closed for longer than the run waits
	ExitNoProxies   = 6
	ExitLayout      = 7
	ExitLocked      = 11
	ExitInterrupted = 130
)

// exitError carries an exit code of its own to the top. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exit maps an error to the exit code, once, and prints it, one line a cause, with its next step.
func (p *Program) exit(ctx context.Context, err error) int {
	code, hint := p.verdict(ctx, err)
	if err != nil && err.Error() != "" && code != ExitInterrupted {
		p.NoteError(err.Error())
	}
	if hint != "" {
		p.Note("%s", hint)
	}
	return code
}

func (p *Program) verdict(ctx context.Context, err error) (code int, hint string) {
	var coded *exitError
	switch {
	case err == nil:
		return ExitOK, ""
	case store.Corrupt(err) && p.rebuildCommand() == noLogs:
		return ExitError, "There are no logs in " + p.logs + ": " + noLogs + "."
	case store.Corrupt(err):
		return ExitError, "Move the file elsewhere and rebuild it from the logs:\n  " + p.rebuildCommand()
	case errors.As(err, new(*lostError)):
		return ExitError, "To rebuild it from them:\n  " + p.replayCommand() + "\n" + lostElse
	case errors.As(err, &coded):
		return coded.code, ""
	case errors.As(err, new(*frame.UsageError)):
		return ExitUsage, ""
	case errors.As(err, new(*start.NoProxyError)):
		return ExitNoProxies, ""
	case errors.Is(err, store.ErrRestoring):
		pending, _ := backup.Pending(p.Database)
		return ExitError, "To finish the restore:\n  " +
			frame.ShellLine([]string{p.Self(), "--db", p.Database, "restore", frame.Operand(cmp.Or(pending.Backup, "BACKUP.db"))})
	case errors.Is(err, checkpoint.ErrExclusive):
		return ExitLocked, "Wait until the other run has ended, or run without `exclusive`: two runs can share a database."
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return ExitInterrupted, "Interrupted. Nothing is lost; run the same command again."
	case errors.Is(err, store.ErrDiskFull), errors.Is(err, errNoSpace):
		return ExitError, "Every committed page is safe. Free some disk space, then run the same command again."
	case errors.Is(err, store.ErrLinked), errors.As(err, new(*folder.DeniedError)): // says what to do
		return ExitError, ""
	case errors.Is(err, store.ErrReadOnly):
		return ExitError, "Check the permissions of the file and its folder, or name another file with --db."
	case errors.Is(err, store.ErrBusy):
		return ExitError, "Another program has locked the database. Close it, then run the same command again."
	}
	return ExitError, ""
}

// noLogs is what to do about a damaged database whose logs were not found.
const noLogs = "restore a backup with `ypcrawl restore`, or name the folder of its logs with --wal-dir"

// rebuildCommand makes a new database beside the one that is damaged; noLogs where there is nothing to make it from.
func (p *Program) rebuildCommand() string {
	from, ext := rebuildFrom(p.Database, p.logs), filepath.Ext(p.Database)
	if from == nil {
		return noLogs
	}
	return frame.ShellLine(append([]string{p.Self(), "--db", strings.TrimSuffix(p.Database, ext) + "-rebuilt" + ext, "wal", "replay"},
		from...))
}

// replayCommand brings a database that is gone back from its logs.
func (p *Program) replayCommand() string {
	words := []string{p.Self(), "--db", p.Database}
	if filepath.Clean(p.logs) != filepath.Clean(logsOf(p.Database)) {
		words = append(words, "--wal-dir", p.logs)
	}
	return frame.ShellLine(append(append(words, "wal", "replay"), rebuildFrom(p.Database, p.logs)...))
}

// lostElse is what to do where nobody wants a lost database back.
const lostElse = "To start a new one instead, move those logs elsewhere, or name another --db or --wal-dir."

// errNoSpace is what the operating system says when a log can't be written.
const errNoSpace = syscall.ENOSPC
