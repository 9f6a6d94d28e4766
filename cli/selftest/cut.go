package selftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ypcrawl/store"
	"ypcrawl/wal"
)

// powerCuts kills crawls at random, and then does to their files what a power cut may do: what was written and
// not yet synced is not there, or only some of it.
func (r *runner) powerCuts() error {
	return r.often("cutting the power", r.PowerCuts, &r.res.PowerCuts, r.cut)
}

// cut damages the files of a killed crawl. In the database's journal all is synced but its last transaction, and
// that one, too, if a log tells of something that it holds: the writer begins none before the one before is on the
// disk, and answers when it is. In a log all is synced up to its last page: its line is on the disk before the page
// is committed. Pages of the file itself that the synced part of the journal has may be torn: they are being copied
// from there, and will be copied again.
func (r *runner) cut() error {
	r.allow += 2 * Workers
	file := filepath.Join(r.dir, database)
	journal, err := os.ReadFile(file + "-wal")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(journal) > 0 {
		ends, size := transactions(journal)
		synced := ends[max(0, len(ends)-2)]
		err := os.WriteFile(file+"-wal", journal[:synced], 0o600)
		if err == nil {
			var lacks bool
			if lacks, err = r.lacksWhatLogsTell(file); lacks {
				synced = ends[len(ends)-1]
			}
		}
		err = errors.Join(err, r.tearPages(file, size, pagesOf(journal[:synced], size)), os.WriteFile(file+"-wal", r.tear(journal, synced), 0o600))
		if err != nil {
			return err
		}
	}
	if err := os.Remove(file + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is memory
		return err
	}
	logs, err := filepath.Glob(filepath.Join(r.dir, "logs", "yp_wal", "*.jsonl"))
	if err != nil {
		return err
	}
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, text[:r.between(syncedLines(text), len(text))], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// lacksWhatLogsTell reports whether a log tells of a claim or of a committed page that the database does not
// have. A page is known to be committed when its worker has written another line after it.
func (r *runner) lacksWhatLogsTell(file string) (bool, error) {
	db, err := store.Open(r.ctx, store.Config{Path: file, Schema: r.Schema, ReadOnly: true})
	if err != nil {
		return false, err
	}
	defer func() { _ = db.Close() }() // opened for reading only
	type target struct {
		id, token int64
		page      int
	}
	rows, err := store.All(db.Reader(r.ctx), `SELECT id, claim_token, page_current FROM targets`, nil, func(t *target) []any { return []any{&t.id, &t.token, &t.page} })
	if err != nil {
		return false, err
	}
	has := map[int64]target{}
	for _, t := range rows {
		has[t.id] = t
	}
	logs, err := wal.OpenReader(filepath.Join(r.dir, "logs", "yp_wal"), wal.Options{SkipListings: true})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = logs.Close() }() // opened for reading only
	last, lacks := map[string]*wal.Event{}, false
	for e, err := range logs.Events() {
		if err != nil || e.Type == wal.Heartbeat {
			continue // torn by an earlier cut; or of another goroutine
		}
		if e.Target != nil {
			lacks = lacks || has[e.Target.ID].token < e.ClaimToken
		}
		if p := last[e.WorkerID]; p != nil && p.Page != nil {
			t := has[p.Target.ID]
			lacks = lacks || t.token == p.ClaimToken && t.page < p.Page.Number
		}
		last[e.WorkerID] = e
	}
	return lacks, nil
}

// between is a random number from a to b.
func (r *runner) between(a, b int) int { return a + r.rnd.IntN(b-a+1) }

// sector is what a disk writes whole.
const sector = 512

// tear returns a file of which all behind synced may be lost: its end, or any sectors.
func (r *runner) tear(data []byte, synced int) []byte {
	if r.rnd.IntN(2) == 0 {
		return data[:r.between(synced, len(data))]
	}
	for at := (synced + sector - 1) / sector * sector; at < len(data); at += sector {
		if r.rnd.IntN(2) == 0 {
			clear(data[at:min(at+sector, len(data))])
		}
	}
	return data
}

// tearPages overwrites half of these pages of a file, but for the first.
func (r *runner) tearPages(path string, size int, pages map[uint32]bool) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	for page := range pages {
		if end := int64(page) * int64(size); err == nil && page > 1 && end <= info.Size() && r.rnd.IntN(2) == 0 {
			_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, size), end-int64(size))
		}
	}
	return errors.Join(err, f.Close())
}

// The -wal file of SQLite (https://www.sqlite.org/fileformat.html#walformat): a header, then frames of a head and a page.
const (
	walHead   = 32
	frameHead = 24
)

// transactions returns where the transactions of a -wal file end, after the end of its head, and the size of its pages.
// Frames of an older generation, whose salt is another one, do not count.
func transactions(journal []byte) (ends []int, size int) {
	ends = []int{min(walHead, len(journal))}
	if len(journal) < walHead {
		return ends, 0
	}
	size = int(binary.BigEndian.Uint32(journal[8:]))
	for at := walHead; at+frameHead+size <= len(journal) && bytes.Equal(journal[at+8:at+16], journal[16:24]); at += frameHead + size {
		if binary.BigEndian.Uint32(journal[at+4:]) != 0 {
			ends = append(ends, at+frameHead+size)
		}
	}
	return ends, size
}

// pagesOf returns the numbers of the pages in the frames of a -wal file.
func pagesOf(journal []byte, size int) map[uint32]bool {
	pages := map[uint32]bool{}
	for at := walHead; at < len(journal); at += frameHead + size {
		pages[binary.BigEndian.Uint32(journal[at:])] = true
	}
	return pages
}

// syncedLines returns how many bytes of a log are surely on the disk: up to the end of its last page.
func syncedLines(text []byte) (synced int) {
	for at := 0; at < len(text); {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		if bytes.Contains(text[at:at+end], []byte(`"event_type":"page_complete"`)) {
			synced = at + end + 1
		}
		at += end + 1
	}
	return synced
}
