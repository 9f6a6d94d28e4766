//go:build unix

package folder_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ypcrawl/yp/folder"
)

const (
	user  = 4321 // an owner and a group that need not be known to the system
	group = 4322
)

// usersFolder is a folder of another user's, with a file and what else the test names.
func usersFolder(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	dir := t.TempDir()
	noErr(t, os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600))
	noErr(t, os.Chmod(filepath.Join(dir, "file"), 0o640))
	for _, path := range []string{filepath.Join(dir, "file"), dir} {
		noErr(t, os.Chown(path, user, group))
	}
	return dir
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// owned makes sure of a file's owner, group and mode.
func owned(t *testing.T, path string, uid, gid uint32, mode fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	noErr(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	if stat.Uid != uid || stat.Gid != gid || info.Mode().Perm() != mode {
		t.Errorf("%s belongs to %d:%d with mode %o, want %d:%d with %o", path, stat.Uid, stat.Gid, info.Mode().Perm(), uid, gid, mode)
	}
}

// TestOwnerOfNew: what root makes in a user's folder is the user's.
func TestOwnerOfNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beside string // "" = the folder alone
		mode   fs.FileMode
	}{
		"like the folder":              {"", 0o600},
		"like a file":                  {"file", 0o640},
		"like a file that isn't there": {"none", 0o600},
		"like a link":                  {"link", 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := usersFolder(t)
			noErr(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
			d, err := folder.Hold(dir)
			noErr(t, err)
			defer func() { noErr(t, d.Close()) }()
			var like fs.FileInfo
			if c.beside != "" {
				like = d.Beside(c.beside)
			}
			f, err := d.New("new", os.O_RDWR, 0o600, like)
			noErr(t, err)
			noErr(t, f.Close())
			owned(t, filepath.Join(dir, "new"), user, group, c.mode)
			noErr(t, d.Mkdir("newdir", 0o700, like))
			mode := fs.FileMode(0o700)
			if c.mode == 0o640 {
				mode = 0o750
			}
			owned(t, filepath.Join(dir, "newdir"), user, group, mode)
		})
	}
}

// TestOwnerOfOld: what is there keeps its owner, and a link is neither followed nor given away.
func TestOwnerOfOld(t *testing.T) {
	t.Parallel()
	dir, elsewhere := usersFolder(t), t.TempDir()
	for name, to := range map[string]string{"link": "precious", "dangling": "later", "folder": "."} {
		noErr(t, os.Symlink(filepath.Join(elsewhere, to), filepath.Join(dir, name)))
	}
	precious := filepath.Join(elsewhere, "precious")
	noErr(t, os.WriteFile(precious, nil, 0o600))
	noErr(t, os.WriteFile(filepath.Join(dir, "roots"), nil, 0o600))
	for _, name := range []string{"roots", "link", "dangling", "folder"} {
		if _, err := folder.New(filepath.Join(dir, name), os.O_RDWR, 0o600, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		noErr(t, folder.Make(filepath.Join(dir, "folder")))
	}
	owned(t, filepath.Join(dir, "roots"), 0, 0, 0o600)
	owned(t, precious, 0, 0, 0o600)
	if _, err := os.Lstat(filepath.Join(elsewhere, "later")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a link was followed to a new file:", err)
	}
}

// TestHeld: what a folder's name comes to mean while it is held changes nothing.
func TestHeld(t *testing.T) {
	t.Parallel()
	dir, elsewhere := usersFolder(t), t.TempDir()
	within := filepath.Join(dir, "within")
	noErr(t, os.Mkdir(within, 0o700))
	d, err := folder.Hold(within)
	noErr(t, err)
	defer func() { noErr(t, d.Close()) }()
	noErr(t, os.Rename(within, within+".was"))
	noErr(t, os.Symlink(elsewhere, within))
	f, err := d.New("new", os.O_WRONLY, 0o600, nil)
	noErr(t, err)
	noErr(t, errors.Join(f.Close(), d.Rename("new", "named")))
	if all, err := os.ReadDir(elsewhere); err != nil || len(all) > 0 {
		t.Errorf("in the other folder: %v (%v)", all, err)
	}
	if _, err := os.Lstat(filepath.Join(within+".was", "named")); err != nil {
		t.Error(err)
	}
}

// TestMakeBeside: folders that go with a file are like it, unless a link leads out of its folder.
func TestMakeBeside(t *testing.T) {
	t.Parallel()
	dir, elsewhere := usersFolder(t), t.TempDir()
	file := filepath.Join(dir, "file")
	noErr(t, errors.Join(os.Chown(dir, 0, 0), os.Symlink(elsewhere, filepath.Join(dir, "link")), os.Symlink("file", filepath.Join(dir, "name"))))
	noErr(t, folder.MakeBeside(filepath.Join(dir, "logs", "more"), filepath.Join(dir, "name")))
	owned(t, filepath.Join(dir, "logs"), user, group, 0o750)
	owned(t, filepath.Join(dir, "logs", "more"), user, group, 0o750)
	noErr(t, folder.MakeBeside(filepath.Join(dir, "link", "logs"), file))
	owned(t, filepath.Join(elsewhere, "logs"), 0, 0, 0o700)
	noErr(t, folder.MakeBeside(filepath.Join(elsewhere, "other"), file))
	owned(t, filepath.Join(elsewhere, "other"), 0, 0, 0o700)
	noErr(t, folder.MakeBeside(filepath.Join(dir, "more"), filepath.Join(dir, "none")))
	owned(t, filepath.Join(dir, "more"), 0, 0, 0o700)
}

// TestOwnerOfFolders: a folder with its parents.
func TestOwnerOfFolders(t *testing.T) {
	t.Parallel()
	dir := usersFolder(t)
	noErr(t, folder.Make(filepath.Join(dir, "logs", "of", "runs")))
	for _, name := range []string{"logs", "logs/of", "logs/of/runs"} {
		owned(t, filepath.Join(dir, name), user, group, 0o700)
	}
}
