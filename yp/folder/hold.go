package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Dir is a folder in which names are made, replaced and removed. Root holds it open meanwhile: whoever may write into a
// folder above it could else lead root to another one between two steps.
type Dir struct {
	path string
	root *os.Root // nil = this process isn't root's, and works by the path
}

// Hold opens a folder. Close lets go of it.
func Hold(path string) (*Dir, error) {
	d := &Dir{path: path}
	if !isRoot() {
		_, err := os.Stat(path)
		return d, err
	}
	root, err := os.OpenRoot(path + string(os.PathSeparator)) // a pipe is refused then, which would be waited for else
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		wrong.Path = path
	}
	if err != nil {
		return nil, err
	}
	d.root = root
	return d, nil
}

// ErrLink is returned for a symbolic link where root follows none.
var ErrLink = errors.New("it is a symbolic link")

// Enter opens a folder in the folder. To root it returns ErrLink for a link.
func (d *Dir) Enter(name string) (*Dir, error) {
	if d.root == nil {
		return Hold(d.Path(name))
	}
	info, err := d.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = &fs.PathError{Op: "open", Path: d.Path(name), Err: ErrLink}
	}
	if err != nil {
		return nil, err
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, d.named("open", name, err)
	}
	if there, err := root.Stat("."); err != nil || !os.SameFile(there, info) {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: d.Path(name), Err: ErrLink}, err, root.Close())
	}
	return &Dir{path: d.Path(name), root: root}, nil
}

// Close lets go of the folder.
func (d *Dir) Close() error {
	if d.root == nil {
		return nil
	}
	return d.root.Close()
}

// Path is the path of a name in the folder.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Lstat looks at a name, and follows no link.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if d.root == nil {
		return os.Lstat(d.Path(name))
	}
	info, err := d.root.Lstat(name)
	return info, d.named("lstat", name, err)
}

// Rename gives a file of the folder another name in it, which may be that of another file.
func (d *Dir) Rename(from, to string) error {
	if d.root == nil {
		return os.Rename(d.Path(from), d.Path(to))
	}
	return d.named("rename", from, d.root.Rename(from, to))
}

// Remove removes a name.
func (d *Dir) Remove(name string) error {
	if d.root == nil {
		return os.Remove(d.Path(name))
	}
	return d.named("remove", name, d.root.Remove(name))
}

// Chtimes sets the time of a file's last change.
func (d *Dir) Chtimes(name string, at time.Time) error {
	if d.root == nil {
		return os.Chtimes(d.Path(name), at, at)
	}
	return d.named("chtimes", name, d.root.Chtimes(name, at, at))
}

// Beside is what New and Mkdir are to make a name like: the file of another name, or, where that isn't a file, the folder.
func (d *Dir) Beside(name string) fs.FileInfo {
	info, err := d.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		info, _ = d.Lstat(".")
	}
	return info
}

// New makes a file, which gets the mode perm less the umask; fs.ErrExist where anything has the name, a link too. What
// root makes belongs to whom like belongs to, so that a run by root leaves nothing in a user's folder that the user
// can't read, and has its mode, too, where like is a file (SQLite does so for -wal and -shm: unixOpen in os_unix.c).
// A nil like is the folder itself.
func (d *Dir) New(name string, flag int, perm fs.FileMode, like fs.FileInfo) (*os.File, error) {
	flag |= os.O_CREATE | os.O_EXCL
	if d.root == nil {
		return os.OpenFile(d.Path(name), flag, perm)
	}
	f, err := d.root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, d.named("open", name, err)
	}
	d.give(f, like)
	return f, nil
}

// named is an error of a name in the folder, with the whole path in it.
func (d *Dir) named(op, name string, err error) error { return named(op, d.Path(name), err) }

func named(op, path string, err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	case err == nil:
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// give makes a file or folder that this process has made, and nobody else, like another one. Where the system doesn't
// let it (a file system without owners, a container that may not), it stays as it was made.
func (d *Dir) give(f *os.File, like fs.FileInfo) {
	if like == nil {
		like, _ = d.Lstat(".")
	}
	Give(f, like)
}

// Give makes an open file or folder like another one: of its owner and group, and, where both are files or like is a
// file, of its mode. Only root does so. The file must be one that this process has made.
func Give(f *os.File, like fs.FileInfo) {
	if like == nil || !isRoot() {
		return
	}
	mine, err := f.Stat()
	if !giveOwner(f, like) || err != nil || like.IsDir() {
		return
	}
	mode := like.Mode().Perm()&0o666 | 0o600
	if mine.IsDir() {
		mode |= (mode & 0o444) >> 2 // who may read may enter
	}
	_ = f.Chmod(mode)
}

func giveOwner(f *os.File, like fs.FileInfo) bool {
	uid, gid, known := ids(like)
	return known && isRoot() && f.Chown(uid, gid) == nil
}

// Keep gives an open file, which this process has made, the mode of the one that it is to replace, and, when root
// does so, its owner and group.
func Keep(f *os.File, former fs.FileInfo) error {
	giveOwner(f, former)
	return f.Chmod(former.Mode().Perm())
}

// Open opens a file that is there. A link in its place is an error, where the system can tell.
func Open(path string, flag int) (*os.File, error) {
	return os.OpenFile(path, flag|noFollow, 0)
}

// Mkdir makes a folder like New makes a file.
func (d *Dir) Mkdir(name string, perm fs.FileMode, like fs.FileInfo) error {
	if d.root == nil {
		return os.Mkdir(d.Path(name), perm)
	}
	if err := d.root.Mkdir(name, perm); err != nil {
		return d.named("mkdir", name, err)
	}
	f, err := d.root.Open(name)
	if err != nil {
		return d.named("open", name, err)
	}
	defer func() { _ = f.Close() }() // only read
	if there, err := d.root.Lstat(name); err == nil && made(f, there) {
		d.give(f, like)
	}
	return nil
}

// made reports whether an open folder can be the one that this process has just made: no link leads to it, it is
// root's, and empty. Another could have got its name since.
func made(f *os.File, there fs.FileInfo) bool {
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, there) {
		return false
	}
	uid, _, known := ids(info)
	names, _ := f.Readdirnames(1)
	return known && uid == 0 && len(names) == 0
}

// MakeBeside is Make for a folder that goes with a file: below that one's folder, root makes all of it like the file, if
// it is there.
func MakeBeside(dir, file string) error {
	top := filepath.Dir(Real(file))
	rel, err := filepath.Rel(top, fromHere(dir))
	if _, there := os.Stat(dir); !isRoot() || there == nil || err != nil || !filepath.IsLocal(rel) {
		return Make(dir)
	}
	d, err := Hold(top)
	if err != nil {
		return Make(dir)
	}
	like := d.Beside(filepath.Base(Real(file)))
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		next, err := d.enterNew(name, like)
		_ = d.Close() // nothing is lost with it
		if errors.Is(err, ErrLink) {
			return Make(dir)
		}
		if err != nil {
			return err
		}
		d = next
	}
	return d.Close()
}

// enterNew enters a folder, which is made if need be, with a durable name.
func (d *Dir) enterNew(name string, like fs.FileInfo) (*Dir, error) {
	next, err := d.Enter(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return next, err
	}
	if err := d.Mkdir(name, 0o700, like); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := Sync(d.path); err != nil {
		return nil, err
	}
	return d.Enter(name)
}

// fromHere is a path from the root folder, without links in that of the working folder.
func fromHere(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(Real("."), path)
}

// New is Dir.New for a path.
func New(path string, flag int, perm fs.FileMode, like fs.FileInfo) (*os.File, error) {
	d, err := Hold(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	f, err := d.New(filepath.Base(path), flag, perm, like)
	return f, errors.Join(err, d.Close())
}

// Make makes a folder with its parents, for their owner alone, and their names durable. What root makes belongs to whom
// the folder above belongs to.
func Make(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := Make(parent); err != nil {
			return err
		}
	}
	d, err := Hold(parent)
	if err != nil {
		return err
	}
	err = d.Mkdir(filepath.Base(dir), 0o700, nil)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err == nil {
		err = Sync(parent)
	}
	return errors.Join(err, d.Close())
}
