package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

const putMeta = `INSERT INTO meta (key, value) VALUES (?, ?)`

func put(key string) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		_, err := tx.Exec(putMeta, key, tx.Now)
		return err
	}
}

func metaKeys(t *testing.T, db *store.DB, prefix string) int {
	t.Helper()
	return intOf(t, db, `SELECT count(*) FROM meta WHERE key LIKE ? || '%'`, prefix)
}

func intOf(t testing.TB, db *store.DB, query string, args ...any) (n int) {
	t.Helper()
	noErr(t, db.Read().QueryRowContext(context.WithoutCancel(t.Context()), query, args...).Scan(&n))
	return n
}

// writeAll begins n writes; the function that it returns waits for them, and has what each said.
func writeAll(ctx context.Context, db *store.DB, n int, job func(i int) func(*store.Tx) error) (wait func() []error) {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = db.Write(ctx, job(i)) })
	}
	return func() []error { wg.Wait(); return errs }
}

// key is the job of the write of a number.
func key(i int) func(*store.Tx) error { return put(fmt.Sprintf("k%03d", i)) }

// held is a database whose writer is busy with one job until release is called.
func held(t *testing.T) (db *store.DB, release func()) {
	t.Helper()
	db = storetest.Open(t)
	taken, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = db.Write(context.Background(), func(*store.Tx) error {
			close(taken)
			<-free
			return nil
		})
	}()
	<-taken
	return db, sync.OnceFunc(func() { close(free) })
}

func TestGroupCommit(t *testing.T) {
	t.Parallel()
	t.Run("what waits shares a transaction", func(t *testing.T) { synctest.Test(t, sharedTransactions) })
	t.Run("where callers come together, one waits for the others, and nobody for long", func(t *testing.T) { synctest.Test(t, waitsForOthers) })
	t.Run("a failing job fails alone", func(t *testing.T) { synctest.Test(t, failsAlone) })
	t.Run("a failing job by itself leaves nothing", func(t *testing.T) {
		db := storetest.Open(t)
		own := errors.New("own")
		err := db.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(put("k")(tx), own) })
		if !errors.Is(err, own) || metaKeys(t, db, "k") != 0 {
			t.Errorf("got %v and %d rows, want its own error and none", err, metaKeys(t, db, "k"))
		}
		noErr(t, db.Write(t.Context(), put("k")))
	})
	t.Run("one now a transaction, from the clock", func(t *testing.T) {
		at := time.Date(2026, 11, 20, 23, 50, 0, 123456789, time.FixedZone("x", 3600))
		db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Now: func() time.Time { return at }})
		noErr(t, db.Write(t.Context(), func(tx *store.Tx) error {
			if tx.Now != "2026-11-20T22:50:00.123Z" || !tx.At.Equal(at.Truncate(time.Millisecond)) {
				return fmt.Errorf("now is %s, %s", tx.Now, tx.At)
			}
			return nil
		}))
	})
}

func sharedTransactions(t *testing.T) {
	db, release := held(t)
	const n = 100
	txs := make([]*store.Tx, n)
	wait := writeAll(t.Context(), db, n, func(i int) func(*store.Tx) error {
		return func(tx *store.Tx) error { txs[i] = tx; return key(i)(tx) }
	})
	synctest.Wait()
	release()
	noErr(t, errors.Join(wait()...))
	shared := map[*store.Tx]int{}
	for _, tx := range txs {
		shared[tx]++
	}
	if len(shared) > 4 {
		t.Errorf("%d callers took %d transactions, want at most 4", n, len(shared))
	}
	storetest.Equal(t, metaKeys(t, db, "k"), n, "rows are there")
}

func waitsForOthers(t *testing.T) {
	db, release := held(t)
	var wg sync.WaitGroup
	write := func(key string, after time.Duration) (*store.Tx, *time.Duration) {
		tx, took := new(store.Tx), new(time.Duration)
		wg.Go(func() {
			time.Sleep(after)
			began := time.Now()
			if err := db.Write(t.Context(), func(in *store.Tx) error { *tx = *in; return put(key)(in) }); err != nil {
				t.Error(err)
			}
			*took = time.Since(began)
		})
		return tx, took
	}
	write("a", 0)
	write("b", 0)
	synctest.Wait()
	release()
	wg.Wait() // the two shared a transaction

	c, _ := write("c", 0)
	d, _ := write("d", time.Millisecond)
	wg.Wait()
	if c.At.IsZero() || !c.At.Equal(d.At) {
		t.Errorf("two that came a millisecond apart were written at %v and %v, want one transaction", c.At, d.At)
	}
	_, first := write("e", 0)
	wg.Wait()
	_, second := write("f", 0)
	wg.Wait()
	if *first == 0 || *first > 10*time.Millisecond || *second != 0 {
		t.Errorf("two that came alone after them waited %v and %v, want a moment and not at all", *first, *second)
	}
}

func failsAlone(t *testing.T) {
	db, release := held(t)
	own := errors.New("own")
	wait := writeAll(t.Context(), db, 30, func(i int) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			err := key(i)(tx)
			switch i % 3 {
			case 1:
				return errors.Join(err, own)
			case 2: // a constraint, broken after a row was written
				return errors.Join(err, put("created_at")(tx))
			}
			return err
		}
	})
	synctest.Wait()
	release()
	for i, err := range wait() {
		switch {
		case i%3 == 0 && err != nil:
			t.Errorf("job %d: %v, want nil", i, err)
		case i%3 == 1 && !errors.Is(err, own):
			t.Errorf("job %d: %v, want its own error", i, err)
		case i%3 == 2 && (err == nil || store.Fatal(err)):
			t.Errorf("job %d: %v, want a constraint error that is not fatal", i, err)
		}
	}
	storetest.Equal(t, metaKeys(t, db, "k"), 10, "rows are there")
}

func TestWriteBesideClose(t *testing.T) {
	t.Parallel()
	t.Run("close carries out what is queued", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.db")
		synctest.Test(t, func(t *testing.T) { drained(t, path) })
		storetest.Equal(t, metaKeys(t, storetest.OpenConfig(t, store.Config{Path: path}), "k"), 20, "rows are there")
	})
	t.Run("a write is there or refused", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.db")
		db, err := store.Open(t.Context(), store.Config{Path: path, Schema: storetest.Schema(t)})
		noErr(t, err)
		wait := writeAll(t.Context(), db, 200, key)
		noErr(t, errors.Join(db.Close(), db.Close()))
		errs, again := wait(), storetest.OpenConfig(t, store.Config{Path: path})
		for i, err := range errs {
			if err != nil && !errors.Is(err, store.ErrClosed) {
				t.Errorf("write %d: %v, want nil or ErrClosed", i, err)
			}
			storetest.Equal(t, metaKeys(t, again, fmt.Sprintf("k%03d", i)) == 1, err == nil, "there is the row of write", i, "which said", err)
		}
	})
}

// drained closes a database while twenty writes wait behind one.
func drained(t *testing.T, path string) {
	db, err := store.Open(t.Context(), store.Config{Path: path, Schema: storetest.Schema(t)})
	noErr(t, err)
	taken, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = db.Write(t.Context(), func(*store.Tx) error { close(taken); <-free; return nil })
	}()
	<-taken
	wait := writeAll(t.Context(), db, 20, key)
	synctest.Wait()
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	synctest.Wait()
	close(free)
	noErr(t, errors.Join(append(wait(), <-closed)...))
	if err := db.Write(t.Context(), put("late")); !errors.Is(err, store.ErrClosed) || !store.Fatal(err) {
		t.Errorf("after close: %v, want ErrClosed, fatal", err)
	}
}

func TestWriteContext(t *testing.T) {
	t.Parallel()
	t.Run("cancelled before is refused", func(t *testing.T) {
		db := storetest.Open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			if err := db.Write(ctx, put("k")); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want context.Canceled", err)
			}
		}
		storetest.Equal(t, metaKeys(t, db, "k"), 0, "its row is there")
	})
	t.Run("cancelled after is carried through", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			db, release := held(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- db.Write(ctx, put("k")) }()
			synctest.Wait()
			cancel()
			release()
			if err := <-done; err != nil || metaKeys(t, db, "k") != 1 {
				t.Errorf("got %v and %d rows, want nil and its row", err, metaKeys(t, db, "k"))
			}
		})
	})
	t.Run("cancelled before a full queue took it is refused", func(t *testing.T) { synctest.Test(t, leaveFullQueue) })
}

func leaveFullQueue(t *testing.T) {
	db, release := held(t)
	ctx, cancel := context.WithCancel(t.Context())
	wait := writeAll(ctx, db, 200, key)
	synctest.Wait()
	cancel()
	synctest.Wait()
	release()
	done, errs := 0, wait()
	for i, err := range errs {
		if err == nil {
			done++
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("write %d: %v, want nil or context.Canceled", i, err)
		}
	}
	if done == 0 || done == len(errs) || metaKeys(t, db, "k") != done {
		t.Errorf("%d of %d done and %d rows there: want some, and a row of each", done, len(errs), metaKeys(t, db, "k"))
	}
}

func TestWriteRefused(t *testing.T) {
	t.Parallel()
	t.Run("by a read-only database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.db")
		storetest.OpenConfig(t, store.Config{Path: path})
		db := storetest.OpenConfig(t, store.Config{Path: path, ReadOnly: true})
		if err := db.Write(t.Context(), put("k")); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("got %v, want ErrReadOnly", err)
		}
		if _, err := db.Read().ExecContext(t.Context(), putMeta, "k", "v"); err == nil {
			t.Error("a reader could write")
		}
	})
	t.Run("while another process holds the database too long", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.db")
		one := storetest.OpenConfig(t, store.Config{Path: path})
		two := storetest.OpenConfig(t, store.Config{Path: path, BusyTimeout: time.Millisecond})
		noErr(t, one.Write(t.Context(), func(*store.Tx) error {
			if err := two.Write(t.Context(), put("k")); !errors.Is(err, store.ErrBusy) || store.Fatal(err) {
				return fmt.Errorf("got %w, want ErrBusy, not fatal", err)
			}
			return nil
		}))
		noErr(t, two.Write(t.Context(), put("k"))) // afterwards
	})
}

// fullBatch fills the file within one batch: SQLite may roll all of it back by
// itself, and then nobody of the batch may hear that it is done.
func fullBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, release := held(t)
		wait := writeAll(t.Context(), db, 40, func(i int) func(*store.Tx) error {
			return func(tx *store.Tx) error {
				if n := 0; i%10 == 5 {
					if err := tx.Get("PRAGMA max_page_count = 1", nil, &n); err != nil {
						return err
					}
				}
				_, err := tx.Exec(putMeta, fmt.Sprintf("k%02d", i), strings.Repeat("v", 9000))
				return err
			}
		})
		synctest.Wait()
		release()
		failed := 0
		for i, err := range wait() {
			if err != nil {
				failed++
			}
			if err != nil && !errors.Is(err, store.ErrDiskFull) {
				t.Errorf("job %d: %v, want nil or ErrDiskFull", i, err)
			}
			storetest.Equal(t, metaKeys(t, db, fmt.Sprintf("k%02d", i)) == 1, err == nil, "there is the row of job", i, "which said", err)
		}
		if failed == 0 {
			t.Error("nothing failed: the file was never full")
		}
	})
}

// TestPanic: a bug on the way of one page is that page's error.
func TestPanic(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		if err := put("panicked")(tx); err != nil {
			return err
		}
		panic("a bug")
	})
	if err == nil || !strings.Contains(err.Error(), "a bug") || store.Fatal(err) {
		t.Errorf("got %v, want the panic as an error that is not fatal", err)
	}
	noErr(t, db.Write(t.Context(), put("after")))
	storetest.Equal(t, metaKeys(t, db, "panicked"), 0, "what the function wrote before it panicked is there")
	storetest.Equal(t, metaKeys(t, db, "after"), 1, "the writer does not go on")
}
