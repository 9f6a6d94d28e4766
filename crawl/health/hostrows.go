package health

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
)

// MaxHold is the longest that a host may ask us to wait (Retry-After).
const MaxHold = time.Hour

// heldForPenalty is the word by which the schema's trigger knows what is ours to
// take back.
const heldForPenalty = "penalty"

// Host is what a host has told us to keep to: a row of hosts.
type Host struct {
	Host        string        // as fetch names it: with the port if it is not the scheme's own
	Delay       time.Duration // between request starts; 0 = as configured
	DelayReason string
	Blocks      int           // in a row
	HeldUntil   time.Time     // no request before; zero = not held
	HeldFor     string        // "penalty", "Retry-After", …
	HeldLong    time.Duration // what that was when the hold was taken; 0 = not known
	UpdatedAt   time.Time     // when it was stored
}

// limit is how far ahead the end of a hold can be.
func (h Host) limit() time.Duration {
	limit := MaxHold
	if h.HeldFor == heldForPenalty {
		limit = MaxPenalty
	}
	if h.HeldLong > 0 {
		limit = min(limit, h.HeldLong)
	}
	return limit
}

// withHold is the host with the hold of another row of it.
func (h Host) withHold(of Host) Host {
	h.HeldUntil, h.HeldFor, h.HeldLong = of.HeldUntil, of.HeldFor, of.HeldLong
	return h
}

// sane drops a hold that is over and cuts one that is further ahead than it was when it
// was taken, the mark of a clock that was set back.
func (h Host) sane(now time.Time) Host {
	if !h.HeldUntil.After(now) {
		return h.withHold(Host{})
	}
	h.HeldUntil = notAfter(h.HeldUntil, now.Add(h.limit()))
	return h
}

// merged is the stored row after a change of one process from was to is: what that
// process did not touch stays as another may have left it, and a hold is only ever
// prolonged.
func (h Host) merged(was, is Host, now time.Time) Host {
	h = h.sane(now)
	if is.Delay != was.Delay || is.DelayReason != was.DelayReason {
		h.Delay, h.DelayReason = is.Delay, is.DelayReason
	}
	switch is.Blocks {
	case was.Blocks:
	case 0:
		h.Blocks = 0
	default:
		h.Blocks = max(h.Blocks, is.Blocks)
	}
	if is = is.sane(now); is.HeldUntil.After(h.HeldUntil) {
		h = h.withHold(is)
	}
	h.Host, h.UpdatedAt = is.Host, now
	return h
}

const (
	hostColumns = `
	SELECT host, delay_ms, ifnull(delay_reason, ''), blocks, held_until, ifnull(held_for, ''), held_ms, updated_at FROM hosts `
	selectHosts = hostColumns + `WHERE source_id = ? ORDER BY host`
	selectHost  = hostColumns + `WHERE source_id = ? AND host = ?`
	upsertHost  = `
	INSERT INTO hosts (source_id, host, delay_ms, delay_reason, blocks, held_until, held_for, held_ms, updated_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
	ON CONFLICT (source_id, host) DO UPDATE SET delay_ms = ?3, delay_reason = ?4, blocks = ?5, held_until = ?6, held_for = ?7, held_ms = ?8, updated_at = ?9`
)

func scanHost(r row) (h Host, err error) {
	err = r.Scan(&h.Host, millis{&h.Delay}, &h.DelayReason, &h.Blocks, clock{&h.HeldUntil}, &h.HeldFor, millis{&h.HeldLong}, clock{&h.UpdatedAt})
	return h, err
}

// LoadHosts returns what is known of a source's hosts, by name: holds that are over
// are left out of it, and no hold is longer than its kind may be.
func (m *Monitor) LoadHosts(ctx context.Context, sourceID int64) ([]Host, error) {
	all, err := collect(ctx, m.db.Read(), scanHost, selectHosts, sourceID)
	if err != nil {
		return nil, fmt.Errorf("read hosts of source %d: %w", sourceID, err)
	}
	for i := range all {
		all[i] = all[i].sane(m.db.Now())
	}
	return all, nil
}

// SaveHost stores the change of a host from was to is and returns the row as it is
// afterwards: other processes may have changed what this one did not. A hold is
// only ever prolonged.
func (m *Monitor) SaveHost(ctx context.Context, sourceID int64, was, is Host) (stored Host, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) (err error) {
		if stored, err = loadHost(tx, sourceID, is.Host); err != nil {
			return err
		}
		stored = stored.merged(was, is, now(tx))
		_, err = tx.Exec(upsertHost, sourceID, stored.Host, stored.Delay.Milliseconds(), text(stored.DelayReason), stored.Blocks,
			stamp(stored.HeldUntil), text(stored.HeldFor), lasting(stored.HeldLong), stamp(stored.UpdatedAt))
		return err
	})
	if err != nil {
		return Host{}, fmt.Errorf("save host %s: %w", is.Host, err)
	}
	return stored, nil
}

// lasting writes how long something is to be; 0 is NULL.
func lasting(d time.Duration) any {
	if d < time.Millisecond {
		return nil
	}
	return d.Milliseconds()
}

// loadHost reads one host; one that is not known is the zero row.
func loadHost(tx *store.Tx, sourceID int64, host string) (h Host, err error) {
	err = tx.Get(selectHost, []any{sourceID, host},
		&h.Host, millis{&h.Delay}, &h.DelayReason, &h.Blocks, clock{&h.HeldUntil}, &h.HeldFor, millis{&h.HeldLong}, clock{&h.UpdatedAt})
	if errors.Is(err, sql.ErrNoRows) {
		return Host{}, nil
	}
	return h, err
}
