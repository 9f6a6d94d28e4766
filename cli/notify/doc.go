// Package notify sends messages about a crawl to another machine or a command: pings, by the
// convention of healthchecks, and messages, a JSON document each.
//
// Purpose: one try of one message, and tries until a time is over. Who waits for it is the
// caller's business; a crawl never does.
//
// Invariants: an address may be a secret (that of a check at healthchecks is), and a command may
// hold one. Both are known outside of this package by their name alone: scheme and host, or
// "command". No error and no log line has more of them. An address is checked when it is dialled:
// link-local ones, where clouds keep their metadata, are never reached. No redirect is followed,
// and an answer is read up to 64 kB.
//
// After a crash: nothing is kept here. Messages stand in the table messages until they are delivered.
//
// Imports: crawl/fetch for its rule which addresses may be dialled, and yp. No SQL, no flags.
//
// Tests: HTTP servers on loopback that are slow, fail or redirect; commands that fail, hang or
// leave children.
package notify
