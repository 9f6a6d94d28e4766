package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// Reparsed counts what became of pages that were read again.
type Reparsed struct {
	Stored    int `json:"stored"`     // pages that say otherwise now
	Same      int `json:"same"`       // pages that bring nothing
	Unknown   int `json:"unknown"`    // pages whose target, or listing, the database does not have
	New       int `json:"new"`        // listings
	Changed   int `json:"changed"`    //
	Completed int `json:"completed"`  // of which fields became known
	Older     int `json:"left_newer"` // listings of which something newer is stored: only what nobody has given was added
}

// KeptPage is a page that was read again: of which target and crawl, as its claim was, and when it was fetched.
type KeptPage struct {
	Target  *wal.Target
	Page    *yp.Page
	Fetched time.Time
}

// errCounted rolls back what was only to be counted.
var errCounted = errors.New("only counted")

// StoreReparsed stores what kept pages say by another reading, in one transaction, and adds to out. Targets stay as they
// are: nothing was crawled. What is newer than a page stays, see store.PrepareReparsed, so the same pages again change
// nothing. A dry run only counts: it is rolled back.
func (k *Keeper) StoreReparsed(ctx context.Context, pages []KeptPage, dryRun bool, out *Reparsed) error {
	var sum Reparsed
	err := k.write(ctx, "store pages that were read again", func(tx *store.Tx) error {
		sum = *out
		for i := range pages {
			if err := sum.store(tx, &pages[i]); err != nil {
				return fmt.Errorf("page %d of target %d: %w", pages[i].Page.Number, pages[i].Target.ID, err)
			}
		}
		if dryRun {
			return errCounted
		}
		return nil
	})
	if err != nil && !errors.Is(err, errCounted) {
		return err
	}
	*out = sum
	return nil
}

func (out *Reparsed) store(tx *store.Tx, p *KeptPage) error {
	k := kindOf(p.Target.Kind)
	if k == nil { // a later program kept it
		out.Unknown++
		return nil
	}
	c := &Claim{Kind: p.Target.Kind, Place: p.Target.Place, fetched: p.Fetched}
	query, args := k.find(p.Target)
	err := tx.GetNamed(query, args, c.column)
	if errors.Is(err, sql.ErrNoRows) {
		out.Unknown++
		return nil
	}
	if err != nil {
		return err
	}
	saved, older, err := k.reparse(tx, c, p)
	if saved.Rows > 0 {
		out.Stored++
	} else {
		out.Same++
	}
	out.New, out.Changed, out.Completed, out.Older = out.New+saved.New, out.Changed+saved.Changed, out.Completed+saved.Completed, out.Older+older
	return err
}
