package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	errorPageMax = 64 << 10 // of an error page: enough for any marker
	drainMax     = 64 << 10 // read on so that the connection can be used again
)

// reply is one complete HTTP answer.
type reply struct {
	status   int
	header   http.Header
	location string // of a redirect; "" otherwise
	body     *buffer
	wire     int64
	size     int
}

func (r *reply) bytes() []byte {
	if r == nil || r.body == nil {
		return nil
	}
	return r.body.b
}

// exchange makes one HTTP request and reads its answer. The error is the
// caller's own context's, or an *Error.
func (c *Client) exchange(t *trip, u *url.URL) (*reply, error) {
	watched, w := newWatch(t.ctx, c.cfg.Timeout, c.cfg.StallTimeout)
	defer w.stop()
	ctx, way := watched, (*passage)(nil)
	if t.session.proxy != "" {
		way = &passage{}
		ctx = way.watched(ctx)
	}
	r, err := c.roundTrip(ctx, w, t, u)
	if err != nil && t.ctx.Err() != nil {
		return r, t.ctx.Err()
	}
	if err == nil || (r != nil && !carriesPage(r.status)) {
		return r, nil // of an error page, the status says enough
	}
	e := t.session.fault(u, err, context.Cause(watched), way)
	if r != nil {
		e.Status = r.status
	}
	return r, e
}

// roundTrip returns a reply without a body beside an error that came after the
// headers.
func (c *Client) roundTrip(ctx context.Context, w *watch, t *trip, u *url.URL) (*reply, error) {
	req := (&http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host, Header: t.session.header(u),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	resp, err := t.session.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read as far as it counts
	t.session.remember(u, resp)
	lim, r := t.lim, &reply{status: resp.StatusCode, header: resp.Header}
	if !carriesPage(r.status) {
		lim = limit{max: min(lim.max, errorPageMax), cut: true, part: true} // its beginning is all we look at
	}
	if isRedirect(r.status) {
		r.location = resp.Header.Get("Location")
	}
	if !lim.cut && resp.ContentLength > c.cfg.MaxBody {
		return r, tooLarge("announced", c.cfg.MaxBody)
	}
	wire := &wireReader{r: resp.Body, max: c.cfg.MaxBody, progress: w.progress}
	w.progress() // from here on silence counts
	r.body, err = c.pools.readBody(wire, resp.Header.Get("Content-Encoding"), resp.ContentLength, lim)
	if err == nil {
		err = drain(wire, lim.part || lim.reached(r.body))
	}
	if err == nil {
		r.size = len(r.body.b)
		r.body, err = c.pools.toUTF8(r.body, resp.Header.Get("Content-Type"), lim)
	}
	r.wire = wire.n
	return r, err
}

// drain reads on to the end of the body, so that the connection can be used again, and,
// unless there is enough of it, because what decodes may not be whole: of two gzip
// members the second may be missing.
func drain(wire *wireReader, enough bool) error {
	_, _ = io.CopyN(io.Discard, wire, drainMax) // its error is the wire's own
	if wire.err == nil || enough || errors.Is(wire.err, ErrTooLarge) {
		return nil
	}
	return wire.err
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// watch ends a request that takes too long in all, or whose body falls silent.
// (Dial, TLS and first header have time-outs of their own.)
type watch struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	ends   time.Time
	stall  time.Duration
}

func newWatch(parent context.Context, total, stall time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watch{cancel: cancel, ends: time.Now().Add(total), stall: stall}
	w.timer = time.AfterFunc(total, w.fire)
	return ctx, w
}

func (w *watch) fire() {
	if time.Now().Before(w.ends) {
		w.cancel(errStalled)
	} else {
		w.cancel(errTotal)
	}
}

// progress starts the silence anew; the total goes on.
func (w *watch) progress() { w.timer.Reset(min(w.stall, time.Until(w.ends))) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}
