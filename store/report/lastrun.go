package report

import (
	"context"
	"fmt"
	"time"
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
func (k *Reader) LastRun(ctx context.Context, sourceID int64) (*RunListings, error) {
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
