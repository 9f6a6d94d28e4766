package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"
)

const (
	readAtOnce = 2   // questions under way: the readers of a database are few
	maxSlots   = 256 // different answers that are kept
	keepSlot   = 10 * time.Second

	// A question that takes long is asked less often: it may take one part in so many of the time.
	restOf = 20
	// slow is how long an answer stands before the page says how old it is.
	slow = 2 * time.Second
)

var errCrowded = errors.New("too many different pages are requested at once")

// cache keeps the parts of all views as they were rendered last, so that what twenty look at is
// read and rendered once.
type cache struct {
	every, timeout time.Duration
	stopped        context.Context //nolint:containedctx // reads end with the server, not with whoever asked first
	busy           chan struct{}
	render         func(Part, Shown, error) fragment

	mu    sync.Mutex
	slots map[string]*slot
}

// slot is one part with one set of parameters. Its mutex is held while it is read: who comes
// then waits, and takes what was read.
type slot struct {
	used time.Time // guarded by the cache's mutex

	sync.Mutex
	fragment fragment
	err      error     // of the last read
	due      time.Time // when it may be read again
	read     time.Time // when it was read well
}

// fragment is a part as HTML.
type fragment struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
	HTML string `json:"html"`
}

// get returns a part as it stands. Where it can't be read, the one that was read last stays,
// and says so; there is an error only where there is none.
func (c *cache) get(p Part, q url.Values) (fragment, error) {
	s, err := c.slot(p.Of + " " + p.Name + "?" + q.Encode())
	if err != nil {
		return fragment{}, err
	}
	s.Lock()
	defer s.Unlock()
	began := time.Now()
	if began.Before(s.due) {
		return s.fragment, s.err
	}
	shown := Shown{Query: q, Now: began}
	if p.Read != nil {
		shown.Model, err = c.ask(p, q)
	}
	took := time.Since(began)
	rest := max(p.Every, c.every, restOf*took)
	s.due = began.Add(rest)
	shown.Slow = rest > slow
	if err == nil {
		s.read = began
		s.fragment, s.err = c.render(p, shown, nil), nil
	} else if s.err = err; refusal(err) == nil {
		shown.Now, s.err = s.read, nil
		s.fragment = c.render(p, shown, err)
	}
	return s.fragment, s.err
}

// ask reads in the server's time, not in that of whoever came first: others wait for it.
func (c *cache) ask(p Part, q url.Values) (model any, err error) {
	ctx, cancel := context.WithTimeout(c.stopped, c.timeout)
	defer cancel()
	select {
	case c.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a reader of the database: %w", ctx.Err())
	}
	defer func() { <-c.busy }()
	return p.Read(ctx, q)
}

// memo is an answer that several parts show: it is read at most once in a while for all of them.
type memo[T any] struct {
	sync.Mutex
	value T
	due   time.Time
}

func (m *memo[T]) get(every time.Duration, read func() (T, error)) (T, error) {
	m.Lock()
	defer m.Unlock()
	began := time.Now()
	if began.Before(m.due) {
		return m.value, nil
	}
	value, err := read()
	if err != nil { // the next one tries again
		return value, err
	}
	m.value, m.due = value, began.Add(max(every, restOf*time.Since(began)))
	return value, nil
}

// slot finds the place of an answer, or makes one: where there is no more, what nobody has
// looked at for a while goes.
func (c *cache) slot(key string) (*slot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if s := c.slots[key]; s != nil {
		s.used = now
		return s, nil
	}
	if len(c.slots) >= maxSlots {
		for k, s := range c.slots {
			if now.Sub(s.used) > keepSlot {
				delete(c.slots, k)
			}
		}
	}
	if len(c.slots) >= maxSlots {
		return nil, errCrowded
	}
	s := &slot{used: now}
	c.slots[key] = s
	return s, nil
}
