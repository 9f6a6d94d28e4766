package checkpoint

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// maxErrorText bounds what is kept of an error, in bytes.
const maxErrorText = 1000

const (
	// No page follows the last one committed, unless the limit of pages alone ended
	// the crawl: then it can go deeper later.
	completeTarget = `UPDATE targets SET next_page_url = iif(max_pages > 0 AND page_current >= max_pages, next_page_url, NULL), ` + doneSet + fence
	releaseTarget  = `UPDATE targets SET ` + unclaim + `status = 'PLANNED'` + fence
	failTarget     = `UPDATE targets SET ` + unclaim + `status = 'FAILED', finished_at = ?, last_error_code = ?, last_error = ?,
		consecutive_failures = consecutive_failures + 1, backoff_until = ?` + fence
	parkTarget = `UPDATE targets SET ` + unclaim + `status = 'PARKED', finished_at = ?, last_error_code = ?, last_error = ?,
		consecutive_failures = consecutive_failures + 1, backoff_until = NULL` + fence
	failures = `SELECT consecutive_failures FROM targets` + fence
)

// Complete marks the target DONE without a further page: the site said that
// there is nothing (code NO_LISTINGS with its reason), or that the last page
// committed was the end (code empty).
func (k *Keeper) Complete(ctx context.Context, c *Claim, code yp.ErrorCode, reason string) error {
	return k.end(ctx, c, "complete", func(tx *store.Tx) error {
		return c.change(tx, completeTarget, doneArgs(tx, code, clip(reason))...)
	})
}

// Release hands the target back, PLANNED, with its pages kept: a graceful stop.
func (k *Keeper) Release(ctx context.Context, c *Claim) error {
	err := k.write(ctx, func(tx *store.Tx) error { return c.change(tx, releaseTarget) })
	if err != nil {
		return fmt.Errorf("release target %d: %w", c.TargetID, err)
	}
	return nil
}

// Fail marks the target FAILED after its retries are used up; it becomes
// claimable again by itself when its backoff is over.
func (k *Keeper) Fail(ctx context.Context, c *Claim, code yp.ErrorCode, reason string) error {
	return k.end(ctx, c, "fail", func(tx *store.Tx) error {
		var n int
		if err := tx.Get(failures, c.fenced(), &n); err != nil {
			return lost(err)
		}
		until := yp.FormatTime(tx.At.Add(Backoff(n + 1)))
		return c.change(tx, failTarget, tx.Now, string(code), clip(reason), until)
	})
}

// Park puts the target aside for good (the dead letter): a permanent cause.
func (k *Keeper) Park(ctx context.Context, c *Claim, code yp.ErrorCode, reason string) error {
	return k.end(ctx, c, "park", func(tx *store.Tx) error {
		return c.change(tx, parkTarget, tx.Now, string(code), clip(reason))
	})
}

const countTarget = `UPDATE runs SET targets = targets + 1, heartbeat_at = ? WHERE id = ?`

func (k *Keeper) end(ctx context.Context, c *Claim, what string, fn func(*store.Tx) error) error {
	err := k.write(ctx, func(tx *store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		_, err := tx.Exec(countTarget, tx.Now, c.Worker.RunID)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s target %d: %w", what, c.TargetID, err)
	}
	return nil
}

// Backoff returns how long a target rests after its n-th failure in a row:
// 2 h, doubled each time, at most 32 h (health rules, section 3, levels 1–5).
func Backoff(n int) time.Duration {
	level := min(max(n, 1), 5)
	return 2 * time.Hour << (level - 1)
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
