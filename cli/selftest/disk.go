package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ypcrawl/store"
)

// Disk is what was found out about the folder's disk.
type Disk struct {
	FileSystem string        // "ext4"; "" = not known on this system
	Locks      bool          // a lock that one has cannot be taken by another
	Syncs      int           // that were measured
	P50, P99   time.Duration // of one
	Instant    bool          // fsync returns faster than any disk can store something
	Doubt      string        // why what is promised may not hold here; "" = nothing is known against it
}

// Syncs are measured until there are so many, or for so long.
const (
	mostSyncs = 500
	syncTime  = 2 * time.Second
)

// tooFast is below what any disk needs to store something for good.
const tooFast = 8 * time.Microsecond

// probe looks at the disk of a folder.
func probe(ctx context.Context, dir string) (d Disk, err error) {
	d.FileSystem, d.Doubt = fileSystem(dir)
	if d.Locks, err = locksHold(filepath.Join(dir, "lock")); err != nil {
		return d, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "sync"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return d, err
	}
	defer func() { _ = f.Close() }() // it is thrown away
	var all []time.Duration
	page := make([]byte, 4096)
	for begun := time.Now(); len(all) < mostSyncs && time.Since(begun) < syncTime && ctx.Err() == nil; {
		if _, err := f.Write(page); err != nil {
			return d, err
		}
		from := time.Now()
		if err := f.Sync(); err != nil {
			return d, fmt.Errorf("fsync does not work here: %w", err)
		}
		all = append(all, time.Since(from))
	}
	if len(all) == 0 {
		return d, ctx.Err()
	}
	slices.Sort(all)
	d.Syncs, d.P50, d.P99 = len(all), all[len(all)/2], all[len(all)*99/100]
	d.Instant = d.P50 < tooFast
	switch {
	case d.Doubt != "":
	case !d.Locks:
		d.Doubt = "locks do not hold: never let two processes use one file"
	case d.Instant:
		d.Doubt = "fsync returns at once: a power cut may lose commits"
	}
	return d, nil
}

// locksHold reports whether a lock that is held refuses another one.
func locksHold(path string) (bool, error) {
	first, err := store.LockFile(path)
	if err != nil {
		return false, fmt.Errorf("locks do not work here: %w", err)
	}
	defer func() { _ = first.Release() }()
	second, err := store.LockFile(path)
	if errors.Is(err, store.ErrLocked) {
		return true, nil
	}
	if err == nil {
		err = second.Release()
	}
	return false, err
}

// doubtOf says what is known against a kind of file system.
func doubtOf(name string) string {
	switch name {
	case "nfs", "smb", "cifs", "smbfs", "webdav", "afpfs", "9p", "ceph", "network":
		return "network folder: locks and fsync may fail; use a local disk"
	case "tmpfs", "ramfs":
		return "in memory: nothing here survives a restart or a power cut"
	case "fuse":
		return "a program serves it: locks and fsync may fail"
	}
	return ""
}
