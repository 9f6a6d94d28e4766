//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// fill writes jobs of a hundred rows until one fails; it returns how many were
// acknowledged and the error.
func fill(ctx context.Context, db *store.DB, prefix string) (done int, err error) {
	for ; done < 10000; done++ {
		err := db.Write(ctx, func(tx *store.Tx) error {
			for i := range 100 {
				if _, err := tx.Exec(putMeta, fmt.Sprintf("%s%05d-%d", prefix, done, i), strings.Repeat("v", 200)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// wholeJobs fails the test unless the rows of prefix are those of exactly done jobs.
func wholeJobs(t *testing.T, db *store.DB, prefix string, done int) {
	t.Helper()
	storetest.Equal(t, metaKeys(t, db, prefix), 100*done, "rows are there")
	noErr(t, db.IntegrityCheck(t.Context()))
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	t.Run("SQLite may not grow the file", func(t *testing.T) {
		db := storetest.Open(t)
		limit := func(pages int) {
			noErr(t, db.Write(t.Context(), func(tx *store.Tx) error {
				var n int
				return tx.Get(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil, &n)
			}))
		}
		limit(200)
		done, err := fill(t.Context(), db, "a")
		if !errors.Is(err, store.ErrDiskFull) || !store.Fatal(err) || done == 0 {
			t.Fatalf("after %d jobs: %v, want ErrDiskFull, fatal", done, err)
		}
		wholeJobs(t, db, "a", done)
		limit(1 << 30)
		noErr(t, db.Write(t.Context(), put("later"))) // after room was made
	})
	t.Run("a whole batch is refused together, none half there", fullBatch)
	t.Run("the disk refuses to grow the journal", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.db")
		schema := filepath.Join(t.TempDir(), "schema.sql")
		write(t, schema, []byte(storetest.Schema(t)))
		p := start(t, "full", path, schema)
		p.Await(t, "refused")
		p.Await(t, "goes on")
		noErr(t, p.Wait())
		db := storetest.OpenConfig(t, store.Config{Path: path})
		if n := metaKeys(t, db, "a"); n == 0 || n%100 != 0 {
			t.Errorf("%d rows are there, want whole jobs of 100", n)
		}
		storetest.Equal(t, metaKeys(t, db, "later"), 1, "what was written after room was made is not there")
		noErr(t, db.IntegrityCheck(t.Context()))
	})
}

// fullChild fills a database up to a limit on the size of files, then lifts it.
// The kernel refuses the write itself, as it does on a full disk.
func fullChild(args []string) error {
	ctx := context.Background()
	db, err := openChild(args)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: was.Max}); err != nil {
		return err
	}
	done, err := fill(ctx, db, "a")
	if !store.Fatal(err) {
		return fmt.Errorf("after %d jobs: %w, want a fatal error", done, err)
	}
	var n int
	if err := db.Read().QueryRowContext(ctx, "SELECT count(*) FROM meta WHERE key LIKE 'a%'").Scan(&n); err != nil || n != 100*done {
		return fmt.Errorf("%d rows after %d jobs (%w)", n, done, err)
	}
	fmt.Println("refused")
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := db.Write(ctx, put("later")); err != nil {
		return err
	}
	fmt.Println("goes on")
	return db.Close()
}
