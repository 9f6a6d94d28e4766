package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ErrHTTP1Required is the error of a host that answers this page by HTTP/1.1 alone, as it may say in HTTP/2 (RFC 9113, 7:
// HTTP_1_1_REQUIRED). From now on it is asked by that: ask once more.
var ErrHTTP1Required = errors.New("the host requires HTTP/1.1, which is used from now on")

// AskAgain is why a request that failed is to be made once more at once, as it will be made in another way:
// ErrAskAgain or ErrHTTP1Required; nil = it is not. It happens once a host for each of them.
func AskAgain(err error) error {
	for _, why := range []error{ErrAskAgain, ErrHTTP1Required} {
		if errors.Is(err, why) {
			return why
		}
	}
	return nil
}

// wantsHTTP1 turns a failure into an ErrHTTP1Required if the host has said so: of the request, or of the connection. The
// errors of net/http's HTTP/2 have no names but the standard's, in their texts.
func (c *Client) wantsHTTP1(u *url.URL, p *connTrace, e *Error, cause error) {
	if p.conn == nil || !p.conn.http2.Load() || e.Proxy || !errors.Is(e.Err, errTransport) ||
		!strings.Contains(cause.Error(), "HTTP_1_1_REQUIRED") {
		return
	}
	if c.http1.add(place(u)) {
		c.log.Info().Str("url", e.URL).Msg("the host requires HTTP/1.1, which is used from now on")
	}
	p.stale = false
	e.Err = fmt.Errorf("%w: %w: %w", ErrHTTP1Required, errTransport, cause)
}

// http1Transport is a session's transport, but that it does not offer HTTP/2.
func http1Transport(t *http.Transport) *http.Transport {
	t = t.Clone()
	t.TLSClientConfig.NextProtos = []string{"http/1.1"}
	t.ForceAttemptHTTP2, t.TLSNextProto = false, nil
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	return t
}
