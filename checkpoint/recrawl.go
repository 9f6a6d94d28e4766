package checkpoint

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// The gap between two crawls stands: only `reset` lifts it. A target that ended in the
// future (a clock was set back since) is long done.
const recrawlDone = `
	UPDATE targets AS t SET next_crawl_at = ?6
	WHERE t.status = 'DONE' AND t.retired_at IS NULL AND (t.finished_at <= ?7 OR t.finished_at > ?6) AND ` + where

// Recrawl makes the DONE targets of the scope due whose last crawl ended at least
// age ago, 0 = all, and returns how many they are. They are crawled anew, from page
// 1; Wake plans them, those in the gap between two crawls (InGap) when it is over.
func (k *Keeper) Recrawl(ctx context.Context, scope Scope, age time.Duration) (n int, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		due, err := tx.Changed(recrawlDone, scope.Args(tx.Now, yp.FormatTime(tx.At.Add(-age)))...)
		n = int(due)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("make done targets due again: %w", err)
	}
	return n, nil
}

// What is done keeps its last success as the time from which the next is counted; 0 =
// once only.
const setFrequency = `
	UPDATE targets AS t SET crawl_frequency_minutes = ?6, next_crawl_at = CASE
		WHEN t.status <> 'DONE' THEN t.next_crawl_at
		WHEN ?6 > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', ifnull(t.last_success_at, t.finished_at), '+' || ?6 || ' minutes') END
	WHERE t.crawl_frequency_minutes <> ?6 AND ` + where

// SetFrequency says how long after its last complete crawl each target of the scope is
// crawled again, in whole minutes, 0 = never by itself, and returns how many had
// another frequency.
func (k *Keeper) SetFrequency(ctx context.Context, scope Scope, every time.Duration) (n int, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		changed, err := tx.Changed(setFrequency, scope.Args(int64(every/time.Minute))...)
		n = int(changed)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("set how often targets are crawled: %w", err)
	}
	return n, nil
}
