// Package frame is what all commands share: how a command line and its settings are read, and
// how answers are shown. It knows no command: what help and completion tell of commands, cli
// hands over in an App.
//
// Purpose: flags and their values (flags.go, values.go), a line with several values after one
// flag (expand.go), settings (settings.go, home.go), help, completion; on the other side what
// a person or a program reads: tables, JSON and CSV of rows (list.go, table.go), texts in
// sections (render.go), the bar (bar.go), notes and log lines. An Invocation is one call of
// the program: its streams and what was typed, for hints without secrets.
//
// Invariants: data goes to stdout, everything else to stderr; no text from the web, a file or
// an argument reaches a terminal raw; what was typed wrongly is a UsageError that says what to
// do next; no secret is shown.
//
// Crash: nothing is kept here.
//
// Imports: yp, store/report and cli/export; urfave/cli, yaml, progressbar, zerolog, golang.org/x/term
// and x/sys. Never a command, and nothing that crawls.
//
// Tests: beside the files, with an app of a few commands; frametest has the terminal. Tests
// over the real commands are in cli.
package frame
