package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"ypcrawl/yp"
)

// Why our own watch ended a request.
var (
	errTotal   = errors.New("took too long in all")
	errStalled = errors.New("body stalled")
)

// fault makes an *Error of a request that brought no complete answer. watch is
// what ended our own time-outs, nil if nothing did.
func (s *Session) fault(u *url.URL, err, watch error, p *passage) *Error {
	e := &Error{URL: u.Redacted()}
	var at *proxyError
	if !errors.As(err, &at) && watch != nil && p != nil && !p.through.Load() {
		at = &proxyError{name: s.proxy, err: watch} // given up before there was a way
	}
	if at == nil {
		e.Class, e.Err = classifyTransport(err, watch)
		e.Err = s.veil(e.Err)
		return e
	}
	e.Proxy, e.Status = true, at.status
	if e.Class = at.class; e.Class == "" {
		e.Class, _ = classifyTransport(at.err, watch)
	}
	e.Err = at
	if e.Class == yp.ClassUnknown {
		e.Err = fmt.Errorf("%w: %w", errTransport, at)
	}
	return e
}

// veil replaces an error that tells the proxy's password: what the proxy sends in
// place of a host's answer may be quoted in it.
func (s *Session) veil(err error) error {
	if s.gateway == nil || !s.forwards {
		return err
	}
	text := err.Error()
	if hidden := hide(text, s.gateway.url); hidden != text {
		return fmt.Errorf("%w: %s", errTransport, strings.TrimPrefix(hidden, errTransport.Error()+": "))
	}
	return err
}

// classifyTransport finds the class of a request that brought no complete
// answer.
func classifyTransport(err, watch error) (yp.ErrorClass, error) {
	switch {
	case errors.Is(err, ErrRedirectedAway):
		return yp.ClassUnknown, err
	case errors.Is(watch, errTotal), errors.Is(watch, errStalled):
		return yp.ClassTimeout, watch
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrCorrupt):
		return yp.ClassParseError, err
	}
	var dns *net.DNSError
	var tlsErr *tlsError
	switch {
	case errors.As(err, &dns):
		return yp.ClassDNS, err
	case isTimeout(err):
		return yp.ClassTimeout, err
	case errors.As(err, &tlsErr):
		return yp.ClassTLS, err
	case errors.Is(err, syscall.ECONNREFUSED):
		return yp.ClassConnectionRefused, err
	}
	return yp.ClassUnknown, fmt.Errorf("%w: %w", errTransport, err)
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &t) && t.Timeout())
}

// classifyStatus judges a complete answer: "" for one that is a page, or a
// redirect, which its caller has seen to.
func classifyStatus(r *reply) (yp.ErrorClass, error) {
	if vendor := challenge(r.status, r.header, r.bytes()); vendor != "" {
		return yp.ClassChallenge, fmt.Errorf("%w (%s)", ErrChallenge, vendor)
	}
	if r.status == http.StatusPartialContent {
		return yp.ClassUnknown, ErrPartial
	}
	return classifyCode(r.status), nil
}

func classifyCode(s int) yp.ErrorClass {
	switch {
	case carriesPage(s):
		return ""
	case s == http.StatusUnauthorized, s == http.StatusProxyAuthRequired:
		return yp.ClassAuthError
	case s == http.StatusForbidden:
		return yp.ClassHTTP403
	case s == http.StatusTooManyRequests:
		return yp.ClassHTTP429
	case s >= 500:
		return yp.ClassHTTP5xx
	case s == http.StatusRequestTimeout:
		return yp.ClassTimeout
	default:
		return yp.ClassUnknown
	}
}
