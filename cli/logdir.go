package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
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
		if rel, err := filepath.Rel(store.RealPath(wd), name); err == nil && filepath.IsLocal(rel) && !isBelow(rel, absLogs) {
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

func isBelow(name, dir string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return first == dir
}
