// Package folder makes the names of files durable.
//
// Purpose: a file that is new, renamed or removed is known by its folder, which a disk keeps apart from
// the file: a file that was synced can lose its name in a power cut. Logs, exports, copies and lock files ask here.
//
// Invariants: whatever a system can do is done, and what it can't is no error: the file itself was synced
// by whoever wrote it. A folder that isn't there, and a disk that fails, are errors.
//
// Crash: a kill loses no name. A power cut can take the last ones before Sync returned, and, where a system or a file
// system can't sync folders, those that it had not written by itself.
//
// Imports: nothing of ours.
//
// Tests: folders of a disk, one of a file system that syncs none (/proc), one that isn't there.
package folder
