package fetch

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"ypcrawl/yp"
)

// ways remembers by which ways (proxies, or directly) each host could not be reached since
// it was last. A proxy that can't reach it alone has failed itself; where others fail
// alike, the host has.
type ways struct {
	mu     sync.Mutex
	failed map[string]map[string]time.Time // by host and way, when
}

// alikeFor is how long a failure is compared with those of other ways.
const alikeFor = 10 * time.Minute

// direct is the way without a proxy.
const direct = "direct"

// errAlike: see ways.
var errAlike = errors.New("and so do other ways")

// note takes down how a request to host by a way ended, and charges the host with what several
// ways fail at.
func (w *ways) note(host, way string, e *Error) {
	switch {
	case e == nil || !e.Proxy && e.Status != 0 && e.Class != yp.ClassHTTP5xx: // it was reached
		w.reached(host)
	case e.Proxy && !e.Unreached || errors.Is(e, ErrStale) || errors.Is(e, ErrFlood) || AskAgain(e) != nil:
	case w.several(host, way, time.Now()) && e.Proxy:
		e.Proxy, e.Err = false, fmt.Errorf("%w, %w", e.Err, errAlike)
	}
}

func (w *ways) reached(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.failed, host)
}

// several takes down a failure, and reports whether another way has failed lately.
func (w *ways) several(host, way string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = map[string]map[string]time.Time{}
	}
	if w.failed[host] == nil {
		w.failed[host] = map[string]time.Time{}
	}
	w.failed[host][way] = now
	for other, at := range w.failed[host] {
		if other != way && now.Sub(at) < alikeFor {
			return true
		}
	}
	return false
}
