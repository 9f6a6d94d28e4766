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

// EditLog is where pages that are read again are written down before they are committed.
type EditLog interface {
	Append(e *wal.Event) error
	Sync() error
}

// EditNumber takes the number of a run for what is read again, whose order among the runs it
// tells in the logs: higher than that of every run that has ended; beside a run, its own.
func (k *Keeper) EditNumber(ctx context.Context) (number int64, err error) {
	alone, err := k.alone(ctx)
	if err == nil {
		err = k.write(ctx, "number what is read again", func(tx *store.Tx) error { return tx.Get(nextRunNumber, []any{alone}, &number) })
	}
	return number, err
}

const (
	sourceOfTarget = `SELECT source_id, ifnull(listing, 0), crawls FROM targets WHERE id = ?`
	reparsedTimes  = `SELECT ifnull(max(times), 0) FROM reparsed WHERE target_id = ? AND page = ?`
	countReparsed  = `INSERT INTO reparsed (target_id, page, times) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET times = times + 1 RETURNING times`
	noteReparsed   = `INSERT INTO reparsed (target_id, page, times) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET times = excluded.times`
)

// StoreAgain stores what kept pages say by another reading, in one transaction, and adds to out. Each page that
// says otherwise than the database stands in the log before that; those that bring nothing
// leave no trace, so the same pages again change nothing. Targets stay as they are: nothing was
// crawled. What is newer than a page stays, see store.PrepareAgain. Without a log they are only counted: it is rolled back.
func (k *Keeper) StoreAgain(ctx context.Context, log EditLog, pages []*wal.Event, out *Reparsed) error {
	var sum Reparsed
	err := k.write(ctx, "store pages that were read again", func(tx *store.Tx) error {
		sum = *out
		for i := range pages {
			if err := storeAgain(tx, log, pages[i], &sum); err != nil {
				return fmt.Errorf("page %d of target %d: %w", pages[i].Page.Number, pages[i].Target.ID, err)
			}
		}
		if log == nil {
			return errCounted
		}
		if sum.Stored == out.Stored {
			return nil
		}
		return log.Sync()
	})
	if err == nil || errors.Is(err, errCounted) {
		*out = sum
		return nil
	}
	return err
}

// errCounted rolls back what was only to be counted.
var errCounted = errors.New("only counted")

func storeAgain(tx *store.Tx, log EditLog, e *wal.Event, out *Reparsed) error {
	c := &Claim{Kind: e.Target.Kind, Place: e.Target.Place, Crawl: e.Target.Crawl}
	query, args := findTarget(e.Target)
	err := tx.Get(query, args, &c.TargetID)
	if errors.Is(err, sql.ErrNoRows) {
		out.Unknown++
		return nil
	}
	if err == nil {
		err = tx.Run("SAVEPOINT again")
	}
	if err != nil {
		return err
	}
	saved, older, err := c.takeAgain(tx, e.Page, e.Reparsed.FetchedAt.Time)
	if err != nil {
		return err
	}
	out.Older += older
	if saved.Rows == 0 {
		out.Same++
		return errors.Join(tx.Run("ROLLBACK TO again"), tx.Run("RELEASE again"))
	}
	out.Stored++
	out.New += saved.New
	out.Changed += saved.Changed
	out.Completed += saved.Completed
	if log != nil {
		e.Timestamp, e.Committed = tx.At, new(committed(tx))
		if err := tx.Get(countReparsed, []any{c.TargetID, e.Page.Number}, &e.Reparsed.Times); err != nil {
			return err
		}
		if err := log.Append(e); err != nil {
			return err
		}
	}
	return tx.Run("RELEASE again")
}

// takeAgain stores what a page says that was fetched then.
func (c *Claim) takeAgain(tx *store.Tx, p *yp.Page, fetched time.Time) (saved store.Saved, older int, err error) {
	var crawls int64
	if err := tx.Get(sourceOfTarget, []any{c.TargetID}, &c.SourceID, &c.listing, &crawls); err != nil {
		return saved, 0, err
	}
	tried := crawls > c.Crawl      // it was crawled since, or that was begun
	c.Crawl = min(c.Crawl, crawls) // the file is an older copy: its next crawl has this number again
	at := c.pageOf()
	at.Fetched = fetched
	switch {
	case c.Kind == yp.KindDetail && p.Detail == nil:
		return saved, 0, nil
	case c.Kind == yp.KindDetail && tried:
		return saved, 1, nil
	case c.Kind == yp.KindDetail:
		saved.Rows, err = store.SaveDetail(tx, at, c.listing, p.Detail)
		return saved, 0, err
	}
	prepared, older, err := store.PrepareAgain(tx, at, p)
	if err == nil {
		saved, err = store.SaveListings(tx, at, prepared)
	}
	if err == nil && saved.Rows > 0 {
		err = planPage(tx, c.SourceID, c.TargetID, p.Listings)
	}
	return saved, older, err
}

// reparsed applies a page_reparsed line as StoreAgain did.
func (r *replayer) reparsed(tx *store.Tx, e *wal.Event, s *stand) error {
	if e.Page == nil || e.Reparsed == nil {
		return nil
	}
	var times int
	if err := tx.Get(reparsedTimes, []any{s.TargetID, e.Page.Number}, &times); err != nil || times > e.Reparsed.Times {
		return err
	}
	if !r.second {
		r.out.Reparsed++
	}
	s.Crawl = e.Target.Crawl
	saved, _, err := s.takeAgain(tx, e.Page, e.Reparsed.FetchedAt.Time)
	if err != nil {
		return err
	}
	r.out.New += saved.New
	return tx.Run(noteReparsed, s.TargetID, e.Page.Number, e.Reparsed.Times)
}
