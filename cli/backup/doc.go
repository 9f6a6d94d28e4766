// Package backup makes copies of a database with its logs, and puts them back.
//
// Purpose: a copy that is made while a crawl runs is what a SIGKILL at one instant would have
// left: the file at a commit, and the logs, which are in a table of it, as long as they were then.
//
// Invariants: a copy is one file. It appears under its name whole and checked, or not at all.
// A restore never deletes what it replaces.
//
// Crash: what a killed backup has left, the next one into its folder removes. A restore writes the marker
// "DATABASE.restoring" when everything new is on the disk: from then on no command opens the database until the
// same restore, typed again, has come to its end. Killed before, it has changed nothing.
//
// Imports: store, wal, yp, yp/folder, and of cli/export the file that appears when it is whole. It knows no
// flags.
//
// Tests: copies beside a writer; SIGKILL at every named step and at random; stale journals.
package backup
