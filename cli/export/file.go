package export

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"ypcrawl/yp/folder"
)

// ErrExists is returned for a file that is there and may not be replaced.
var ErrExists = errors.New("the file exists already")

// File is a file that appears under its name when it is whole: it is written beside it, synced
// and renamed. Where its name is a symbolic link, the file that this leads to is replaced (folder.Find).
type File struct {
	*bufio.Writer
	at        *folder.Place
	overwrite bool
	temp      *os.File
	sum       hash.Hash   // SHA-256 of what was written through Writer
	mode      fs.FileMode // 0 = not said
	scratch   bool        // TempDir made a folder
}

// Create begins the file name.
func Create(name string, overwrite bool) (*File, error) {
	at, err := find(name)
	if err != nil {
		return nil, err
	}
	f := &File{at: at, overwrite: overwrite}
	if err := free(at, overwrite); err != nil {
		return nil, errors.Join(err, at.Close())
	}
	RemoveParts(filepath.Dir(at.Path()))
	for f.temp == nil {
		if f.temp, err = createPart(at); err != nil {
			return nil, errors.Join(err, at.Close())
		}
	}
	f.sum = sha256.New()
	f.Writer = bufio.NewWriterSize(io.MultiWriter(f.temp, f.sum), 1<<16)
	return f, nil
}

// find follows the links of a name.
func find(name string) (*folder.Place, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // a link to a pipe of the process leads nowhere
		return nil, notRegular(name)
	}
	at, err := folder.Find(name)
	if missing, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		dir := filepath.Dir(name)
		if _, err := os.Stat(dir); err == nil { // a link leads to one
			dir = missing.Path
		}
		return nil, fmt.Errorf("there is no folder %s; create it first", dir)
	}
	return at, err
}

func notRegular(name string) error {
	return fmt.Errorf("%s is not a regular file; name another one", name)
}

// createPart makes and holds a part of a file; nil = another export took it for one that a kill left, before
// it was held.
func createPart(at *folder.Place) (*os.File, error) {
	part := "." + at.Name + partMark + rand.Text()[:8] + partEnd
	f, err := at.New(part, os.O_WRONLY, 0o666, nil)
	if err != nil {
		return nil, err
	}
	held := hold(f) // where files can't be held, nothing is removed either
	if _, err := at.Lstat(part); errors.Is(held, syscall.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
		return nil, f.Close()
	}
	return f, nil
}

const (
	partMark = ".ypcrawl-"
	partEnd  = ".part"
	tempEnd  = ".tmp" // behind the name of a part: its folder for temporary files
)

// RemoveParts removes what killed exports left in a folder, whatever their files were to be called: parts
// that no process holds, and temporary folders whose part is gone.
func RemoveParts(folder string) {
	entries, _ := os.ReadDir(cmp.Or(folder, ".")) // of a folder that is not there, none
	for _, e := range entries {
		part := filepath.Join(folder, strings.TrimSuffix(e.Name(), tempEnd))
		ours, _ := filepath.Match(".*"+partMark+"????????"+partEnd, filepath.Base(part))
		switch {
		case ours && e.IsDir() && strings.HasSuffix(e.Name(), tempEnd):
			removePart(part)
			removeOrphan(folder, e.Name())
		case ours && e.Type().IsRegular():
			removePart(part)
		}
	}
}

// removePart removes a part that no process holds. In a folder of all users its name may be a link of somebody else, to a device.
func removePart(part string) {
	f, err := os.OpenFile(part, os.O_RDWR|noFollow, 0)
	if err != nil {
		return
	}
	if hold(f) == nil {
		_ = os.Remove(part) // while it is held, so that nobody can begin to
	}
	if _ = f.Close(); runtime.GOOS == "windows" {
		_ = os.Remove(part) // where files that are open can't be removed
	}
}

// removeOrphan removes a temporary folder whose part is gone: while an export lives, its part is there.
func removeOrphan(folder, name string) {
	if _, err := os.Lstat(filepath.Join(folder, strings.TrimSuffix(name, tempEnd))); errors.Is(err, fs.ErrNotExist) {
		removeTree(folder, name)
	}
}

// removeTree removes a folder in a folder. No link in it leads out of that.
func removeTree(folder, name string) {
	root, err := os.OpenRoot(cmp.Or(folder, "."))
	if err != nil {
		return
	}
	_ = root.RemoveAll(name)
	_ = root.Close()
}

// Free tells whether a file may take the name: the error wraps ErrExists where another one has it.
func Free(name string, overwrite bool) error {
	at, err := find(name)
	if err != nil {
		return err
	}
	return errors.Join(free(at, overwrite), at.Close())
}

func free(at *folder.Place, overwrite bool) error {
	info, err := at.Lstat(at.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return notRegular(at.Path())
	case !overwrite:
		return fmt.Errorf("%s: %w", at.Path(), ErrExists)
	}
	return nil
}

// Part is the path of what is written until File has its name.
func (f *File) Part() string { return f.at.Dir.Path(f.part()) }

// TempDir makes a folder for temporary files beside the file. It goes when the file gets its name, or with its part.
func (f *File) TempDir() (string, error) {
	if err := f.at.Mkdir(f.part()+tempEnd, 0o700, nil); err != nil {
		return "", err
	}
	f.scratch = true
	return f.Part() + tempEnd, nil
}

func (f *File) removeTemp() {
	if f.scratch {
		removeTree(filepath.Dir(f.Part()), f.part()+tempEnd)
		f.scratch = false
	}
}

func (f *File) part() string { return filepath.Base(f.temp.Name()) }

// Path is where the file is to be: its name, or where the links of that lead.
func (f *File) Path() string { return f.at.Path() }

// Chmod gives the file a mode. Without it, it has that of the one that it replaces.
func (f *File) Chmod(mode fs.FileMode) { f.mode = mode }

// Finish writes what is left and makes it last, and returns by what the file will be known under its name: its size,
// and the SHA-256, in hexadecimal, of what was written through Writer.
func (f *File) Finish() (size int64, sha string, err error) {
	if err := errors.Join(f.Flush(), f.temp.Sync(), free(f.at, f.overwrite)); err != nil {
		return 0, "", err
	}
	info, err := f.temp.Stat()
	if err != nil {
		return 0, "", err
	}
	return info.Size(), hex.EncodeToString(f.sum.Sum(nil)), nil
}

// Publish finishes the file and gives it its name, with the mode of the file that had it, and, when root does so, with its
// owner. Until then it is held.
func (f *File) Publish() (size int64, err error) {
	if size, _, err = f.Finish(); err != nil {
		return 0, err
	}
	if former, missing := f.at.Lstat(f.at.Name); missing == nil {
		err = folder.Keep(f.temp, former)
	}
	if err == nil && f.mode != 0 {
		err = f.temp.Chmod(f.mode)
	}
	if err != nil {
		return 0, err
	}
	f.removeTemp()
	if runtime.GOOS == "windows" { // it renames no file that is open
		_ = f.temp.Close()
	}
	if err := f.at.Rename(f.part(), f.at.Name); err != nil {
		return 0, err
	}
	_ = f.temp.Close()                         // it was synced
	_ = folder.Sync(filepath.Dir(f.at.Path())) // the file itself is synced by then
	return size, f.at.Close()
}

// Abort removes what was written. After Publish it does nothing.
func (f *File) Abort() {
	f.removeTemp()
	_ = f.temp.Close()
	_ = f.at.Remove(f.part())
	_ = f.at.Close()
}
