// Package notify sends messages about a crawl to another machine or a command: pings, by the
// convention of healthchecks, and messages, a JSON document each.
//
// Invariants: an address or a command may hold a secret. Outside of this package both are known by their name alone:
// scheme and host, or "command"; no error and no log line has more. An address is checked when it is dialled:
// link-local ones, where clouds keep their metadata, are never reached. No redirect is followed, and no answer is read.
// Nothing is kept here: messages are in the table messages until they are delivered.
//
// Imports: crawl/fetch for its rule which addresses may be dialled, and yp; zerolog. No SQL, no flags.
// Tests: HTTP servers on loopback that are slow, fail or redirect; commands that fail, hang or leave children.
package notify
