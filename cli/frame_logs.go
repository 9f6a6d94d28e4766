package cli

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// logDir is the folder of the write-ahead logs: that of --wal-dir, else the database's own.
func logDir(c *cli.Context) string {
	if dir := c.String("wal-dir"); dir != "" {
		return dir
	}
	return logsOf(c.String("db"))
}

// logsOf is the default folder for the logs of a database: logs/yp_wal for ypcrawl.db, and
// in it a folder named like the file for every other one: texas for texas.db, data/texas
// for data/texas.db, abs/srv/texas for /srv/texas.db, texas_ for a file texas. Two names of one
// file have one folder, and two files have two.
func logsOf(db string) string {
	if filepath.Clean(db) == defaultDB {
		return defaultLogs
	}
	name := store.RealPath(db)
	local := false
	if wd, err := os.Getwd(); err == nil {
		rel, err := filepath.Rel(store.RealPath(wd), name)
		if first, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); err == nil && filepath.IsLocal(rel) && first != absLogs {
			name, local = rel, true
		}
	}
	if name == defaultDB {
		return defaultLogs
	}
	if !local {
		volume := filepath.VolumeName(name)
		name = filepath.Join(absLogs, strings.ReplaceAll(volume, ":", ""), name[len(volume):])
	}
	// What is left of a name without its ".db" never ends in "_"; all others do.
	short, ok := strings.CutSuffix(name, ".db")
	if base := short[strings.LastIndexByte(filepath.ToSlash(short), '/')+1:]; !ok || base == "" || strings.Trim(base, ".") == "" || strings.HasSuffix(base, "_") {
		short = name + "_"
	}
	return filepath.Join(defaultLogs, short)
}

// absLogs is the folder for the logs of databases that are not below the working folder.
const absLogs = "abs"

// pruneAtOnce is how many bytes of old logs a run reads at least to see whether they may go: on
// the disk, where they stand compressed to about a tenth.
const pruneAtOnce = 32 << 20

// pruneLimit is how many it reads of so many: a thirtieth, so that a run a day takes away more
// than a day brings, however much that is.
func pruneLimit(size int64) int64 { return max(pruneAtOnce, size/30) }

// tidyLogs compresses, beside the crawl, the logs that ended runs left, and removes those
// that are older than keep-logs and say nothing that the database does not have. The
// function that it returns waits for that; an interrupt cuts it short. What
// fails is only logged: a log that stays as it is can be read all the same.
func (r *run) tidyLogs(ctx context.Context) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		alive, err := r.keeper.AlivePIDs(ctx)
		if err != nil {
			r.log.Warn().Err(err).Msg("old logs are not compressed or removed")
			return
		}
		isLive := func(worker string) bool {
			pid, ok := yp.WorkerPID(worker)
			return ok && alive[pid]
		}
		dir := logDir(r.c)
		if _, err := wal.CompressClosed(ctx, dir, isLive); err != nil && ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("old logs could not be compressed")
		}
		if err := r.pruneLogs(ctx, dir, isLive); err != nil && ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("old logs could not be removed")
		}
	}()
	return func() { <-done }
}

func (r *run) pruneLogs(ctx context.Context, dir string, isLive func(string) bool) error {
	age := timeOf(r.c, "keep-logs")
	if age == 0 {
		return nil
	}
	now, err := r.keeper.LaterBound(ctx, r.row.ID)
	if err != nil || now.IsZero() {
		return err
	}
	var size int64
	for _, ending := range []string{"*.jsonl", "*.jsonl.zst"} {
		names, _ := filepath.Glob(filepath.Join(dir, ending)) // the pattern is a good one
		for _, name := range names {
			if info, err := os.Stat(name); err == nil { // else it was compressed meanwhile
				size += info.Size()
			}
		}
	}
	pruned, err := wal.Prune(ctx, dir, wal.PruneConfig{
		Before: now.Add(-age), IsLive: isLive, MaxBytes: pruneLimit(size),
		Held: func(e *wal.Event) (bool, error) {
			if e.Database != "" && e.Database != r.id {
				return false, nil // of another database that shares the folder
			}
			return r.keeper.Holds(ctx, e)
		},
	})
	if pruned.Files > 0 {
		r.log.Info().Int("files", pruned.Files).Int64("bytes", pruned.Bytes).Str("older_than", shortTime(age)).Msg("removed old logs; the database has all their pages")
	}
	if pruned.Kept > 0 {
		r.log.Debug().Int("files", pruned.Kept).Msg("old logs are kept: they have pages that the database does not have")
	}
	return err
}

// rebuilt is added to the name of a database that is built anew.
const rebuilt = "-rebuilt"

// rebuildFrom is what `wal replay` is to be given so that it brings back all of a database:
// its log folder, and those below it and below the default one where the same database has
// written under another name. The damaged file is not asked
// for its id: it may not tell it any more.
func rebuildFrom(db, logs string) []string {
	written := writersBelow(defaultLogs, logs)
	own := written[filepath.Clean(logs)]
	for was := db; len(own) == 0; { // it was rebuilt, and has not crawled since
		ext := filepath.Ext(was)
		name, again := strings.CutSuffix(strings.TrimSuffix(was, ext), rebuilt)
		if !again {
			break
		}
		was = name + ext
		own = written[filepath.Clean(logsOf(was))]
	}
	var folders, all []string
	for dir, wrote := range written {
		if dir == filepath.Clean(logs) || slices.ContainsFunc(wrote, func(id string) bool { return slices.Contains(own, id) }) {
			folders = append(folders, dir)
			all = append(all, wrote...)
		}
	}
	slices.Sort(folders)
	if len(folders) == 0 {
		return []string{logs}
	}
	others := slices.ContainsFunc(all, func(id string) bool { return !slices.Contains(own, id) })
	if !others || len(own) > 1 { // of several, the replay lists them and asks
		return folders
	}
	return append(folders, "--database", own[0])
}

// writersBelow is wal.Writers of each folder below those named. What can't be read is left
// out: the replay will say so.
func writersBelow(roots ...string) map[string][]string {
	written := map[string][]string{}
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil //nolint:nilerr // see above
			}
			if strings.HasSuffix(path, ".before-restore") {
				return fs.SkipDir // of what a restore has put aside
			}
			if ids, err := wal.Writers(path); err == nil && len(ids) > 0 {
				written[filepath.Clean(path)] = ids
			}
			return nil
		})
	}
	return written
}
