// Package notify sends messages about a crawl to other machines and commands: pings, by the
// convention of healthchecks, and notifications, a JSON document each.
//
// Purpose: whoever posts a message never waits for its receiver. Every destination has a
// goroutine and a bounded queue of its own, so one that is slow or dead delays neither the
// crawl nor the other destinations. What fails is tried again three times, then given up; what
// finds a full queue is dropped. Both are counted, and said at the end.
//
// Invariants: an address may be a secret (that of a check at healthchecks is), and a command
// may hold one. Both are known outside of this package by their name alone: scheme and host,
// or "command". No error and no log line of the package has more of them. An address is
// checked when it is dialled, so that a name can't be made to lead into a private network; no
// redirect is followed, and an answer is read up to 64 kB.
//
// After a crash: nothing is kept here. What was queued is lost; the caller decides, by the
// state that stands, what is reported again.
//
// Imports: crawl/fetch for its rule which addresses may be dialled, and yp. No SQL, no flags.
//
// Tests: HTTP servers on loopback that are slow, fail, redirect or never stop to answer;
// commands that fail, hang or leave children.
package notify
