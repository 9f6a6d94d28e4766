package health

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	Floor       time.Duration // of the delay, as answers of 429 have taught; 0 = they have taught nothing
	FloorAt     time.Time     // the last of them; zero = there was none
}

// pace is how a host is asked where nothing is known of it.
type pace struct {
	delay  time.Duration
	reason string // "Crawl-delay", say; "" = the host was not asked
}

// sane drops a hold that is over and cuts one that is further ahead than it was when it
// was taken, the mark of a clock that was set back.
func (h Host) sane(now time.Time) Host {
	h.FloorAt = notAfter(h.FloorAt, now)
	if !h.HeldUntil.After(now) {
		h.HeldUntil, h.HeldFor, h.HeldLong = time.Time{}, "", 0
		return h
	}
	limit := MaxHold
	if h.HeldFor == heldForPenalty {
		limit = MaxPenalty
	}
	h.HeldUntil = notAfter(h.HeldUntil, now.Add(min(limit, cmp.Or(h.HeldLong, limit))))
	return h
}

// hold holds the host from now on, unless it is held for longer already. What is too
// short to outlast a restart is not written down.
func (h *Host) hold(d time.Duration, reason string, now time.Time) {
	if until := now.Add(d); d >= keepHold && until.After(h.HeldUntil) {
		h.HeldUntil, h.HeldFor, h.HeldLong = until, reason, d
	}
}

// floor is what is left of the floor.
func (h Host) floor(now time.Time) time.Duration { return Floor(h.Floor, now.Sub(h.FloorAt)) }

// refuse takes a lesson of a 429 over: what others have learned meanwhile stays where it is more.
func (h *Host) refuse(delay, floor time.Duration, reason string, now time.Time) {
	if delay > h.Delay {
		h.Delay, h.DelayReason = delay, reason
	}
	h.Floor, h.FloorAt = max(floor, h.floor(now)), now
}

// shown is why the host is held, for people.
func (h Host) shown() string {
	if h.HeldFor == heldForPenalty && h.Blocks > 1 {
		return fmt.Sprintf("penalty: %d blocks in a row", h.Blocks)
	}
	return h.HeldFor
}

const (
	selectHosts = `
	SELECT host, delay_ms, ifnull(delay_reason, ''), blocks, held_until, ifnull(held_for, ''), held_ms, floor_ms, floor_at
	FROM hosts WHERE source_id = ? ORDER BY host`
	selectHost = `
	SELECT host, delay_ms, ifnull(delay_reason, ''), blocks, held_until, ifnull(held_for, ''), held_ms, floor_ms, floor_at
	FROM hosts WHERE source_id = ? AND host = ?`
	upsertHost = `
	INSERT INTO hosts (source_id, host, delay_ms, delay_reason, blocks, held_until, held_for, held_ms, updated_at, floor_ms, floor_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
	ON CONFLICT (source_id, host) DO UPDATE SET delay_ms = ?3, delay_reason = ?4, blocks = ?5, held_until = ?6, held_for = ?7,
		held_ms = ?8, updated_at = ?9, floor_ms = ?10, floor_at = ?11`
	upsertPace = `
	INSERT INTO host_paces (source_id, host, delay_ms, reason) VALUES (?1, ?2, ?3, ?4)
	ON CONFLICT (source_id, host) DO UPDATE SET delay_ms = ?3, reason = ?4`
)

// columns are where those of selectHosts and selectHost go.
func (h *Host) columns() []any {
	return []any{
		&h.Host, millis(&h.Delay), &h.DelayReason, &h.Blocks,
		store.Instant(&h.HeldUntil), &h.HeldFor, millis(&h.HeldLong), millis(&h.Floor), store.Instant(&h.FloorAt),
	}
}

// changeHost makes changes to the row of a host, as it is by now: other processes may
// have changed it since it was read. It returns the row.
func (m *Monitor) changeHost(ctx context.Context, sourceID int64, host string, changes []hostChange) (row Host, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		row = Host{Host: host}
		if err := tx.Get(selectHost, []any{sourceID, host}, row.columns()...); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		row = row.sane(tx.At)
		for _, change := range changes {
			change(&row, tx.At)
		}
		return tx.Run(upsertHost, sourceID, host, row.Delay.Milliseconds(), store.Text(row.DelayReason),
			row.Blocks, stamp(row.HeldUntil), store.Text(row.HeldFor), store.Number(row.HeldLong.Milliseconds()), tx.Now,
			store.Number(row.Floor.Milliseconds()), stamp(row.FloorAt))
	})
	if err != nil {
		return Host{}, fmt.Errorf("save host %s: %w", host, err)
	}
	return row, nil
}

// hostChange is something that a request changes of its host's row, at a time.
type hostChange func(row *Host, at time.Time)

// keepHold is the shortest hold that is written down: a restart takes longer than
// what is shorter.
const keepHold = 5 * time.Second

// Pacer is what keeps the hosts' turns; the fetch client is one. Both must be quick
// and must not call back. The reasons are shown to people.
type Pacer interface {
	// SetDelay sets what a host is known to need between requests; 0 = nothing is known. What is more
	// than the configured delay replaces that, and whatever it is, all processes share the host's turns.
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

	RetryAfter time.Duration // what the host asked for, or yp.DefaultRetryAfter; 0 = nothing. With Way it is about that proxy alone
	HoldReason string        // what RetryAfter is of, where that is no Retry-After: yp.NoRetryAfter, "429 with RateLimit"

	Gap time.Duration // when it ended, the median of the last gaps between starts since the delay changed; 0 = not known
	Way string        // the proxy that it went by; "" = directly
}

// tellsWay reports whether it is a 429 that may be about the proxy alone by which it came.
func (s Seen) tellsWay() bool { return s.Class == yp.ClassHTTP429 && s.Way != "" }

// refused reports whether it is a 429 without Retry-After. When a limit is whole again tells nothing of the pace that keeps
// within it.
func (s Seen) refused() bool {
	return s.Class == yp.ClassHTTP429 && (s.RetryAfter == 0 || s.HoldReason != "")
}

// Hosts paces the hosts of one source for one process, and remembers what a restart
// must keep to. It is safe for concurrent use; what it does per request is a few
// additions under a lock, and a write only when the pace or a hold has changed.
type Hosts struct {
	m          *Monitor
	source     int64
	configured time.Duration
	pacer      Pacer

	// exchange is full while the file is read or written: one at a time, so that what is learned last is
	// the newest; taken before mu. No mutex: a wait for one that is held over a write stops the clock of a
	// synctest bubble, for which the write may wait.
	exchange chan struct{}

	mu    sync.Mutex
	hosts map[string]*hostState
}

// hostState is what is known of a host: its row as it was last read or written, with what is
// being written, and how its last requests ended. Of the row, Delay is 0 while it is as configured.
type hostState struct {
	Host
	told      time.Duration // to the pacer
	asked     pace          // by this process
	written   pace          // of that
	lastBlock time.Time
	raised    time.Time // when the delay was last raised
	ways      []string  // that have answered 429, one after the other
	recent    recent
}

// judges reports whether an answer says something of the pace that the host bears (counts), and
// whether it is a 429 that slows it down. Of those that were on their way already when the delay was
// raised the lesson is learned (of the same millisecond nobody knows which was first; after a 429 the
// host is held, so none starts so soon); one that came by a proxy may be about that proxy.
func (s *hostState) judges(seen Seen, now time.Time) (counts, slows bool) {
	if seen.Class != yp.ClassHTTP429 {
		s.ways = nil
		return true, false
	}
	if seen.refused() && !seen.Started.After(s.raised) && !s.raised.After(now) {
		return false, false
	}
	if !slices.Contains(s.ways, seen.Way) {
		s.ways = append(s.ways, seen.Way)
	}
	if seen.tellsWay() && len(s.ways) < refusedWays {
		return false, false
	}
	if seen.refused() {
		s.ways = nil
	}
	return true, seen.refused()
}

// Hosts returns the pacing of a source's hosts, with what is in force applied to
// the pacer. configured is the delay that the operator asked for.
func (m *Monitor) Hosts(ctx context.Context, sourceID int64, configured time.Duration, pacer Pacer) (*Hosts, error) {
	h := &Hosts{m: m, source: sourceID, configured: configured, pacer: pacer, exchange: make(chan struct{}, 1), hosts: map[string]*hostState{}}
	return h, h.Refresh(ctx)
}

// Asked takes down that a host was asked, and the delay that the operator or robots.txt asks for: the next
// Refresh writes it.
func (h *Hosts) Asked(host string, delay time.Duration, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state(host).asked = pace{delay, reason}
}

// Refresh takes over what other processes and operators have made of the hosts meanwhile, and writes down
// at what pace those are asked that this process has asked.
func (h *Hosts) Refresh(ctx context.Context) error {
	h.exchange <- struct{}{}
	defer func() { <-h.exchange }()
	rows, err := store.All(h.m.db.Reader(ctx), selectHosts, []any{h.source}, (*Host).columns)
	if err != nil {
		return fmt.Errorf("read hosts of source %d: %w", h.source, err)
	}
	for _, row := range rows {
		h.learn(row)
	}
	return h.writePaces(ctx)
}

// writePaces writes down those that have changed since they were written.
func (h *Hosts) writePaces(ctx context.Context) error {
	changed := map[string]pace{}
	h.mu.Lock()
	for host, s := range h.hosts {
		if s.asked != s.written {
			changed[host] = s.asked
		}
	}
	h.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	err := h.m.db.Write(ctx, func(tx *store.Tx) error {
		for host, p := range changed {
			if err := tx.Run(upsertPace, h.source, host, p.delay.Milliseconds(), p.reason); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("save the pace of hosts: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for host, p := range changed {
		h.state(host).written = p
	}
	return nil
}

// learn takes over a row of the file.
//
// A hold in the file is only ever prolonged by us: one that ends sooner than it did was taken
// back by an operator, unless it is the same one: that was cut, because the clock was set
// back, and the pacer knows how long it has lasted.
func (h *Hosts) learn(row Host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.m.db.Now()
	row = row.sane(now)
	s := h.state(row.Host)
	another := row.HeldFor != s.HeldFor || row.HeldLong != s.HeldLong
	if another && s.HeldUntil.After(now) && row.HeldUntil.Before(s.HeldUntil) {
		h.pacer.Release(row.Host)
	}
	if row.HeldUntil.After(s.HeldUntil) || another && row.HeldUntil.After(now) {
		h.pacer.Hold(row.Host, row.HeldUntil.Sub(now), row.shown())
	}
	before := s.Delay
	s.Host = row
	if h.apply(s, now); s.Delay > before {
		s.raised = now
	}
}

func (h *Hosts) state(host string) *hostState {
	s := h.hosts[host]
	if s == nil {
		s = &hostState{Host: Host{Host: host}}
		h.hosts[host] = s
	}
	return s
}

// Observed takes a request into account: it holds the host as it asked, imposes the
// penalty of a block, adapts the pace, and stores what a restart must know: a delay, a hold
// that outlasts a restart, and every block, for a process that is started again and again,
// and blocked at its first request each time, would else never come to a penalty.
func (h *Hosts) Observed(ctx context.Context, seen Seen) error {
	if seen.Class == yp.ClassRateLimited {
		return nil
	}
	return h.change(ctx, seen.Host, func(s *hostState, now time.Time) (changes []hostChange) {
		if seen.Started.IsZero() {
			seen.Started = now
		}
		if seen.RetryAfter > 0 && seen.Way == "" {
			changes = h.hold(s, seen.RetryAfter, cmp.Or(seen.HoldReason, "Retry-After"), now)
		}
		switch {
		case seen.Started.Before(s.lastBlock) && !s.lastBlock.After(now):
			// It was on its way already when the last block came, and says nothing of how the host
			// takes the penalty. (A block in the future was before the clock was set back.)
		case seen.Block:
			s.Blocks, s.lastBlock = s.Blocks+1, now
			blocks := s.Blocks
			h.hold(s, Penalty(blocks), heldForPenalty, now)
			changes = append(changes, func(row *Host, at time.Time) {
				row.Blocks = max(row.Blocks, blocks)
				row.hold(Penalty(row.Blocks), heldForPenalty, at)
			})
		case seen.Class == "" && !seen.HostFault && s.Blocks > 0:
			s.Blocks = 0
			changes = append(changes, func(row *Host, _ time.Time) { row.Blocks = 0 })
		}
		return append(changes, h.adapt(s, seen, now)...)
	})
}

// Held takes down a hold that only the pacer knows of, one that came with
// robots.txt, say: nothing was asked for, so it says nothing else.
func (h *Hosts) Held(ctx context.Context, host string, d time.Duration, reason string) error {
	return h.change(ctx, host, func(s *hostState, now time.Time) []hostChange { return h.hold(s, d, reason, now) })
}

// change changes what is known of a host, and its row when that is to be known to others.
func (h *Hosts) change(ctx context.Context, host string, by func(s *hostState, now time.Time) []hostChange) error {
	h.mu.Lock()
	changes := by(h.state(host), h.m.db.Now())
	h.mu.Unlock()
	if len(changes) == 0 {
		return nil
	}
	h.exchange <- struct{}{}
	defer func() { <-h.exchange }()
	row, err := h.m.changeHost(context.WithoutCancel(ctx), h.source, host, changes) // a run that stops must leave it behind too
	if err != nil {
		return err
	}
	h.learn(row)
	return nil
}

// hold keeps a host back at once, and returns what is to be written of that. The pacer knows
// by itself whether it is held for longer already, and by a clock that nobody sets back.
func (h *Hosts) hold(s *hostState, d time.Duration, reason string, now time.Time) []hostChange {
	if d <= 0 {
		return nil
	}
	d = (min(d, MaxHold) + time.Millisecond - 1).Truncate(time.Millisecond) // as it is stored
	h.pacer.Hold(s.Host.Host, d, Host{HeldFor: reason, Blocks: s.Blocks}.shown())
	if d < keepHold || !now.Add(d).After(s.sane(now).HeldUntil) {
		return nil
	}
	return []hostChange{func(row *Host, at time.Time) { row.hold(d, reason, at) }}
}

// adapt adapts the delay of a host to an answer, and returns what is to be written of that.
func (h *Hosts) adapt(s *hostState, seen Seen, now time.Time) (changes []hostChange) {
	counts, slows := s.judges(seen, now)
	if slows {
		before := s.Delay
		changes = h.slow(s, max(seen.Gap, s.Delay, h.configured), now)
		counts = s.Delay == before // else the count begins anew
	}
	if counts && s.recent.add(seen) {
		changes = append(changes, h.pace(s, now)...)
	}
	return changes
}

// slow learns from a 429 at one request in gap.
func (h *Hosts) slow(s *hostState, gap time.Duration, now time.Time) []hostChange {
	delay, floor := Refused(max(s.Delay, h.configured), s.floor(now), gap)
	delay, floor = delay.Round(time.Millisecond), floor.Round(time.Millisecond)
	reason := refusedAt(gap)
	if delay > max(s.Delay, h.configured) {
		s.recent = recent{}
	}
	s.raised = now
	learn := func(row *Host, at time.Time) { row.refuse(delay, floor, reason, at) }
	learn(&s.Host, now)
	h.apply(s, now)
	return []hostChange{learn}
}

// pace adapts the delay of a host to how its last requests ended.
func (h *Hosts) pace(s *hostState, now time.Time) []hostChange {
	current := max(s.Delay, h.configured)
	next, reason := NextDelay(current, max(h.configured, s.floor(now)), s.recent.window())
	if next == current {
		return nil
	}
	s.recent = recent{}
	if next < current && next > h.configured && (reason == "" || strings.HasPrefix(s.DelayReason, refusedReason)) {
		reason = cmp.Or(s.DelayReason, flooredReason) // it is still slow because of that
	}
	if next > current {
		s.raised = now
	} else if next == h.configured {
		next = 0
	}
	delay, known := next.Round(time.Millisecond), s.FloorAt
	s.Delay, s.DelayReason = delay, reason
	h.apply(s, now)
	return []hostChange{func(row *Host, _ time.Time) {
		if delay > row.Delay || row.FloorAt.Equal(known) { // else another process has met a 429 meanwhile
			row.Delay, row.DelayReason = delay, reason
		}
	}}
}

// apply makes of the row of a host what this process keeps to, and tells the pacer: the floor holds where the
// learned delay is shorter, and a floor below the configured delay only has its turns shared.
func (h *Hosts) apply(s *hostState, now time.Time) {
	floor := s.floor(now)
	if floor > s.Delay {
		s.Delay, s.DelayReason = floor, flooredReason
	}
	if s.Delay <= h.configured {
		s.Delay, s.DelayReason = 0, ""
	}
	if need := cmp.Or(s.Delay, floor); need != s.told {
		s.told = need
		h.pacer.SetDelay(s.Host.Host, need, s.DelayReason)
	}
}
