package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// RunHolder is a run that says it is under way.
type RunHolder struct {
	UUID      string    `json:"uuid"`
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
	Here      bool      `json:"here"` // on this machine, as far as its name tells
	Command   string    `json:"command"`
	Started   time.Time `json:"started_at"`
	Heartbeat time.Time `json:"heartbeat_at"`
	Alive     bool      `json:"alive"` // its process is seen to live: it holds its lock
	Silent    bool      `json:"silent"`
	Targets   int64     `json:"targets"` // in its hands
}

// Gone reports whether the run would be recovered: no process of this machine
// stands behind it, and one of another machine has been silent for a while.
func (r RunHolder) Gone() bool { return !r.Alive && (r.Here || r.Silent) }

const runHolders = `
	SELECT r.uuid, r.pid, r.host, r.command, r.started_at, r.heartbeat_at,
		(SELECT count(*) FROM targets t WHERE t.status = 'IN_PROGRESS' AND t.run_id = r.id)
	FROM runs r WHERE r.outcome = 'running' ORDER BY r.started_at`

// RunHolders lists the runs that hold the database, or died while they did.
func (k *Keeper) RunHolders(ctx context.Context) ([]RunHolder, error) {
	silent := k.db.Now().Add(-elsewhere)
	var all []RunHolder
	err := k.each(ctx, runHolders, nil, func(rows *sql.Rows) error {
		var r RunHolder
		if err := rows.Scan(&r.UUID, &r.PID, &r.Host, &r.Command, at(&r.Started), at(&r.Heartbeat), &r.Targets); err != nil {
			return err
		}
		r.Here, r.Silent = r.Host == k.host, r.Heartbeat.Before(silent)
		if lives, err := store.Alive(k.db.Path(), r.UUID); err == nil {
			r.Alive = lives
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return all, nil
}

// FutureRows counts the rows of a table that bear a time to come: the mark of a
// clock that was set back.
type FutureRows struct {
	Table  string
	Rows   int64
	Latest time.Time
}

// clockTolerance is by how much the clocks of machines that share a file may
// differ.
const clockTolerance = time.Minute

const futureRows = `
	SELECT 'runs', count(*), max(at) FROM (SELECT max(started_at, heartbeat_at) AS at FROM runs) WHERE at > ?1
	UNION ALL SELECT 'workers', count(*), max(heartbeat_at) FROM workers WHERE heartbeat_at > ?1
	UNION ALL SELECT 'targets', count(*), max(heartbeat_at) FROM targets WHERE status = 'IN_PROGRESS' AND heartbeat_at > ?1
	UNION ALL SELECT 'crawl_attempts', count(*), max(finished_at) FROM crawl_attempts WHERE finished_at > ?1
	UNION ALL SELECT 'requests', count(*), max(r.finished_at) FROM sources s CROSS JOIN requests r ON r.source_id = s.id WHERE r.finished_at > ?1 AND r.proxy_failed = 0`

// FutureRows lists the tables with rows from the future; none is as it should be.
func (k *Keeper) FutureRows(ctx context.Context) ([]FutureRows, error) {
	var all []FutureRows
	limit := yp.FormatTime(k.db.Now().Add(clockTolerance))
	err := k.each(ctx, futureRows, []any{limit}, func(rows *sql.Rows) error {
		var f FutureRows
		err := rows.Scan(&f.Table, &f.Rows, at(&f.Latest))
		if f.Rows > 0 {
			all = append(all, f)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for rows from the future: %w", err)
	}
	return all, nil
}

const lastSource = `SELECT s.name, s.base_url FROM runs r JOIN sources s ON s.id = r.source_id ORDER BY r.id DESC LIMIT 1`

// LastSource returns name and base URL of the source that was crawled last; both
// empty when none was.
func (k *Keeper) LastSource(ctx context.Context) (name, baseURL string, err error) {
	err = k.db.Read().QueryRowContext(ctx, lastSource).Scan(&name, &baseURL)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("look for the source crawled last: %w", err)
	}
	return name, baseURL, nil
}

// Sources lists the sources that the database knows, by name, with their gates and
// profiles, and without their targets.
func (k *Keeper) Sources(ctx context.Context) ([]SourceStatus, error) {
	all, err := k.sourceStatus(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	return all, nil
}
