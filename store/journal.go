package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ypcrawl/yp"
)

// foldAt is how many pages the journal may have before a commit folds them into the file, and leastFoldAt how many it may
// have beside a small one: half as many as the database, so that the two and the logs need no more room than
// `run --dry-run` says. Each time costs two syncs, and what was changed often is written once.
const (
	foldAt      = 16_000
	leastFoldAt = 256
)

// tuneEvery is after how many transactions the writer looks at the size of the database.
const tuneEvery = 16

// pageSize is that of the files that are made here, and frame what a page takes in the journal (sqlite.org/walformat.html).
const (
	pageSize = 4096
	frame    = pageSize + 24
)

// A transaction is followed by a wait of at most yieldFor while the journal is twice as long as it should be because
// somebody reads an old state: a crawl without a pace would write 35 MB a second meanwhile.
const (
	yieldFor  = 400 * time.Millisecond
	yieldStep = 20 * time.Millisecond
)

// awaitReaders waits a little for who keeps the journal from being folded in, if it is far too long.
func (w *writer) awaitReaders(ctx context.Context) error {
	if w.foldAt == 0 || sizeOf(w.journal) <= 2*frame*w.foldAt {
		return nil
	}
	for waited := time.Duration(0); waited < yieldFor; waited += yieldStep {
		var busy, pages, folded int
		if err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &folded); err != nil || folded >= pages {
			return err
		}
		select {
		case <-time.After(yieldStep):
		case <-w.quit:
			return nil
		}
	}
	return nil
}

// tuneJournal lets the journal be as long as suits the database. What a reader let it grow beyond is cut off when it
// is written from its beginning again.
func (w *writer) tuneJournal(ctx context.Context) error {
	w.commits++
	if w.commits%tuneEvery != 1 {
		return w.awaitReaders(ctx)
	}
	st, err := w.stmt(ctx, "PRAGMA page_count") //nolint:sqlclosecheck // kept by the writer, closed with it
	if err != nil {
		return err
	}
	var pages int64
	if err := st.QueryRowContext(ctx).Scan(&pages); err != nil {
		return err
	}
	most := foldedAt(pages)
	if most > w.foldAt*9/10 && most <= w.foldAt*11/10 {
		return nil
	}
	w.foldAt = most
	for _, pragma := range []string{fmt.Sprintf("wal_autocheckpoint = %d", most), fmt.Sprintf("journal_size_limit = %d", most*frame)} {
		if _, err := w.conn.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return err
		}
	}
	return nil
}

// foldedAt is how many pages the journal may have beside a database of so many.
func foldedAt(pages int64) int64 { return min(max(pages/2, leastFoldAt), foldAt) }

// tooLong is how many pages make a journal that is not folded in as it should be: a reader that was there for a moment
// lets it grow a little beyond that.
func tooLong(pages int64) int64 { return min(foldedAt(pages)*5/2, foldAt*5/4) }

// Journal is how full the journal of a database (FILE-wal) is. It is folded into the file as it
// grows, but not behind the state that the oldest reader sees: while one program keeps a
// transaction open, it grows with every commit.
type Journal struct {
	Name     string `json:"name"` // of the file, without its folder
	Bytes    int64  `json:"bytes"`
	Database int64  `json:"database_bytes"`
	Pages    int64  `json:"pages"`        // that are in it; 0 = not looked at: it is small
	Folded   int64  `json:"pages_folded"` // of Pages: those that the database has, too
	Held     bool   `json:"held"`         // it is too long, and can't be folded in to its end

	// Readers are the other processes that read an old state of the database, and Openers, where
	// none is known to, those that have it open. Only Linux tells; there are none while nothing holds it.
	Readers []Process `json:"readers,omitempty"`
	Openers []Process `json:"openers,omitempty"`
}

// Process is one of this machine.
type Process struct {
	PID  int    `json:"pid"`
	Name string `json:"name"` // of its program; "" = not known
}

// secondLook is how much later a journal that seems to be held is looked at again: a large
// commit is folded in by then, and who reads for a moment has gone.
const secondLook = 200 * time.Millisecond

// Journal looks at the journal, without touching it.
func (db *DB) Journal(ctx context.Context) (Journal, error) {
	j, err := db.journal(ctx)
	if err != nil || !j.Held {
		return j, err
	}
	path := RealPath(db.path)
	before := readersOf(path)
	select {
	case <-time.After(secondLook):
	case <-ctx.Done():
		return j, ctx.Err()
	}
	if j, err = db.journal(ctx); err != nil || !j.Held {
		return j, err
	}
	j.Readers = slices.DeleteFunc(readersOf(path), func(p Process) bool { return !slices.Contains(before, p) })
	if len(j.Readers) == 0 {
		j.Openers = openersOf(path)
	}
	return j, nil
}

func (db *DB) journal(ctx context.Context) (Journal, error) {
	path := RealPath(db.path)
	j := Journal{Name: filepath.Base(path) + "-wal", Bytes: sizeOf(path + "-wal"), Database: sizeOf(path)}
	most := tooLong(j.Database / pageSize)
	if j.Bytes < most*pageSize {
		return j, nil // nothing to ask for: it is looked at every two seconds
	}
	var busy int
	if err := db.read.QueryRowContext(ctx, "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &j.Pages, &j.Folded); err != nil {
		return j, fmt.Errorf("look at the journal of database %s: %w", db.path, classify(err))
	}
	j.Pages, j.Folded = max(j.Pages, 0), max(j.Folded, 0) // -1: the file has no journal
	j.Held = j.Pages > most && j.Folded < j.Pages
	return j, nil
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// HeldText tells, of a journal that is held, how large it is and who holds it.
func (j Journal) HeldText() string {
	who := "another program is reading an old state of it (Datasette, DB Browser, a query in a shell)"
	switch {
	case len(j.Readers) == 1:
		who = j.Readers[0].String() + " is reading an old state of it"
	case len(j.Readers) > 1:
		who = processes(j.Readers) + " are reading old states of it"
	case len(j.Openers) > 0:
		who = "another program is reading an old state of it; these have the file open: " + processes(j.Openers)
	}
	const mega = 1e6
	return fmt.Sprintf("the journal %s has grown to %.1f MB beside a database of %.1f MB, and can't be merged into it: %s",
		j.Name, float64(j.Bytes)/mega, float64(j.Database)/mega, who)
}

// HeldFix is what to do then.
const HeldFix = "close that program, or let it read a copy (`ypcrawl backup`); nothing is lost, and the next commit merges the journal"

// String is "python3 (process 4242)".
func (p Process) String() string {
	if p.Name == "" {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("%s (process %d)", yp.Printable(p.Name), p.PID)
}

// processes lists some of them, with how many there are beside.
func processes(all []Process) string {
	const most = 5
	var names []string
	for _, p := range all[:min(len(all), most)] {
		names = append(names, p.String())
	}
	if more := len(all) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
