// Package cli is what a person types and reads. A file is named for its command (run has three:
// run.go, runcrawl.go, runending.go); app.go has them all. What a command line is and how
// answers are shown stands in files that begin with "frame_", which know no command: flags
// and their values, help, completion, settings, tables and JSON, the bar. A command that
// lists rows is its flags and a row of report.Lists (lists.go); frame_list.go makes the
// table, JSON or CSV of it.
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
// Imports: every package; only main imports cli.
//
// Tests: units beside the files, and a testscript of every command in
// testdata/script with the real main.
package cli
