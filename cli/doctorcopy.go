package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// behind is what the newest logs tell of that the database does not have.
type behind struct {
	events int // pages
	newest time.Time
}

// lookedAt is of how many log files the ends are compared with the database, those that were
// written last, and how many pages of each.
const (
	lookedAtFiles = 8
	lookedAtPages = 20
)

// behindLogs looks for pages of which the newest logs of the database say that they were committed,
// and which it does not have. A page whose commit no line confirms proves nothing: a kill
// may have come before it.
func behindLogs(ctx context.Context, k *database, dir string) (b behind, err error) {
	id, err := k.DB().ID(ctx)
	if err != nil {
		return b, err
	}
	pages, err := wal.LastCommitted(ctx, dir, id, lookedAtFiles, lookedAtPages)
	if err != nil {
		return b, err
	}
	for _, e := range pages {
		held, err := k.Holds(ctx, e)
		if err != nil {
			return b, err
		}
		if !held {
			b.events++
			if e.Timestamp.After(b.newest) {
				b.newest = e.Timestamp
			}
		}
	}
	return b, nil
}

// copied looks for the marks of a file that was copied without its journal, or is older than
// its logs. A copy that is whole in itself and has no logs beside it can't be distinguished from any other
// database: then nothing is said.
func (d *diagnosis) copied(ctx context.Context) error {
	const check = "copy"
	b, err := behindLogs(ctx, d.k, logDir(d.c))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if b.events > 0 {
		d.add(check, dubious, d.command("wal", "replay"),
			"the logs have pages that were committed and that the database does not have, the newest of %s: the database was copied without its -wal file, or is an older copy",
			b.newest.UTC().Format("2006-01-02 15:04:05Z"))
		return nil
	}
	if !d.noWAL {
		return nil
	}
	runs, err := d.k.RunHolders(ctx)
	if err != nil {
		return err
	}
	mark, err := d.k.DB().BackupMark(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		ofBackup := mark != nil && yp.FormatTime(r.Started) <= mark.At
		if r.Alive || ofBackup {
			continue
		}
		if _, err := os.Lstat(filepath.Join(store.LockDir(d.c.String("db")), r.UUID+".lock")); errors.Is(err, fs.ErrNotExist) {
			d.add(check, dubious, "copy its -wal file from the same place, if it is still there, before anything opens the database; next time copy with `ypcrawl backup`",
				"a run of %s on %s is recorded as running, but it never ran with this file, and there is no -wal: if the file was copied while that run crawled, its newest pages are missing",
				r.Started.UTC().Format("2006-01-02 15:04Z"), r.Host)
			return nil
		}
	}
	return nil
}

// growth says how large everything will be when the planned work is done.
func (d *diagnosis) growth(ctx context.Context) error {
	const check = "growth"
	g, err := d.k.Growth(ctx)
	if err != nil {
		return err
	}
	db := d.c.String("db")
	size, err := sizeOf(db, db+"-wal")
	if err != nil {
		return err
	}
	_, logs, err := logFiles(logDir(d.c))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	read, _, left := g.Weigh(detailInFile)
	switch {
	case g.TargetsLeft() == 0:
		d.add(check, fine, "", "nothing is planned: the database stays at about %s, the logs at %s", bytesText(size), bytesText(logs))
		return nil
	case read < enoughPages:
		d.add(check, fine, "", "%s left to crawl; the final size is known after %d pages", plural(g.TargetsLeft(), "target"), enoughPages)
		return nil
	}
	moreDB := int64(float64(max(0, size-g.Targets*bytesOfTarget)) / read * left)
	_, logged, left := g.Weigh(detailInLogs)
	moreLogs := int64(float64(logs) / logged * left)
	text := fmt.Sprintf("%s left, about %s: the database will grow from %s to about %s, the logs from %s to about %s",
		plural(g.TargetsLeft(), "target"), plural(g.PagesLeft(), "page"), bytesText(size), bytesText(size+moreDB), bytesText(logs), bytesText(logs+moreLogs))
	text += fmt.Sprintf("; of the database %s are requests (%s rows, --keep-requests forgets them) and %s attempts (%s rows, kept 30 days, 90 if they failed)",
		bytesText(g.Requests*bytesOfRequest), thousands(g.Requests), bytesText(g.Attempts*(bytesOfAttempt+g.StepBytes)), thousands(g.Attempts))
	free, err := freeSpace(existingFolder(filepath.Dir(db)))
	if err == nil && moreDB+moreLogs > free-littleSpace {
		d.add(check, dubious, "free some space before then; `run --keep-requests 3` and `run --keep-logs 14` keep less, "+d.command("wal", "compress")+" shrinks the logs that are there", "%s; %s are left on the disk", text, bytesText(free))
		return nil
	}
	d.add(check, fine, "", "%s", text)
	return nil
}

// Bytes that a row takes with its indexes, measured over a million listings: see docs/decisions/0046-backup.md.
const (
	bytesOfTarget  = 300
	detailInFile   = 1.0 / 15 // what the page of one business, or of an index, brings, of a page of results
	detailInLogs   = 1.0 / 7
	bytesOfRequest = 290
	bytesOfAttempt = 250 // and its steps
	enoughPages    = 50  // from which a page's share is known well enough
)

// sizeOf adds up files; those that are not there are nothing.
func sizeOf(paths ...string) (sum int64, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}
