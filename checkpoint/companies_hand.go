package checkpoint

import (
	"context"

	"ypcrawl/store"
)

// MergeCompanies makes the companies gone parts of keep by hand, and returns the
// number of each merge. What means nothing is a *store.RefusedError.
func (k *Keeper) MergeCompanies(ctx context.Context, keep int64, gone []int64) (merges []int64, err error) {
	err = k.write(ctx, func(tx *store.Tx) (err error) {
		merges, err = store.MergeCompanies(tx, keep, gone)
		return err
	})
	return merges, err
}

// SplitCompany takes listings, by row id, out of a company into a new one. What means
// nothing is a *store.RefusedError.
func (k *Keeper) SplitCompany(ctx context.Context, from int64, rows []int64) (d *store.Divided, err error) {
	err = k.write(ctx, func(tx *store.Tx) (err error) {
		d, err = store.SplitCompany(tx, from, rows)
		return err
	})
	return d, err
}

// UndoMerge takes a merge back, see store.UndoMerge.
func (k *Keeper) UndoMerge(ctx context.Context, merge int64) (d *store.Divided, err error) {
	err = k.write(ctx, func(tx *store.Tx) (err error) {
		d, err = store.UndoMerge(tx, merge)
		return err
	})
	return d, err
}
