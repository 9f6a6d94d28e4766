// Package store is the database file: how it is opened, migrated and locked, the
// one writer with group commit, and every SQL statement on companies and listings.
//
// Purpose: give the other packages short transactions that are durable when they
// return, at the price of a shared fsync.
//
// Invariants: one connection writes, in BEGIN IMMEDIATE transactions, each
// caller under a savepoint of its own, so a bad page fails alone; readers use a
// separate read-only pool; pragmas are in the DSN, so every connection has
// them, and the journal mode in the file; another program's file is refused
// untouched; a company's number is never given again but to itself; a listing belongs
// to exactly one company, and two listings that share a strong key (yp.CompanyKeys)
// belong to the same one, in whatever order they came, unless an operator took them
// apart; what became of a listing is in listing_events, written with it, and the
// same page again writes nothing; a listing is dropped only when every target that showed
// it was crawled to a confirmed end twice without it, or its city is missing from two
// complete reads of the index in a row.
//
// Crash: a transaction is there whole or not at all. With synchronous=FULL (the
// default) what Write acknowledged survives a power cut. Lock files are dropped
// by the kernel at any death; their leftover names are swept by the next start.
//
// Imports: yp and yp/folder; modernc.org/sqlite, and golang.org/x/sys where Windows locks.
//
// Tests: real files in temporary folders; opened through storetest.
package store
