package report

import (
	"context"
	"fmt"
	"slices"
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

// Dead reports whether the run would be recovered: no process of this machine
// stands behind it, and one of another machine has been silent for a while.
func (r RunHolder) Dead() bool { return !r.Alive && (r.Here || r.Silent) }

const runHolders = `
	SELECT r.uuid, r.pid, r.host, r.command, r.started_at, r.heartbeat_at,
		(SELECT count(*) FROM targets t WHERE t.status = 'IN_PROGRESS' AND t.run_id = r.id)
	FROM runs r WHERE r.outcome = 'running' ORDER BY r.started_at`

// RunHolders lists the runs that hold the database, or died while they did.
func (k *Reader) RunHolders(ctx context.Context) ([]RunHolder, error) {
	silent := k.db.Now().Add(-store.SilentElsewhere)
	all, err := list(ctx, k, "list runs", runHolders, nil, func(r *RunHolder) []any {
		return []any{&r.UUID, &r.PID, &r.Host, &r.Command, at(&r.Started), at(&r.Heartbeat), &r.Targets}
	})
	for i := range all {
		r := &all[i]
		r.Here, r.Silent, r.Alive = r.Host == k.host, r.Heartbeat.Before(silent), k.alive(r.UUID)
	}
	return all, err
}

// FutureRows counts the rows of a table that bear a time to come which nothing of
// today can have written: the mark of a clock that was set back.
type FutureRows struct {
	Table  string
	Column string // "" = one of those that say when something happened
	Rows   int64
	Latest time.Time
}

const (
	// clockTolerance is by how much the clocks of machines that share a file may differ.
	clockTolerance = time.Minute
	// longestHold is the longest that a host is held: what it may ask for itself.
	longestHold = time.Hour
)

// What waits for longer than it may. The columns after the tables' names are read
// from indexes.
const (
	futureRows = `
	SELECT 'runs', '', count(*), max(at) FROM (SELECT max(started_at, heartbeat_at) AS at FROM runs) WHERE at > ?1
	UNION ALL SELECT 'workers', '', count(*), max(heartbeat_at) FROM workers WHERE heartbeat_at > ?1
	UNION ALL SELECT 'targets', '', count(*), max(heartbeat_at) FROM targets WHERE status = 'IN_PROGRESS' AND heartbeat_at > ?1
	UNION ALL SELECT 'crawl_attempts', '', count(*), max(finished_at) FROM crawl_attempts WHERE finished_at > ?1
	UNION ALL SELECT 'requests', '', count(*), max(r.finished_at) FROM sources s CROSS JOIN requests r ON r.source_id = s.id WHERE r.finished_at > ?1 AND r.proxy_failed = 0`
	farWaits = `
	SELECT 'targets', 'not_before', count(*), max(at) FROM (
		SELECT not_before AS at FROM targets WHERE wait_reason = 'backoff' AND not_before > ?2
		UNION ALL SELECT not_before FROM targets WHERE wait_reason = 'gap' AND not_before > ?4
		UNION ALL SELECT not_before FROM targets WHERE wait_reason = 'recrawl' AND not_before > ?3
			AND not_before > strftime('%Y-%m-%dT%H:%M:%fZ', ?1, '+' || (crawl_frequency_minutes + 60) || ' minutes'))
	UNION ALL SELECT 'hosts', 'held_until', count(*), max(held_until) FROM hosts WHERE held_until > ?5`
)

// FutureRows lists the tables with rows from the future; none is as it should be.
func (k *Reader) FutureRows(ctx context.Context) (all []FutureRows, err error) {
	now := k.db.Now()
	ahead := func(d time.Duration) any { return yp.FormatTime(now.Add(d)) }
	for _, q := range []struct {
		query  string
		limits []any
	}{
		{futureRows, []any{ahead(clockTolerance)}},
		{farWaits, []any{
			ahead(0), ahead(yp.BeyondBackoff), ahead(yp.RecrawlAfter + time.Hour),
			ahead(yp.MinCrawlGap + clockTolerance), ahead(longestHold + clockTolerance),
		}},
	} {
		found, err := list(ctx, k, "look for rows with a future time", q.query, q.limits, fields[FutureRows])
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, func(f FutureRows) bool { return f.Rows == 0 })...)
	}
	return all, nil
}

const heldHost = `SELECT held_until, held_for FROM hosts WHERE host = ?1 AND held_until > ?2 ORDER BY held_until DESC LIMIT 1`

// HostAvailability reports whether a host, by the name it has in the hosts table, is held, for
// whichever source: it is open or held.
func (k *Reader) HostAvailability(ctx context.Context, host string) (store.Availability, error) {
	g := store.Availability{State: store.SourceHeld}
	found, err := k.one(ctx, fmt.Sprintf("look whether %s is held", host), heldHost, []any{host, yp.FormatTime(k.db.Now())}, at(&g.Until), &g.Reason)
	if !found {
		g.State = store.SourceOpen
	}
	return g, err
}

const lastSource = `SELECT s.name, s.base_url FROM runs r JOIN sources s ON s.id = ifnull(r.source_id, (SELECT t.source_id FROM targets t ORDER BY t.id LIMIT 1)) ORDER BY r.id DESC LIMIT 1`

// LastSource returns name and base URL of the source that was crawled last; both
// empty when none was.
func (k *Reader) LastSource(ctx context.Context) (name, baseURL string, err error) {
	_, err = k.one(ctx, "look for the source crawled last", lastSource, nil, &name, &baseURL)
	return name, baseURL, err
}

const sourceNotes = `SELECT score, notes FROM sources WHERE id = ?`

// SourceNotes returns the score that a source got when it was added, nil = nobody
// scored it, and why.
func (k *Reader) SourceNotes(ctx context.Context, id int64) (score *int, notes []string, err error) {
	_, err = k.one(ctx, fmt.Sprintf("read notes of source %d", id), sourceNotes, []any{id}, &score, fromJSON(&notes))
	return score, notes, err
}
