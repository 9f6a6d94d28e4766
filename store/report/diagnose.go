package report

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// RunHolder is a run that says it is under way: it holds the database, or died while it did.
type RunHolder struct {
	UUID      string
	PID       int
	Host      string
	Started   time.Time
	Heartbeat time.Time
	Held      int64     // targets
	HeldSince time.Time // when the first of those was claimed whose source is open now; zero = it holds none

	Alive bool // its process is seen to live: it holds its lock, or that can't be looked at and its heartbeat is young
	Dead  bool // the next run takes back what it holds: no process of this machine is behind it, or one of another has been silent for a while

	Unseen error // why nobody knows whether it lives: it is silent, and its lock can't be looked at; nil = it is known
}

const runHolders = `
	SELECT r.uuid, r.pid, r.host, r.started_at, r.heartbeat_at, count(t.id), min(iif(o.open, t.claimed_at, NULL))
	FROM runs r INDEXED BY runs_alive
		LEFT JOIN targets t ON t.run_id = r.id AND t.status = 'IN_PROGRESS'
		LEFT JOIN v_source_availability o ON o.source_id = t.source_id
	WHERE r.outcome = 'running' GROUP BY r.id ORDER BY r.id DESC LIMIT 1000`

// RunHolders lists them. That they can be asked for shows that the database is where it was, and can be read.
func (k *Reader) RunHolders(ctx context.Context) ([]RunHolder, error) {
	if err := k.db.InPlace(); err != nil {
		return nil, err
	}
	silent := k.db.Now().Add(-store.SilentElsewhere)
	all, err := list(ctx, k, "list runs", runHolders, nil, func(r *RunHolder) []any {
		return []any{&r.UUID, &r.PID, &r.Host, at(&r.Started), at(&r.Heartbeat), &r.Held, at(&r.HeldSince)}
	})
	for i := range all {
		r := &all[i]
		r.Alive, r.Unseen = k.alive(r.UUID, r.Heartbeat)
		r.Dead = !r.Alive && r.Unseen == nil && (r.Host == k.host || r.Heartbeat.Before(silent))
	}
	return all, err
}

const heldHost = `SELECT held_until, held_for FROM hosts WHERE host = ?1 AND held_until > ?2 ORDER BY held_until DESC LIMIT 1`

// HostAvailability reports whether a host, by the name it has in the hosts table, is held, for
// whichever source: it is open or held.
func (k *Reader) HostAvailability(ctx context.Context, host string) (store.Availability, error) {
	g := store.Availability{State: store.SourceHeld}
	found, err := k.one(ctx, fmt.Sprintf("look whether %s is held", host), heldHost,
		[]any{host, yp.FormatTime(k.db.Now())}, at(&g.Until), &g.Reason)
	if !found {
		g.State = store.SourceOpen
	}
	return g, err
}
