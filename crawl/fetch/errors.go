package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"ypcrawl/yp"
)

// Sentinels, found with errors.Is inside an *Error.
var (
	// ErrDisallowed: robots.txt forbids the URL. Permanent.
	ErrDisallowed = errors.New("disallowed by robots.txt")
	// ErrRobotsUnavailable: robots.txt could not be had (5xx, 429, network), so
	// nothing may be fetched for now (RFC 9309, 2.3.1.4). Temporary: the next
	// Get asks for it again.
	ErrRobotsUnavailable = errors.New("robots.txt is unavailable")
	// ErrRedirectedAway: the way leads off the base's registered domain, to a
	// private address, or to no web address at all.
	ErrRedirectedAway = errors.New("leads to another site")
	// ErrPrivate: an ErrRedirectedAway whose address is not public. Another way to ask leads to the
	// same place, and no site turns a crawler away so.
	ErrPrivate = errors.New("not a public address")
	// ErrTooManyRedirects: more than MaxRedirects in a row, or a loop.
	ErrTooManyRedirects = errors.New("too many redirects")
	// ErrNoTLS: the host was reached, but there is no encrypted connection that can be trusted: an unknown issuer of its
	// certificate, one that is expired or for another host, TLS 1.1. Waiting does not help.
	ErrNoTLS = errors.New("no trusted connection")
	// ErrNoHTTPS: the site sends whoever asks by https to http.
	ErrNoHTTPS = errors.New("this site has no https")
	// ErrRefresh: the page has nothing of what was asked for, but that it leads elsewhere, where it is not
	// followed: later than at once, to itself, or where no redirect is. It is no block.
	ErrRefresh = errors.New("the page is a refresh that is not followed")
	// ErrTooLarge: the body is over Config.MaxBody, on the wire or decoded.
	ErrTooLarge = errors.New("body over the limit")
	// ErrFlood: the server sends without end what brings no page (frames without content,
	// interim answers, single bytes), or makes us answer it.
	ErrFlood = errors.New("the server keeps sending things that are no part of a page: the request took too much processor time")
	// ErrStale: the connection had carried another request before, and was closed without
	// an answer, or the server refused the request unread (GOAWAY, REFUSED_STREAM). That
	// says nothing about the host: ask once more, with Request.Fresh.
	ErrStale = errors.New("the server had closed the connection that was reused")
	// ErrAskAgain: net/http could not read the answer, but a browser might. From now on the host is asked by
	// cleaned connections: ask once more.
	ErrAskAgain = errors.New("the answer breaks the rules of HTTP; the host is requested over cleaned connections from now on")
	// ErrMalformed: the header of the answer can't be read, not even as browsers read one.
	ErrMalformed = errors.New("the server's header is malformed")
	// ErrCorrupt: the the body can't be decoded as its Content-Encoding says.
	ErrCorrupt = errors.New("the body can't be decoded")
	// ErrPartial: 206, only part of the page was sent.
	ErrPartial = errors.New("only part of the page was sent")
	// ErrChallenge: an anti-bot challenge or block page was served.
	ErrChallenge = errors.New("challenge or block page")
	// ErrBadURL: the request's URL is not an absolute http or https URL.
	ErrBadURL = errors.New("not a web address")
	// ErrClosed: the client, or the session, was closed.
	ErrClosed = errors.New("fetch client or session is closed")
	// ErrHeld: the host allows no request for longer than Request.MaxHold. Nothing
	// was sent; Error.RetryAfter says what is left.
	ErrHeld = errors.New("the host allows no request yet")
	// ErrBadProxy: the text or URL names no proxy that can be used. What is
	// wrong is said without quoting it: it may hold a password.
	ErrBadProxy = errors.New("not a proxy")
	// ErrNoProxy: there is no other proxy to rotate to.
	ErrNoProxy = errors.New("no other proxy is left to try")
	// ErrNoProxies: a proxy is required and none is active. The run ends.
	ErrNoProxies = errors.New("no active proxy, and the policy requires one")
)

// errTransport marks a failure of the connection that has no class of its own
// (reset, unexpected EOF, unreachable): its code is NETWORK_ERROR.
var errTransport = errors.New("connection failed")

// Error is a request that brought no page.
type Error struct {
	URL        string        // user and password redacted; the hop that failed
	Status     int           // HTTP status, 0 when no answer came; the proxy's own when Proxy
	Class      yp.ErrorClass // docs/health.md, section 1
	RetryAfter time.Duration // how long the host must be left alone; 0 = it is not. With Way: how long that proxy must be
	Instead    string        // what RetryAfter is of, when it is no Retry-After: yp.NoRetryAfter, "429 with RateLimit"
	Err        error         // the cause, may be nil

	// Proxy: the proxy itself failed (refused, hung before there was a way
	// through, refused the password or the host), so this counts against it and
	// says nothing about the source, whatever Class and Code are.
	Proxy bool

	// Way is the proxy that RetryAfter came by, or that says it itself, its password redacted: the answer may be about
	// that way alone. "" = directly, or there is no RetryAfter.
	Way string

	// Unreached: the proxy answered itself that it can't reach the host. Without Proxy,
	// other ways to the host fail alike, so it is the host's failure and not the proxy's.
	Unreached bool

	// Says is the proxy's own word where it has answered itself, "ERR_ACCESS_DENIED 0", of
	// plain characters, without user and password; "" = none.
	Says string
}

// unasked is an *Error of a request that our own rules ended.
func unasked(u *url.URL, cause error) *Error {
	return &Error{URL: u.Redacted(), Class: yp.ClassUnknown, Err: cause}
}

// Error tells the URL, the class, the status and the cause in one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fetch %s: %s", e.URL, e.Class)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (retry after %s)", e.RetryAfter.Round(time.Second))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may fare better later in the same
// attempt. A block is not: without another address or identity it would only
// be asked for again.
func (e *Error) Retryable() bool {
	if errors.Is(e.Err, ErrRobotsUnavailable) {
		return true // whatever was in the way of the file
	}
	for _, never := range []error{ErrDisallowed, ErrRedirectedAway, ErrNoHTTPS, ErrTooLarge, ErrFlood, ErrBadURL, ErrClosed, ErrHeld} {
		if errors.Is(e.Err, never) {
			return false
		}
	}
	switch e.Class {
	case yp.ClassAuthError, yp.ClassHTTP403, yp.ClassChallenge:
		return false
	default:
		return !e.Refused()
	}
}

// Code is the attempt's error code for this failure (docs/health.md, section 2).
func (e *Error) Code() yp.ErrorCode { return e.Cause().Policy().Code }

// Cause is what stopped the page, in the words of the policy table (yp.Policy). A
// proxy's failure is no fault of the source; a redirect off its domain is how many
// sites turn a crawler away, and some of them do it with another status than 403.
func (e *Error) Cause() yp.Cause {
	switch {
	case e.Proxy:
		return yp.CauseProxy
	case errors.Is(e.Err, ErrDisallowed):
		return yp.CauseDisallowed
	case errors.Is(e.Err, ErrRefresh):
		return yp.CauseOther
	case errors.Is(e.Err, ErrRedirectedAway) && !errors.Is(e.Err, ErrPrivate) && e.Status != 0:
		return yp.CauseBlocked
	case e.Refused():
		return yp.CauseBlocked
	case errors.Is(e.Err, errTransport), errors.Is(e.Err, ErrRobotsUnavailable) && e.Class == yp.ClassUnknown:
		return yp.CauseNetwork
	}
	return e.Class.Cause()
}

// Why our own watch ended a request.
var (
	errTotal   = errors.New("the request took too long overall")
	errStalled = errors.New("the body stopped arriving")
)

// fault makes an *Error of a request that brought no complete answer. watch is
// what ended our own time-outs, nil if nothing did. Of what a proxy says nothing is
// told but the status: it may repeat what it was sent, password and all.
func (s *Session) fault(u *url.URL, err, watch error, p *connTrace) *Error {
	if p.noTLS.Load() {
		err = &tlsError{err}
	}
	e := &Error{URL: u.Redacted()}
	e.Class, e.Err = classifyTransport(err, watch)
	switch {
	case s.gateway != nil && !p.through.Load():
		refused, ok := errors.AsType[refusal](err)
		if ok {
			e.Status, e.Class = refused.status, cmp.Or(classifyCode(refused.status), yp.ClassUnknown)
			s.restFor(e, refused.wait)
		}
		s.blameFor(e, refused.own)
	case e.Class == yp.ClassUnknown && s.forwarded(u):
		e.Err = errTransport
	}
	if p.stale = p.again && !p.answered.Load() && errors.Is(e.Err, errTransport); p.stale {
		e.Err = fmt.Errorf("%w: %w", ErrStale, e.Err)
	}
	return e
}

// blame says that it was the proxy.
func (s *Session) blame(e *Error, why error) {
	e.Proxy, e.Err = true, fmt.Errorf("proxy %s: %w", s.proxy, why)
}

// restFor says that the proxy is to be left alone for so long; 0 = it is not.
func (s *Session) restFor(e *Error, wait time.Duration) {
	if wait > 0 {
		e.RetryAfter, e.Way = wait, s.proxy
	}
}

// blameFor says that it was the proxy, and what it says itself.
func (s *Session) blameFor(e *Error, o own) {
	e.Says, e.Unreached = s.tellable(o.word), o.unreached
	why := errProxyFailed
	switch {
	case e.Status == http.StatusProxyAuthRequired:
		why = errPassword
	case e.Says != "":
		why = fmt.Errorf("it says %q", e.Says)
	}
	s.blame(e, why)
}

// classifyTransport finds the class of a request that brought no complete
// answer.
func classifyTransport(err, watch error) (yp.ErrorClass, error) {
	switch {
	case errors.Is(err, ErrRedirectedAway):
		return yp.ClassUnknown, err
	case errors.Is(watch, errTotal), errors.Is(watch, errStalled):
		return yp.ClassTimeout, watch
	case errors.Is(watch, ErrFlood):
		return yp.ClassParseError, watch
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrCorrupt):
		return yp.ClassParseError, err
	}
	if wrong, ok := errors.AsType[*malformedError](err); ok {
		return yp.ClassParseError, wrong
	}
	var dns *net.DNSError
	var tlsErr *tlsError
	var slow interface{ Timeout() bool }
	switch {
	case errors.As(err, &dns):
		return yp.ClassDNS, err
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return yp.ClassTimeout, err
	case errors.As(err, &tlsErr):
		return yp.ClassTLS, err
	case errors.Is(err, syscall.ECONNREFUSED):
		return yp.ClassConnectionRefused, err
	}
	return yp.ClassUnknown, fmt.Errorf("%w: %w", errTransport, err)
}

// judge turns a complete answer that is neither a page nor a redirect of the host's into an *Error.
func (s *Session) judge(u *url.URL, r *Response) error {
	e := &Error{Status: r.Status}
	if said, its := s.answered(u, r); its {
		e.URL, e.Class = u.Redacted(), cmp.Or(classifyCode(r.Status), yp.ClassUnknown)
		s.blameFor(e, said)
		return e
	}
	if r.location != "" {
		return nil
	}
	vendor := challenge(r.Status, r.Header, r.Body)
	switch {
	case vendor != "":
		e.Class, e.Err = yp.ClassChallenge, fmt.Errorf("%w (%s)", ErrChallenge, vendor)
	case r.Status == http.StatusPartialContent:
		e.Class, e.Err = yp.ClassUnknown, ErrPartial
	default:
		if e.Class = classifyCode(r.Status); e.Class == "" {
			return nil
		}
		e.Err = reasonOf(u, r.Status, r.Header)
	}
	e.URL = u.Redacted()
	return e
}

// classifyCode is the class of a status; "" = a page.
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
