//go:build unix

package wal

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOwner: logs that root writes, rotates and compresses in a user's folder are the user's; one that
// is compressed keeps its owner and mode.
func TestOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	const user, group = 4321, 4322
	top := t.TempDir()
	noErr(t, os.Chown(top, user, group))
	dir := filepath.Join(top, "logs", "yp_wal")
	logOf(t, Config{Dir: dir, WorkerID: own, MaxBytes: 1}, 3) // two of its parts are full
	wide := filepath.Join(dir, "worker_1_pid_1.jsonl")
	writeFile(t, wide, []byte(textLine("worker_1_pid_1", 1, 1, Stop)))
	noErr(t, os.Chmod(wide, 0o640))
	noErr(t, os.Chown(wide, user+1, group+1))
	before := owners(t, top)
	for _, path := range []string{"logs", "logs/yp_wal", "logs/yp_wal/" + ownFile + ".zst", "logs/yp_wal/" + own + ".000002.jsonl"} {
		want := ownerOf{user, group, 0o600}
		if path == "logs" || path == "logs/yp_wal" {
			want.mode = 0o700
		}
		if before[path] != want {
			t.Errorf("%s: %+v", path, before[path])
		}
	}
	compress(t, dir)
	for path, is := range owners(t, top) {
		want, ok := before[path]
		if !ok {
			want = before[path[:len(path)-len(".zst")]]
		}
		if is != want {
			t.Errorf("%s: %+v, want %+v", path, is, want)
		}
	}
}

type ownerOf struct {
	uid, gid uint32
	mode     fs.FileMode
}

// owners are those of all that is below a folder.
func owners(t *testing.T, top string) map[string]ownerOf {
	t.Helper()
	all := map[string]ownerOf{}
	noErr(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		noErr(t, err)
		info, err := d.Info()
		noErr(t, err)
		stat := info.Sys().(*syscall.Stat_t)
		rel, err := filepath.Rel(top, path)
		all[rel] = ownerOf{stat.Uid, stat.Gid, info.Mode().Perm()}
		return err
	}))
	return all
}
