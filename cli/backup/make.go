package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ypcrawl/cli/export"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// Config says what is copied where, or put back from where.
type Config struct {
	DB, Logs  string // file, and folder of its logs
	File      string // the copy
	Overwrite bool   // Make: File may be there, it is replaced
	Reached   func(step string)
}

// Made tells of a copy.
type Made struct {
	File     string   `json:"file"`
	At       yp.Stamp `json:"at"`
	Bytes    int64    `json:"bytes"`
	LogFiles int      `json:"log_files"`
	LogBytes int64    `json:"log_bytes"`      // within Bytes
	Lost     *Lost    `json:"lost,omitempty"` // what the copied database has and could not be rebuilt from the copied logs; nil = nothing
}

// Make makes a copy. The error wraps export.ErrExists where File is there and may not be replaced.
func Make(ctx context.Context, cfg Config) (out Made, err error) {
	to := store.RealPath(cfg.File)
	switch {
	case store.RealPath(cfg.DB) == to:
		return out, fmt.Errorf("%s is the database itself; name another file", cfg.File)
	case exists(to + "-wal"):
		return out, fmt.Errorf("%s is a database in use (there is a -wal beside it); name another file", cfg.File)
	}
	if err := wal.Readable(cfg.Logs); err != nil {
		return out, fmt.Errorf("nothing was copied because the logs can't be read: %w", err)
	}
	f, err := export.Create(cfg.File, cfg.Overwrite)
	if err != nil {
		return out, err
	}
	defer f.Abort()
	var logs []store.CopiedLog
	defer func() {
		for _, l := range logs {
			_ = l.File.Close() // only read
		}
	}()
	snap, err := store.TakeSnapshot(ctx, cfg.DB, func() (err error) {
		logs, err = openLogs(cfg.Logs)
		cfg.Reached("backup_frozen")
		return err
	})
	if err != nil {
		return out, err
	}
	defer snap.Close()
	out.File, out.At.Time, out.LogFiles = cfg.File, snap.At, len(logs)
	for _, l := range logs {
		out.LogBytes += l.Info.Size()
	}
	lost, err := LostLogs(snap.Reader(ctx), snap.ID, cfg.Logs)
	if err != nil {
		return out, err
	}
	if lost.Pages > 0 {
		out.Lost = &lost
	}
	if err := snap.CopyTo(ctx, f.Part(), logs); err != nil {
		return out, err
	}
	snap.Close() // from here on the -wal of the crawl can be folded in again
	cfg.Reached("backup_copied")
	if err := store.CheckCopy(ctx, f.Part()); err != nil {
		return out, err
	}
	out.Bytes, err = f.Publish()
	cfg.Reached("backup_named")
	return out, err
}

// openLogs opens the logs, so that they can be read to where they end now, which may be within a line, though they are
// compressed or removed meanwhile.
func openLogs(dir string) (all []store.CopiedLog, err error) {
	files, err := wal.Files(dir)
	for _, file := range files {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) { // compressed since
			f, err = os.Open(file + ".zst")
		}
		if errors.Is(err, fs.ErrNotExist) { // removed as too old: the database has what it said
			continue
		}
		if err != nil {
			return all, err
		}
		info, err := f.Stat()
		all = append(all, store.CopiedLog{File: f, Info: info})
		if err != nil {
			return all, err
		}
	}
	return all, err
}
