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
// for data/texas.db, srv/texas for /srv/texas.db. Two names of one file have one folder.
func logsOf(db string) string {
	if filepath.Clean(db) == defaultDB {
		return defaultLogs
	}
	name := store.RealPath(db)
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(store.RealPath(wd), name); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
	}
	if name == defaultDB {
		return defaultLogs
	}
	name = strings.TrimSuffix(name[len(filepath.VolumeName(name)):], ".db")
	return filepath.Join(defaultLogs, name)
}
