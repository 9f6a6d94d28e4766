package wal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

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
// with an event is a log: whatever else stands in the folder is left alone. Files of
// workers for which isLive is true are left alone, and so are files that are locked: a
// nil isLive trusts the lock alone. One file's failure doesn't stop the others; the error
// joins them all.
func CompressClosed(ctx context.Context, dir string, isLive func(workerID string) bool) (CompressReport, error) {
	report := CompressReport{Foreign: []string{}}
	logs, err := listLogs(dir, true)
	if err != nil {
		return report, err
	}
	var failed []error
	for _, log := range logs {
		if !ownName.MatchString(log.worker) {
			continue
		}
		live := isLive != nil && isLive(log.worker)
		for _, p := range log.parts {
			if err := ctx.Err(); err != nil {
				return report, errors.Join(append(failed, err)...)
			}
			if err := report.compress(ctx, p, live); err != nil {
				failed = append(failed, err)
			}
		}
	}
	return report, errors.Join(failed...)
}

func (r *CompressReport) compress(ctx context.Context, p part, live bool) error {
	switch {
	case live:
		if p.plain {
			r.Live++
		}
		return nil
	case !p.plain:
		if p.temp { // a compression's temp lives beside its plain file
			r.Foreign = append(r.Foreign, fmt.Sprintf("%v: %s stands beside no %s: remove it if it is not yours", ErrForeign, p.tempPath(), filepath.Base(p.plainPath())))
		}
		return nil
	}
	before, after, err := packFile(ctx, p, nil)
	switch {
	case errors.Is(err, ErrInUse):
		r.Live++
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoLines):
		return nil
	case err != nil:
		return r.leave(err)
	case after == 0: // there was no line: it is removed
		return nil
	}
	r.Files++
	r.BytesBefore += before
	r.BytesAfter += after
	return nil
}

// leave notes a file that is none of ours; another error is returned.
func (r *CompressReport) leave(err error) error {
	if !errors.Is(err, ErrForeign) {
		return err
	}
	r.Foreign = append(r.Foreign, err.Error())
	return nil
}
