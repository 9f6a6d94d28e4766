//go:build unix

package folder_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ypcrawl/yp/folder"
)

// linkWorld is a folder with folders of root ("roots"), of the caller ("own") and of a stranger ("theirs").
type linkWorld struct{ top string }

func (w linkWorld) path(name string) string { return filepath.Join(w.top, name) }

// link makes a symbolic link of a user's; a target that begins with @ is one within the world, from the root folder.
func (w linkWorld) link(t *testing.T, name, to string, uid int) {
	t.Helper()
	if rest, ok := strings.CutPrefix(to, "@"); ok {
		to = w.path(rest)
	}
	noErr(t, os.Symlink(to, w.path(name)))
	noErr(t, os.Lchown(w.path(name), uid, group))
}

const stranger = user + 1

// TestFindAsRoot: root writes through links that nobody but root and its caller can change, and through no others.
func TestFindAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make links of other users")
	}
	t.Setenv("SUDO_UID", "4321")
	top, err := filepath.EvalSymlinks(t.TempDir())
	noErr(t, err)
	w := linkWorld{top}
	for name, uid := range map[string]int{"roots": 0, "own": user, "theirs": stranger, "roots/theirs": stranger, "theirs/roots": 0} {
		noErr(t, os.MkdirAll(w.path(name), 0o755))
		noErr(t, os.Chown(w.path(name), uid, group))
		noErr(t, os.WriteFile(w.path(name)+"/file", nil, 0o600))
	}
	w.link(t, "roots/absolute", "@own/file", 0)
	w.link(t, "roots/relative", "../own/file", user)
	w.link(t, "roots/dangling", "../own/./later", 0)
	w.link(t, "roots/chain", "absolute", 0)
	w.link(t, "roots/folder", "../own", 0)
	w.link(t, "roots/home", "../theirs", 0)
	w.link(t, "roots/nowhere", "none/later", 0)
	w.link(t, "roots/loop", "loop", 0)
	w.link(t, "roots/a_folder", "../own/", 0)
	w.link(t, "roots/bad", "../own/file", stranger)
	w.link(t, "roots/badchain", "bad", 0)
	w.link(t, "roots/badfolder", "../own", stranger)
	w.link(t, "roots/behind", "theirs/file", 0)
	w.link(t, "roots/over", "theirs/../file", 0)
	w.link(t, "theirs/link", "@own/file", 0)
	w.link(t, "theirs/roots/link", "@own/file", 0)
	for name, c := range map[string]struct{ want, wrong string }{
		"roots/file":        {want: "roots/file"},
		"theirs/file":       {want: "theirs/file"}, // no link
		"theirs/new":        {want: "theirs/new"},
		"roots/absolute":    {want: "own/file"},
		"roots/relative":    {want: "own/file"},
		"roots/dangling":    {want: "own/later"},
		"roots/chain":       {want: "own/file"},
		"roots/folder/file": {want: "own/file"},
		"roots/folder/new":  {want: "own/new"},
		"roots/home/new":    {want: "theirs/new"}, // as /home may be a link of root's
		"roots/a_folder":    {want: "own"},
		"roots/over":        {want: "roots/file"},
		"roots/nowhere":     {wrong: "no such file or directory"},
		"roots/none/file":   {wrong: "no such file or directory"},
		"roots/file/file":   {wrong: "not a directory"},
		"roots/loop":        {wrong: "too many levels of symbolic links"},
		"roots/bad":         {wrong: "roots/bad is a symbolic link of user 4322, and root follows no links"},
		"roots/badchain":    {wrong: "roots/bad is a symbolic link of user 4322"},
		"roots/badfolder/x": {wrong: "roots/badfolder is a symbolic link of user 4322"},
		"roots/behind":      {wrong: "roots/behind is a symbolic link, and " + w.path("roots/theirs") + " on its way belongs to user 4322"},
		"theirs/link":       {wrong: "theirs/link is a symbolic link, and " + w.path("theirs") + " on its way"},
		"theirs/roots/link": {wrong: "theirs/roots/link is a symbolic link, and " + w.path("theirs") + " on its way"},
	} {
		at, err := folder.Find(w.path(name))
		if err != nil {
			if c.wrong == "" || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %q", name, err, c.wrong+c.want)
			}
			continue
		}
		if at.Path() != w.path(c.want) || c.wrong != "" {
			t.Errorf("%s leads to %s, want %s%s", name, at.Path(), c.want, c.wrong)
		}
		noErr(t, at.Close())
	}
	t.Setenv("SUDO_UID", "")
	if _, err := folder.Find(w.path("roots/relative")); !errors.As(err, new(*folder.LinkError)) {
		t.Error("a link of a user who has not called root:", err)
	}
}

// TestFindHolds: what is put in a place of the way meanwhile changes nothing.
func TestFindHolds(t *testing.T) {
	t.Parallel()
	dir, elsewhere := usersFolder(t), t.TempDir()
	within := filepath.Join(dir, "within")
	noErr(t, os.Mkdir(within, 0o700))
	at, err := folder.Find(filepath.Join(within, "file"))
	noErr(t, err)
	noErr(t, errors.Join(os.Rename(within, within+".was"), os.Symlink(elsewhere, within)))
	f, err := at.New("new", os.O_WRONLY, 0o600, nil)
	noErr(t, err)
	noErr(t, errors.Join(f.Close(), at.Rename("new", at.Name), at.Close()))
	if _, err := os.Lstat(filepath.Join(elsewhere, "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it was put elsewhere:", err)
	}
}

// TestNoFollow: what is to be opened is no link.
func TestNoFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noErr(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	if f, err := folder.Open(filepath.Join(dir, "link"), os.O_RDONLY); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("%v (%v)", f, err)
	}
}
