package selftest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// written is a database of some transactions, the nth of which writes the number n, and its journal.
func written(t *testing.T, transactions int) (path string, journal []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "test.db")
	db := storetest.OpenConfig(t, store.Config{Path: path})
	for n := range transactions {
		storetest.Execute(t, db, fmt.Sprintf("INSERT INTO categories (id, slug, name) VALUES (%d, 'slug-%d', 'name')", n+1, n+1))
	}
	journal, err := os.ReadFile(path + "-wal")
	storetest.NoError(t, err)
	return path, journal
}

// rows are the numbers in a copy of the database that has this journal.
func rows(t *testing.T, path string, journal []byte) (all []int64) {
	t.Helper()
	data, err := os.ReadFile(path)
	storetest.NoError(t, err)
	there := filepath.Join(t.TempDir(), "copy.db")
	storetest.NoError(t, errors.Join(os.WriteFile(there, data, 0o600), os.WriteFile(there+"-wal", journal, 0o600)))
	db := storetest.OpenConfig(t, store.Config{Path: there})
	storetest.NoError(t, db.IntegrityCheck(t.Context()))
	all, err = store.Column[int64](db.Reader(t.Context()), "SELECT id FROM categories ORDER BY id")
	storetest.NoError(t, err)
	return all
}

// TestTransactions: where the journal is cut at the end of a transaction, SQLite has it and all before it, and
// nothing of the next.
func TestTransactions(t *testing.T) {
	t.Parallel()
	path, journal := written(t, 5)
	ends, size := transactions(journal)
	if len(ends) < 6 || size != 4096 {
		t.Fatalf("%d ends, pages of %d bytes", len(ends), size)
	}
	for back := range 3 {
		if got := rows(t, path, journal[:ends[len(ends)-1-back]]); len(got) != 5-back {
			t.Errorf("%d transactions before the last: it has %v", back, got)
		}
	}
	if ends, _ := transactions(journal[:10]); !slices.Equal(ends, []int{10}) {
		t.Errorf("of a head that is cut: %v", ends)
	}
	other := slices.Clone(journal)
	copy(other[ends[2]+8:], "othersalt"[:8]) // the first frame behind it is of an older generation
	if got, _ := transactions(other); len(got) != 3 {
		t.Errorf("of older frames it has %d ends, want 3", len(got))
	}
}

// TestTear: whatever is torn behind the synced part, and of the pages that it has, SQLite keeps the
// synced part; torn before it, it does not.
func TestTear(t *testing.T) {
	t.Parallel()
	path, journal := written(t, 4)
	ends, size := transactions(journal)
	synced := ends[len(ends)-2]
	for seed := range uint64(8) {
		r := &runner{rnd: rand.New(rand.NewPCG(seed, 1))}
		torn := r.tear(slices.Clone(journal), synced)
		data, err := os.ReadFile(path)
		storetest.NoError(t, err)
		there := filepath.Join(t.TempDir(), "torn.db")
		storetest.NoError(t, os.WriteFile(there, data, 0o600))
		storetest.NoError(t, r.tearPages(there, size, pagesOf(journal[:synced], size)))
		if got := rows(t, there, torn); len(got) < 3 {
			t.Errorf("seed %d: it has %v", seed, got)
		}
	}
	clear(journal[ends[len(ends)-3]+frameHead : synced])
	if got := rows(t, path, journal); len(got) != 2 {
		t.Errorf("torn in the third transaction, it has %v", got)
	}
}

// TestSyncedLines: a log is synced up to its last page.
func TestSyncedLines(t *testing.T) {
	t.Parallel()
	const start, page = `{"event_type":"target_start"}` + "\n", `{"event_type":"page_complete"}` + "\n"
	for text, want := range map[string]int{
		"": 0, start: 0, start + page: len(start + page), start + page + start: len(start + page), page + start + page + `{"event_type":"page_complete"`: len(page + start + page),
	} {
		if got := syncedLines([]byte(text)); got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
	}
}

// TestProbe: a real folder has fsync times and locks; file systems that may lose things are named.
func TestProbe(t *testing.T) {
	t.Parallel()
	d, err := probe(t.Context(), t.TempDir())
	if err != nil || !d.Locks || d.Syncs == 0 || d.P50 <= 0 || d.P99 < d.P50 {
		t.Errorf("%+v, %v", d, err)
	}
	for name, doubtful := range map[string]bool{"ext4": false, "apfs": false, "NTFS": false, "nfs": true, "smb": true, "9p": true, "tmpfs": true, "fuse": true} {
		if got := doubtOf(name); (got != "") != doubtful || len("disk         , ")+len(name)+len(got) > 80 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
