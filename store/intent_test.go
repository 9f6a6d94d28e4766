package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// withListing is a database with listing 1.
func withListing(t *testing.T) *store.DB {
	t.Helper()
	w := newWorld(t)
	_, err := w.save(1, 1, 1, yp.Listing{ID: "a", Name: "A"})
	storetest.NoError(t, err)
	return w.DB
}

// intended intends a file for ann that tells of listing 1, as an export does that dies before it counts it.
func intended(t *testing.T, db *store.DB, path, text string) {
	t.Helper()
	b, err := db.BeginDelivery(t.Context(), "ann")
	storetest.NoError(t, err)
	b.Tell(1, store.StateOpen)
	sum := sha256.Sum256([]byte(text))
	storetest.NoError(t, b.Intend(t.Context(), store.Delivery{At: db.Now(), File: "f.csv", Rows: 1}, store.PlacedFile{Path: path, Bytes: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}))
	b.Close()
}

// TestSettle: of a file that was intended the one that stands under its name decides whether it was told.
func TestSettle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		there   string // what the file holds; "" = it is not there
		folder  bool   // has its name
		counted bool
	}{
		{name: "the very file", there: "told", counted: true},
		{name: "none"},
		{name: "another one", there: "tale"},
		{name: "a longer one", there: "told more"},
		{name: "a folder", folder: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := withListing(t)
			path := filepath.Join(filepath.Dir(db.Path()), "f.csv")
			intended(t, db, path, "told")
			if c.folder {
				storetest.NoError(t, os.Mkdir(path, 0o700))
			} else if c.there != "" {
				storetest.NoError(t, os.WriteFile(path, []byte(c.there), 0o600))
			}
			counted, err := db.ResolveDelivery(t.Context(), "ann", "")
			storetest.NoError(t, err)
			if got := counted != nil && counted.File == "f.csv" && counted.Rows == 1; got != c.counted {
				t.Errorf("counted: %+v", counted)
			}
			want := []string(nil)
			if c.counted {
				want = []string{"ann|1|open"}
			}
			if got := storetest.Table(t, db, `SELECT name, listing, state FROM delivered`); !slices.Equal(got, want) {
				t.Errorf("told: %q", got)
			}
			if left := storetest.Table(t, db, `SELECT id FROM delivery_intents`); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestSettleReplaced: what stands under the name of the file that is made now has told nothing yet, until that has
// its name; then it has told nothing at all.
func TestSettleReplaced(t *testing.T) {
	t.Parallel()
	db := withListing(t)
	path := filepath.Join(filepath.Dir(db.Path()), "f.csv")
	intended(t, db, path, "first")
	storetest.NoError(t, os.WriteFile(path, []byte("first"), 0o600))
	for range 2 {
		if counted, err := db.ResolveDelivery(t.Context(), "ann", path); counted != nil || err != nil {
			t.Fatal(counted, err)
		}
	}
	intended(t, db, path, "second") // and killed before the rename: the first is there
	counted, err := db.ResolveDelivery(t.Context(), "ann", "other.csv")
	if err != nil || counted == nil {
		t.Fatal(counted, err)
	}
	if got := storetest.Table(t, db, `SELECT (SELECT count(*) FROM deliveries), (SELECT count(*) FROM delivery_intents)`); !slices.Equal(got, []string{"1|0"}) {
		t.Error(got)
	}
}

// TestIntendedPath: a file that was named by a relative path is found where it is beside the database, wherever
// the two are moved.
func TestIntendedPath(t *testing.T) {
	db := withListing(t)
	dir := filepath.Dir(db.Path())
	t.Chdir(dir)
	intended(t, db, filepath.Join("files", "f.csv"), "told")
	if got := storetest.Table(t, db, `SELECT path FROM delivery_intents`); !slices.Equal(got, []string{filepath.Join("files", "f.csv")}) {
		t.Error(got)
	}
	t.Chdir(t.TempDir())
	storetest.NoError(t, os.MkdirAll(filepath.Join(dir, "files"), 0o700))
	storetest.NoError(t, os.WriteFile(filepath.Join(dir, "files", "f.csv"), []byte("told"), 0o600))
	if counted, err := db.ResolveDelivery(t.Context(), "ann", ""); counted == nil || err != nil {
		t.Error(counted, err)
	}
}

// TestIntendedName: from the intent to its count no other export under the name ends, and no other name waits.
func TestIntendedName(t *testing.T) {
	t.Parallel()
	db := withListing(t)
	var all []*store.DeliveryBegun
	for _, name := range []string{"ann", "ann", "bob"} {
		b, err := db.BeginDelivery(t.Context(), name)
		storetest.NoError(t, err)
		all = append(all, b)
	}
	intend := func(b *store.DeliveryBegun) error {
		return b.Intend(t.Context(), store.Delivery{At: db.Now(), File: "f"}, store.PlacedFile{Path: "/nowhere", SHA256: "x"})
	}
	storetest.NoError(t, intend(all[0]))
	storetest.NoError(t, intend(all[2]))
	var refused *store.RefusedError
	for what, err := range map[string]error{
		"intends": intend(all[1]),
		"settles": func() error { _, err := db.ResolveDelivery(context.Background(), "ann", ""); return err }(),
	} {
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	storetest.NoError(t, all[0].Complete(t.Context(), store.Delivery{}))
	storetest.NoError(t, all[2].Complete(t.Context(), store.Delivery{}))
	if err := intend(all[1]); !errors.As(err, &refused) {
		t.Errorf("when the other has ended: %v", err)
	}
	if names, _ := os.ReadDir(store.LockDir(db.Path())); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}
