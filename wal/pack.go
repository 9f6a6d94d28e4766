package wal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"ypcrawl/yp/folder"
)

const (
	// packWindow bounds the memory of writer and readers; a larger window gains
	// little on lines that resemble their neighbours.
	packWindow = 512 << 10
	// packFrame is the text in one zstd frame of a compressed file.
	packFrame = 1 << 20
	// maxWindow bounds what a compressed file may ask a reader to hold.
	maxWindow = 64 << 20
)

// packStep names a point of a compression at which a kill must do no harm.
type packStep string

const (
	stepOpened  packStep = "opened"  // an empty temp
	stepPartial packStep = "partial" // some of the temp is written
	stepWritten packStep = "written" // the temp is complete, not yet synced
	stepSynced  packStep = "synced"
	stepRenamed packStep = "renamed" // both files are there
	stepDurable packStep = "durable" // the new name is on the disk
	stepClosed  packStep = "closed"  // the plain file is closed, and its lock is free
	stepRemoved packStep = "removed" // only the compressed file is there
)

// packFile compresses a closed part: temp, fsync, rename, fsync of the folder,
// and only then the plain file is closed and removed. It returns the sizes before and
// after, and the errors of lock. step may be nil.
func packFile(ctx context.Context, p part, step func(packStep)) (before, after int64, err error) {
	if step == nil {
		step = func(packStep) {}
	}
	src, err := p.lock()
	if err == nil {
		before = src.info.Size()
		after, err = packBeside(ctx, src, p, step)
		err = errors.Join(err, src.Close())
	}
	if err == nil {
		step(stepClosed)
		err = removeClosed(p.plainPath(), src.info)
	}
	if err == nil {
		step(stepRemoved)
		err = folder.Sync(p.dir)
	}
	if err != nil {
		err = fmt.Errorf("compress %s: %w", p.plainPath(), err)
	}
	return before, after, err
}

// packBeside makes the compressed file in the folder in which the plain one is.
func packBeside(ctx context.Context, src *closed, p part, step func(packStep)) (after int64, err error) {
	if src.end == 0 { // a kill came before its first line had its end
		return 0, errNoLines
	}
	dir, err := folder.Hold(p.dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if there, err := dir.Lstat(filepath.Base(p.plainPath())); err != nil || !os.SameFile(there, src.info) {
		return 0, &fs.PathError{Op: "open", Path: p.plainPath(), Err: fs.ErrNotExist}
	}
	return packTo(ctx, src, p, dir, step)
}

func packTo(ctx context.Context, src *closed, p part, dir *folder.Dir, step func(packStep)) (after int64, err error) {
	temp := filepath.Base(p.tempPath())
	after, err = writeTemp(ctx, src, dir, temp, step)
	if err == nil {
		err = p.ownCopy()
	}
	if err == nil {
		err = dir.Rename(temp, filepath.Base(p.packedPath()))
	}
	if err != nil {
		return 0, errors.Join(err, ignoreMissing(dir.Remove(temp)))
	}
	step(stepRenamed)
	err = folder.Sync(p.dir)
	step(stepDurable)
	return after, err
}

// ownCopy makes sure that a compressed file which is there already has what its new copy has: a kill came before
// the plain file was removed.
func (p part) ownCopy() error {
	there, err := os.ReadFile(p.packedPath())
	if err != nil {
		return ignoreMissing(err)
	}
	now, err := os.ReadFile(p.tempPath())
	if err == nil && !bytes.Equal(there, now) {
		err = fmt.Errorf("%w: %s differs from %s: keep the one you need, and remove or rename the other", ErrForeign,
			p.packedPath(), p.plainPath())
	}
	return err
}

// writeTemp writes the compressed text of a plain file to name and syncs it. It gets the plain file's owner, mode and
// time.
func writeTemp(ctx context.Context, src *closed, dir *folder.Dir, name string, step func(packStep)) (size int64, err error) {
	if err := ignoreMissing(dir.Remove(name)); err != nil { // what an earlier compression left
		return 0, err
	}
	temp, err := dir.New(name, os.O_WRONLY, src.info.Mode().Perm()|0o600, src.info)
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, temp.Close())
		if err == nil {
			err = dir.Chtimes(name, src.info.ModTime())
		}
	}()
	step(stepOpened)
	if err := compressText(ctx, temp, io.NewSectionReader(src, 0, src.end), step); err != nil {
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

// compressText writes the text as frames of packFrame bytes, each with a checksum.
func compressText(ctx context.Context, dst io.Writer, text io.Reader, step func(packStep)) error {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(packWindow), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return err
	}
	buf, packed := make([]byte, packFrame), []byte(nil)
	for first := true; ; first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, readErr := io.ReadFull(text, buf)
		if readErr != nil && !errors.Is(readErr, io.EOF) && !errors.Is(readErr, io.ErrUnexpectedEOF) {
			return readErr
		}
		packed = enc.EncodeAll(buf[:n], packed[:0])
		if _, err := dst.Write(packed); err != nil || readErr != nil {
			return err
		}
		if first {
			step(stepPartial)
		}
	}
}

// unpacker reads the text of a compressed file, and gives no byte before the checksum of its
// frame is right: it stays as far behind the decoder as a frame is long. (Of the one large frame
// that another program makes, the checksum comes at the end, and the text before.)
type unpacker struct {
	dec  *zstd.Decoder
	text *bufio.Reader
	safe int // bytes that are checked and not yet given
}

func newUnpacker(r io.Reader) (*unpacker, error) {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("open compressed log: %w", err)
	}
	return &unpacker{dec: dec, text: bufio.NewReaderSize(dec, 2*packFrame)}, nil
}

// Read gives text. Behind damage there is none.
func (u *unpacker) Read(p []byte) (int, error) {
	if u.safe == 0 {
		ahead, err := u.text.Peek(2 * packFrame)
		switch {
		case errors.Is(err, io.EOF):
			u.safe = len(ahead)
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = errCutShort
			fallthrough
		default:
			u.safe = max(len(ahead)-packFrame, 0)
		}
		if u.safe == 0 {
			return 0, err
		}
	}
	n, err := u.text.Read(p[:min(len(p), u.safe)])
	u.safe -= n
	return n, err
}

func (u *unpacker) close() { u.dec.Close() }

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pack compresses a closed part. A failure costs room, not events: the plain file stays, and
// `wal compress` tries again.
func (l *Log) pack(p part) {
	before, after, err := packFile(context.Background(), p, l.cfg.step)
	if err != nil {
		l.cfg.Logger.Warn().Err(err).Str("component", "wal").Msg("a closed log could not be compressed")
		return
	}
	l.cfg.Logger.Debug().Str("component", "wal").Str("file", p.packedPath()).
		Int64("bytes_before", before).Int64("bytes_after", after).Msg("compressed a closed log")
}

// youngerThan reports whether the plain file was written at a time or later.
func (p part) youngerThan(at time.Time) bool {
	info, err := os.Lstat(p.plainPath())
	return err == nil && !info.ModTime().Before(at)
}

// CompressReport says what CompressClosed did.
type CompressReport struct {
	Files       int   `json:"files"`        // compressed now
	BytesBefore int64 `json:"bytes_before"` // of those files
	BytesAfter  int64 `json:"bytes_after"`
	Live        int   `json:"live"` // files left alone: their worker is alive

	Foreign []string `json:"foreign"` // files left alone that are named like logs and are none, with the cause
}

// CompressClosed compresses the files of dead workers in a folder and replaces
// what earlier compressions left half done. Only what a run has named and begun
// with an event is a log: whatever else is in the folder is left alone. Files of
// workers for which isLive is true are left alone, and so are files that are locked: a
// nil isLive trusts the lock alone. One file's failure doesn't stop the others; the error
// joins them all.
func CompressClosed(ctx context.Context, dir string, isLive func(workerID string) bool) (CompressReport, error) {
	return CompressOld(ctx, dir, isLive, time.Time{})
}

// CompressOld is CompressClosed for the files that were written last before a time; zero = for all.
func CompressOld(ctx context.Context, dir string, isLive func(workerID string) bool, before time.Time) (CompressReport, error) {
	report := CompressReport{Foreign: []string{}}
	logs, err := listLogs(dir, false)
	if err != nil {
		return report, err
	}
	var failed []error
	for _, log := range logs {
		if !ownName.MatchString(log.worker) {
			continue
		}
		for _, p := range log.parts {
			if err := ctx.Err(); err != nil {
				return report, errors.Join(append(failed, err)...)
			}
			switch {
			case !p.plain, !before.IsZero() && p.youngerThan(before):
				continue
			case isLive != nil && isLive(log.worker):
				report.Live++
				continue
			}
			before, after, err := packFile(ctx, p, nil)
			switch {
			case errors.Is(err, ErrInUse):
				report.Live++
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoLines):
			case errors.Is(err, ErrForeign):
				report.Foreign = append(report.Foreign, err.Error())
			case err != nil:
				failed = append(failed, err)
			default:
				report.Files++
				report.BytesBefore += before
				report.BytesAfter += after
			}
		}
	}
	return report, errors.Join(failed...)
}
