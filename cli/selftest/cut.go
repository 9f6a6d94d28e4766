package selftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// powerCuts kills crawls at random, and then does to their files what a power cut may do: what was written and
// not yet synced is not there, or only some of it.
func (r *runner) powerCuts() error {
	if r.PowerCuts == 0 {
		return nil
	}
	if err := r.fresh(); err != nil {
		return err
	}
	for r.res.PowerCuts < r.PowerCuts {
		r.Say("cutting the power", r.res.PowerCuts, r.PowerCuts)
		hit, err := r.kill()
		if err == nil && hit {
			r.res.PowerCuts++
			r.allow += 2 * Workers
			err = r.cut()
		} else if err == nil {
			if err = r.finish(); err == nil {
				err = r.fresh()
			}
		}
		if err != nil {
			return err
		}
	}
	return r.finish()
}

// cut damages the files of a killed crawl. In the database's journal all is synced but its last transaction: the
// writer begins none before the one before is on the disk. In a log all is synced up to its last page: its line is
// on the disk before the page is committed. Pages of the file itself that the synced part of the journal has may
// be torn: they are being copied from there, and will be copied again.
func (r *runner) cut() error {
	file := filepath.Join(r.dir, "ypcrawl.db")
	journal, err := os.ReadFile(file + "-wal")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	synced, size, pages := syncedFrames(journal)
	if len(journal) > 0 {
		if err := os.WriteFile(file+"-wal", r.tear(journal, synced), 0o600); err != nil {
			return err
		}
	}
	if err := r.tearPages(file, size, pages); err != nil {
		return err
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

// syncedFrames returns how many bytes of a -wal file are surely on the disk, the size of its pages, and the numbers of
// the pages in those bytes. Frames of an older generation, whose salt is another one, do not count.
func syncedFrames(wal []byte) (synced, size int, pages map[uint32]bool) {
	if len(wal) < walHead {
		return 0, 0, nil
	}
	size = int(binary.BigEndian.Uint32(wal[8:]))
	salt := wal[16:24]
	var commits []int // where the transactions end
	for at := walHead; at+frameHead+size <= len(wal) && bytes.Equal(wal[at+8:at+16], salt); at += frameHead + size {
		if binary.BigEndian.Uint32(wal[at+4:]) != 0 {
			commits = append(commits, at+frameHead+size)
		}
	}
	if synced = walHead; len(commits) > 1 {
		synced = commits[len(commits)-2]
	}
	pages = map[uint32]bool{}
	for at := walHead; at < synced; at += frameHead + size {
		pages[binary.BigEndian.Uint32(wal[at:])] = true
	}
	return synced, size, pages
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
