// Package selftest proves on the user's own machine and disk what ypcrawl promises, and compares
// a database with what a complete crawl of the demo directory must end with.
//
// Purpose: Compare tells every listing, field, company, search, detail and city in which a database
// differs from demo.Truth: it writes the truth into a SQLite file, and takes the rows of each from those of
// the other (EXCEPT, both ways). Run crawls the demo in child processes of this program, counts the syncs of
// their logs, kills them at random, stops one and continues it after others have taken its work over, and
// compares what is left.
//
// Invariants: Compare only reads the database, and shares no code with what wrote the rows but the table of
// a listing's fields; every child is dead when Run returns; what Run writes stands in one folder,
// which is removed when all is well and kept otherwise.
//
// Crash: a selftest that is killed leaves its folder behind, and nothing else. Its children end
// by themselves, for the demo directory that they crawl ends with it.
//
// Imports: store, crawl/demo, yp. Flags and output are cli's.
//
// Tests: databases that are damaged in one place each; a selftest whose children lose a commit, a sync or the
// fence of claims on purpose must fail; testdata/script/selftest.txtar and demo_check.txtar; all crash tests of
// the program compare through this package.
package selftest
