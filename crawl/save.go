package crawl

import (
	"context"
	"fmt"

	"ypcrawl/checkpoint"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// append writes an event; without its log the run can't keep its promise and ends.
func (w *worker) append(e *wal.Event) error {
	e.Run = w.cfg.Run.UUID
	if err := w.log.Append(e); err != nil {
		return fmt.Errorf("write-ahead log: %w", err)
	}
	return nil
}

// tell appends an event of the claim, with the number of its target's last commit.
func (v *visit) tell(e *wal.Event) error {
	e.Committed, e.CommittedAt = v.claim.Committed, yp.Stamp{Time: v.claim.CommittedAt}
	return v.append(e)
}

// save logs a page and commits it. Its event is on the disk before the commit: no power cut
// may leave a page in the database alone. Each worker does so for its own log while others
// are in the database, so the commit that follows waits for none of it, and what is synced
// at the same time shares the journal of the file system.
func (v *visit) save(ctx context.Context, p *yp.Page) (res checkpoint.Committed, err error) {
	if err = v.tell(&wal.Event{Type: wal.PageComplete, Target: v.target, Status: yp.InProgress, Page: p}); err == nil && !v.cfg.LazyLogs {
		if err = v.log.Sync(); err != nil {
			err = fmt.Errorf("write-ahead log: %w", err)
		}
	}
	if err != nil {
		return res, fatalError{err}
	}
	v.cfg.Reached(PointAppended)
	defer v.inHand(nil)
	// A page in hand is carried through: a stop must not cost it.
	if res, err = v.cfg.Keeper.CommitPage(context.WithoutCancel(ctx), v.claim, *p); err == nil {
		v.cfg.Reached(PointCommitted)
	}
	return res, err
}
