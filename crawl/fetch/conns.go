package fetch

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// conns are the connections of one session. An http.Transport opens them, and each
// request goes out on one of them, once: the pool that an http.Transport has of its own
// sends a request again where the server refuses it (GOAWAY, REFUSED_STREAM) or has closed
// the connection, as often as that happens, and nobody above it hears of it.
//
// A connection stays here while it is in use: HTTP/2 carries several requests at once.
type conns struct {
	transport *http.Transport
	http1     func() *http.Transport // the same without HTTP/2
	most      int                    // open ones that nobody uses
	idle      time.Duration          // so long is one kept that nobody uses

	mu     sync.Mutex
	closed bool
	open   map[string][]*conn // by the key of where they lead
	lost   map[string]int     // how many in a row were found closed when they were used again
}

// mostLost is how many connections to one place may be found closed in a row when they
// are used again. Then none is kept any more: each would cost a request in vain.
const mostLost = 10

// conn is one connection, to a host or to a proxy.
type conn struct {
	*http.ClientConn
	key   string
	work  *work
	timer *time.Timer // closes it when nobody has used it for long
	users int
	since time.Time // when it was left last
	lost  bool      // it was found closed

	http2   atomic.Bool
	cleaned *cleanedConn // not nil = it is for one request
}

// connect takes a connection for a request for u, which is p's.
func (s *Session) connect(ctx context.Context, u *url.URL, fresh bool, p *connTrace) (err error) {
	addr := dialled(u)
	key := u.Scheme + "://" + addr
	if s.client.odd.has(key) {
		p.conn, err = s.connectCleaned(ctx, u, p)
		return err
	}
	if s.forwarded(u) {
		key = "the proxy"
	}
	t := s.conns.transport
	if s.client.http1.has(place(u)) {
		key, t = key+" by HTTP/1.1", s.conns.http1()
	}
	if p.conn, p.again, err = s.conns.get(ctx, key, t, u.Scheme, addr, fresh); err == nil {
		p.through.Store(true)
		if p.http2.Load() {
			p.conn.http2.Store(true)
		}
	}
	return err
}

// dialled is the host and port that a connection for u leads to.
func dialled(u *url.URL) string {
	host, port := u.Hostname(), u.Port()
	if ascii, err := idna.Lookup.ToASCII(host); err == nil && strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		host = ascii
	}
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(host, cmp.Or(port, "80"))
}

func newConns(t *http.Transport, most int, idle time.Duration) *conns {
	return &conns{
		transport: t, http1: sync.OnceValue(func() *http.Transport { return http1Transport(t) }), most: most,
		idle: idle, open: map[string][]*conn{}, lost: map[string]int{},
	}
}

// get returns a connection for one request, which must be made or given up (Release), and
// whether it was used before; leave must follow. With fresh it is a new one.
func (c *conns) get(ctx context.Context, key string, t *http.Transport, scheme, addr string, fresh bool) (*conn, bool, error) {
	if !fresh {
		if x := c.again(key); x != nil {
			return x, true, nil
		}
	}
	x := &conn{key: key, work: newWork()}
	if err := c.add(x.work.under(ctx), x, t, scheme, addr); err != nil {
		return nil, false, err
	}
	return x, false, nil
}

// add opens x for one request.
func (c *conns) add(ctx context.Context, x *conn, t *http.Transport, scheme, addr string) error {
	opened, err := t.NewClientConn(ctx, scheme, addr)
	if err == nil {
		if err = opened.Reserve(); err != nil {
			_ = opened.Close() // it is of no use
			err = fmt.Errorf("a new connection: %w", err)
		}
	}
	if err != nil {
		return err
	}
	x.ClientConn, x.users = opened, 1
	x.work.begin()
	c.mu.Lock()
	defer c.mu.Unlock()
	x.timer = time.AfterFunc(c.idle, func() { c.expire(x) })
	c.open[x.key] = append(c.open[x.key], x)
	return nil
}

// again returns an open connection that has room for a request; nil = there is none.
func (c *conns) again(key string) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.open[key] {
		if x.Err() == nil && x.Available() > 0 && x.Reserve() == nil {
			x.users++
			x.timer.Stop()
			x.work.begin()
			return x
		}
	}
	return nil
}

// leave is called when the answer has been read. A connection that was found closed takes
// those with it that nobody uses: they are likely to be as old.
func (c *conns) leave(p *connTrace) {
	x := p.conn
	if x == nil {
		return
	}
	x.work.end()
	c.mu.Lock()
	x.users--
	x.since = time.Now()
	x.timer.Reset(c.idle)
	switch {
	case p.again && !p.stale:
		delete(c.lost, x.key)
	case p.stale && !x.lost:
		x.lost = true
		c.lost[x.key]++
	}
	useless := func(o *conn) bool {
		return o.users == 0 && (c.closed || o.cleaned != nil || o.Err() != nil || o.key == x.key && (p.stale || c.lost[x.key] >= mostLost))
	}
	gone := c.drop(useless)
	c.mu.Unlock()
	shut(gone)
}

// drop takes the useless ones out, and the one that was left longest ago when there are
// too many. Nearly always there is nothing to do.
func (c *conns) drop(useless func(*conn) bool) (gone []*conn) {
	left, oldest := 0, (*conn)(nil)
	for _, list := range c.open {
		for _, x := range list {
			switch {
			case useless(x):
				gone = append(gone, x)
			case x.users == 0:
				if left++; oldest == nil || x.since.Before(oldest.since) {
					oldest = x
				}
			}
		}
	}
	if left > c.most {
		gone = append(gone, oldest)
	}
	for _, x := range gone {
		c.remove(x)
	}
	return gone
}

func (c *conns) remove(x *conn) {
	x.timer.Stop()
	list := slices.DeleteFunc(c.open[x.key], func(o *conn) bool { return o == x })
	if c.open[x.key] = list; len(list) == 0 {
		delete(c.open, x.key)
	}
}

// expire closes a connection that nobody has used for long.
func (c *conns) expire(x *conn) {
	c.mu.Lock()
	unused := x.users == 0
	if unused {
		c.remove(x)
	}
	c.mu.Unlock()
	if unused {
		shut([]*conn{x})
	}
}

// close closes the connections that nobody uses; the others close as they are left.
func (c *conns) close() {
	c.mu.Lock()
	c.closed = true
	gone := c.drop(func(x *conn) bool { return x.users == 0 })
	c.mu.Unlock()
	shut(gone)
}

func shut(gone []*conn) {
	for _, x := range gone {
		_ = x.Close() // nothing is expected of it any more
	}
}
