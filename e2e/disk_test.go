//go:build unix

package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

// TestDiskFigure: a crawl never takes more of the disk than `run --dry-run` says, its journal included, also where
// somebody reads the database for a while.
func TestDiskFigure(t *testing.T) {
	t.Parallel()
	t.Run("results", func(t *testing.T) {
		t.Parallel()
		diskFigure(t, newWorld(t, 15))
	})
	t.Run("own pages", func(t *testing.T) { // most of a crawl that reads them
		t.Parallel()
		diskFigure(t, newWorld(t, 5), "--details")
	})
}

func diskFigure(t *testing.T, w *world, more ...string) {
	t.Helper()
	args := w.crawlArgs(append(more, "--linger", "0")...)
	dry := command(w.dir, nil, append(args, "--dry-run", "--json")...)
	text, err := dry.Output()
	storetest.NoError(t, err)
	var said struct {
		Bytes int64 `json:"disk_bytes"`
	}
	storetest.NoError(t, json.Unmarshal(text, &said))
	crawl := command(w.dir, nil, args...)
	storetest.NoError(t, crawl.Start())
	ended := make(chan error, 1)
	go func() { ended <- crawl.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	reading := w.counter.after(200)
	most := int64(0)
	for {
		select {
		case err := <-ended:
			storetest.NoError(t, err)
			if most > said.Bytes || most < said.Bytes/3 {
				t.Errorf("%d bytes of the disk, and at most %d were said", most, said.Bytes)
			}
			return
		case <-reading:
			reading = nil
			readFor(t, filepath.Join(w.dir, "ypcrawl.db"), 500*time.Millisecond)
		case <-tick.C:
			most = max(most, sizeIn(w.dir))
		}
	}
}

// readFor keeps an old state of a database open for so long, beside the test.
func readFor(t *testing.T, path string, d time.Duration) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	storetest.NoError(t, err)
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	storetest.NoError(t, err)
	storetest.NoError(t, tx.QueryRowContext(context.Background(), "SELECT count(*) FROM listings").Scan(new(int)))
	time.AfterFunc(d, func() { _, _ = tx.Rollback(), db.Close() }) // its time is what is tested
}

// sizeIn is what the files of a folder take.
func sizeIn(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}
