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
	if err := db.Read().QueryRowContext(context.WithoutCancel(t.Context()), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

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
	t.Run("what waits shares a transaction", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, sharedTransactions)
	})
	t.Run("where callers come together, one waits for the others, and nobody for long", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, waitsForOthers)
	})
	t.Run("a failing job fails alone", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, failsAlone)
	})
	t.Run("a failing job by itself leaves nothing", func(t *testing.T) {
		t.Parallel()
		db := storetest.Open(t)
		own := errors.New("own")
		err := db.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(put("k")(tx), own) })
		if !errors.Is(err, own) || metaKeys(t, db, "k") != 0 {
			t.Errorf("got %v and %d rows, want its own error and none", err, metaKeys(t, db, "k"))
		}
		if err := db.Write(t.Context(), put("k")); err != nil {
			t.Errorf("the next write: %v", err)
		}
	})
	t.Run("one now a transaction, from the clock", func(t *testing.T) {
		t.Parallel()
		at := time.Date(2026, 11, 20, 23, 50, 0, 123456789, time.FixedZone("x", 3600))
		db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Now: func() time.Time { return at }})
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			if tx.Now != "2026-11-20T22:50:00.123Z" || !tx.At.Equal(at.Truncate(time.Millisecond)) {
				return fmt.Errorf("now is %s, %s", tx.Now, tx.At)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func sharedTransactions(t *testing.T) {
	db, release := held(t)
	const n = 100
	txs := make([]*store.Tx, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := db.Write(t.Context(), func(tx *store.Tx) error {
				txs[i] = tx
				return put(fmt.Sprint("k", i))(tx)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	synctest.Wait()
	release()
	wg.Wait()
	shared := map[*store.Tx]int{}
	for _, tx := range txs {
		shared[tx]++
	}
	if len(shared) > 4 {
		t.Errorf("%d callers took %d transactions, want at most 4", n, len(shared))
	}
	if got := metaKeys(t, db, "k"); got != n {
		t.Errorf("%d rows are there, want %d", got, n)
	}
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
	errs := make([]error, 30)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = db.Write(t.Context(), func(tx *store.Tx) error {
				if err := put(fmt.Sprint("k", i))(tx); err != nil {
					return err
				}
				switch i % 3 {
				case 1:
					return own
				case 2: // a constraint, broken after a row was written
					return put("created_at")(tx)
				}
				return nil
			})
		})
	}
	synctest.Wait()
	release()
	wg.Wait()
	for i, err := range errs {
		switch {
		case i%3 == 0 && err != nil:
			t.Errorf("job %d: %v, want nil", i, err)
		case i%3 == 1 && !errors.Is(err, own):
			t.Errorf("job %d: %v, want its own error", i, err)
		case i%3 == 2 && (err == nil || store.Fatal(err)):
			t.Errorf("job %d: %v, want a constraint error that is not fatal", i, err)
		}
	}
	if got := metaKeys(t, db, "k"); got != 10 {
		t.Errorf("%d rows are there, want the 10 of the jobs that succeeded", got)
	}
}

func TestWriteBesideClose(t *testing.T) {
	t.Parallel()
	t.Run("close carries out what is queued", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.db")
		synctest.Test(t, func(t *testing.T) { drained(t, path) })
		if got := metaKeys(t, storetest.OpenConfig(t, store.Config{Path: path}), "k"); got != 20 {
			t.Errorf("%d rows are there, want 20", got)
		}
	})
	t.Run("a write is there or refused", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.db")
		db, err := store.Open(t.Context(), store.Config{Path: path, Schema: storetest.Schema(t)})
		noErr(t, err)
		var wg sync.WaitGroup
		errs := make([]error, 200)
		for i := range errs {
			wg.Go(func() { errs[i] = db.Write(t.Context(), put(fmt.Sprintf("k%03d", i))) })
		}
		if err := errors.Join(db.Close(), db.Close()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		again := storetest.OpenConfig(t, store.Config{Path: path})
		for i, err := range errs {
			if err != nil && !errors.Is(err, store.ErrClosed) {
				t.Errorf("write %d: %v, want nil or ErrClosed", i, err)
			}
			if got := metaKeys(t, again, fmt.Sprintf("k%03d", i)) == 1; got != (err == nil) {
				t.Errorf("write %d said %v, its row is there: %v", i, err, got)
			}
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
	errs := make([]error, 20)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = db.Write(t.Context(), put(fmt.Sprint("k", i))) })
	}
	synctest.Wait()
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	synctest.Wait()
	close(free)
	wg.Wait()
	if err := errors.Join(append(errs, <-closed)...); err != nil {
		t.Error(err)
	}
	if err := db.Write(t.Context(), put("late")); !errors.Is(err, store.ErrClosed) || !store.Fatal(err) {
		t.Errorf("after close: %v, want ErrClosed, fatal", err)
	}
}

func TestWriteContext(t *testing.T) {
	t.Parallel()
	t.Run("cancelled before is refused", func(t *testing.T) {
		t.Parallel()
		db := storetest.Open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			if err := db.Write(ctx, put("k")); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want context.Canceled", err)
			}
		}
		if metaKeys(t, db, "k") != 0 {
			t.Error("its row is there")
		}
	})
	t.Run("cancelled after is carried through", func(t *testing.T) {
		t.Parallel()
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
	t.Run("cancelled before a full queue took it is refused", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, leaveFullQueue)
	})
}

func leaveFullQueue(t *testing.T) {
	db, release := held(t)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make([]error, 200)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = db.Write(ctx, put(fmt.Sprint("k", i))) })
	}
	synctest.Wait()
	cancel()
	synctest.Wait()
	release()
	wg.Wait()
	done := 0
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
		t.Parallel()
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
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.db")
		one := storetest.OpenConfig(t, store.Config{Path: path})
		two := storetest.OpenConfig(t, store.Config{Path: path, BusyTimeout: time.Millisecond})
		err := one.Write(t.Context(), func(*store.Tx) error {
			if err := two.Write(t.Context(), put("k")); !errors.Is(err, store.ErrBusy) || store.Fatal(err) {
				return fmt.Errorf("got %w, want ErrBusy, not fatal", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := two.Write(t.Context(), put("k")); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// fullBatch fills the file within one batch: SQLite may roll all of it back by
// itself, and then nobody of the batch may hear that it is done.
func fullBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, release := held(t)
		errs := make([]error, 40)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				errs[i] = db.Write(t.Context(), func(tx *store.Tx) error {
					if i%10 == 5 {
						var n int
						if err := tx.Get("PRAGMA max_page_count = 1", nil, &n); err != nil {
							return err
						}
					}
					_, err := tx.Exec(putMeta, fmt.Sprintf("k%02d", i), strings.Repeat("v", 9000))
					return err
				})
			})
		}
		synctest.Wait()
		release()
		wg.Wait()
		failed := 0
		for i, err := range errs {
			if err != nil {
				failed++
			}
			if err != nil && !errors.Is(err, store.ErrDiskFull) {
				t.Errorf("job %d: %v, want nil or ErrDiskFull", i, err)
			}
			if there := metaKeys(t, db, fmt.Sprintf("k%02d", i)) == 1; there != (err == nil) {
				t.Errorf("job %d said %v, its row is there: %v", i, err, there)
			}
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
	if n := metaKeys(t, db, "panicked"); n != 0 {
		t.Error("what the function wrote before it panicked is there")
	}
	if n := metaKeys(t, db, "after"); n != 1 {
		t.Error("the writer does not go on")
	}
}
