package checkpoint

import (
	"fmt"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// detail applies one detail_complete line as SaveDetail did. The log does not say how
// long the page stays good: it is due again after the usual time. A detail of a listing
// that no page has brought is refused like a line that can't be read.
func (r *replayer) detail(tx *store.Tx, e *wal.Event) error {
	if e.Type != wal.DetailComplete || e.Detail == nil {
		return nil
	}
	source, err := r.source(tx, e.Detail.Source)
	if err != nil {
		return err
	}
	known, err := store.RebuildDetail(tx, source, e.Detail.Listing, &e.Detail.Found, yp.FormatTime(tx.At.Add(DetailsEvery)))
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("details of listing %q of source %s: there is no such listing", yp.Printable(e.Detail.Listing), yp.Printable(e.Detail.Source))
	}
	r.out.Details++
	return nil
}
