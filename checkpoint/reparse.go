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

const keptTarget = `SELECT t.id, t.source_id, ifnull(t.listing, 0), t.crawls FROM targets t WHERE t.id = `

// errCounted rolls back what was only to be counted.
var errCounted = errors.New("only counted")

// StoreAgain stores what kept pages say by another reading, in one transaction, and adds to out. Targets stay as they
// are: nothing was crawled. What is newer than a page stays, see store.PrepareAgain, so the same pages again change
// nothing. A dry run only counts: it is rolled back.
func (k *Keeper) StoreAgain(ctx context.Context, pages []KeptPage, dryRun bool, out *Reparsed) error {
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
	c := &Claim{Kind: p.Target.Kind, Place: p.Target.Place}
	var crawls int64
	query, args := findTarget(p.Target)
	err := tx.Get(keptTarget+"("+query+")", args, &c.TargetID, &c.SourceID, &c.listing, &crawls)
	if errors.Is(err, sql.ErrNoRows) {
		out.Unknown++
		return nil
	}
	if err != nil {
		return err
	}
	c.Crawl = min(p.Target.Crawl, crawls) // the file is an older copy: its next crawl has this number again
	c.fetched = p.Fetched
	var saved Committed
	switch {
	case c.Kind == yp.KindDetail && crawls > p.Target.Crawl: // it was crawled since, or that was begun
		out.Older++
	case c.Kind == yp.KindDetail && p.Page.Own:
		saved, err = c.save(tx, p.Page, nil)
	case c.Kind == yp.KindSearch:
		listings, older, prepareErr := store.PrepareAgain(tx, c.pageOf(), p.Page)
		if prepareErr != nil {
			return prepareErr
		}
		out.Older += older
		saved, err = c.save(tx, p.Page, listings)
	}
	if saved.Rows > 0 {
		out.Stored++
	} else {
		out.Same++
	}
	out.New, out.Changed, out.Completed = out.New+saved.New, out.Changed+saved.Changed, out.Completed+saved.Completed
	return err
}
