package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// EditLog is where an edit of companies is written down before it is committed.
type EditLog interface {
	Append(e *wal.Event) error
	Sync() error
}

// EditNumber takes the number of a run for edits by hand, whose order among the runs it
// tells in the logs: higher than that of every run that has ended; beside a run, its own.
func (k *Keeper) EditNumber(ctx context.Context) (number int64, err error) {
	alone, err := k.alone(ctx)
	if err != nil {
		return 0, err
	}
	err = k.write(ctx, "number an edit of companies", func(tx *store.Tx) error { return tx.Get(nextRunNumber, []any{alone}, &number) })
	return number, err
}

// MergeCompanies makes the companies removed parts of keep by hand, and returns the
// number of each merge. What means nothing is a *store.RefusedError.
func (k *Keeper) MergeCompanies(ctx context.Context, log EditLog, keep int64, removed []int64) (merges []int64, err error) {
	err = k.edit(ctx, log, wal.CompanyMerge, func(tx *store.Tx) (edit *yp.CompanyEdit, err error) {
		merges, edit, err = store.MergeCompanies(tx, keep, removed)
		return edit, err
	})
	return merges, err
}

// SplitCompany takes listings, by row id, out of a company into a new one. What means
// nothing is a *store.RefusedError.
func (k *Keeper) SplitCompany(ctx context.Context, log EditLog, from int64, rows []int64) (*store.Divided, error) {
	return k.divide(ctx, log, func(tx *store.Tx) (*store.Divided, error) { return store.SplitCompany(tx, from, rows) })
}

// UndoMerge takes a merge back, see store.UndoMerge.
func (k *Keeper) UndoMerge(ctx context.Context, log EditLog, merge int64) (*store.Divided, error) {
	return k.divide(ctx, log, func(tx *store.Tx) (*store.Divided, error) { return store.UndoMerge(tx, merge) })
}

func (k *Keeper) divide(ctx context.Context, log EditLog, fn func(*store.Tx) (*store.Divided, error)) (d *store.Divided, err error) {
	err = k.edit(ctx, log, wal.CompanySplit, func(tx *store.Tx) (*yp.CompanyEdit, error) {
		if d, err = fn(tx); err != nil {
			return nil, err
		}
		return d.Edit, nil
	})
	return d, err
}

// edit makes an edit, and brings what the logs say of it to the disk before its commit.
func (k *Keeper) edit(ctx context.Context, log EditLog, kind wal.EventType, fn func(*store.Tx) (*yp.CompanyEdit, error)) error {
	return k.db.Write(ctx, func(tx *store.Tx) error {
		edit, err := fn(tx)
		if err != nil {
			return err
		}
		edit.ID = rand.Text()
		if err := store.NoteEdit(tx, edit.ID); err != nil {
			return err
		}
		return errors.Join(log.Append(&wal.Event{Type: kind, Timestamp: tx.At, Edit: edit, Committed: new(committed(tx))}), log.Sync())
	})
}

// edit takes in a merge or a split by hand. One that names a listing which no page has
// brought yet (two processes wrote at once, and a clock was set back) waits for it, and
// those that come after it wait, too: they keep their order.
func (r *replayer) edit(tx *store.Tx, e *wal.Event) error {
	if e.Type != wal.CompanyMerge && e.Type != wal.CompanySplit {
		return nil
	}
	r.out.Edits++
	r.edits = append(r.edits, e)
	return r.redoEdits(tx, false)
}

// redoEdits makes the edits that wait, up to the first whose listings are not all there;
// last says that no more pages come.
func (r *replayer) redoEdits(tx *store.Tx, last bool) error {
	for ; len(r.edits) > 0; r.edits = r.edits[1:] {
		e, waits := r.edits[0], false
		err := r.attempt(tx, e, func() error {
			ready, err := store.RedoEdit(tx, e.Edit, last)
			waits = !ready && err == nil
			return err
		})
		if err != nil || waits {
			return err
		}
	}
	return nil
}
