// Package folder makes the names of files durable, and makes new files that belong to the right user.
//
// Purpose: a file that is new, renamed or removed is known by its folder, which a disk keeps apart from
// the file: a file that was synced can lose its name in a power cut. Logs, exports, copies and lock files ask here.
// One run by root must not leave a user files that the user can't read or replace: what root makes in a folder belongs
// to whom the folder, or the file beside it, belongs to.
//
// Invariants: whatever a system can do is done, and what it can't is no error: the file itself was synced
// by whoever wrote it. A folder that isn't there, and a disk that fails, are errors. Root gives away only what it has just
// made itself, by the open file, in a folder that is held open: never what was there, never through a link.
//
// Crash: a kill loses no name. A power cut can take the last ones before Sync returned, and, where a system or a file
// system can't sync folders, those that it had not written by itself.
//
// Imports: nothing of ours; golang.org/x/sys.
//
// Tests: folders of a disk, one of a file system that syncs none (/proc), one that isn't there; as root, folders of
// another user, also with links in them and ones that are replaced meanwhile.
package folder
