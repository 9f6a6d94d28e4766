package wal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"ypcrawl/yp/folder"
)

// PruneConfig says which files Prune may remove.
type PruneConfig struct {
	Before time.Time                  // only files whose last write and whose every event is older
	IsLive func(workerID string) bool // files of these are left alone; nil trusts the lock alone
	Held   func(*Event) (bool, error) // reports whether the database has what the event says
}

// Pruned says what Prune did.
type Pruned struct {
	Files int   // removed
	Bytes int64 // of those files
	Kept  int   // files that are old, and hold what the database does not have, or damage
}

// Prune removes old files of dead workers, of each worker the oldest first, as long as
// the database has all that they say: a file with damage, or with one event that the
// database lacks, stays, and those behind it. A kill between two steps leaves
// fewer files.
func Prune(ctx context.Context, dir string, cfg PruneConfig) (Pruned, error) {
	var out Pruned
	logs, err := listLogs(dir, false)
	if err != nil {
		return out, err
	}
	var failed []error
	for _, log := range logs {
		if !ownName.MatchString(log.worker) || cfg.IsLive != nil && cfg.IsLive(log.worker) {
			continue
		}
		for _, file := range log.parts {
			removed, err := cfg.prune(ctx, file, &out)
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			if err != nil {
				failed = append(failed, err)
			}
			if !removed || err != nil {
				break
			}
		}
	}
	return out, errors.Join(append(failed, folder.Sync(dir))...)
}

// prune removes one file if it may go.
func (cfg *PruneConfig) prune(ctx context.Context, file part, out *Pruned) (removed bool, err error) {
	info, err := os.Lstat(file.path())
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(cfg.Before) {
		return false, ignoreMissing(err)
	}
	may, err := cfg.may(ctx, file, info, out)
	if err == nil && may {
		err = removeClosed(file.path(), info)
	}
	if err != nil || !may {
		return false, err
	}
	out.Files++
	out.Bytes += info.Size()
	return true, nil
}

// may reads a file and reports whether it may go. The lock of a plain one is held meanwhile, so that nobody
// writes or compresses it; when may returns, it is closed.
func (cfg *PruneConfig) may(ctx context.Context, file part, info fs.FileInfo, out *Pruned) (may bool, err error) {
	if file.plain && file.packed { // the next compression says whether they have the same
		out.Kept++
		return false, nil
	}
	if file.plain {
		lock, err := file.lock()
		switch {
		case errors.Is(err, ErrInUse), errors.Is(err, fs.ErrNotExist):
			return false, nil
		case errors.Is(err, ErrForeign): // what somebody else has put there is kept, as damage is
			out.Kept++
			return false, nil
		case err != nil:
			return false, err
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
		if lock.end == 0 && info.Size() > 0 { // nobody can say whose it is
			out.Kept++
			return false, nil
		}
	}
	held := true
	s := file.stream(Options{})
	defer s.close()
	for it, ok := s.read(); ok && held; it, ok = s.read() {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		held = it.err == nil && it.event.WorkerID == file.worker && it.event.Timestamp.Before(cfg.Before)
		if held {
			if held, err = cfg.Held(it.event); err != nil {
				return false, err
			}
		}
	}
	if !held || s.torn != nil && !file.plain { // what is compressed has whole lines
		out.Kept++
		return false, nil
	}
	return true, nil
}
