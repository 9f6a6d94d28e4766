package checkpoint

import (
	"context"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

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
	now, at := tx.Now, tx.At
	defer func() { tx.Now, tx.At = now, at }()
	for ; len(r.edits) > 0; r.edits = r.edits[1:] {
		e, waits := r.edits[0], false
		tx.At, tx.Now = e.Timestamp.UTC(), yp.FormatTime(e.Timestamp)
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

// endEdits makes the edits that still wait when all pages are read.
func (r *replayer) endEdits(ctx context.Context, k *Keeper) error {
	if len(r.edits) == 0 {
		return nil
	}
	return k.write(ctx, func(tx *store.Tx) error { return r.redoEdits(tx, true) })
}
