package fetch

import (
	"fmt"
	"net/url"
)

// chain is how one request leads on to another, and so forth: within the fence, MaxRedirects steps at most.
type chain struct {
	fence fence
	steps int // taken so far
	down  int // of them, from https down to http
}

// next returns where a Location leads. Its error is ErrRedirectedAway, ErrTooManyRedirects or ErrNoHTTPS. again
// reports whether an address that leads to itself may answer otherwise now; it is asked only of one that does.
func (c *chain) next(from *url.URL, location string, again func() bool) (*url.URL, error) {
	to, down, err := c.fence.follow(from, location)
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
		return nil, fmt.Errorf("%w: base_url http://%s, in its definition or by --base-url, reads it", ErrNoHTTPS, to.Host)
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
	return fmt.Sprintf("the site is on https, so each page costs two requests: write base_url %s, in its definition or by --base-url, instead of %s",
		better.Redacted(), base.Redacted())
}
