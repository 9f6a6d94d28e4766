package report

import (
	"context"
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
