package checkpoint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const (
	detailFence = ` WHERE listing = ? AND claimed_by = ? AND claim_token = ? AND status = 'IN_PROGRESS'`
	detailFree  = `claimed_by = NULL, run_id = NULL, heartbeat_at = NULL, `

	releaseDetail = `UPDATE details SET ` + detailFree + `status = 'PLANNED'` + detailFence
	failDetail    = `UPDATE details SET ` + detailFree + `status = ?, due_at = ?, last_error_code = ?, last_error = ?, recoveries = 0,
		consecutive_failures = consecutive_failures + 1, backoff_level = ?` + detailFence
	detailStanding = `SELECT consecutive_failures, backoff_level FROM details` + detailFence
	beatWorker     = `UPDATE workers SET heartbeat_at = ? WHERE run_id = ? AND worker_id = ?`
)

func (c *DetailClaim) fenced() []any { return []any{c.Listing, c.Worker.ID, c.Token} }

// SaveDetail is the checkpoint of a listing's own page: its details, what it completes
// of the listing, and the requests that brought it, in one transaction, or ErrClaimLost
// and nothing at all. The page is due again after every.
func (k *Keeper) SaveDetail(ctx context.Context, c *DetailClaim, d *yp.Detail, every time.Duration, requests []store.Request) error {
	return k.endDetail(ctx, c, "save", requests, func(tx *store.Tx) error {
		saved, err := store.SaveDetail(tx, c.key(), d, yp.FormatTime(tx.At.Add(every)))
		if err != nil {
			return err
		}
		if !saved {
			return ErrClaimLost
		}
		_, err = tx.Exec(fareWell, c.SourceID)
		return err
	})
}

// ReleaseDetail hands the claim back: a graceful stop, or a host that must be left
// alone for long.
func (k *Keeper) ReleaseDetail(ctx context.Context, c *DetailClaim, requests []store.Request) error {
	return k.endDetail(ctx, c, "release", requests, func(tx *store.Tx) error { return c.change(tx, releaseDetail) })
}

// FailDetail records an attempt whose retries are used up and returns what becomes of
// the detail, by the rule for targets: see yp.Fail. What was read of it before stays.
func (k *Keeper) FailDetail(ctx context.Context, c *DetailClaim, code yp.ErrorCode, reason string, requests []store.Request) (set yp.Setback, err error) {
	err = k.endDetail(ctx, c, "fail", requests, func(tx *store.Tx) error {
		var n, level int
		if err := tx.Get(detailStanding, c.fenced(), &n, &level); err != nil {
			return lost(err)
		}
		set = yp.Fail(n+1, level, rand.Float64()) //nolint:gosec // no secret hangs on a jitter
		return c.setBack(tx, set, code, reason)
	})
	return set, err
}

// ParkDetail puts the detail aside for good: a permanent cause. The listing stays: only
// complete crawls of its targets tell that it is gone.
func (k *Keeper) ParkDetail(ctx context.Context, c *DetailClaim, code yp.ErrorCode, reason string, requests []store.Request) error {
	return k.endDetail(ctx, c, "park", requests, func(tx *store.Tx) error {
		return c.setBack(tx, yp.Setback{Event: yp.EventPark, Level: keepLevel}, code, reason)
	})
}

func (c *DetailClaim) setBack(tx *store.Tx, set yp.Setback, code yp.ErrorCode, reason string) error {
	status, due := yp.Failed, any(nil)
	switch set.Event {
	case yp.EventPark:
		status = yp.Parked
	case yp.EventBackOff:
		status = yp.Planned
	}
	if set.Wait > 0 {
		due = yp.FormatTime(tx.At.Add(set.Wait))
	}
	if status != yp.Parked || code != yp.CodeNoListings { // a page that is not there says nothing of how the source fares
		if _, err := tx.Exec(fareIll, c.SourceID); err != nil {
			return err
		}
	}
	return c.change(tx, failDetail, string(status), due, string(code), clip(reason), set.Level)
}

// change runs a fenced statement and turns "no row" into ErrClaimLost.
func (c *DetailClaim) change(tx *store.Tx, query string, args ...any) error {
	n, err := tx.Changed(query, append(args, c.fenced()...)...)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrClaimLost
	}
	return nil
}

// endDetail carries out what ends a claim, with the requests that it made.
func (k *Keeper) endDetail(ctx context.Context, c *DetailClaim, what string, requests []store.Request, fn func(*store.Tx) error) error {
	err := k.write(ctx, func(tx *store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		if err := store.SaveRequests(tx, requests); err != nil {
			return err
		}
		_, err := tx.Exec(beatWorker, tx.Now, c.Worker.RunID, c.Worker.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s detail of listing %s: %w", what, c.ListingID, err)
	}
	return nil
}
