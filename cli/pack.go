package cli

import (
	"context"

	"ypcrawl/wal"
	"ypcrawl/yp"
)

// compressOld compresses, beside the crawl, the logs that ended runs left. The
// function that it returns waits for that; an interrupt cuts it short. What
// fails is only logged: a log that stays as it is can be read all the same.
func (r *run) compressOld(ctx context.Context) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		alive, err := r.keeper.AlivePIDs(ctx)
		if err == nil {
			_, err = wal.CompressClosed(ctx, logDir(r.c), func(worker string) bool {
				pid, ok := yp.WorkerPID(worker)
				return ok && alive[pid]
			})
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("old logs stay uncompressed")
		}
	}()
	return func() { <-done }
}
