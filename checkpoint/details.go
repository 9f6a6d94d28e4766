package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// DetailClaim is a worker's hold on a listing's own page. A claim lasts for that one
// page.
type DetailClaim struct {
	Listing   int64 // row id
	Token     int64
	Worker    Worker
	SourceID  int64
	ListingID string // the source's own
	URL       string // of the page, as a card gave it last
}

func (c *DetailClaim) key() store.DetailKey {
	return store.DetailKey{Listing: c.Listing, Worker: c.Worker.ID, Token: c.Token}
}

// Details hands out the details of a source that are due: what was never asked for
// first, then what has waited longest. It remembers how far it has looked past those
// that are not wanted now, of other states or of listings that are gone, so that a
// claim costs the same however many of them there are.
type Details struct {
	keeper *Keeper
	source int64
	states string // JSON list; "[]" = all

	mu    sync.Mutex
	at    mark
	began time.Time // the walk from the start; zero = not begun
	rest  time.Time // no new walk before
}

// mark is a place in the order of claims: nothing up to there is both due and wanted.
type mark struct {
	fresh int64  // listing, of those never asked for
	due   string // of the others: due_at, then listing
	row   int64
}

// Details returns what hands out the details of the listings that were found in some
// states of a source; no state is all.
func (k *Keeper) Details(source int64, states []string) *Details {
	return &Details{keeper: k, source: source, states: jsonList(states)}
}

// detailWindow bounds how many details one claim looks at, and so how long other
// writers wait for it.
const detailWindow = 500

const (
	// ready is the condition of the index that serves a claim, word for word.
	ready = `d.status IN ('PLANNED', 'FAILED', 'DONE') AND d.source_id = ?4`
	// wantedNow leaves out what is of another state, or has no page any more.
	wantedNow = ` CROSS JOIN listings l ON l.id = w.listing
		WHERE l.gone_at IS NULL AND l.profile_url IS NOT NULL AND (?5 = '[]' OR l.found_state IN (SELECT value FROM json_each(?5)))`

	freshDetails = ` FROM details d INDEXED BY details_ready WHERE ` + ready + ` AND d.due_at IS NULL AND d.listing > ?6 ORDER BY d.listing `
	dueDetails   = ` FROM details d INDEXED BY details_ready WHERE ` + ready + ` AND d.due_at <= ?3 AND (d.due_at, d.listing) > (?7, ?8) ORDER BY d.due_at, d.listing `

	// claimDetail is the one statement that takes a detail. coalesce asks for the second
	// only when there is none of the first.
	claimDetail = `
	UPDATE details SET status = 'IN_PROGRESS', claimed_by = ?1, run_id = ?2, heartbeat_at = ?3,
		claim_token = claim_token + 1, total_attempts = total_attempts + 1
	WHERE status IN ('PLANNED', 'FAILED', 'DONE') AND ` + sourceOpen + ` AND listing = coalesce(
		(SELECT w.listing FROM (SELECT d.listing` + freshDetails + `LIMIT ?9) AS w` + wantedNow + ` LIMIT 1),
		(SELECT w.listing FROM (SELECT d.listing` + dueDetails + `LIMIT ?9) AS w` + wantedNow + ` LIMIT 1))
	RETURNING listing, claim_token, (SELECT l.listing_id FROM listings l WHERE l.id = details.listing), (SELECT l.profile_url FROM listings l WHERE l.id = details.listing)`

	// barrenEnd is where the windows end that held nothing; NULL where one was not full.
	barrenEnd = `SELECT (SELECT d.listing` + freshDetails + `LIMIT 1 OFFSET ?9 - 1), (SELECT d.due_at || ' ' || d.listing` + dueDetails + `LIMIT 1 OFFSET ?9 - 1)
		WHERE ?1 IS NOT NULL AND ?2 IS NOT NULL AND ?5 IS NOT NULL AND ` + sourceOpen
)

// Claim takes the detail that has waited longest for worker w, or returns ErrNothing.
func (q *Details) Claim(ctx context.Context, w Worker) (*DetailClaim, error) {
	for busy := 0; ; {
		if q.resting() {
			return nil, ErrNothing
		}
		c, more, err := q.claimOnce(ctx, w)
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, ErrNothing) && more:
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		case !errors.Is(err, store.ErrBusy) || busy == len(claimWaits):
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(claimWaits[busy]):
		}
		busy++
	}
}

// claimOnce claims in the windows behind the mark; with more true they held nothing, the mark was
// moved on, and there is more to look at.
func (q *Details) claimOnce(ctx context.Context, w Worker) (c *DetailClaim, more bool, err error) {
	from := q.mark()
	c = &DetailClaim{Worker: w, SourceID: q.source}
	var fresh sql.NullInt64
	var due sql.NullString
	err = q.keeper.write(ctx, func(tx *store.Tx) error {
		args := []any{w.ID, w.RunID, tx.Now, q.source, q.states, from.fresh, from.due, from.row, detailWindow}
		err := tx.Get(claimDetail, args, &c.Listing, &c.Token, &c.ListingID, &c.URL)
		if errors.Is(err, sql.ErrNoRows) {
			if err := tx.Get(barrenEnd, args, &fresh, &due); err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			return ErrNothing
		}
		return err
	})
	switch {
	case errors.Is(err, ErrNothing):
		return nil, q.advance(from, fresh, due), ErrNothing
	case err != nil:
		return nil, false, fmt.Errorf("claim detail: %w", err)
	}
	return c, false, nil
}

func (q *Details) resting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Now().Before(q.rest)
}

func (q *Details) mark() mark {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.began.IsZero() {
		q.began = time.Now()
	}
	return q.at
}

// advance moves the mark behind windows that held nothing; false at the end, where the
// next walk begins anew: after a walk that took long, only in a while.
func (q *Details) advance(from mark, fresh sql.NullInt64, due sql.NullString) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if fresh.Valid || due.Valid {
		if from != q.at {
			return true // somebody else has moved it
		}
		if fresh.Valid {
			q.at.fresh = fresh.Int64
		}
		if at, row, ok := strings.Cut(due.String, " "); ok {
			q.at.due = at
			q.at.row, _ = strconv.ParseInt(row, 10, 64)
		}
		return true
	}
	if took := time.Since(q.began); q.at != (mark{}) && took > 50*time.Millisecond {
		q.rest = time.Now().Add(min(20*took, time.Minute))
	}
	q.at, q.began = mark{}, time.Time{}
	return false
}

const (
	countDetails = `
	SELECT (SELECT count(*) FROM (SELECT 1 FROM (SELECT d.listing` + freshDetails + `) AS w` + wantedNow + ` LIMIT ?9))
		+ (SELECT count(*) FROM (SELECT 1 FROM (SELECT d.listing` + dueDetails + `) AS w` + wantedNow + ` LIMIT ?9))
	WHERE ?1 IS NOT NULL AND ?2 IS NOT NULL`
	nextDetail = `
	SELECT w.due_at FROM (SELECT d.listing, d.due_at FROM details d INDEXED BY details_ready
		WHERE ` + ready + ` AND d.due_at > ?3 AND d.due_at <= ?6 ORDER BY d.due_at) AS w` + wantedNow + ` AND ?1 IS NOT NULL AND ?2 IS NOT NULL ORDER BY w.due_at LIMIT 1`
	peekDetail = `
	SELECT l.profile_url FROM (SELECT d.listing` + freshDetails + `) AS w` + wantedNow + ` AND ?1 IS NOT NULL
	UNION ALL SELECT l.profile_url FROM (SELECT d.listing` + dueDetails + `) AS w` + wantedNow + ` AND ?2 IS NOT NULL LIMIT ?9`
)

// Look tells how many details can be claimed now, counted up to a limit, and when the
// next falls due if that is none. It says nothing of the source's gate.
func (q *Details) Look(ctx context.Context, limit int, horizon time.Duration) (o Outlook, err error) {
	now := q.keeper.db.Now()
	err = q.keeper.db.Read().QueryRowContext(ctx, countDetails, q.all(now, limit)...).Scan(&o.Ready)
	if err != nil {
		return o, fmt.Errorf("look for due details: %w", err)
	}
	o.Ready = min(o.Ready, limit)
	if o.Ready > 0 || horizon <= 0 {
		return o, nil
	}
	var next string
	err = q.keeper.db.Read().QueryRowContext(ctx, nextDetail, 0, 0, yp.FormatTime(now), q.source, q.states, yp.FormatTime(now.Add(horizon))).Scan(&next)
	if errors.Is(err, sql.ErrNoRows) {
		return o, nil
	}
	if err == nil {
		o.Next, err = yp.ParseTime(next)
	}
	if err != nil {
		return o, fmt.Errorf("look for the next detail: %w", err)
	}
	return o, nil
}

// Peek returns the page of some detail that is due; found is false when there is none.
func (q *Details) Peek(ctx context.Context) (url string, found bool, err error) {
	err = q.keeper.db.Read().QueryRowContext(ctx, peekDetail, q.all(q.keeper.db.Now(), 1)...).Scan(&url)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look for a due detail: %w", err)
	}
	return url, true, nil
}

// all are the arguments of a look from the start.
func (q *Details) all(now time.Time, limit int) []any {
	return []any{0, 0, yp.FormatTime(now), q.source, q.states, 0, "", 0, limit}
}
