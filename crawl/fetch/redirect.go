package fetch

import (
	"fmt"
	"net/http"
	"net/url"
)

// chain is how one request leads on to another, and so forth: within the fence, MaxRedirects steps at most.
type chain struct {
	fence fence
	steps int // taken so far
	down  int // of them, from https down to http
}

// leads returns where an answer leads on to, nil = it is what was asked for. sent are the cookies that were sent. A
// page that is left is released.
func (j *job) leads(way *chain, from *url.URL, r *Response, sent []*http.Cookie) (*url.URL, error) {
	if r.location != "" {
		to, err := way.next(from, r.location, func() bool { return j.leadsOn(sent, j.cookies(from)) })
		if err == nil {
			err = j.ask.moved(r.Status, from, to)
		}
		return to, err
	}
	if j.leave == nil {
		return nil, nil
	}
	refresh, ok := r.refresh()
	if !ok || !j.leave(r, refresh) {
		return nil, nil
	}
	j.remember(from, &http.Response{StatusCode: r.Status, Status: r.phrase, Header: r.Header}, true)
	r.Release()
	to, err := way.refresh(from, refresh)
	if err == nil {
		err = j.ask.moved(r.Status, from, to)
	}
	return to, err
}

// next returns where a Location leads: see step.
func (c *chain) next(from *url.URL, location string, again func() bool) (*url.URL, error) {
	to, err := resolveLocation(from, location)
	if err != nil {
		return nil, err
	}
	return c.step(from, to, again)
}

// step returns what is asked when an address leads to another. Its error is ErrRedirectedAway, ErrTooManyRedirects
// or ErrNoHTTPS. again reports whether an address that leads to itself may answer otherwise now; it is asked only of
// one that does.
func (c *chain) step(from, to *url.URL, again func() bool) (*url.URL, error) {
	to, down, err := c.fence.enter(from, to)
	if err != nil {
		return nil, err
	}
	c.steps++
	if down {
		c.down++
	}
	tooMany := c.steps > MaxRedirects
	itself := *to == *from && !again()
	switch {
	case down && itself && c.fence.scheme == "http" && !tooMany:
		to.Scheme = "http" // as the source's own address is: no less safe than what the operator asks for
		return to, nil
	case c.fence.scheme == "https" && (down && itself || tooMany && c.down == c.steps):
		return nil, fmt.Errorf("%w: use base_url http://%s, in its definition or with --base-url", ErrNoHTTPS, to.Host)
	case tooMany:
		return nil, fmt.Errorf("%w: more than %d", ErrTooManyRedirects, MaxRedirects)
	case itself:
		return nil, fmt.Errorf("%w: to itself", ErrTooManyRedirects)
	}
	return to, nil
}

// SecureText says what a base URL of http costs that leads to https, and what to write.
func SecureText(base, final *url.URL) string {
	better := *final
	better.Path, better.RawPath, better.RawQuery = base.Path, base.RawPath, ""
	return fmt.Sprintf("the site uses https, so each page costs two requests: set base_url to %s, in its definition or with --base-url, instead of %s",
		better.Redacted(), base.Redacted())
}
