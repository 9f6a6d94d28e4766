package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"ypcrawl/yp"
)

// Why our own watch ended a request.
var (
	errTotal   = errors.New("took too long in all")
	errStalled = errors.New("body stalled")
)

// classifyTransport finds the class of a request that brought no complete
// answer. watch is what ended our own time-outs, nil if nothing did.
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
	switch s := r.status; {
	case carriesPage(s):
		return "", nil
	case s == http.StatusUnauthorized, s == http.StatusProxyAuthRequired:
		return yp.ClassAuthError, nil
	case s == http.StatusForbidden:
		return yp.ClassHTTP403, nil
	case s == http.StatusTooManyRequests:
		return yp.ClassHTTP429, nil
	case s >= 500:
		return yp.ClassHTTP5xx, nil
	case s == http.StatusRequestTimeout:
		return yp.ClassTimeout, nil
	default:
		return yp.ClassUnknown, nil
	}
}
