package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

// LostHow is what happened to the file of a log while it was written.
type LostHow string

// What may happen to it.
const (
	LostName     LostHow = "gone"     // removed, or moved: nothing has its name
	LostReplaced LostHow = "replaced" // another file has its name
	LostEnd      LostHow = "cut"      // it is shorter than what was written
	LostPart     LostHow = "part"     // an earlier file of the log is gone
	Linked       LostHow = "linked"   // it has a second name (hard link), under which somebody else may write it
)

// String says it of a file, for people.
func (h LostHow) String() string {
	switch h {
	case LostName:
		return "was removed or moved"
	case LostReplaced:
		return "was replaced by another file"
	case LostEnd:
		return "was cut"
	case LostPart:
		return "was removed or moved when it was full"
	}
	return "got a second name (a hard link)"
}

// Lost is in the first line of a file in which a log goes on because something happened to the one before.
type Lost struct {
	File     string   `json:"file"`     // which one, without its folder
	How      LostHow  `json:"how"`      //
	Last     int64    `json:"last_seq"` // of the lines written before
	Since    yp.Stamp `json:"since"`    // time of the first line of the log
	Pages    int64    `json:"pages"`    // in them, from the beginning of the log
	Listings int64    `json:"listings"` // on those pages
}

// written is what a log has written.
type written struct {
	pages, listings int64
	since           time.Time
	run             string // of the last line
	page            *Event // that is in the last line of a page, which is not known to be on the disk yet
}

func (w *written) note(e *Event) {
	if w.since.IsZero() {
		w.since = e.Timestamp
	}
	if w.run = e.Run; e.Type == PageComplete && e.Page != nil {
		page := *e
		w.page = &page
		w.pages, w.listings = w.pages+1, w.listings+int64(e.Accepted)
	}
}

// lookAgain is how much later the full files of a log are looked at again: as often as heartbeats come.
const lookAgain = 30 * time.Second

// look reports what has happened to the file since the last line, and to which; "" = nothing. Whether the earlier
// files are there is seen when all is asked for.
func (l *Log) look(all bool) (how LostHow, file string) {
	if l.file == nil {
		return "", ""
	}
	file = l.part.plainPath()
	named, err := os.Lstat(file) // a link in its place is not copied by a backup
	mine, failed := l.file.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return LostName, file
	case err != nil || failed != nil: // the disk is in trouble: the next write says so
		return "", ""
	case !os.SameFile(named, mine):
		return LostReplaced, file
	case l.short || mine.Size() < l.size:
		return LostEnd, file
	case yp.HardLinks(mine) > 1:
		return Linked, file
	}
	if all {
		l.looked = time.Now()
	}
	for n := l.whole; all && n < l.part.number; n++ {
		p := part{dir: l.part.dir, worker: l.part.worker, number: n}
		if _, err := os.Lstat(p.plainPath()); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := os.Lstat(p.packedPath()); errors.Is(err, fs.ErrNotExist) {
			return LostPart, p.plainPath()
		}
	}
	return "", ""
}

// goOnIfLost goes on in a new file if something has happened to the log's. Its first line says so; behind that comes
// the page again that stood in the last line and is not committed yet.
func (l *Log) goOnIfLost(all bool) error {
	how, file := l.look(all)
	if how == "" {
		return nil
	}
	lost := &Lost{
		File: filepath.Base(file), How: how, Last: l.seq, Since: yp.Stamp{Time: l.written.since},
		Pages: l.written.pages, Listings: l.written.listings,
	}
	again := l.written.page
	if again != nil {
		lost.Last, lost.Pages, lost.Listings = again.Seq-1, lost.Pages-1, lost.Listings-int64(again.Accepted)
	}
	l.warn(lost, file)
	if err := l.another(); err != nil {
		return l.part.failure("go on behind", err)
	}
	l.whole, l.short = l.part.number, false
	l.written.pages, l.written.listings, l.written.page = lost.Pages, lost.Listings, nil
	for _, e := range []*Event{{
		Type: LogLost, Run: l.written.run, Lost: lost,
		Error: lost.File + " " + how.String() + " while it was written",
	}, again} {
		if e == nil {
			continue
		}
		if err := l.add(e); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) warn(lost *Lost, file string) {
	fix := "put it back if it was moved; the database has its content, and `ypcrawl backup` copies that"
	if lost.How == Linked {
		fix = fmt.Sprintf("find its names with: find DIR -samefile %s; copy logs, don't link them", file)
	}
	l.cfg.Logger.Warn().Str("component", "wal").Str("worker", yp.WorkerText(l.cfg.WorkerID)).Str("file", file).
		Int64("pages", lost.Pages).Int64("listings", lost.Listings).Str("fix", fix).
		Msgf("the log %s while it was written; it continues in a new file", lost.How)
}

// another makes the next file of the log, in a folder that may be gone, too.
func (l *Log) another() error {
	if err := MakeDir(l.cfg.Dir); err != nil {
		return err
	}
	next := part{dir: l.part.dir, worker: l.part.worker, number: l.part.number}
	for {
		next.number++
		if _, err := os.Lstat(next.packedPath()); err == nil {
			continue // somebody else's
		}
		file, err := l.cfg.open(next.plainPath())
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_ = errors.Join(l.file.Sync(), l.file.Close()) // it may be somewhere else, whole
		l.file, l.part, l.size, l.limit, l.dirty = file, next, 0, l.cfg.MaxBytes, false
		return folder.Sync(l.cfg.Dir)
	}
}

// Loss is what a log had and, as far as its folder shows, has no more.
type Loss struct {
	Worker   string    `json:"worker"`
	Database string    `json:"-"`    // its id
	Since    time.Time `json:"-"`    // when the log began
	At       time.Time `json:"-"`    // when it was noticed
	File     string    `json:"file"` // what happened to it; the last one, if to several
	How      LostHow   `json:"how"`
	Pages    int64     `json:"pages"`
	Listings int64     `json:"listings"` // on those pages
}

// Losses reads what happened to the logs of a folder while they were written, and compares it with what is there:
// what was moved and put back is not lost. A folder that is not there has none. The error is a *folder.DeniedError where
// this user may not read a log: what is in it is not lost.
func Losses(dir string) (all []Loss, err error) {
	if err := Readable(dir); err != nil {
		return nil, err
	}
	logs, err := listLogs(dir, false)
	for _, log := range logs {
		if !ownName.MatchString(log.worker) {
			continue
		}
		if said, behind := log.lastLoss(); said != nil {
			loss := Loss{
				Worker: log.worker, Database: said.Database, Since: said.Lost.Since.Time, At: said.Timestamp, File: said.Lost.File, How: said.Lost.How,
				Pages: said.Lost.Pages, Listings: said.Lost.Listings,
			}
			log.parts = log.parts[:behind]
			if log.without(&loss, said.Lost.Last); loss.Pages > 0 {
				all = append(all, loss)
			}
		}
	}
	slices.SortFunc(all, func(a, b Loss) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Worker, b.Worker)) })
	return all, ignoreMissing(err)
}

// lastLoss returns the last line that says that something was lost, which counts all from the beginning of the log,
// and in which of its parts it stands; nil = nothing was.
func (log *workerLog) lastLoss() (said *Event, at int) {
	for at = len(log.parts) - 1; at >= 0 && log.parts[at].number > 0; at-- {
		s := log.parts[at].stream(Options{SkipListings: true})
		it, _ := s.read()
		s.close()
		if it.event != nil && it.event.Type == LogLost && it.event.Lost != nil {
			return it.event, at
		}
	}
	return nil, 0
}

// without takes the pages that the log still has off a loss, up to a line.
func (log *workerLog) without(loss *Loss, last int64) {
	for e := range newStream(*log, Options{SkipListings: true}).events() {
		if e.Type == PageComplete && e.Page != nil && e.Seq <= last {
			loss.Pages, loss.Listings = loss.Pages-1, loss.Listings-int64(e.Accepted)
		}
	}
}
