package cli

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/wal"
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
	case name == frame.DefaultDB:
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
	return filepath.Join(filepath.Dir(path), frame.DefaultLogs), filepath.Base(path)
}

// rebuildFrom is what `wal replay` is to be given so that it brings back all of a database: its log folder, and
// those beside the file where the same database has written under another name. Of several in one folder the replay
// asks; nil = no log was found. The damaged file is not asked for its id: it may not tell it any more.
func rebuildFrom(db, logs string) []string {
	own, err := wal.Writers(logs) // what can't be read is left out: the replay will say so
	if len(own) == 0 && errors.As(err, new(*folder.DeniedError)) {
		return []string{frame.Operand(logs)}
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
		words[i] = frame.Operand(dir)
	}
	if others && len(own) == 1 {
		words = append(words, "--database", own[0])
	}
	return words
}
