package checkpoint

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/yp"
)

// RunListings is what a run brought.
type RunListings struct {
	Run      string    `json:"run"` // its uuid
	Started  time.Time `json:"started_at"`
	Running  bool      `json:"running"`
	Pages    int64     `json:"pages"`
	New      int64     `json:"new"`
	Rejected int64     `json:"rejected"` // broke a rule of their source, once for each page that showed them
	Dropped  int64     `json:"dropped"`  // gone from their source
	Restored int64     `json:"restored"` // and back again
}

const runListings = `
	SELECT r.uuid, r.started_at, r.outcome = 'running', r.pages, r.listings_new, r.listings_rejected, r.listings_dropped, r.listings_restored
	FROM runs r WHERE (r.pages > 0 OR r.listings_dropped > 0) AND (?1 = 0 OR r.source_id = ?1 OR r.source_id IS NULL) ORDER BY r.id DESC LIMIT 1`

// LastRun returns what the last run of a source (0 = of any) brought of those that
// committed a page; nil when there was none.
func (k *Keeper) LastRun(ctx context.Context, sourceID int64) (*RunListings, error) {
	rows, err := k.db.Read().QueryContext(ctx, runListings, sourceID)
	if err != nil {
		return nil, fmt.Errorf("read the last run: %w", err)
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return nil, rows.Err()
	}
	var r RunListings
	if err := rows.Scan(&r.Run, at(&r.Started), &r.Running, &r.Pages, &r.New, &r.Rejected, &r.Dropped, &r.Restored); err != nil {
		return nil, fmt.Errorf("read the last run: %w", err)
	}
	return &r, rows.Err()
}

const lastRunSeen = `SELECT ifnull(max(heartbeat_at), '') FROM runs WHERE id <> ? AND heartbeat_at < ?`

// LaterBound is the time from which the age of logs is counted: now, or when the last other
// run was seen if that is earlier. So one start with a clock that is far ahead makes nothing
// old. It is zero where no other run is known.
func (k *Keeper) LaterBound(ctx context.Context, run int64) (at time.Time, err error) {
	var seen string
	if err := k.db.Read().QueryRowContext(ctx, lastRunSeen, run, yp.FormatTime(k.db.Now())).Scan(&seen); err != nil {
		return at, fmt.Errorf("look for the last run: %w", err)
	}
	if seen == "" {
		return at, nil
	}
	return yp.ParseTime(seen)
}
