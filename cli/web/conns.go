package web

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// How many connections there may be. Beyond maxIdle those give way on which no request is under way; up to maxConns one has
// freshTime for its first request. A browser holds six at most, and one for each page that follows.
const (
	maxIdle    = 256
	maxConns   = 1024
	freshTime  = time.Second
	crowded    = 64              // from so many on each answer is the last one on its connection
	maxAnswers = 256             // views under way: beyond them what has no question is answered, and Config.Plain
	roomTime   = 2 * time.Second // default of conns.room
	perConn    = 8               // requests: a browser opens the next one, who sends requests without end and reads no answer doesn't get all of the time
)

// conns are the open connections of a server. When they are many, one gives way on which no request is under way: nobody who only
// holds connections shuts others out, and no answer is cut off.
type conns struct {
	mu    sync.Mutex
	open  map[net.Conn]standing
	views chan struct{} // under way
	room  time.Duration // so long a view waits for one of them to end
}

// standing is what a connection does.
type standing struct {
	state http.ConnState // new, active or idle
	since time.Time
}

// changed is the http.Server's ConnState. A connection is new, or idle, until the head of a request was read, and active until the
// answer was written.
func (c *conns) changed(conn net.Conn, state http.ConnState) {
	if gone := c.change(conn, state, time.Now()); gone != nil {
		_ = gone.Close() // it has nothing to lose
	}
}

// change takes note of a state, and returns a connection that has to go.
func (c *conns) change(conn net.Conn, state http.ConnState, now time.Time) (gone net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(c.open, conn)
		return nil
	}
	if _, known := c.open[conn]; !known && state != http.StateNew {
		return nil // it was told to go
	}
	c.open[conn] = standing{state, now}
	if len(c.open) <= maxIdle {
		return nil
	}
	gone = c.longestIdle(now)
	delete(c.open, gone)
	return gone
}

// longestIdle is the connection that has the least to lose, nil where none may go: of those that are silent since they were opened the
// oldest, then the one that was idle for longest since an answer, and last, when there are too many of any kind, one whose first
// request may be on its way.
func (c *conns) longestIdle(now time.Time) (least net.Conn) {
	rank, since := 0, time.Time{}
	for conn, s := range c.open {
		r := s.rank(now)
		if r == underWay || r == fresh && len(c.open) <= maxConns {
			continue
		}
		if least == nil || r < rank || r == rank && s.since.Before(since) {
			least, rank, since = conn, r, s.since
		}
	}
	return least
}

// In which order connections give way.
const (
	silent = iota
	idle
	fresh
	underWay
)

func (s standing) rank(now time.Time) int {
	switch {
	case s.state == http.StateActive:
		return underWay
	case s.state == http.StateIdle:
		return idle
	case now.Sub(s.since) < freshTime:
		return fresh
	}
	return silent
}

// crowded reports whether so many are open that each should end with its answer.
func (c *conns) crowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > crowded
}

// begin counts a view that is asked for, when there is room for it; ok = false where there is none for c.room, or nobody
// waits any more.
func (c *conns) begin(ctx context.Context) (ok bool) {
	select {
	case c.views <- struct{}{}:
		return true
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, c.room)
	defer cancel()
	select {
	case c.views <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *conns) end() { <-c.views }

// requestsKey is that of the number of requests of a connection in its context.
type requestsKey struct{}

// connKey is that of the connection itself.
type connKey struct{}

// counted is the http.Server's ConnContext.
func counted(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(context.WithValue(ctx, connKey{}, conn), requestsKey{}, new(int))
}

// bound answers requests by h, on one connection as many as it may have: they come one after the other.
func (s *Server) bound(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := r.Context().Value(requestsKey{}).(*int)
		if *n++; *n >= perConn || s.conns.crowded() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}
