package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxLinks bounds a chain of links, as the kernel does.
const maxLinks = 40

// Place is where a file is to get its name: in a folder that is held, and what is there is no link to be followed.
type Place struct {
	*Dir
	Name string
}

// Find follows the symbolic links of a path, so that a file is put where they lead, which need not be there, and they
// stay. Close lets go of the folder. Root follows a link only where it, and each folder in which it could be replaced,
// belongs to root or to who has called root, and the link of a file only where the folders behind it do, too: else it
// is a *LinkError. The others would decide what root writes over.
func Find(path string) (*Place, error) {
	if isRoot() {
		at, err := findAsRoot(path)
		if abs, failed := filepath.Abs(path); errors.Is(err, fs.ErrPermission) && failed == nil && Real(path) == abs {
			return find(path) // without links, through a folder that root may only pass, as on a network drive
		}
		return at, err
	}
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if _, err := os.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // links in a circle
			return nil, err
		}
		path = Real(path)
	}
	return find(path)
}

// find is Find for a path that is no link.
func find(path string) (*Place, error) {
	dir, err := Hold(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return &Place{dir, filepath.Base(path)}, nil
}

// Path is the path of the file.
func (p *Place) Path() string { return p.Dir.Path(p.Name) }

// Real is path made absolute, with its links followed as far as they lead:
// the file need not be there yet.
func Real(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for range maxLinks {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			return real
		}
		to, err := os.Readlink(abs)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) { // a link that leads to a file not yet made
			to = filepath.Join(filepath.Dir(abs), to)
		}
		abs = to
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		return filepath.Join(dir, filepath.Base(abs))
	}
	return abs
}

// LinkError says why root doesn't follow a symbolic link.
type LinkError struct {
	Link   string // its path
	Folder string // on its way, and of another user; "" = it is the link that is
	Owner  string // of the link or the folder
}

func (e *LinkError) Error() string {
	if e.Folder == "" {
		return fmt.Sprintf("%s is a symbolic link of %s, and root follows no links of other users: name the file that it leads to",
			e.Link, e.Owner)
	}
	return fmt.Sprintf("%s is a symbolic link, and %s on its way belongs to %s: root follows no links that other users can change; name the file that it leads to", e.Link, e.Folder, e.Owner)
}

// way is the way to a place, from the root folder: each folder is opened in the one before.
type way struct {
	dirs  []*os.Root
	paths []string
	rest  []string // names still to be followed
	links int
	file  string // path of the last link that was the last name
}

func findAsRoot(path string) (*Place, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	w := &way{}
	defer w.leave(0)
	if err := w.restart(abs); err != nil {
		return nil, err
	}
	name := ""
	for name == "" && err == nil {
		name, err = w.step()
	}
	if err == nil && w.file != "" {
		err = w.trusts(w.file)
	}
	if err != nil {
		return nil, err
	}
	dir := &Dir{path: w.paths[len(w.paths)-1], root: w.dirs[len(w.dirs)-1]}
	if w.links == 0 {
		dir.path = filepath.Dir(path) // as it was typed
	}
	w.dirs = w.dirs[:len(w.dirs)-1] // it stays open
	return &Place{dir, name}, nil
}

// restart begins anew in the root folder with the names of an absolute path, before those that are left.
func (w *way) restart(abs string) error {
	w.leave(0)
	root, err := os.OpenRoot("/")
	if err != nil {
		return err
	}
	w.dirs, w.paths = append(w.dirs, root), append(w.paths, "/")
	w.rest = append(strings.Split(abs, "/"), w.rest...)
	return nil
}

// leave closes all folders behind the first n.
func (w *way) leave(n int) {
	for _, dir := range w.dirs[min(n, len(w.dirs)):] {
		_ = dir.Close() // only read
	}
	w.dirs, w.paths = w.dirs[:min(n, len(w.dirs))], w.paths[:min(n, len(w.paths))]
}

// step follows the next name. It returns the last one, where it is no link.
func (w *way) step() (last string, err error) {
	name := w.rest[0]
	w.rest = w.rest[1:]
	at := len(w.dirs) - 1
	switch name {
	case "", ".":
		return w.end()
	case "..":
		w.leave(max(at, 1))
		return w.end()
	}
	dir, path := w.dirs[at], filepath.Join(w.paths[at], name)
	info, err := dir.Lstat(name)
	switch final := w.isLast(); {
	case err != nil && !(final && errors.Is(err, fs.ErrNotExist)):
		return "", named("open", path, err)
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return "", w.follow(dir, name, path, info, final)
	case final:
		return name, nil
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return "", named("open", path, err)
	}
	w.dirs, w.paths = append(w.dirs, next), append(w.paths, path)
	if there, err := next.Stat("."); err != nil || !os.SameFile(there, info) { // another was put in its place
		return "", named("open", path, errors.Join(ErrLink, err))
	}
	return "", nil
}

// isLast reports whether no further name is left.
func (w *way) isLast() bool {
	return !slices.ContainsFunc(w.rest, func(name string) bool { return name != "" && name != "." })
}

// end is the step of a name that leads nowhere: a path that ends with it is a folder.
func (w *way) end() (string, error) {
	if len(w.rest) == 0 {
		return "", &fs.PathError{Op: "open", Path: w.paths[len(w.paths)-1], Err: syscall.EISDIR}
	}
	return "", nil
}

// follow goes on where a link leads, if it may be followed.
func (w *way) follow(dir *os.Root, name, path string, info fs.FileInfo, last bool) error {
	if uid, _, known := ids(info); !known || !trusted(uid) {
		return &LinkError{Link: path, Owner: Owner(info)}
	}
	if err := w.trusts(path); err != nil {
		return err
	}
	to, err := dir.Readlink(name)
	if err != nil {
		return named("readlink", path, err)
	}
	if again, err := dir.Lstat(name); err != nil || !os.SameFile(again, info) { // another was put in its place
		return named("readlink", path, errors.Join(ErrLink, err))
	}
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
	}
	if last {
		w.file = path
	}
	if filepath.IsAbs(to) {
		return w.restart(to)
	}
	w.rest = append(strings.Split(to, "/"), w.rest...)
	return nil
}

// trusts makes sure that nobody but root and its caller can change what a link on the way, or behind it, leads to.
func (w *way) trusts(link string) error {
	for i, dir := range w.dirs {
		info, err := dir.Stat(".")
		if err != nil {
			return err
		}
		if uid, _, known := ids(info); !known || !trusted(uid) {
			return &LinkError{Link: link, Folder: w.paths[i], Owner: Owner(info)}
		}
	}
	return nil
}
