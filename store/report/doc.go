// Package report answers what people ask of a database: progress, status, coverage,
// changes, the trace of a target, companies, details.
//
// Purpose: what people ask, as rows of the views of schema.sql (list.go has the table of lists, parts.go the answers of several
// tables), or as a typed row where a program decides by it. What is said in sentences is in words.go, once for terminal, page
// and notices.
//
// Invariants: a Reader has the readers of a store.DB and nothing else, so no question
// writes; what a question costs is bounded by what it shows or by counters that triggers
// keep, unless its comment says that it reads all; a list is empty, never nil, so that JSON
// has [] for it; a time that can't be read is zero, for whoever looks at a database must
// see the rest of it.
//
// Crash: nothing to survive. All parts of one answer are read in one snapshot.
//
// Imports: store and yp. What may happen to a target is checkpoint's, which this package
// does not know; checkpoint asks nothing here.
//
// Tests: real files that checkpoint has filled; the plans of the statements; and one test
// that asks everything and compares the file before and after.
package report
