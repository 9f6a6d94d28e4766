package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"
)

// packWindow bounds the memory of writer and readers; a larger window gains
// little on lines that resemble their neighbours.
const packWindow = 512 << 10

// packStep names a point of a compression at which a kill must do no harm.
type packStep string

const (
	stepOpened  packStep = "opened"  // an empty temp
	stepPartial packStep = "partial" // some of the temp is written
	stepWritten packStep = "written" // the temp is complete, not yet synced
	stepSynced  packStep = "synced"
	stepRenamed packStep = "renamed" // both files are there
	stepDurable packStep = "durable" // the new name is on the disk
	stepRemoved packStep = "removed" // only the compressed file is there
)

func packSteps() []packStep {
	return []packStep{stepOpened, stepPartial, stepWritten, stepSynced, stepRenamed, stepDurable, stepRemoved}
}

// packFile compresses a closed part: temp, fsync, rename, fsync of the folder,
// and only then the plain file is removed. It returns the sizes before and
// after, ErrInUse when somebody writes the part or compresses it already,
// fs.ErrNotExist when somebody has done so meanwhile, and ErrForeign when one of
// the names belongs to somebody else. step may be nil.
func packFile(ctx context.Context, p part, step func(packStep)) (before, after int64, err error) {
	for _, path := range []string{p.plainPath(), p.packedPath(), p.tempPath()} {
		if err := regular(path); err != nil {
			return 0, 0, fmt.Errorf("compress %s: %w", p.plainPath(), err)
		}
	}
	src, err := openLocked(p.plainPath(), os.O_RDWR)
	if err != nil {
		return 0, 0, err
	}
	if step == nil {
		step = func(packStep) {}
	}
	before, after, err = packTo(ctx, src, p, step)
	if err = errors.Join(err, closeLocked(src)); err != nil {
		return before, after, fmt.Errorf("compress %s: %w", p.plainPath(), err)
	}
	return before, after, nil
}

func packTo(ctx context.Context, src *os.File, p part, step func(packStep)) (before, after int64, err error) {
	info, err := src.Stat()
	if err != nil {
		return 0, 0, err
	}
	// A torn last line is the end of the log; it must not come to stand in the
	// middle when the pid comes back and a new part follows.
	text, err := ownLines(src, info.Size(), p.worker)
	if err == nil {
		err = ownCopies(p, src, text)
	}
	switch {
	case err != nil:
		return 0, 0, err
	case text.empty() && p.packed: // there is nothing to replace the compressed one with
		return 0, 0, errNoLines
	case text.empty(): // a kill came before its first line had its end: no log
		return info.Size(), 0, errors.Join(ignoreMissing(os.Remove(p.tempPath())), os.Remove(p.plainPath()), syncDir(p.dir))
	}
	after, err = writeTemp(ctx, text.reader(src), p.tempPath(), step)
	if err == nil {
		err = os.Chtimes(p.tempPath(), info.ModTime(), info.ModTime())
	}
	if err == nil {
		err = os.Rename(p.tempPath(), p.packedPath())
	}
	if err != nil {
		return info.Size(), 0, errors.Join(err, ignoreMissing(os.Remove(p.tempPath())))
	}
	step(stepRenamed)
	if err := syncDir(p.dir); err != nil {
		return info.Size(), after, err
	}
	step(stepDurable)
	if err := os.Remove(p.plainPath()); err != nil {
		return info.Size(), after, err
	}
	step(stepRemoved)
	return info.Size(), after, syncDir(p.dir)
}

// writeTemp writes the compressed text to path and syncs it.
func writeTemp(ctx context.Context, text io.Reader, path string, step func(packStep)) (size int64, err error) {
	if err := ignoreMissing(os.Remove(path)); err != nil { // what an earlier compression left
		return 0, err
	}
	temp, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, temp.Close()) }()
	if err := temp.Chmod(0o600); err != nil { // what a kill left may be wider
		return 0, err
	}
	step(stepOpened)
	if err := compressText(ctx, temp, text, step); err != nil {
		return 0, err
	}
	step(stepWritten)
	if err := temp.Sync(); err != nil {
		return 0, err
	}
	step(stepSynced)
	info, err := temp.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// compressText writes frames of whole lines.
func compressText(ctx context.Context, dst io.Writer, text io.Reader, step func(packStep)) error {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(packWindow), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return err
	}
	buf, packed := make([]byte, packFrame), []byte(nil)
	for have, first := 0, true; ; first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, readErr := io.ReadFull(text, buf[have:])
		ended := errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF)
		if readErr != nil && !ended {
			return readErr
		}
		have += n
		cut := have
		if !ended {
			cut = bytes.LastIndexByte(buf[:have], '\n') + 1
		}
		packed = enc.EncodeAll(buf[:cut], packed[:0])
		if _, err := dst.Write(packed); err != nil {
			return err
		}
		if ended {
			return nil
		}
		if first {
			step(stepPartial)
		}
		have = copy(buf, buf[cut:have])
		if cut == 0 { // a line longer than a frame
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
