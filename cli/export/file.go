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
	"syscall"

	"ypcrawl/yp/folder"
)

// ErrExists is returned for a file that is there and may not be replaced.
var ErrExists = errors.New("the file exists already")

// File is a file that appears under its name when it is whole: it is written beside it, synced
// and renamed.
type File struct {
	*bufio.Writer
	name      string
	overwrite bool
	temp      *os.File
	sum       hash.Hash // SHA-256 of what was written through Writer
}

// Create begins the file name.
func Create(name string, overwrite bool) (*File, error) {
	f := &File{name: name, overwrite: overwrite}
	err := Free(name, overwrite)
	if err != nil {
		return nil, err
	}
	RemoveParts(filepath.Dir(name))
	for f.temp == nil {
		if f.temp, err = createPart(name); err != nil {
			return nil, err
		}
	}
	f.sum = sha256.New()
	f.Writer = bufio.NewWriterSize(io.MultiWriter(f.temp, f.sum), 1<<16)
	return f, nil
}

// createPart makes and holds a part of a file; nil = another export took it for one that a kill left, before
// it was held.
func createPart(name string) (*os.File, error) {
	part := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+partMark+rand.Text()[:8]+partEnd)
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s: make it first", filepath.Dir(name))
	}
	if err != nil {
		return nil, err
	}
	held := hold(f) // where files can't be held, nothing is removed either
	if _, err := os.Lstat(part); errors.Is(held, syscall.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
		return nil, f.Close()
	}
	return f, nil
}

const (
	partMark = ".ypcrawl-"
	partEnd  = ".part"
)

// RemoveParts removes what killed exports left in a folder, whatever their files were to be called: parts
// that no process holds.
func RemoveParts(folder string) {
	entries, _ := os.ReadDir(cmp.Or(folder, ".")) // of a folder that is not there, none
	for _, e := range entries {
		if ours, _ := filepath.Match(".*"+partMark+"????????"+partEnd, e.Name()); !ours || !e.Type().IsRegular() {
			continue
		}
		part := filepath.Join(folder, e.Name())
		f, err := os.OpenFile(part, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if hold(f) == nil {
			_ = os.Remove(part) // while it is held, so that nobody can begin to
		}
		if _ = f.Close(); runtime.GOOS == "windows" {
			_ = os.Remove(part) // where files that are open can't be removed
		}
	}
}

// Free tells whether a file may take the name: the error wraps ErrExists where another one has it.
func Free(name string, overwrite bool) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: name another one", name)
	case !overwrite:
		return fmt.Errorf("%s: %w", name, ErrExists)
	}
	return nil
}

// Part is the path of what is written until File has its name.
func (f *File) Part() string { return f.temp.Name() }

// Finish writes what is left and makes it last, and returns by what the file will be known under its name: its size,
// and the SHA-256, in hexadecimal, of what was written through Writer.
func (f *File) Finish() (size int64, sha string, err error) {
	if err := errors.Join(f.Flush(), f.temp.Sync(), Free(f.name, f.overwrite)); err != nil {
		return 0, "", err
	}
	info, err := f.temp.Stat()
	if err != nil {
		return 0, "", err
	}
	return info.Size(), hex.EncodeToString(f.sum.Sum(nil)), nil
}

// Publish finishes the file and gives it its name. Until then it is held.
func (f *File) Publish() (size int64, err error) {
	if size, _, err = f.Finish(); err != nil {
		return 0, err
	}
	if info, err := os.Stat(f.name); err == nil {
		if err := os.Chmod(f.temp.Name(), info.Mode().Perm()); err != nil {
			return 0, err
		}
	}
	if runtime.GOOS == "windows" { // it renames no file that is open
		_ = f.temp.Close()
	}
	if err := os.Rename(f.temp.Name(), f.name); err != nil {
		return 0, err
	}
	_ = f.temp.Close()                    // it was synced
	_ = folder.Sync(filepath.Dir(f.name)) // the file itself is synced by then
	return size, nil
}

// Abort removes what was written. After Publish it does nothing.
func (f *File) Abort() {
	_ = f.temp.Close()
	_ = os.Remove(f.temp.Name())
}
