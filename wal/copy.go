package wal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Marks are the files of a log folder as they were at one moment.
type Marks struct {
	Bytes int64
	files []mark
}

type mark struct {
	part part
	size int64 // of the plain file; of a compressed one, which never changes, too
}

// Mark notes which logs of runs stand in a folder, and how long each is. A folder that is not
// there has none. It reads no log.
func Mark(dir string) (*Marks, error) {
	m := &Marks{}
	logs, err := listLogs(dir, false)
	if err != nil {
		return m, ignoreMissing(err)
	}
	for _, log := range logs {
		if !ownName.MatchString(log.worker) {
			continue
		}
		for _, p := range log.parts {
			info, err := os.Lstat(p.path())
			if p.plain && errors.Is(err, fs.ErrNotExist) { // compressed since
				p.plain, p.packed = false, true
				info, err = os.Lstat(p.path())
			}
			if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
				continue // removed since, or somebody else's
			}
			if err != nil {
				return m, fmt.Errorf("look at the logs: %w", err)
			}
			m.files = append(m.files, mark{p, info.Size()})
			m.Bytes += info.Size()
		}
	}
	return m, nil
}

// Copied says what CopyTo did.
type Copied struct {
	Files   int
	Bytes   int64
	Removed int // files that were removed since they were marked: what they said stands in the database
}

// CopyTo copies the marked files, as they were then, into a folder that it makes, and syncs
// it: of a file that is written, the complete lines. Without any file there is no folder.
func (m *Marks) CopyTo(ctx context.Context, dir string) (out Copied, err error) {
	for _, f := range m.files {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if out.Files == 0 {
			if err := MakeDir(dir); err != nil {
				return out, err
			}
		}
		n, err := f.copyTo(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) {
			out.Removed++
			continue
		}
		if err != nil {
			return out, fmt.Errorf("copy log %s: %w", f.part.path(), err)
		}
		if n > 0 {
			out.Files++
			out.Bytes += n
		}
	}
	if out.Files == 0 {
		return out, ignoreMissing(os.Remove(dir))
	}
	return out, syncDir(dir)
}

// copyTo returns the size of the copy; 0 = there was no complete line, and there is none.
func (f *mark) copyTo(ctx context.Context, dir string) (size int64, err error) {
	p, to := f.part, f.part
	to.dir = dir
	if !p.plain {
		return copyFile(ctx, p.packedPath(), to.packedPath(), func(r io.Reader) (io.Reader, func(), error) { return r, func() {}, nil }, nil)
	}
	lines := func(w *os.File, n int64) (int64, error) {
		end, err := linesEnd(w, n)
		if err == nil && end < n {
			err = w.Truncate(end)
		}
		return end, err
	}
	size, err = copyFile(ctx, p.plainPath(), to.plainPath(), func(r io.Reader) (io.Reader, func(), error) {
		return io.LimitReader(r, f.size), func() {}, nil
	}, lines)
	if !errors.Is(err, fs.ErrNotExist) {
		return size, err
	}
	// It was compressed since, and may have grown before that.
	return copyFile(ctx, p.packedPath(), to.plainPath(), func(r io.Reader) (io.Reader, func(), error) {
		u, err := newUnpacker(r)
		if err != nil {
			return nil, nil, err
		}
		return io.LimitReader(u, f.size), u.close, nil
	}, lines)
}

// copyFile copies what through makes of a file, cuts it, and gives it the file's time, by which
// logs are removed.
func copyFile(ctx context.Context, from, to string, through func(io.Reader) (io.Reader, func(), error), cut func(*os.File, int64) (int64, error)) (size int64, err error) {
	src, err := openRegular(from)
	if err != nil {
		return 0, err
	}
	defer func() { _ = src.Close() }() // only read
	info, err := src.Stat()
	if err != nil {
		return 0, err
	}
	text, end, err := through(src)
	if err != nil {
		return 0, err
	}
	defer end()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(dst, untilDone{ctx, text})
	if err == nil && cut != nil {
		size, err = cut(dst, size)
	}
	if err = errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return 0, err
	}
	if size == 0 {
		return 0, os.Remove(to)
	}
	return size, os.Chtimes(to, info.ModTime(), info.ModTime())
}

type untilDone struct {
	ctx context.Context //nolint:containedctx // it ends a read
	r   io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// MoveLogs moves the files of runs' logs from one folder to another on the same disk, which is
// made if need be: those for which belongs, called with the database that a file's first event names,
// says so; nil = all. Nothing is replaced. A kill in between leaves each file in one of the two.
func MoveLogs(from, to string, belongs func(database string) bool) (moved int, err error) {
	logs, err := listLogs(from, true)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	for _, log := range logs {
		if !ownName.MatchString(log.worker) {
			continue
		}
		for _, p := range log.parts {
			if belongs != nil && (p.plain || p.packed) {
				if id, _ := p.firstDatabase(); !belongs(id) {
					continue
				}
			}
			if moved == 0 {
				if err := MakeDir(to); err != nil {
					return 0, err
				}
			}
			for _, path := range []string{p.tempPath(), p.packedPath(), p.plainPath()} {
				target := filepath.Join(to, filepath.Base(path))
				if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
					continue
				}
				_, err := os.Lstat(target)
				if err == nil {
					return moved, fmt.Errorf("move logs: %s exists already", target)
				}
				if err := os.Rename(path, target); err != nil {
					return moved, fmt.Errorf("move logs: %w", err)
				}
			}
			moved++
		}
	}
	if moved == 0 {
		return 0, nil
	}
	return moved, errors.Join(syncDir(to), syncDir(from))
}

// Clash returns the path of a log in dir that would stay there when those for which belongs says
// so are moved away, and that has the name of a marked one; "" = there is none.
func (m *Marks) Clash(dir string, belongs func(database string) bool) (string, error) {
	logs, err := listLogs(dir, true)
	if err != nil {
		return "", ignoreMissing(err)
	}
	names := map[string]bool{}
	for _, f := range m.files {
		names[filepath.Base(f.part.base())] = true
	}
	for _, log := range logs {
		for _, p := range log.parts {
			if !names[filepath.Base(p.base())] || !p.plain && !p.packed {
				continue
			}
			if id, _ := p.firstDatabase(); !belongs(id) {
				return p.path(), nil
			}
		}
	}
	return "", nil
}

// firstDatabase is the database that the first event of the file names; ok is false when it has no event.
func (p part) firstDatabase() (id string, ok bool) {
	for it := range p.stream(Options{SkipListings: true}).items() {
		if it.event != nil {
			return it.event.Database, true
		}
	}
	return "", false
}

// RemoveCopy removes a folder that CopyTo has made for the database id, if nothing else stands
// in it: what is not a log of that database is left, and is an error.
func RemoveCopy(dir, id string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, e := range entries {
		if p, ok := parseName(e.Name()); !ok || !ownName.MatchString(p.worker) || !e.Type().IsRegular() {
			return fmt.Errorf("%w: %s was not removed: it holds %s", ErrForeign, dir, e.Name())
		}
	}
	if ids, err := Writers(dir); err != nil {
		return err
	} else if i := slices.IndexFunc(ids, func(x string) bool { return x != "" && x != id }); i >= 0 {
		return fmt.Errorf("%w: %s was not removed: it holds logs of the database %s", ErrForeign, dir, ids[i])
	}
	for _, e := range entries {
		if err := ignoreMissing(os.Remove(filepath.Join(dir, e.Name()))); err != nil {
			return err
		}
	}
	return os.Remove(dir)
}
