package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ask is what is asked of a host beside the address.
type ask struct {
	method  string      // "" = GET
	header  http.Header // beside that of the session, and before it; nil = none
	body    []byte      // nil = none
	secrets *Secrets    // that it names; nil = none
	abroad  bool        // it led to where they may not be sent: they are sent nowhere any more
}

// plain reports whether an address says all of what is asked, so that another one can take its place.
func (a *ask) plain() bool { return a.body == nil && (a.method == "" || a.method == http.MethodGet) }

// moved returns an error when what is asked can't be asked at another address: of a redirect from 301 to 303, or of a page
// that leads elsewhere, only an address is left; 307 and 308 take the body along, on the same scheme, host and port.
func (a *ask) moved(status int, from, to *url.URL) error {
	switch {
	case a.plain():
		return nil
	case status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect:
		return fmt.Errorf("%w: a %s was answered with the address of another page", ErrRedirectedAway, a.method)
	case place(from) != place(to):
		return fmt.Errorf("%w: a %s only goes to %s, not to %s", ErrRedirectedAway, a.method, place(from), place(to))
	}
	return nil
}

// httpRequest makes the request for u that goes out on a connection of the job's session: with the secrets, where they may be
// sent.
func (j *job) httpRequest(ctx context.Context, u *url.URL, p *connTrace) *http.Request {
	header, body := j.session.header(u, j.ask.header, j.cookies(u)), j.ask.body
	u, header, body = j.ask.put(u, header, body, j.session)
	r := &http.Request{
		Method: j.ask.method, URL: u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: p.conn.cleaned != nil,
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return r.WithContext(ctx)
}

// withoutSecrets is an error of a request, without the secrets that an answer may have put into it.
func (a *ask) withoutSecrets(err error) error {
	if a.secrets == nil || err == nil {
		return err
	}
	return a.secrets.cleanError(err)
}
