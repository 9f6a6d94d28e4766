// Package selftest proves on the user's own machine and disk what ypcrawl promises, and compares
// a database with what a complete crawl of the demo directory must end with.
//
// Compare writes demo.Truth into tables in memory, takes the rows of each part of a database from those, EXCEPT both ways, and
// tells each listing, search, detail and city that only one side has. It only reads, and shares no code with what wrote the rows.
//
// Run crawls the demo in child processes, in one folder. It counts the syncs of their logs, kills them at random, stops one and
// continues it after others took its work over. Every child is dead when it returns.
//
// Imports: crawl/demo, store and yp.
package selftest
