package checkpoint

import (
	"fmt"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// detail applies one detail_complete line as SaveDetail did. The log does not say how
// long the page stays good: it is due again after the usual time. A detail of a listing
// that no page has brought is tried once more when all pages were read, and then refused
// like a line that can't be read.
func (r *replayer) detail(tx *store.Tx, e *wal.Event) error {
	if e.Type != wal.DetailComplete || e.Detail == nil {
		return nil
	}
	source, err := r.source(tx, e.Detail.Source)
	if err != nil {
		return err
	}
	d := e.Detail
	known, saved, err := store.RebuildDetail(tx, source, d.Listing, d.Token, &d.Found, yp.FormatTime(tx.At.Add(DetailsEvery)))
	switch {
	case err != nil:
		return err
	case !known && !r.second && r.cfg.Details != nil:
		r.early++
		return nil
	case !known:
		r.early--
		return fmt.Errorf("details of listing %q of source %s: there is no such listing", yp.Printable(d.Listing), yp.Printable(d.Source))
	case r.second && !saved:
		return nil // counted at the first reading, or after this one
	case r.second:
		r.early--
	}
	r.out.Details++
	if !saved {
		r.out.Known++
	}
	return nil
}
