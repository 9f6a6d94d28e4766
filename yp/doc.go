// Package yp is the vocabulary of ypcrawl and its pure rules.
//
// Purpose: one place for the words that the code, the schema, the logs and the
// help share (source, state, city, category, target, page, listing, company,
// run, worker, claim), for the status machine of a target, for the error
// enumerations, and for the canonical forms of URLs, phones, slugs and names.
//
// Invariants: every function is deterministic and free of I/O; the
// enumerations equal the CHECK constraints in schema.sql (a test compares
// them).
//
// Crash: nothing here has state, so nothing can be lost.
//
// Imports: nothing of ours; golang.org/x/net, x/text and uniseg.
//
// Tests: tables, the status machine among them, and a fuzz target for every
// canonical form.
package yp
