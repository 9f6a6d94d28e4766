// Package schedule writes what a machine's own scheduler needs to start a crawl by itself: units
// for systemd, a line for cron, a property list for launchd, a task for Windows.
//
// Purpose: turn a Job (commands, folders, a time) into the text of files, each word quoted by the
// rules of the reader of that file, with comments that a person understands years later.
//
// Invariants: the same Job gives the same bytes; a word arrives in the program as it is in the Job, or
// the Job is refused (ErrWord): no format can hold control characters, and some can't hold others;
// nothing is read or written here; each file begins with Mark.
//
// Crash: there is nothing to lose.
//
// Imports: yp and the standard library.
//
// Tests: each format is read back by the rules of its reader: systemd's by a parser of ours and by
// systemd-analyze, cron's by a parser and sh, XML by encoding/xml, Windows' arguments by a parser;
// with words that hold every character of use to break out, and by fuzzing.
package schedule
