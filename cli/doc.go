// Package cli is what a person types and reads: one file a command, the flags
// they share, the progress bar, settings and completion. A command that lists rows is its
// flags, its question to store/report and its columns; render.go makes the table, JSON or
// CSV of it.
//
// Purpose: turn words into calls of the other packages, and their results into
// text for a person on a terminal, or JSON and CSV for a pipe.
//
// Invariants: data goes to stdout, everything else to stderr; no text from the
// web reaches a terminal raw; wrong words are refused before anything is
// touched, with the next step in the error; exit codes are mapped in one place
// (verdict, in app.go).
//
// Crash: nothing is kept here. What a command began is continued by typing it
// again.
//
// Imports: every package; only main imports cli.
//
// Tests: units beside the files, and a testscript of every command in
// testdata/script with the real main.
package cli
