package health

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// MaxHold is the longest that a host may ask us to wait (Retry-After).
const MaxHold = time.Hour

// heldForPenalty is the word by which the schema's trigger knows what is ours to
// take back.
const heldForPenalty = "penalty"

// Host is what a host demands of us: a row of hosts.
type Host struct {
	Host        string        // as fetch names it: with the port if it is not the scheme's own
	Delay       time.Duration // between request starts; 0 = as configured
	DelayReason string
	Blocks      int           // in a row
	HeldUntil   time.Time     // no request before; zero = not held
	HeldFor     string        // "penalty", "Retry-After", …
	HeldLong    time.Duration // what that was when the hold was taken; 0 = not known
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
	limit := MaxHold
	if h.HeldFor == heldForPenalty {
		limit = MaxPenalty
	}
	h.HeldUntil = notAfter(h.HeldUntil, now.Add(min(limit, cmp.Or(h.HeldLong, limit))))
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
	h.Host = is.Host
	return h
}

const (
	hostColumns = `SELECT host, delay_ms, ifnull(delay_reason, ''), blocks, held_until, ifnull(held_for, ''), held_ms FROM hosts `
	selectHosts = hostColumns + `WHERE source_id = ? ORDER BY host`
	selectHost  = hostColumns + `WHERE source_id = ? AND host = ?`
	upsertHost  = `
	INSERT INTO hosts (source_id, host, delay_ms, delay_reason, blocks, held_until, held_for, held_ms, updated_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
	ON CONFLICT (source_id, host) DO UPDATE SET delay_ms = ?3, delay_reason = ?4, blocks = ?5, held_until = ?6, held_for = ?7, held_ms = ?8, updated_at = ?9`
)

func (h *Host) columns() []any {
	return []any{&h.Host, millis(&h.Delay), &h.DelayReason, &h.Blocks, store.Instant(&h.HeldUntil), &h.HeldFor, millis(&h.HeldLong)}
}

// saveHost stores the change of a host from was to is and returns the row as it is
// afterwards: other processes may have changed what this one did not.
func (m *Monitor) saveHost(ctx context.Context, sourceID int64, was, is Host) (stored Host, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) (err error) {
		stored = Host{}
		if err := tx.Get(selectHost, []any{sourceID, is.Host}, stored.columns()...); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		stored = stored.merged(was, is, tx.At)
		return tx.Run(upsertHost, sourceID, stored.Host, stored.Delay.Milliseconds(), store.Text(stored.DelayReason),
			stored.Blocks, stamp(stored.HeldUntil), store.Text(stored.HeldFor), store.Number(stored.HeldLong.Milliseconds()), tx.Now)
	})
	if err != nil {
		return Host{}, fmt.Errorf("save host %s: %w", is.Host, err)
	}
	return stored, nil
}

// keepHold is the shortest hold that is written down: a restart takes longer than
// what is shorter.
const keepHold = 5 * time.Second

// Pacer is what keeps the hosts' turns; the fetch client is one. Both must be quick
// and must not call back. The reasons are shown to people.
type Pacer interface {
	// SetDelay sets the delay between requests to a host; 0 = as configured.
	SetDelay(host string, d time.Duration, reason string)
	// Hold keeps requests to a host back for d; a longer hold in force stays.
	Hold(host string, d time.Duration, reason string)
	// Release ends a hold: an operator has taken it back.
	Release(host string)
}

// Seen is a request that has ended, as far as its host is concerned.
type Seen struct {
	Host      string        // as the Pacer knows it
	Class     yp.ErrorClass // "" = a page, a 404, an empty result; our own deferrals are passed over
	Block     bool          // the host said no: 403, a challenge, a soft block
	HostFault bool          // a failure of the host: time-out, network, 5xx, 429; not a layout that we do not know
	Started   time.Time     // by the database's clock

	RetryAfter time.Duration // what the host asked for, 0 = nothing
	HoldReason string        // of RetryAfter; default "Retry-After"
}

// Hosts paces the hosts of one source for one process, and remembers what a restart
// must keep to. It is safe for concurrent use; what it does per request is a few
// additions under a lock, and a write only when the pace or a hold has changed.
type Hosts struct {
	m          *Monitor
	source     int64
	configured time.Duration
	pacer      Pacer

	saving chan struct{} // full while a write is under way: one at a time, of what is newest then; taken before mu

	mu    sync.Mutex
	hosts map[string]*hostState
}

// hostState is what is known of a host. Of Host, Delay is 0 while it is as configured.
type hostState struct {
	Host
	stored    Host // as it was last written or read
	lastBlock time.Time
	recent    recent
}

// Hosts returns the pacing of a source's hosts, with what is in force applied to
// the pacer. configured is the delay that the operator asked for.
func (m *Monitor) Hosts(ctx context.Context, sourceID int64, configured time.Duration, pacer Pacer) (*Hosts, error) {
	h := &Hosts{m: m, source: sourceID, configured: configured, pacer: pacer, saving: make(chan struct{}, 1), hosts: map[string]*hostState{}}
	return h, h.Refresh(ctx)
}

// Refresh takes over what other processes have stored meanwhile: their holds, and
// the delays of hosts that this one does not know.
//
// A stored hold is only ever prolonged by us: one that has become shorter was taken
// back by an operator, and is here too.
func (h *Hosts) Refresh(ctx context.Context) error {
	h.saving <- struct{}{} // what is read here is no older than what we have stored
	defer func() { <-h.saving }()
	rows, err := store.All(h.m.db.Reader(ctx), selectHosts, []any{h.source}, (*Host).columns)
	if err != nil {
		return fmt.Errorf("read hosts of source %d: %w", h.source, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.m.db.Now()
	for _, r := range rows {
		h.learn(r.sane(now), now)
	}
	return nil
}

// learn takes over what others have made of a stored row, where this process has changed nothing
// that is not stored yet; mu is held.
func (h *Hosts) learn(r Host, now time.Time) {
	s := h.state(r.Host)
	if s.Delay == s.stored.Delay {
		s.stored.Delay, s.stored.DelayReason = r.Delay, r.DelayReason
		if r.Delay <= h.configured {
			r.Delay, r.DelayReason = 0, ""
		}
		if r.Delay != s.Delay {
			s.Delay, s.DelayReason = r.Delay, r.DelayReason
			h.pacer.SetDelay(r.Host, s.Delay, s.DelayReason)
		}
	}
	if s.Blocks == s.stored.Blocks { // another process may have seen more, or seen it well again
		s.Blocks, s.stored.Blocks = r.Blocks, r.Blocks
	}
	if s.stored.HeldUntil.After(now) && r.HeldUntil.Before(s.stored.HeldUntil) {
		hold := r // cut, because the clock was set back: the pacer knows how long it has lasted
		if r.HeldFor != s.stored.HeldFor || r.HeldLong != s.stored.HeldLong {
			hold = Host{} // taken back by an operator
			h.pacer.Release(r.Host)
		}
		s.Host, s.stored = s.withHold(hold), s.stored.withHold(hold)
	}
	if r.HeldUntil.After(s.HeldUntil) {
		s.Host, s.stored = s.withHold(r), s.stored.withHold(r)
		h.pacer.Hold(r.Host, r.HeldUntil.Sub(h.m.db.Now()), shown(r))
	}
}

func (h *Hosts) state(host string) *hostState {
	s := h.hosts[host]
	if s == nil {
		s = &hostState{Host: Host{Host: host}, stored: Host{Host: host}}
		h.hosts[host] = s
	}
	return s
}

// Observed takes a request into account: it holds the host as it asked, imposes the
// penalty of a block, adapts the pace, and stores what a restart must know.
func (h *Hosts) Observed(ctx context.Context, seen Seen) error {
	if seen.Class == yp.ClassRateLimited {
		return nil
	}
	return h.change(ctx, seen.Host, func(s *hostState, now time.Time) {
		if seen.Started.IsZero() {
			seen.Started = now
		}
		if seen.RetryAfter > 0 {
			h.hold(s, seen.RetryAfter, cmp.Or(seen.HoldReason, "Retry-After"), now)
		}
		switch {
		case seen.Started.Before(s.lastBlock) && !s.lastBlock.After(now):
			// It was on its way already when the last block came, and says nothing of how the host
			// takes the penalty. (A block in the future was before the clock was set back.)
		case seen.Block:
			s.Blocks, s.lastBlock = s.Blocks+1, now
			h.hold(s, Penalty(s.Blocks), heldForPenalty, now)
		case seen.Class == "" && !seen.HostFault:
			s.Blocks = 0
		}
		if s.recent.add(seen) {
			h.pace(s)
		}
	})
}

// Held takes down a hold that only the pacer knows of, one that came with
// robots.txt, say: nothing was asked for, so it says nothing else.
func (h *Hosts) Held(ctx context.Context, host string, d time.Duration, reason string) error {
	return h.change(ctx, host, func(s *hostState, now time.Time) { h.hold(s, d, reason, now) })
}

// change changes what is known of a host, and stores what a restart must know.
func (h *Hosts) change(ctx context.Context, host string, by func(s *hostState, now time.Time)) error {
	h.mu.Lock()
	now := h.m.db.Now()
	s := h.state(host)
	s.Host, s.stored = s.Host.sane(now), s.stored.sane(now)
	by(s, now)
	unsaved := s.unsaved(now)
	h.mu.Unlock()
	if !unsaved {
		return nil
	}
	return h.save(context.WithoutCancel(ctx), host) // a run that stops must leave it behind too
}

// hold keeps a host back. The pacer knows by itself whether it is held for longer
// already, and by a clock that nobody sets back.
func (h *Hosts) hold(s *hostState, d time.Duration, reason string, now time.Time) {
	if d <= 0 {
		return
	}
	d = (min(d, MaxHold) + time.Millisecond - 1).Truncate(time.Millisecond) // as it is stored
	held := Host{Host: s.Host.Host, Blocks: s.Blocks, HeldUntil: now.Add(d), HeldFor: reason, HeldLong: d}
	if held.HeldUntil.After(s.HeldUntil) {
		s.Host = s.withHold(held)
	}
	h.pacer.Hold(held.Host, d, shown(held))
}

// shown is why a host is held, for people.
func shown(h Host) string {
	if h.HeldFor == heldForPenalty && h.Blocks > 1 {
		return fmt.Sprintf("penalty: %d blocks in a row", h.Blocks)
	}
	return h.HeldFor
}

func (h *Hosts) pace(s *hostState) {
	current := max(s.Delay, h.configured)
	next, reason := NextDelay(current, h.configured, s.recent.window())
	if next == current {
		return
	}
	if next == h.configured {
		next = 0
	}
	s.recent = recent{}
	s.Delay, s.DelayReason = next.Round(time.Millisecond), reason
	h.pacer.SetDelay(s.Host.Host, s.Delay, reason)
}

// unsaved reports whether the file lacks what a restart must know: a delay, a hold that
// outlasts a restart, and every block, for a process that is started again and again, and
// blocked at its first request each time, would else never come to a penalty.
func (s *hostState) unsaved(now time.Time) bool {
	return s.Delay != s.stored.Delay ||
		s.HeldUntil.After(s.stored.HeldUntil) && s.HeldUntil.Sub(now) >= keepHold ||
		s.Blocks != s.stored.Blocks
}

// save stores the newest state of a host. Whoever waits here for another's write
// finds that there is nothing left to do, mostly.
func (h *Hosts) save(ctx context.Context, host string) error {
	h.saving <- struct{}{}
	defer func() { <-h.saving }()
	h.mu.Lock()
	s := h.state(host)
	was, is, unsaved := s.stored, s.Host, s.unsaved(h.m.db.Now())
	h.mu.Unlock()
	if !unsaved {
		return nil
	}
	stored, err := h.m.saveHost(ctx, h.source, was, is)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.stored = is
	h.learn(stored, h.m.db.Now())
	return nil
}
