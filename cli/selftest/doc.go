// Package selftest proves on the user's own machine and disk what ypcrawl promises, and compares
// a database with what a complete crawl of the demo directory must end with.
//
// Purpose: Compare writes demo.Truth into tables in memory, takes the rows of each part of a database from those, EXCEPT
// both ways, and tells each listing, search, detail and city that only one side has. Run crawls the demo in child processes,
// counts the syncs of their logs, kills them at random, stops one and continues it after others took its work over.
//
// Invariants: Compare only reads, and shares no code with what wrote the rows; every child is dead when Run returns;
// what Run writes stands in one folder, which is removed when all is well.
//
// Crash: a selftest that is killed leaves its folder behind; its children end with the demo directory that they crawl.
//
// Imports: store, crawl/demo, yp. Flags and output are cli's.
//
// Tests: a selftest whose children lose a commit, a sync or the fence of claims on purpose must fail;
// testdata/script/selftest.txtar and demo_check.txtar; all crash tests of the program compare through this package.
package selftest
