package directories

import (
	"bytes"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server serves a directory, and counts what it is asked for.
type Server struct {
	Of      *Directory
	Latency time.Duration // of each page
	Most    int           // listings that a page gives at most, whatever is asked for; 0 = any number
	Sticky  bool          // of the answers that fail, the same ones fail each time

	mu      sync.Mutex
	now     state
	failing int            // each answer of so many is a failure; 0 = none
	seen    map[string]int // requests by method, address and body
	all     int
	failed  int
	due     []waiting
}

type waiting struct {
	at   int
	done chan struct{}
}

// Serve is how the directory is from now on: the epoch, and that each answer of so many is a failure (0 = none). Nothing was
// asked for since then.
func (s *Server) Serve(epoch, failing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.epoch, s.failing, s.failed, s.seen = epoch, failing, 0, map[string]int{}
}

// Expire ends the time of all cursors.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.era++
}

// After returns a channel that is closed when n more requests have come.
func (s *Server) After(n int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := make(chan struct{})
	s.due = append(s.due, waiting{s.all + n, done})
	return done
}

// Asked is how many pages were asked for, how many times one of them again, and how many requests failed.
func (s *Server) Asked() (pages, again, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.seen {
		pages++
		again += n - 1
	}
	return pages, again, s.failed
}

// ServeHTTP answers as the directory does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	now, fails := s.count(r, body)
	select {
	case <-time.After(s.Latency):
	case <-r.Context().Done():
		return
	}
	a, ok := Answer{}, false
	if q, is := s.Of.asks(r, body); fails {
		a, ok = s.Of.fails(), true
	} else if is {
		a, ok = s.Of.answer(q, now, "http://"+r.Host)
	} else if s.Of.other != nil {
		a, ok = s.Of.other(r, body, now.epoch)
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	for name, values := range a.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	w.WriteHeader(max(a.Status, http.StatusOK))
	_, _ = io.Copy(w, bytes.NewBufferString(strings.ReplaceAll(a.Body, Base, "http://"+r.Host)))
}

// count counts a request and says how it is answered.
func (s *Server) count(r *http.Request, body []byte) (now state, fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.all++
	key, nth := r.Method+" "+r.URL.RequestURI()+" "+string(body), s.all
	if s.Sticky {
		nth = int(crc32.ChecksumIEEE([]byte(key)) >> 1)
	}
	if fails = s.failing > 0 && nth%s.failing == 0; fails {
		s.failed++
	} else {
		s.seen[key]++
	}
	s.due = slices.DeleteFunc(s.due, func(w waiting) bool {
		if s.all < w.at {
			return false
		}
		close(w.done)
		return true
	})
	s.now.most = s.Most
	return s.now, fails
}
