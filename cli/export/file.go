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
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ErrExists is returned for a file that is there and may not be replaced.
var ErrExists = errors.New("the file exists already")

// File is a file that appears under its name when it is whole: it is written beside it, synced
// and renamed.
type File struct {
	name      string
	overwrite bool
	temp      *os.File
	sum       hash.Hash
	out       *bufio.Writer
	compress  io.WriteCloser // nil = none
	size      int64
	hex       string // of sum
}

// Create begins the file name.
func Create(name string, c Compression, overwrite bool) (*File, error) {
	f := &File{name: name, overwrite: overwrite, sum: sha256.New()}
	err := Free(name, overwrite)
	if err != nil {
		return nil, err
	}
	RemoveParts(name)
	part := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text()[:8]+".part")
	if f.temp, err = os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s: make it first", filepath.Dir(name))
	} else if err != nil {
		return nil, err
	}
	_ = hold(f.temp) // where a file can't be held, its youth protects it
	f.out = bufio.NewWriterSize(io.MultiWriter(f.temp, f.sum), 1<<16)
	if f.compress, err = Compress(f.out, c); err != nil {
		f.Abort()
		return nil, err
	}
	return f, nil
}

// RemoveParts removes what killed exports of a name left: parts that no process holds. In the name,
// {date} stands for any day and {group} for any group.
func RemoveParts(name string) {
	folder, base := filepath.Split(name)
	literal := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	pattern := strings.NewReplacer("{date}", "????-??-??", "{group}", "*").Replace(literal.Replace(base))
	entries, _ := os.ReadDir(cmp.Or(folder, ".")) // of a folder that is not there, none
	for _, e := range entries {
		if ours, _ := filepath.Match("."+pattern+".????????.part", e.Name()); !ours || !e.Type().IsRegular() {
			continue
		}
		part := filepath.Join(folder, e.Name())
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < youngPart {
			continue
		}
		if f, err := os.OpenFile(part, os.O_RDWR, 0); err == nil {
			free := hold(f) == nil
			_ = f.Close()
			if free {
				_ = os.Remove(part)
			}
		}
	}
}

// youngPart is how long a part stays that nobody holds: a whole one is not held while its export makes
// the files of other groups.
const youngPart = time.Hour

// Compress returns a writer that compresses into w, nil for no compression.
func Compress(w io.Writer, c Compression) (io.WriteCloser, error) {
	switch c {
	case Gzip:
		return gzip.NewWriter(w), nil
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	}
	return nil, nil
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

// Write implements io.Writer.
func (f *File) Write(data []byte) (int, error) {
	if f.compress != nil {
		return f.compress.Write(data)
	}
	return f.out.Write(data)
}

// Finish writes what is left and makes it last. Publish gives files their names.
func (f *File) Finish() (err error) {
	if f.compress != nil {
		err = f.compress.Close()
	}
	err = errors.Join(err, f.out.Flush(), f.temp.Sync())
	if info, statErr := f.temp.Stat(); statErr == nil {
		f.size = info.Size()
	}
	f.hex = hex.EncodeToString(f.sum.Sum(nil))
	f.out, f.compress, f.sum = nil, nil, nil // with their buffers
	return errors.Join(err, f.temp.Close())
}

// Publish gives finished files their names: all of them, or none. Where that fails on the way, those
// that have theirs by then are removed again, but for those that replaced another file: these
// stand, and the error names them.
func Publish(files []*File) error {
	for _, f := range files {
		if err := Free(f.name, f.overwrite); err != nil {
			return err
		}
	}
	var stand []string
	for i, f := range files {
		replaces, err := f.publish()
		if replaces && err == nil {
			stand = append(stand, f.name)
		}
		if err == nil {
			continue
		}
		for _, before := range files[:i] {
			if !slices.Contains(stand, before.name) {
				_ = os.Remove(before.name)
			}
		}
		if len(stand) > 0 {
			err = fmt.Errorf("%w (replaced before the error: %s; all other files are unchanged)", err, strings.Join(stand, ", "))
		}
		return err
	}
	return nil
}

// publish gives a finished file its name, and tells whether another file had it.
func (f *File) publish() (replaces bool, err error) {
	if err := Free(f.name, f.overwrite); err != nil {
		return false, err
	}
	info, err := os.Stat(f.name)
	if replaces = err == nil; replaces {
		if err := os.Chmod(f.temp.Name(), info.Mode().Perm()); err != nil {
			return replaces, err
		}
	}
	if err := os.Rename(f.temp.Name(), f.name); err != nil {
		return replaces, err
	}
	syncFolder(filepath.Dir(f.name))
	return replaces, nil
}

// syncFolder makes a rename last. Some systems can't: the file itself is synced by then.
func syncFolder(name string) {
	if d, err := os.Open(name); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// Abort removes what was written. After Publish it does nothing.
func (f *File) Abort() {
	_ = f.temp.Close()
	_ = os.Remove(f.temp.Name())
}

// Name is the file's own name.
func (f *File) Name() string { return f.name }

// Size is the file's size in bytes, known after Finish.
func (f *File) Size() int64 { return f.size }

// SHA256 is the checksum of the file's bytes in hex, known after Finish.
func (f *File) SHA256() string { return f.hex }
