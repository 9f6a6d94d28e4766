package checkpoint

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// An operator's word ends every wait, the gap between two crawls included. A target
// that ended in the future (a clock was set back since) is long done.
const recrawlDone = `
	UPDATE targets AS t SET next_crawl_at = ?6, gap_until = NULL
	WHERE t.status = 'DONE' AND t.retired_at IS NULL AND (t.finished_at <= ?7 OR t.finished_at > ?6) AND ` + where

// Recrawl makes the DONE targets of the scope due whose last crawl ended at least
// age ago, 0 = all, and returns how many they are. They are crawled anew, from page
// 1; Wake plans them.
func (k *Keeper) Recrawl(ctx context.Context, scope Scope, age time.Duration) (n int, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		due, err := tx.Changed(recrawlDone, scope.args(tx.Now, yp.FormatTime(tx.At.Add(-age)))...)
		n = int(due)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("make done targets due again: %w", err)
	}
	return n, nil
}
