package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

// PlacedFile is a file that is about to get its name: where that is, and by what the file is known there.
type PlacedFile struct {
	Path   string // as it was typed
	Bytes  int64
	SHA256 string // in hexadecimal
}

const (
	addIntent = `
	INSERT INTO delivery_intents (name, at, event, file, rows, filters, path, bytes, sha256)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
	RETURNING id`
	addTold   = `INSERT INTO delivery_intent_listings (intent, state, listings) VALUES (?, ?, ?)`
	countFile = `
	INSERT INTO deliveries (name, at, event, file, rows, filters)
	SELECT name, at, event, file, rows, filters FROM delivery_intents
	WHERE id = ?`
	countTold = `
	INSERT INTO delivered (name, listing, state, event)
	SELECT i.name, v.value, t.state, i.event
	FROM delivery_intents i JOIN delivery_intent_listings t ON t.intent = i.id JOIN json_each(t.listings) v
	WHERE i.id = ?
	ON CONFLICT DO UPDATE SET state = excluded.state, event = excluded.event`
	forgetAll     = `DELETE FROM delivery_intents WHERE name = (SELECT name FROM delivery_intents WHERE id = ?)`
	forgetIntent  = `DELETE FROM delivery_intents WHERE id = ?`
	forgetIntents = `DELETE FROM delivery_intents WHERE name = ?`
	hasIntents    = `SELECT EXISTS (SELECT 1 FROM delivery_intents WHERE name = ?)`
	intentsOf     = `SELECT id, file, rows, path, bytes, sha256 FROM delivery_intents WHERE name = ? ORDER BY id DESC`

	// tellAtOnce listings are in one row.
	tellAtOnce = 10_000
)

// Intend stores what the delivery tells, before its file gets its name. From here to Close no other export under
// the name may end: a *RefusedError says that one has, or is about to.
func (b *DeliveryBegun) Intend(ctx context.Context, d Delivery, file PlacedFile) (err error) {
	if b.lock, err = lockName(b.db, b.Name); err == nil {
		_, err = b.db.resolveNamed(ctx, b.Name, file.Path) // of one that has died since this one began
	}
	if err == nil {
		err = b.db.Write(ctx, func(tx *Tx) error { return b.store(tx, d, file) })
	}
	if err != nil {
		b.Close()
		return fmt.Errorf("deliver to %q: %w", b.Name, err)
	}
	return nil
}

// Close gives the name up.
func (b *DeliveryBegun) Close() {
	if b.lock != nil {
		_ = b.lock.Remove() // else the next run sweeps it
		b.lock = nil
	}
}

func (b *DeliveryBegun) store(tx *Tx, d Delivery, file PlacedFile) error {
	if err := b.check(tx); err != nil {
		return err
	}
	err := tx.Get(addIntent, []any{
		b.Name, yp.FormatTime(d.At), d.Event, d.File, d.Rows, JSON(d.Filters), b.db.fromFolder(file.Path), file.Bytes, file.SHA256,
	}, &b.intent)
	for state, listings := range b.told {
		for part := range slices.Chunk(listings, tellAtOnce) {
			if err == nil {
				err = tx.Run(addTold, b.intent, string(state), JSONInts(part))
			}
		}
	}
	return err
}

// countIntent makes an intent a delivery. What else was intended under its name is of files that were replaced.
func countIntent(tx *Tx, id int64) error {
	n, err := tx.Changed(countFile, id)
	if err == nil && n == 0 {
		err = refuse("what was delivered under the name was forgotten in the meantime")
	}
	if err == nil {
		err = tx.Run(countTold, id)
	}
	if err == nil {
		err = tx.Run(forgetAll, id)
	}
	return err
}

// lockName holds a name until its process ends, so that an intent under it is known to be of a dead one.
func lockName(db *DB, name string) (*Lock, error) {
	sum := sha256.Sum256([]byte(name))
	l, err := TakeLock(db.path, "export-"+hex.EncodeToString(sum[:8]), false)
	if errors.Is(err, ErrLocked) {
		err = refuse("another export with the same --as NAME is about to end")
	}
	return l, err
}

// ResolveDelivery decides about what was intended under a name by exports that were cut off: where a file stands under
// its name and is the very one, it was delivered, and is counted; else nothing was told. It returns the one that was
// counted, or nil. replaced is the path of the file that is to be made now: what is there is about to go, and has told nothing.
func (db *DB) ResolveDelivery(ctx context.Context, name, replaced string) (counted *Delivery, err error) {
	var there bool
	if err := db.read.QueryRowContext(ctx, hasIntents, name).Scan(&there); err != nil || !there {
		return nil, err
	}
	lock, err := lockName(db, name)
	if err == nil {
		counted, err = db.resolveNamed(ctx, name, replaced)
		_ = lock.Remove() // else the next run sweeps it
	}
	if err != nil {
		err = fmt.Errorf("see what was delivered to %q: %w", name, err)
	}
	return counted, err
}

// intent is a row of delivery_intents.
type intent struct {
	Delivery
	PlacedFile
}

// resolveNamed is ResolveDelivery for who has the name.
func (db *DB) resolveNamed(ctx context.Context, name, replaced string) (counted *Delivery, err error) {
	all, err := All(db.Reader(ctx), intentsOf, []any{name}, func(i *intent) []any {
		return []any{&i.ID, &i.File, &i.Rows, &i.Path, &i.Bytes, &i.SHA256}
	})
	for n := range all {
		i := &all[n]
		path := i.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(RealPath(db.path)), path)
		}
		there, err := isFile(path, i.PlacedFile)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s can't be read, and an interrupted export may have finished it (make it readable, or remove it): %w", path, err)
		case !there:
			err = db.Write(ctx, func(tx *Tx) error { return tx.Run(forgetIntent, i.ID) })
		case !sameFile(path, replaced):
			return &i.Delivery, db.Write(ctx, func(tx *Tx) error { return countIntent(tx, i.ID) })
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, err
}

// fromFolder is a path as a database that may be moved together with its files keeps it: a relative one as seen
// from the folder of the database.
func (db *DB) fromFolder(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil || filepath.IsAbs(path) {
		return path
	}
	from, err := filepath.Rel(filepath.Dir(RealPath(db.path)), filepath.Join(RealPath(filepath.Dir(whole)), filepath.Base(whole)))
	if err != nil {
		return whole
	}
	return from
}

// sameFile reports whether two paths name one file that is there.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil || b == "" {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// isFile reports whether a file is there, and is that one. Its name is made durable then: its rename may have come
// just before a kill.
func isFile(path string, want PlacedFile) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() != want.Bytes {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil || hex.EncodeToString(sum.Sum(nil)) != want.SHA256 {
		return false, err
	}
	_ = folder.Sync(filepath.Dir(path)) // as far as that can be
	return true, nil
}
