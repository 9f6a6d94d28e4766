// Package wal is the write-ahead log of the workers: it appends, rotates,
// compresses and reads JSONL events.
//
// Purpose: the database is the source of truth; the log is beside it for
// operators' eyes (jq works on it as it is) and for building a database anew.
// A worker writes worker_0_pid_12345.jsonl, then worker_0_pid_12345.000001.jsonl
// and so on; a file that is full becomes .jsonl.zst before its worker goes on. A file is made
// by its first event, so a worker that finds nothing to do leaves none; Prune removes
// what is old, as long as the database has all that it says.
//
// Invariants: one event is one line and one write; seq is consecutive within a log. A worker of a run
// writes files of its own: where its name is taken (a pid comes back sooner or later), the number of
// its run is behind it, worker_0_pid_12345_7.jsonl. Nobody else appends to a file, cuts it or goes
// on with it (a lock tells that its worker lives: flock, on Windows LockFileEx), so nothing ever follows a torn line. A name, once
// given, always means the same part for as long as it is there, so listing a living folder is never wrong;
// a part is synced before its successor appears; a plain file is closed and removed only after its compressed
// copy is durable (Windows removes none that is open), and while both are there the plain one counts. A page's line is ahead of its
// commit; the worker's next line says the commit's number and time, or, after a kill, the start of the
// target's next claim, so that a replay takes the pages of all workers in the order of their commits. Only a plain file
// that is named like a worker's log and begins with an event of that worker is ever compressed or removed; and a compressed
// file beside it stays unless it has the same text.
//
// Crash: a kill in a write leaves a torn last line: it is the end of the log, and a compression leaves
// it out. A failed write (a full disk) is cut back at once or before the next event, by the Log that
// wrote. A kill in a rotation leaves an empty last part. A kill in a compression leaves a temp that
// nobody reads, or both files; compressing again finishes the work. A power loss can take the lines
// since the last Sync, and no name: folders are synced too, where the system can (yp/folder).
//
// What others do: a file that is removed, moved, replaced or cut under its worker, or gets a second name, is noticed at
// the next Sync, before the page is committed; the log goes on in a new file whose first line (log_lost) says so, with the
// page again. Losses tells which pages a folder lacks for that.
//
// Damage: a line of a plain file that can't be read costs that line; damage in a
// compressed file costs the rest of that file, and up to 1 MiB before it, for no text is given
// before its checksum is right. Both are reported with file, line and offset.
//
// Imports: yp and yp/folder; zerolog, klauspost/compress, and golang.org/x/sys where Windows locks.
//
// Tests: truncation at every byte of the last 4 KB; SIGKILL of a real process
// while it appends, and at every step of a compression; failing files and a
// real file-size limit; fuzz targets for codec and reader; benchmarks for encode and append.
package wal
