package fetch

import (
	"context"
	"net"
	"sync/atomic"
)

// What a connection may cost without bringing a page. Bytes measure processor time where
// they come in large pieces, calls where they come (or must be answered) in small ones: a
// frame of HTTP/2 has 9 bytes at least and costs 0.2 µs, a call 2 to 5 µs. So 4 MiB are at
// most half a second, of empty frames, interim answers, headers or single bytes alike;
// a page with its headers, and with chunks and TLS records of 20 bytes, is far below.
const (
	workOfCall   = 64      // bytes for which a call counts
	workOfPage   = 2       // a byte of a page pays for itself and for so many less one
	workAtOnce   = 4 << 20 // bytes, for each request that is under way
	streamBuffer = 1 << 20 // of HTTP/2: so much of a page may come before it is read
)

// work bounds what a connection costs: see workAtOnce. It is the connection below TLS.
type work struct {
	left    atomic.Int64 // bytes
	users   atomic.Int64 // requests under way
	tooMuch atomic.Bool
}

func newWork() *work {
	w := &work{}
	w.left.Store(workAtOnce)
	return w
}

type workKey struct{}

// under returns a context under which Config.dialTo counts the connection.
func (w *work) under(ctx context.Context) context.Context {
	return context.WithValue(ctx, workKey{}, w)
}

// begin allows what one more request may cost.
func (w *work) begin() { w.left.Store(workAtOnce * w.users.Add(1)) }

// end takes back what the request has not used.
func (w *work) end() {
	most := workAtOnce * max(w.users.Add(-1), 1)
	if w.left.Load() > most {
		w.left.Store(most)
	}
}

// pays says that so many bytes of a page have arrived.
func (w *work) pays(n int) { w.left.Add(workOfPage * int64(n)) }

// costs counts a call; the error is ErrFlood.
func (w *work) costs(n int) error {
	if w.left.Add(-int64(n+workOfCall)) < 0 {
		w.tooMuch.Store(true)
		return ErrFlood
	}
	return nil
}

// counted is a connection whose work is bounded.
type counted struct {
	net.Conn
	work *work
}

// count counts a connection, if there is somebody to count for.
func count(ctx context.Context, conn net.Conn) net.Conn {
	if w, ok := ctx.Value(workKey{}).(*work); ok {
		return &counted{conn, w}
	}
	return conn
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if tooMuch := c.work.costs(n); tooMuch != nil && err == nil {
		_ = c.Close() // the other side shall notice
		return 0, tooMuch
	}
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	if err := c.work.costs(len(b)); err != nil {
		_ = c.Close() // likewise
		return 0, err
	}
	return c.Conn.Write(b)
}
