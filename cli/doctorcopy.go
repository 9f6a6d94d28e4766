package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ypcrawl/crawl/health"
	"ypcrawl/crawl/kept"
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
			"the logs have committed pages that the database lacks, the newest of %s: the database was copied without its -wal file, or is an older copy",
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
			d.add(check, dubious, "copy its -wal file from the same place, if it is still there, before any program opens the database; next time, copy with `ypcrawl backup`",
				"a run of %s on %s is recorded as running, but it never ran with this file, and there is no -wal: if the file was copied during that run, its newest pages are missing",
				minute(r.Started), r.Host)
			return nil
		}
	}
	return nil
}

// growth says how large everything will be when the planned work is done.
func (d *diagnosis) growth(ctx context.Context) error {
	const check = "growth"
	logs, err := logsIn(logDir(d.c), d.k.DB().Now())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g, err := d.k.Growth(ctx, logs.oldest)
	if err != nil {
		return err
	}
	db := d.c.String("db")
	size, err := sizeOf(db, db+"-wal")
	if err != nil {
		return err
	}
	requests, attempts := g.Requests*bytesOfRequest, g.Attempts*(bytesOfAttempt+g.StepBytes)
	aged := fmt.Sprintf("requests %s (%s rows, kept %d days), attempts %s (%s rows, kept %d days, %d if they failed), logs %s plain and %s compressed",
		bytesText(requests), thousands(g.Requests), keepDays, bytesText(attempts), thousands(g.Attempts), doneDays, failedDays, bytesText(logs.plain), bytesText(logs.packed))
	fix := ""
	if logs.plain > muchPlain {
		fix = d.command("wal", "compress") + " shrinks the plain logs to about " + bytesText(int64(float64(logs.plain)/packedTo)) + "; logs in use stay as they are"
	}
	d.add("kept for a time", fine, fix, "%s", aged)
	pages, _, err := kept.Usage(pagesDir(d.c))
	if err != nil {
		return err
	}
	read, _, left := g.Weigh(detailInFile)
	switch {
	case g.TargetsLeft() == 0:
		d.add(check, fine, "", "nothing is planned: the database stays at about %s, the logs at %s%s", bytesText(size), bytesText(logs.plain+logs.packed), keptText(pages, 0))
		return nil
	case read < enoughPages:
		d.add(check, fine, "", "%s left to crawl; the final size is known after %d pages%s", plural(g.TargetsLeft(), "target"), enoughPages, keptText(pages, 0))
		return nil
	}
	stays := float64(max(0, size-g.Targets*bytesOfTarget-requests-attempts))
	moreDB := int64(stays/read*left) + (g.AtEnd(g.Requests, g.PagesLeft(), keepDays)-g.Requests)*bytesOfRequest +
		(g.AtEnd(g.Attempts, g.TargetsLeft(), doneDays)-g.Attempts)*(bytesOfAttempt+g.StepBytes)
	_, logged, left := g.Weigh(detailPacked)
	_, _, leftPlain := g.Weigh(detailInLogs)
	packed := float64(logs.packed) + float64(logs.plain)/packedTo // as they will be
	morePacked, morePlain := int64(packed/logged*left), int64(packed/logged*packedTo*leftPlain)
	text := fmt.Sprintf("%s left, about %s", plural(g.TargetsLeft(), "target"), plural(g.PagesLeft(), "page"))
	if days := g.DaysLeft(); days > 0 {
		text += ", " + lasting(time.Duration(days*24*float64(time.Hour))) + " at the speed of the recorded requests"
	}
	text += fmt.Sprintf(": the database will grow from %s to about %s; the logs to about %s in all, compressed; a run keeps its own logs plain until it ends, up to %s if one run does it all",
		bytesText(size), bytesText(size+moreDB), bytesText(int64(packed)+morePacked), bytesText(morePlain))
	fetched, _, left := g.Weigh(1)
	morePages := int64(float64(pages) / fetched * left)
	text += keptText(pages, morePages)
	free, err := freeSpace(existingFolder(filepath.Dir(db)))
	if err == nil && moreDB+morePlain+morePages > free-littleSpace {
		d.add(check, dubious, "free some space before then; `run --keep-requests 3` and `run --keep-logs 14` keep less; after a shorter run (--max-duration 12h), the next one compresses its logs; "+
			d.command("wal", "compress")+" shrinks the logs that there are now", "%s; %s are left on the disk", text, bytesText(free))
		return nil
	}
	d.add(check, fine, "", "%s", text)
	return nil
}

// keptText says how large the kept pages are and will be; empty where there are none.
func keptText(size, more int64) string {
	switch {
	case size == 0:
		return ""
	case more == 0:
		return fmt.Sprintf("; the kept pages take %s", bytesText(size))
	}
	return fmt.Sprintf(", the kept pages from %s to about %s or --keep-pages-size, whichever is less", bytesText(size), bytesText(size+more))
}

// Bytes that a row takes with its indexes, and what else growth is reckoned with, measured: see docs/sizing.md.
const (
	bytesOfTarget  = 240
	detailInFile   = 1.0 / 30 // what the page of one business, or of an index, brings, of a page of results
	detailInLogs   = 1.0 / 7.5
	detailPacked   = 1.0 / 14 // compressed
	bytesOfRequest = 270
	bytesOfAttempt = 230 // and its steps
	enoughPages    = 50  // from which a page's share is known well enough
	packedTo       = 7.0 // a log is that much smaller when it is compressed: of results; of listings 13

	keepDays, doneDays, failedDays = int(health.DefaultKeep / (24 * time.Hour)), int(health.KeepDone / (24 * time.Hour)), int(health.MaxKeep / (24 * time.Hour))

	muchPlain = 100_000_000
)

// logsOnDisk are the logs of a folder.
type logsOnDisk struct {
	files         []string  // the plain ones
	plain, packed int64     // bytes
	oldest        time.Time // last write of the first one; of none: now
}

func logsIn(dir string, now time.Time) (l logsOnDisk, err error) {
	l.oldest = now
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.IsDir() {
			continue // compressed away since it was listed
		}
		switch {
		case strings.HasSuffix(e.Name(), ".jsonl"):
			l.files = append(l.files, filepath.Join(dir, e.Name()))
			l.plain += info.Size()
		case strings.HasSuffix(e.Name(), ".jsonl.zst"):
			l.packed += info.Size()
		default:
			continue
		}
		if info.ModTime().Before(l.oldest) {
			l.oldest = info.ModTime()
		}
	}
	return l, err
}

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
