package start

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// Logs says where the write-ahead logs of the workers are, and for how long.
type Logs struct {
	Folder   string
	Database string        // the id of the database that they are of
	Keep     time.Duration // older ones whose pages the database has are removed; 0 = none is

	LoseSync func() bool // for tests: with true a log is not synced, and says that it was; nil = never
}

// openLog opens the write-ahead log of a worker.
func (c *Crawl) openLog(worker string) (crawl.Log, error) {
	log, err := wal.Create(wal.Config{Dir: c.cfg.Logs.Folder, WorkerID: worker, Database: c.cfg.Logs.Database, RunID: c.cfg.Engine.Run.ID, Logger: c.cfg.Engine.Logger})
	if err != nil {
		return nil, fmt.Errorf("open write-ahead log: %w", err)
	}
	return &countedLog{Log: log, logger: c.cfg.Engine.Logger, loseSync: c.cfg.Logs.LoseSync}, nil
}

// countedLog is the log of a worker that counts its lines of pages, and the syncs after one: a selftest compares
// the two.
type countedLog struct {
	crawl.Log
	logger   zerolog.Logger
	loseSync func() bool // see Logs

	mu            sync.Mutex
	unsynced      bool // the last line of a page
	lines, synced int
}

// Append implements crawl.Log.
func (l *countedLog) Append(e *wal.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.Log.Append(e)
	if err == nil && e.Type == wal.PageComplete {
		l.unsynced = true
		l.lines++
	}
	return err
}

// Sync implements crawl.Log.
func (l *countedLog) Sync() error {
	if l.loseSync != nil && l.loseSync() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.Log.Sync()
	if err == nil && l.unsynced {
		l.unsynced = false
		l.synced++
	}
	return err
}

// Close implements crawl.Log.
func (l *countedLog) Close() error {
	l.logger.Debug().Str("component", "wal").Int("page_lines", l.lines).Int("syncs", l.synced).Msg("log closed")
	return l.Log.Close()
}

// plainFor is how long the logs of a run that has ended stay plain, for jq and other programs.
const plainFor = 24 * time.Hour

// tidyLogs compresses, beside the crawl, the logs that ended runs left a day ago, and removes those
// that are older than Logs.Keep and say nothing that the database does not have. The
// function that it returns waits for that; an interrupt cuts it short. What
// fails is only logged: a log that stays as it is can be read all the same.
func (c *Crawl) tidyLogs(ctx context.Context) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		alive, err := c.cfg.Engine.Keeper.AlivePIDs(ctx)
		if err != nil {
			c.cfg.Engine.Logger.Warn().Err(err).Msg("old logs are not compressed or removed")
			return
		}
		isLive := func(worker string) bool {
			pid, ok := yp.WorkerPID(worker)
			return ok && alive[pid]
		}
		dir := c.cfg.Logs.Folder
		if _, err := wal.CompressOld(ctx, dir, isLive, time.Now().Add(-plainFor)); err != nil && ctx.Err() == nil {
			c.cfg.Engine.Logger.Warn().Err(err).Msg("old logs could not be compressed")
		}
		if err := c.pruneLogs(ctx, dir, isLive); err != nil && ctx.Err() == nil {
			c.cfg.Engine.Logger.Warn().Err(err).Msg("old logs could not be removed")
		}
	}()
	return func() { <-done }
}

func (c *Crawl) pruneLogs(ctx context.Context, dir string, isLive func(string) bool) error {
	age := c.cfg.Logs.Keep
	if age == 0 {
		return nil
	}
	now, err := c.cfg.Engine.Keeper.LaterBound(ctx, c.cfg.Engine.Run.ID)
	if err != nil || now.IsZero() {
		return err
	}
	pruned, err := wal.Prune(ctx, dir, wal.PruneConfig{
		Before: now.Add(-age), IsLive: isLive,
		Held: func(e *wal.Event) (bool, error) {
			if e.Database != "" && e.Database != c.cfg.Logs.Database {
				return false, nil // of another database that shares the folder
			}
			return c.cfg.Engine.Keeper.Holds(ctx, e)
		},
	})
	if pruned.Files > 0 {
		c.cfg.Engine.Logger.Info().Int("files", pruned.Files).Int64("bytes", pruned.Bytes).Str("older_than", yp.ShortTime(age)).Msg("removed old logs; the database has all their pages")
	}
	if pruned.Kept > 0 {
		c.cfg.Engine.Logger.Debug().Int("files", pruned.Kept).Msg("old logs are kept because they have pages that the database lacks")
	}
	return err
}
