package crawl

import (
	"errors"
	"fmt"
	"net/url"

	"ypcrawl/crawl/fetch"
)

// ErrUntrusted is the cause of a stop because the source's host has no encrypted connection that can be trusted, and
// no page of it was read: none will be before somebody has done what its text says.
var ErrUntrusted = errors.New("the source can't be read")

// stopUntrusted ends the run of a source whose robots.txt, the first that is asked for, meets no connection that can be
// trusted. Once pages were
// read, one machine of many may be at fault, and by a proxy it may be that proxy. Another host, which a page leads to,
// says nothing of the pages that do not: a target that is claimed first would close the source in each run.
func (w *worker) stopUntrusted(err error) {
	fe, ok := errors.AsType[*fetch.Error](err)
	if !ok || !errors.Is(err, fetch.ErrNoTLS) || fe.Proxy || w.session.Proxy() != "" || w.count.snapshot(0).PagesRead() > 0 {
		return
	}
	if u, err := url.Parse(fe.URL); err != nil || fetch.HostKey(u) != fetch.HostKey(w.cfg.Source.BaseURL()) {
		return
	}
	w.stop(fmt.Errorf("%w: %s: %w", ErrUntrusted, fe.URL, fetch.TLSFault(err)))
}
