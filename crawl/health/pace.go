package health

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Numbers of the pace (docs/health.md, section 5).
const (
	// MaxDelay is the longest delay that a host is slowed down to.
	MaxDelay = 60 * time.Second

	windowRequests = 20 // the recent requests to a host that count; so many make it faster
	windowStep     = 10 // the pace is thought over after so many

	slowFailures   = 20 // percent, above it: slower
	slowChallenges = 5  // percent, above it: slower
	fastSuccesses  = 95 // percent, above it: faster

	// slowStart is the smallest delay of a host that is slowed down. Half of
	// nothing is nothing: a host that the operator (or the demo) asks without any
	// delay needs a first step, and one of a few milliseconds would take a dozen
	// more rounds of failures to be felt.
	slowStart = 500 * time.Millisecond

	// leastDelay is the shortest delay that is kept beside the configured one: below it
	// the answers take longer than the waits.
	leastDelay = 10 * time.Millisecond

	// MaxRefused is the longest delay, and the highest floor, that answers of 429 alone lead to.
	MaxRefused = 20 * time.Second

	floorLife   = time.Hour // without a 429, and the floor is lowered to two thirds
	refusedWays = 3         // in a row that answer 429, and it is the host, not a proxy
)

// Window is how the recent requests to a host ended. Challenges count as failures
// too. What the host answers soundly is no failure of its own: a 404, an empty
// result, a page whose layout we do not know.
type Window struct{ Requests, Failures, Challenges int }

// NextDelay returns the delay between requests to a host after w, and why: failures above 20 %
// or challenges above 5 % double it, at most to MaxDelay; 20 requests with successes above 95 %
// halve it, down to least, the configured delay or the floor that answers of 429 have taught; below
// 10 ms it is that, too. The reason is "" when next is current, or is least.
func NextDelay(current, least time.Duration, w Window) (next time.Duration, reason string) {
	current = max(current, least)
	well := w.Requests - w.Failures
	switch {
	case w.Requests < windowStep:
	case w.Failures*100 > w.Requests*slowFailures:
		return slower(current, fmt.Sprintf("slowed down: %d of the last %d requests failed", w.Failures, w.Requests))
	case w.Challenges*100 > w.Requests*slowChallenges:
		return slower(current, fmt.Sprintf("slowed down: %d of the last %d requests were challenged", w.Challenges, w.Requests))
	case w.Requests >= windowRequests && well*100 > w.Requests*fastSuccesses:
		if current/2 <= least || current/2 < leastDelay {
			return least, ""
		}
		return current / 2, fmt.Sprintf("speeding up: %d of the last %d requests succeeded", well, w.Requests)
	}
	return current, ""
}

func slower(current time.Duration, reason string) (time.Duration, string) {
	next := min(max(2*current, slowStart), MaxDelay)
	if next <= current { // at the limit, or configured beyond it
		return current, ""
	}
	return next, reason
}

// Refused returns the delay and the floor of a host after a 429 without Retry-After at one request
// in gap: twice the gap, 0.5 s at least, and one and a half times the gap, both 20 s at most. A delay
// or a floor that is higher stays. What the site allows lies between the gap and whatever it has
// borne before, so the delay goes past it, and what comes back to the floor is below it. A gap of less than
// 10 ms, which no delay makes, counts as one of 10 ms: else the next 20 good requests would lead back to it.
func Refused(delay, floor, gap time.Duration) (slower, least time.Duration) {
	gap = max(gap, leastDelay)
	return max(delay, min(max(2*gap, slowStart), MaxRefused)), max(floor, min(gap+gap/2, MaxRefused))
}

// Floor is what is left of a floor so long after the last 429: each hour without one lowers it to
// two thirds, and below 10 ms there is none.
func Floor(floor, since time.Duration) time.Duration {
	for ; since >= floorLife && floor >= leastDelay; since -= floorLife {
		floor = floor * 2 / 3
	}
	if floor < leastDelay {
		return 0
	}
	return floor
}

const (
	refusedReason = "slowed down: HTTP 429 "
	flooredReason = "slow because of an earlier HTTP 429"
)

// refusedAt tells at which pace a 429 came: "slowed down: HTTP 429 at one request in 0.5 s".
func refusedAt(gap time.Duration) string {
	exact := 10 * time.Millisecond
	if gap < 10*exact {
		exact = time.Millisecond
	}
	if gap = gap.Round(exact); gap == 0 {
		return refusedReason + "at requests without a delay"
	}
	return refusedReason + "at one request in " + strconv.FormatFloat(gap.Seconds(), 'f', -1, 64) + " s"
}

// Numbers of the penalties.
const (
	firstPenalty = 30 * time.Second
	// MaxPenalty is the longest rest of a host after a block.
	MaxPenalty = 30 * time.Minute
)

// Penalty is how long a host rests after the n-th block in a row: not at all after
// the first, then 30 s, doubled each time, at most 30 minutes. One stray challenge
// must cost nothing; a host that has turned to 403 must be asked a handful of
// times an hour.
func Penalty(blocks int) time.Duration {
	if blocks < 2 {
		return 0
	}
	return min(firstPenalty<<min(blocks-2, 10), MaxPenalty)
}

// recent is a ring of a host's last requests, since its delay was changed last.
type recent struct {
	ring [windowRequests]Window
	n    int // ever added
}

// add reports whether it is time to think the pace over.
func (r *recent) add(s Seen) bool {
	challenges := flag(s.Class == yp.ClassChallenge)
	r.ring[r.n%windowRequests] = Window{1, flag(s.Block || s.HostFault || challenges > 0), challenges}
	r.n++
	return r.n%windowStep == 0
}

func (r *recent) window() (sum Window) {
	for _, w := range r.ring {
		sum.Requests += w.Requests
		sum.Failures += w.Failures
		sum.Challenges += w.Challenges
	}
	return sum
}

const (
	// turnSlack is added to every gap between turns: so late after its turn was written
	// down may a request start without coming too near to the next one.
	turnSlack = 20 * time.Millisecond
	// turnTries bounds how often a turn is moved because it took longer than that to write.
	turnTries = 3
	// turnBusy is the wait before the next try when other processes keep the file busy.
	turnBusy = time.Second
)

const (
	selectTurn = `SELECT next_at, gap_ms FROM host_turns WHERE host = ?`
	upsertTurn = `
	INSERT INTO host_turns (host, next_at, gap_ms) VALUES (?1, ?2, ?3)
	ON CONFLICT (host) DO UPDATE SET next_at = ?2, gap_ms = ?3`
)

// Take asks for the next turn at a host, among all processes on the file: with 0 it is
// the caller's, whose request may start now, and nobody gets another one for gap; else
// it is somebody's, and so long is to be waited before the next try.
//
// Nothing is taken ahead of its time, so nothing is left behind by a process that dies
// while it waits. A turn is never further off than the gap that it was taken with,
// whatever the clock does.
func (m *Monitor) Take(ctx context.Context, host string, gap time.Duration) (wait time.Duration, err error) {
	var mine time.Time
	gap = (gap + time.Millisecond - 1).Truncate(time.Millisecond) // as it is stored
	slack := turnSlack
	for range turnTries {
		var at time.Time
		at, mine, wait, err = m.take(ctx, host, gap+slack, mine)
		switch {
		case errors.Is(err, store.ErrBusy):
			return turnBusy, nil
		case err != nil:
			return 0, fmt.Errorf("reserve a request to %s: %w", host, err)
		case wait > 0:
			return wait, nil
		}
		late := m.db.Now().Sub(at) // a slow disk, or others' writes in the same transaction
		if late <= slack {
			break
		}
		slack = min(2*late, max(gap, turnSlack))
	}
	return 0, nil
}

// take takes a turn at the time at, until next, or says how long to wait. A turn that ends
// at mine is the caller's own, and moved.
func (m *Monitor) take(ctx context.Context, host string, gap time.Duration, mine time.Time) (at, next time.Time,
	wait time.Duration, err error,
) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		var kept time.Duration
		err := tx.Get(selectTurn, []any{host}, store.Instant(&next), millis(&kept))
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		at, wait = tx.At, 0
		if left := next.Sub(at); left > 0 && !next.Equal(mine) {
			if wait = min(left, kept); wait == left {
				return nil
			}
			next = at.Add(wait) // the clock was set back meanwhile
		} else {
			kept = gap
			next = at.Add(gap)
		}
		return tx.Run(upsertTurn, host, stamp(next), max(kept.Milliseconds(), 1))
	})
	return at, next, wait, err
}
