package cli

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

// logDir is the folder of the write-ahead logs: that of --wal-dir, else the database's own.
func logDir(c *cli.Context) string {
	if dir := c.String("wal-dir"); dir != "" {
		return dir
	}
	return logsOf(c.String("db"))
}

// logsOf is the default folder for the logs of a database: logs/yp_wal beside it for ypcrawl.db, and in that a
// folder named like the file for every other one: data/logs/yp_wal/texas for data/texas.db, texas_ for a file texas.
// Two names of one file have one folder, and two files have two.
func logsOf(db string) string {
	folder, name := logsBeside(db)
	// What is left of a name without its ".db" never ends in "_"; all others do.
	short, ok := strings.CutSuffix(name, ".db")
	switch {
	case name == defaultDB:
		short = ""
	case !ok || strings.Trim(short, ".") == "" || strings.HasSuffix(short, "_"):
		short = name + "_"
	}
	return filepath.Join(folder, short)
}

// logsBeside is the folder that has the logs of all databases in the folder of db, and the name of db there.
func logsBeside(db string) (folder, name string) {
	path := store.RealPath(db)
	if wd, err := os.Getwd(); err == nil && !filepath.IsAbs(db) {
		if rel, err := filepath.Rel(store.RealPath(wd), path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	return filepath.Join(filepath.Dir(path), defaultLogs), filepath.Base(path)
}

// plainFor is how long the logs of a run that has ended stay plain, for jq and other programs.
const plainFor = 24 * time.Hour

// tidyLogs compresses, beside the crawl, the logs that ended runs left a day ago, and removes those
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
		if _, err := wal.CompressOld(ctx, dir, isLive, time.Now().Add(-plainFor)); err != nil && ctx.Err() == nil {
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
	pruned, err := wal.Prune(ctx, dir, wal.PruneConfig{
		Before: now.Add(-age), IsLive: isLive,
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

// rebuildFrom is what `wal replay` is to be given so that it brings back all of a database: its log folder, and
// those beside the file where the same database has written under another name. Of several in one folder the replay
// asks; nil = no log was found. The damaged file is not asked for its id: it may not tell it any more.
func rebuildFrom(db, logs string) []string {
	own, err := wal.Writers(logs) // what can't be read is left out: the replay will say so
	if len(own) == 0 && errors.As(err, new(*folder.DeniedError)) {
		return []string{operand(logs)}
	}
	if len(own) == 0 {
		return nil
	}
	folders, others := map[string]bool{}, false
	look := func(path string) {
		if ids, _ := wal.Writers(path); slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(own, id) }) {
			folders[filepath.Clean(path)], others = true, others || len(ids) > 1
		}
	}
	look(logs)
	beside, _ := logsBeside(db)
	_ = filepath.WalkDir(beside, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
		case strings.HasSuffix(path, ".before-restore"): // what a restore has put aside
			return fs.SkipDir
		default:
			look(path)
		}
		return nil
	})
	words := slices.Sorted(maps.Keys(folders))
	for i, dir := range words {
		words[i] = operand(dir)
	}
	if others && len(own) == 1 {
		words = append(words, "--database", own[0])
	}
	return words
}
