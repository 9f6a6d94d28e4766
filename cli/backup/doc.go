// Package backup makes copies of a database with its logs, and puts them back.
//
// Purpose: a copy that is made while a crawl runs is what a SIGKILL at one instant would have
// left: the file at a commit, and the logs as long as they were then. So a crawl goes on from a copy
// as it goes on after a kill, and every page that the copy's database holds stands in its logs.
//
// Invariants: a copy appears under its name whole and checked, or not at all, its logs before
// it; nothing is removed before the new copy is there, and nothing whose name and content do not both say that it is a
// copy of the same database. A restore never deletes what it replaces.
//
// Crash: all work is done in a folder ".ypcrawl-backup-*" beside the copy, and a lock file of the same name
// tells whether its maker lives; the next backup there removes what a dead one left. A restore notes
// what it is about to do in "DATABASE.restoring" when everything new is on the disk: from then on
// no command opens the database until the same restore, typed again, has come to its end. Killed before, it has changed nothing.
//
// Imports: store, wal. It knows no flags.
//
// Tests: copies beside a writer; SIGKILL at every named step and at random; stale journals.
package backup
