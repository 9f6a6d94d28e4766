package cli

import (
	"os"
	"path/filepath"
	"testing"

	"ypcrawl/store/storetest"
)

// TestLogsOf: every database has a folder of its own, whatever name it is called by, and the
// default one stays where it was.
func TestLogsOf(t *testing.T) {
	dir := t.TempDir()
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	storetest.NoError(t, err)
	t.Chdir(dir)
	here, err := filepath.EvalSymlinks(dir)
	storetest.NoError(t, err)
	for _, name := range []string{"data", "texas.db"} {
		if err := os.Symlink(elsewhere, filepath.Join(dir, "link")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		_ = os.Mkdir(name, 0o700)
	}
	for db, want := range map[string]string{
		"ypcrawl.db":                          "logs/yp_wal",
		"./ypcrawl.db":                        "logs/yp_wal",
		filepath.Join(dir, "ypcrawl.db"):      here + "/logs/yp_wal",
		"texas.db":                            "logs/yp_wal/texas",
		"data/../texas.db":                    "logs/yp_wal/texas",
		filepath.Join(dir, "texas.db"):        here + "/logs/yp_wal/texas",
		"texas.sqlite":                        "logs/yp_wal/texas.sqlite_",
		"texas":                               "logs/yp_wal/texas_",
		"texas_.db":                           "logs/yp_wal/texas_.db_",
		".db":                                 "logs/yp_wal/.db_",
		"..db":                                "logs/yp_wal/..db_",
		"/srv/a.db":                           "/srv/logs/yp_wal/a",
		"/srv/ypcrawl.db":                     "/srv/logs/yp_wal",
		"data/texas.db":                       "data/logs/yp_wal/texas",
		"data/ypcrawl.db":                     "data/logs/yp_wal",
		filepath.Join(elsewhere, "a.db"):      elsewhere + "/logs/yp_wal/a",
		"link/a.db":                           elsewhere + "/logs/yp_wal/a",
		"../" + filepath.Base(dir) + "/tx.db": "logs/yp_wal/tx",
	} {
		if got := filepath.ToSlash(logsOf(db)); got != filepath.ToSlash(want) {
			t.Errorf("the logs of %s are in %s, want %s", db, got, want)
		}
	}
}
