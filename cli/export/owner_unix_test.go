//go:build unix

package export_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"ypcrawl/cli/export"
	"ypcrawl/store/storetest"
	"ypcrawl/yp/folder"
)

const (
	user  = 4321
	group = 4322
)

// usersFolder is a folder of another user's.
func usersFolder(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	dir := t.TempDir()
	storetest.NoError(t, os.Chown(dir, user, group))
	return dir
}

// owned makes sure of a file's owner, group and mode.
func owned(t *testing.T, path string, uid, gid uint32, mode fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	storetest.NoError(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	if stat.Uid != uid || stat.Gid != gid || info.Mode().Perm() != mode {
		t.Errorf("%s belongs to %d:%d with mode %o, want %d:%d with %o", path, stat.Uid, stat.Gid, info.Mode().Perm(), uid, gid, mode)
	}
}

// holds makes sure of a file's text.
func holds(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("%s holds %q (%v), want %q", path, text, err, want)
	}
}

// TestOwner: a file that root writes is that of the folder's owner; one that it replaces keeps owner, group and mode.
func TestOwner(t *testing.T) {
	t.Parallel()
	dir := usersFolder(t)
	name := filepath.Join(dir, "out")
	f, err := export.Create(name, false)
	storetest.NoError(t, err)
	owned(t, f.Part(), user, group, 0o644) // so that its owner can remove what a kill leaves of it
	_, err = f.Publish()
	storetest.NoError(t, err)
	owned(t, name, user, group, 0o644)
	for _, mode := range []fs.FileMode{0o640, 0o444, 0o755, 0o666} {
		storetest.NoError(t, errors.Join(os.Chown(name, user+1, group+1), os.Chmod(name, mode), published(name, "again", true)))
		owned(t, name, user+1, group+1, mode)
		holds(t, name, "again")
	}
	storetest.NoError(t, errors.Join(os.Chown(name, 0, 0), os.Chmod(name, 0o600), published(name, "roots", true)))
	owned(t, name, 0, 0, 0o600)
}

// TestThroughLinks: a link stays, and what it leads to is replaced where it is, or made there.
func TestThroughLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	storetest.NoError(t, errors.Join(os.Mkdir(path("links"), 0o700), os.Mkdir(path("files"), 0o700), os.WriteFile(path("files/out"), []byte("old"), 0o600), os.Chmod(path("files/out"), 0o640)))
	for name, to := range map[string]string{
		"relative": "../files/out", "absolute": path("files/out"), "chain": "relative", "folder": "../files", "dangling": "../files/new", "toDangling": "dangling2",
		"dangling2": "../files/new2", "nowhere": "../none/new", "loop": "loop2", "loop2": "loop", "pipe": "/dev/null",
	} {
		storetest.NoError(t, os.Symlink(to, path("links/"+name)))
	}
	for link, at := range map[string]string{"relative": "out", "absolute": "out", "chain": "out", "folder/out": "out", "dangling": "new", "toDangling": "new2"} {
		there, err := os.Lstat(path("files/" + at))
		if err == nil {
			if err := published(path("links/"+link), "x", false); !errors.Is(err, export.ErrExists) {
				t.Errorf("%s: replaced what is there: %v", link, err)
			}
		}
		f, err := export.Create(path("links/"+link), true)
		storetest.NoError(t, err)
		if filepath.Dir(f.Part()) != filepath.Dir(f.Path()) || filepath.Base(f.Path()) != at {
			t.Errorf("%s: %s is to be %s", link, f.Part(), f.Path())
		}
		_, err = f.WriteString(link)
		storetest.NoError(t, err)
		_, err = f.Publish()
		storetest.NoError(t, err)
		holds(t, path("links/"+link), link)
		holds(t, path("files/"+at), link)
		if now, err := os.Lstat(path("files/" + at)); there != nil && (err != nil || os.SameFile(now, there) || now.Mode() != there.Mode()) {
			t.Errorf("%s: it was not replaced, or its mode is %v (%v)", link, now.Mode(), err)
		}
	}
	for _, link := range []string{"nowhere", "loop", "pipe"} {
		if err := published(path("links/"+link), "x", true); err == nil {
			t.Errorf("%s: written", link)
		}
	}
	for _, e := range entriesIn(t, path("links")) {
		if e.Type() != fs.ModeSymlink {
			t.Errorf("%s is no link any more", e.Name())
		}
	}
	if left, want := namesIn(t, path("files")), []string{"new", "new2", "out"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
}

func entriesIn(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	storetest.NoError(t, err)
	return entries
}

// TestStrangersLinks: root writes through no link of another user, nor puts a file in its place.
func TestStrangersLinks(t *testing.T) {
	t.Parallel()
	dir, roots := usersFolder(t), t.TempDir()
	precious := filepath.Join(roots, "precious")
	storetest.NoError(t, os.WriteFile(precious, []byte("precious"), 0o600))
	for name, uid := range map[string]int{"theirs": user, "roots": 0} { // that of root is in their folder
		link := filepath.Join(dir, name)
		storetest.NoError(t, errors.Join(os.Symlink(precious, link), os.Lchown(link, uid, group)))
		err := published(link, "x", true)
		if refused, ok := errors.AsType[*folder.LinkError](err); !ok || refused.Link != link || refused.Owner != "user 4321" {
			t.Errorf("%s: %v", name, err)
		}
		if err := export.Free(link, true); !errors.As(err, new(*folder.LinkError)) {
			t.Errorf("%s: %v", name, err)
		}
		if to, err := os.Readlink(link); err != nil || to != precious {
			t.Errorf("%s leads to %s (%v)", name, to, err)
		}
	}
	holds(t, precious, "precious")
}

// TestChmod: a mode that is said goes before that of the file that was there.
func TestChmod(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "out")
	storetest.NoError(t, errors.Join(os.WriteFile(name, nil, 0o600), os.Chmod(name, 0o600)))
	f, err := export.Create(name, true)
	storetest.NoError(t, err)
	f.Chmod(0o644)
	_, err = f.Publish()
	storetest.NoError(t, err)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o644 {
		t.Error(info.Mode(), err)
	}
}
