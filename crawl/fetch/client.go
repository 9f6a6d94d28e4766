package fetch

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Client fetches pages of any number of hosts for any number of goroutines.
type Client struct {
	cfg    Config
	log    zerolog.Logger
	direct *Session // the honest one, of requests that name none
	pools  *pools
	pacer  *pacer
	robots *robotsCache // nil = ignored

	closing context.Context // ends with Close; robots.txt is fetched under it
	close   context.CancelFunc
	pending sync.WaitGroup // goroutines that fetch robots.txt

	mu       sync.Mutex            // held to close, to begin what is pending, and to open and close sessions
	sessions map[*Session]struct{} // open ones beside direct; nil = closed
}

// New returns a client; Close it when done.
func New(cfg Config) *Client {
	cfg = cfg.withDefaults()
	c := &Client{
		cfg:      cfg,
		log:      cfg.Logger.With().Str("component", "fetch").Logger(),
		pools:    newPools(),
		pacer:    newPacer(cfg),
		sessions: map[*Session]struct{}{},
	}
	c.direct, _ = c.newSession(SessionConfig{}) // only a proxy can be wrong
	c.closing, c.close = context.WithCancel(context.Background())
	if !cfg.IgnoreRobots {
		c.robots = newRobotsCache(c.fetchRobots, c.spawn)
	}
	return c
}

// Close ends what the client does by itself, closes all sessions and drops idle
// connections. Gets under way go on; later ones fail with ErrClosed.
func (c *Client) Close() {
	c.mu.Lock()
	c.close()
	open := c.sessions
	c.sessions = nil
	c.mu.Unlock()
	c.pending.Wait()
	for s := range open {
		s.close()
	}
	c.direct.close()
}

// spawn runs fetch, which Close waits for, and keeps the session open for it. Once closed,
// fetch ends at once by itself.
func (c *Client) spawn(s *Session, fetch func()) {
	s.stay() // a session closed by then is left when the file is there
	run := func() {
		defer s.leave()
		fetch()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Err() != nil {
		go run()
		return
	}
	c.pending.Go(run)
}

// Waiting tells how long a request to host ("example.com", with the port if it
// is not the scheme's own) would wait now, and why: "Retry-After", say. With a
// reason and no time, it waits for another request to end. No reason = no
// wait.
func (c *Client) Waiting(host string) (time.Duration, string) {
	return c.pacer.host(keyOf(host)).waiting()
}

// SetDelay slows a host down to at least d between request starts, jitter on
// top; it never goes below DelayMin, Crawl-delay or a Retry-After in force. 0
// restores the configured delay. reason is what Waiting shows while it is this
// delay that is waited for ("" = "slowed down"). It is the seam for adaptive
// pacing.
func (c *Client) SetDelay(host string, d time.Duration, reason string) {
	c.pacer.host(keyOf(host)).setDelay(d, reason)
}

// Hold keeps all requests to host back for d: a penalty, or a hold that an
// earlier process was told. reason is what Waiting shows. A hold in force is
// never shortened.
func (c *Client) Hold(host string, d time.Duration, reason string) {
	c.pacer.host(keyOf(host)).hold(d, reason)
}

// Release ends a hold of host, whatever it was for: an operator has taken it back.
func (c *Client) Release(host string) { c.pacer.host(keyOf(host)).release() }

// HeldUntil tells until when host is held back (Retry-After, a Hold, a robots.txt
// that can't be had), and why; the zero time = it is not. The pace is no hold.
func (c *Client) HeldUntil(host string) (time.Time, string) {
	return c.pacer.host(keyOf(host)).held()
}

func keyOf(host string) string { return hostKey(&url.URL{Host: host}) }
