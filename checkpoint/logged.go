package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// Holds reports whether the database has what a logged event says, or what its target said
// later, and every listing of a page: without the event, nothing is lost that a
// replay could bring. In doubt it says no, as for a kind of event that it does not know.
func (k *Keeper) Holds(ctx context.Context, e *wal.Event) (held bool, err error) {
	switch e.Type {
	case wal.Heartbeat, wal.ClaimLost, wal.Stop, wal.LogLost:
		return true, nil
	case wal.TargetStart, wal.PageComplete, wal.TargetComplete, wal.TargetError:
		if e.Target == nil || kindOf(e.Target.Kind) == nil {
			return false, nil
		}
	default:
		return false, nil
	}
	var c Claim
	query, args := kindOf(e.Target.Kind).find(e.Target)
	err = k.db.RowNamed(ctx, query, args, c.column)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for event %d of %s: %w", e.Seq, yp.Printable(e.WorkerID), err)
	case e.Type == wal.TargetStart:
		return c.Token >= e.Target.ClaimToken, nil
	case e.Type != wal.PageComplete || e.Page == nil:
		return c.Committed >= e.Ended, nil // its last page tells the end that has no number
	case c.Committed <= e.Committed:
		return false, nil
	}
	lost, err := unknown(k.db.Reader(ctx), c.SourceID, e.Listings)
	return err == nil && len(lost) == 0, err
}

const selectUnknown = `
	SELECT j.value FROM json_each(?1) AS j WHERE NOT EXISTS (SELECT 1 FROM listings l WHERE l.source_id = ?2 AND l.listing_id = j.value)`

// unknown returns the listings that are not stored.
func unknown(q store.Querier, source int64, listings []yp.Listing) (lost []yp.Listing, err error) {
	byID := make(map[string]yp.Listing, len(listings))
	ids := make([]string, 0, len(listings))
	for _, l := range listings {
		if l.ID != "" && l.Name != "" {
			byID[l.ID], ids = l, append(ids, l.ID)
		}
	}
	found, err := store.Column[string](q, selectUnknown, store.JSONTexts(ids), source)
	for _, id := range found {
		lost = append(lost, byID[id])
	}
	return lost, err
}
