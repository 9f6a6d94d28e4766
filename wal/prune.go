package wal

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"time"
)

// PruneConfig says which files Prune may remove.
type PruneConfig struct {
	Before   time.Time                  // only files whose last write and whose every event is older
	IsLive   func(workerID string) bool // files of these are left alone; nil trusts the lock alone
	Held     func(*Event) (bool, error) // reports whether the database has what the event says
	MaxBytes int64                      // read so many bytes of files and then stop; 0 = no limit
}

// Pruned says what Prune did.
type Pruned struct {
	Files int   // removed
	Bytes int64 // of those files
	Kept  int   // files that are old, and hold what the database does not have, or damage
}

// Prune removes old files of dead workers, of each worker the oldest first, as long as
// the database has all that they say: a file with damage, or with one event that the
// database lacks, stays, and those behind it. Workers come in any order, so that what
// one pass has no time for is not passed over for ever. A kill between two steps leaves
// fewer files, or a file under one of its two names.
func Prune(ctx context.Context, dir string, cfg PruneConfig) (Pruned, error) {
	var out Pruned
	logs, err := listLogs(dir, false)
	if err != nil {
		return out, err
	}
	rand.Shuffle(len(logs), func(i, j int) { logs[i], logs[j] = logs[j], logs[i] })
	p := pruner{cfg: cfg, out: &out}
	var failed []error
	for _, log := range logs {
		if !ownName.MatchString(log.worker) || cfg.IsLive != nil && cfg.IsLive(log.worker) {
			continue
		}
		for _, file := range log.parts {
			removed, err := p.file(ctx, file)
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
	return out, errors.Join(append(failed, syncDir(dir))...)
}

type pruner struct {
	cfg  PruneConfig
	out  *Pruned
	read int64
}

// file removes one file if it may go. The lock of a plain one is held meanwhile, so
// that nobody writes or compresses it.
func (p *pruner) file(ctx context.Context, file part) (removed bool, err error) {
	info, err := os.Lstat(file.path())
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(p.cfg.Before) {
		return false, ignoreMissing(err)
	}
	if p.cfg.MaxBytes > 0 && p.read >= p.cfg.MaxBytes {
		return false, nil
	}
	p.read += info.Size()
	if file.plain {
		lock, err := openLocked(file.plainPath(), os.O_RDWR)
		if err != nil {
			if errors.Is(err, ErrInUse) {
				return false, nil
			}
			return false, ignoreMissing(err)
		}
		defer func() { err = errors.Join(err, closeLocked(lock)) }()
		text, err := ownLog(file, lock, info.Size())
		if err != nil || len(text.last) > 0 { // of others, or with an event that readers wait for the end of
			p.out.Kept++
			return false, nil //nolint:nilerr // what somebody else has put there is kept, as damage is
		}
	}
	held, err := p.held(ctx, file)
	if err != nil {
		return false, err
	}
	if !held {
		p.out.Kept++
		return false, nil
	}
	p.out.Files++
	p.out.Bytes += info.Size()
	return true, errors.Join(ignoreMissing(os.Remove(file.packedPath())), ignoreMissing(os.Remove(file.plainPath())))
}

// held reports whether all events of a file are old and in the database.
func (p *pruner) held(ctx context.Context, file part) (bool, error) {
	s := file.stream(Options{})
	for it := range s.items() {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if it.err != nil || it.event.WorkerID != file.worker || !it.event.Timestamp.Before(p.cfg.Before) {
			return false, nil //nolint:nilerr // damage is a reason to keep the file, and told of by those who read it
		}
		if held, err := p.cfg.Held(it.event); err != nil || !held {
			return false, err
		}
	}
	return s.torn == nil || file.plain, nil // what is compressed has whole lines
}
