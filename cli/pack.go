package cli

import (
	"context"

	"ypcrawl/wal"
	"ypcrawl/yp"
)

// pruneAtOnce is how many bytes of old logs a run reads to see whether they may go: on
// the disk, where they stand compressed to about a tenth.
const pruneAtOnce = 32 << 20

// tidyLogs compresses, beside the crawl, the logs that ended runs left, and removes those
// that are older than --keep-logs and say nothing that the database does not have. The
// function that it returns waits for that; an interrupt cuts it short. What
// fails is only logged: a log that stays as it is can be read all the same.
func (r *run) tidyLogs(ctx context.Context) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		alive, err := r.keeper.AlivePIDs(ctx)
		if err != nil {
			r.log.Warn().Err(err).Msg("old logs stay as they are")
			return
		}
		isLive := func(worker string) bool {
			pid, ok := yp.WorkerPID(worker)
			return ok && alive[pid]
		}
		dir := logDir(r.c)
		if _, err := wal.CompressClosed(ctx, dir, isLive); err != nil && ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("old logs stay uncompressed")
		}
		if err := r.pruneLogs(ctx, dir, isLive); err != nil && ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("old logs stay")
		}
	}()
	return func() { <-done }
}

func (r *run) pruneLogs(ctx context.Context, dir string, isLive func(string) bool) error {
	days := r.c.Int("keep-logs")
	if days == 0 {
		return nil
	}
	now, err := r.keeper.LaterBound(ctx, r.row.ID)
	if err != nil || now.IsZero() {
		return err
	}
	pruned, err := wal.Prune(ctx, dir, wal.PruneConfig{
		Before: now.AddDate(0, 0, -days), IsLive: isLive, MaxBytes: pruneAtOnce,
		Held: func(e *wal.Event) (bool, error) {
			if e.Database != "" && e.Database != r.id {
				return false, nil // of another database that shares the folder
			}
			return r.keeper.Holds(ctx, e)
		},
	})
	if pruned.Files > 0 {
		r.log.Info().Int("files", pruned.Files).Int64("bytes", pruned.Bytes).Int("older_than_days", days).Msg("removed old logs; the database has what they said")
	}
	if pruned.Kept > 0 {
		r.log.Debug().Int("files", pruned.Kept).Msg("old logs stay: they say what the database does not have")
	}
	return err
}
