package checkpoint

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"unicode/utf8"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// maxErrorText bounds what is kept of an error, in bytes.
const maxErrorText = 1000

const (
	// No page follows the last one committed, unless the limit of pages alone ended
	// the crawl: then it can go deeper later.
	completeTarget = `
	UPDATE targets SET next_page_url = iif(max_pages > 0 AND page_current >= max_pages, next_page_url, NULL), committed = ?1,
		claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL, status = 'DONE',
		priority = iif(kind = 'detail', 101, priority), finished_at = ?2, last_success_at = ?3,
		wait_reason = iif(crawl_frequency_minutes > 0, 'recrawl', NULL),
		not_before = iif(crawl_frequency_minutes > 0,
			strftime('%Y-%m-%dT%H:%M:%fZ', ifnull(crawl_started_at, ?4), '+' || max(2, crawl_frequency_minutes * 0.9) || ' minutes'),
			NULL),
		consecutive_failures = 0, backoff_level = 0, last_error_code = ?5, last_error = ?6,
		total_successes = total_successes + 1, ending = ?7, end_text = ?8, shrunk = iif(?9 = 'shrunk', shrunk + 1, 0)
	WHERE id = ?10 AND claimed_by IS ?11 AND claim_token = ?12 AND status = ?13`
	// Whoever goes on with an interrupted crawl waits for nothing.
	releaseTarget = `
	UPDATE targets SET claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL, status = 'PLANNED'
	WHERE id = ? AND claimed_by IS ? AND claim_token = ? AND status = ?`
	startTargetOver = `
	UPDATE targets SET claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL, status = 'PLANNED',
		page_current = 0, next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0, seen_ids = NULL,
		ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = NULL
	WHERE id = ? AND claimed_by IS ? AND claim_token = ? AND status = ?`
	failTarget = `
	UPDATE targets SET claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL, status = ?1,
		finished_at = ?2, committed = ?3, last_error_code = ?4, last_error = ?5,
		consecutive_failures = consecutive_failures + 1, backoff_level = ?6, not_before = ?7, wait_reason = ?8
	WHERE id = ?9 AND claimed_by IS ?10 AND claim_token = ?11 AND status = ?12`
	standing = `
	SELECT consecutive_failures, backoff_level FROM targets
	WHERE id = ? AND claimed_by IS ? AND claim_token = ? AND status = ?`
	sourceFailed = `UPDATE sources SET consecutive_failures = consecutive_failures + 1 WHERE id = ?`
)

// Complete marks the target DONE without a further page: the site said that
// there is nothing (code NO_LISTINGS with its reason), or that the last page
// committed was the end (code empty). how says whether the site itself confirms it.
func (k *Keeper) Complete(ctx context.Context, c *Claim, code yp.ErrorCode, reason string, how End) error {
	return k.end(ctx, c, "complete", func(tx *store.Tx) (store.AttemptEnd, error) {
		return c.finish(tx, code, reason, how)
	})
}

func (c *Claim) finish(tx *store.Tx, code yp.ErrorCode, reason string, how End) (store.AttemptEnd, error) {
	end := store.AttemptEnd{Ended: store.EndedDone, Code: cmp.Or(code, yp.CodeSuccess), Message: clip(reason)}
	if err := c.complete(tx, code, end.Message, how); err != nil {
		return end, err
	}
	return end, c.kind().ended(tx, c, how.How)
}

func (c *Claim) complete(tx *store.Tx, code yp.ErrorCode, reason string, how End) error {
	if err := tx.Run(sourceSucceeded, c.SourceID); err != nil {
		return err
	}
	return c.change(tx, completeTarget, append([]any{c.number}, doneArgs(tx, code, reason, how)...))
}

// Release hands the target back, PLANNED, with its pages kept: a graceful stop,
// or a host that must be left alone for long.
func (k *Keeper) Release(ctx context.Context, c *Claim, reason string) error {
	return k.end(ctx, c, "release", func(tx *store.Tx) (store.AttemptEnd, error) {
		return store.AttemptEnd{Ended: store.EndedReleased, Message: clip(reason)}, c.change(tx, releaseTarget, nil)
	})
}

// StartOver hands the target back, PLANNED, to be crawled from its first page on: what would lead on to the next page is good
// no more. What its pages have shown stays.
func (k *Keeper) StartOver(ctx context.Context, c *Claim, reason string) error {
	return k.end(ctx, c, "start over", func(tx *store.Tx) (store.AttemptEnd, error) {
		end := store.AttemptEnd{Ended: store.EndedReleased, Message: clip(reason)}
		if err := tx.Run(forgetPages, c.TargetID); err != nil {
			return end, err
		}
		return end, c.change(tx, startTargetOver, nil)
	})
}

// Fail records an attempt whose retries are used up and returns what becomes of
// its target: see yp.Fail. It becomes claimable again by itself when its backoff
// is over, unless it is parked.
func (k *Keeper) Fail(ctx context.Context, c *Claim, code yp.ErrorCode, reason string) (set yp.Setback, err error) {
	err = k.end(ctx, c, "fail", func(tx *store.Tx) (store.AttemptEnd, error) {
		return c.failed(tx, code, reason, &set)
	})
	return set, err
}

func (c *Claim) failed(tx *store.Tx, code yp.ErrorCode, reason string, set *yp.Setback) (store.AttemptEnd, error) {
	var n, level int
	if err := tx.Get(standing, c.fenced(), &n, &level); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrClaimLost
		}
		return store.AttemptEnd{}, err
	}
	jitter := 0.0 // no log tells it
	if !c.logged {
		jitter = rand.Float64() //nolint:gosec // no secret hangs on it
	}
	if *set = yp.Fail(n+1, level, jitter); c.notThere(code) {
		*set = set.Open()
	}
	return c.setBack(tx, *set, code, clip(reason))
}

// notThere reports whether the attempt ended with a page that is not there and is not the site's: that
// is no permanent cause, however often it comes.
func (c *Claim) notThere(code yp.ErrorCode) bool {
	return code == yp.CodeUnknown && (c.Attempt.HTTPStatus == http.StatusNotFound || c.Attempt.HTTPStatus == http.StatusGone)
}

// Park puts the target aside for good (the dead letter): a permanent cause.
func (k *Keeper) Park(ctx context.Context, c *Claim, code yp.ErrorCode, reason string) error {
	return k.end(ctx, c, "park", func(tx *store.Tx) (store.AttemptEnd, error) {
		return c.park(tx, code, reason)
	})
}

func (c *Claim) park(tx *store.Tx, code yp.ErrorCode, reason string) (store.AttemptEnd, error) {
	return c.setBack(tx, yp.Setback{Event: yp.EventPark, Level: permanent}, code, clip(reason))
}

// permanent is the level of a target that is parked for a permanent cause, not because it
// failed too often.
const permanent = 0

func (c *Claim) setBack(tx *store.Tx, set yp.Setback, code yp.ErrorCode, reason string) (store.AttemptEnd, error) {
	end := store.AttemptEnd{Ended: store.EndedFailed, Code: code, Message: reason, Backoff: set.Wait}
	if set.Event == yp.EventPark {
		end.Ended = store.EndedParked
	}
	if c.kind().blames(set.Event, code) {
		if err := tx.Run(sourceFailed, c.SourceID); err != nil {
			return end, err
		}
	}
	status := yp.Failed
	switch set.Event {
	case yp.EventPark:
		status = yp.Parked
	case yp.EventBackOff:
		status = yp.Planned
	}
	var until, why any
	if set.Wait > 0 {
		until, why = yp.FormatTime(tx.At.Add(set.Wait)), "backoff"
	}
	return end, c.change(tx, failTarget, []any{string(status), tx.Now, c.number, string(code), reason, set.Level, until, why})
}

const countTarget = `UPDATE runs SET targets = targets + 1, heartbeat_at = ?, listings_dropped = listings_dropped + ? WHERE id = ?`

// end carries out what ends a claim with an outcome, and the attempt with it.
func (k *Keeper) end(ctx context.Context, c *Claim, what string, fn func(*store.Tx) (store.AttemptEnd, error)) error {
	err := k.write(ctx, fmt.Sprintf("%s target %d", what, c.TargetID), func(tx *store.Tx) error {
		c.Dropped = 0 // fn may set it
		if err := c.take(tx); err != nil {
			return err
		}
		c.Ended, c.EndedAt = c.number, tx.At
		end, err := fn(tx)
		if err != nil {
			return err
		}
		if err := c.close(tx, &c.Attempt, end); err != nil {
			return err
		}
		if !c.kind().counted() || end.Ended == store.EndedReleased {
			return nil
		}
		return tx.Run(countTarget, tx.Now, c.Dropped, c.Worker.RunID)
	})
	if err == nil {
		c.Requests = c.Requests[:0]
	}
	return err
}

// close completes the attempt's row, with the requests that wait for it.
func (c *Claim) close(tx *store.Tx, a *store.Attempt, end store.AttemptEnd) error {
	if err := store.SaveRequests(tx, c.Requests); err != nil {
		return err
	}
	return store.EndAttempt(tx, c.key(), a, end)
}

// Record writes requests that belong to no claim, or to one that was lost.
func (k *Keeper) Record(ctx context.Context, requests []store.Request) error {
	if len(requests) == 0 {
		return nil
	}
	return k.write(ctx, "record requests", func(tx *store.Tx) error { return store.SaveRequests(tx, requests) })
}

// clip bounds an error text without cutting a character in half.
func clip(s string) string {
	s = yp.Clean(s)
	if len(s) <= maxErrorText {
		return s
	}
	cut := maxErrorText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
