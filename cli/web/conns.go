package web

import (
	"net"
	"net/http"
	"sync"
)

// conns gives way on a busy page: with more than maxConns connections open, the one that has been
// idle for longest since its last answer is closed, else the oldest of those that have not asked for
// anything yet: their first request may be on its way. When all are busy, only
// Config.Plain is answered: keptConns more are accepted for it, so that monitoring hears of a
// program whose page is crowded.
type conns struct {
	mu    sync.Mutex
	turns int64
	idle  map[net.Conn]int64 // since which turn; 0 = busy
}

// notAsked is added to the turn of a connection that has not asked for anything yet.
const notAsked = 1 << 40

// changed is the http.Server's ConnState.
func (c *conns) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.turns++
		c.idle[conn] = notAsked + c.turns
	case http.StateIdle:
		c.turns++
		c.idle[conn] = c.turns
	case http.StateActive:
		c.idle[conn] = 0
	default:
		delete(c.idle, conn)
	}
	if len(c.idle) <= maxConns {
		return
	}
	var oldest net.Conn
	for x, since := range c.idle {
		if since > 0 && (x != conn || state == http.StateIdle) && (oldest == nil || since < c.idle[oldest]) {
			oldest = x
		}
	}
	if oldest != nil {
		delete(c.idle, oldest)
		_ = oldest.Close() // nobody waits for an answer on it
	}
}

// crowded reports whether more are open than the page may have.
func (c *conns) crowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.idle) > maxConns
}
