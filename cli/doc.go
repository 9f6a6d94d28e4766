// Package cli is what a person types and reads: the commands. A file is named for its command
// (run has three: run.go, runcrawl.go, runending.go), and app.go has them all. Beside them
// stand what opens the database (database.go), what a selection and a source are
// (selection.go, source.go), lists (lists.go: a command that lists rows is a row of
// report.Lists) and exit codes (exit.go). How a line is read and an answer is shown, cli/frame
// knows.
//
// Purpose: turn words into calls of the other packages, and their results into
// text for a person on a terminal, or JSON and CSV for a pipe.
//
// Invariants: data goes to stdout, everything else to stderr; no text from the
// web reaches a terminal raw; wrong words are refused before anything is
// touched, with the next step in the error; exit codes are mapped in one place
// (verdict, in exit.go).
//
// Crash: nothing is kept here. What a command began is continued by typing it
// again.
//
// Imports: every package; urfave/cli, zerolog, golang.org/x/sys. Only main imports cli.
//
// Tests: units beside the files, and a testscript of every command in
// testdata/script with the real main.
package cli
