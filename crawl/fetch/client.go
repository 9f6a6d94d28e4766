package fetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp"
)

// Client fetches pages of any number of hosts for any number of goroutines.
type Client struct {
	cfg    Config
	log    zerolog.Logger
	direct *Session // the honest one, of requests that name none
	pools  *pools
	pacer  *pacer
	ways   ways
	robots *robotsCache // nil = ignored
	odd    places       // that are asked by cleaned connections
	http1  places       // that are asked by HTTP/1.1

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
	c.direct = c.newSession(nil, Honest(cfg.UserAgent))
	c.closing, c.close = context.WithCancel(context.Background())
	if !cfg.IgnoreRobots {
		c.robots = &robotsCache{fetch: c.fetchRobots, entries: map[string]robotsEntry{}}
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

// begin registers a fetch that Close waits for; false = closed.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		return false
	}
	c.pending.Add(1)
	return true
}

// Waiting says how long a request to host ("example.com", with the port if it
// is not the scheme's own) would wait now, and why: "Retry-After", say. With a
// reason and no time, it waits for another request to end. No reason = no
// wait.
func (c *Client) Waiting(host string) (time.Duration, string) {
	return c.pacer.host(keyOf(host)).waiting()
}

// SetDelay slows a host down to at least d between request starts, jitter on
// top; it never goes below DelayMin, Crawl-delay or a Retry-After in force. With any
// d, one below the configured delay too, the host's turns are shared with other processes
// (Config.Turns); 0 restores the configured delay. reason is what Waiting shows while it
// is this delay that is waited for ("" = "slowed down"). It is the seam for adaptive
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

// HeldUntil says until when host is held back (Retry-After, a Hold, a robots.txt
// that can't be had), and why; the zero time = it is not. The pace is no hold.
func (c *Client) HeldUntil(host string) (time.Time, string) {
	return c.pacer.host(keyOf(host)).held()
}

func keyOf(host string) string { return HostKey(&url.URL{Host: host}) }

// Defaults of Config.
const (
	DefaultUserAgent   = "ypcrawl"
	DefaultConcurrency = 5
	DefaultMaxBody     = 10 << 20
	DefaultTimeout     = 30 * time.Second
)

// Config tunes a Client. The zero value is a working, polite enough client
// without a delay between requests.
type Config struct {
	UserAgent string // default "ypcrawl"; its first word is the product token looked for in robots.txt

	// The time between two request starts at one host is drawn anew for every
	// request from [DelayMin, DelayMax]. 0 = no delay; DelayMax < DelayMin
	// means DelayMin.
	DelayMin, DelayMax time.Duration

	// Turns, when set, keeps delays of SharedDelay or more, and those of SetDelay, together with other processes.
	Turns Turns

	ConcurrencyPerHost int   // requests in flight at one host; default 5
	MaxBody            int64 // bytes of a body, on the wire and decoded; default 10 MiB

	Timeout       time.Duration // one HTTP request with its body, waiting for the turn not counted; default 30 s
	DialTimeout   time.Duration // DNS and connect; of a proxy, and then of the host through it; default 10 s, at most Timeout
	TLSTimeout    time.Duration // TLS handshake; default 10 s, at most Timeout
	HeaderTimeout time.Duration // request sent to first header; default 20 s, at most Timeout
	StallTimeout  time.Duration // silence within a body; default 10 s, at most Timeout

	IgnoreRobots bool // the operator's explicit choice: robots.txt is not even fetched
	Logger       zerolog.Logger

	// Observe, when set, is called once for every HTTP request made, robots.txt
	// and redirect hops included, after it ended. It must be quick and safe
	// for concurrent use.
	Observe func(Observation)

	// Dial, when set, takes the place of the network: every connection is opened
	// by it, to a proxy's address or to a host's. nil = the guarded dialler,
	// which alone checks the addresses that names resolve to. For tests.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Roots are the certificate authorities of hosts and proxies; nil = the
	// system's.
	Roots *x509.CertPool

	resolver *net.Resolver // of tests; nil = the system's
}

func (c Config) withDefaults() Config {
	c.UserAgent = cmp.Or(c.UserAgent, DefaultUserAgent)
	c.DelayMin = max(c.DelayMin, 0)
	c.DelayMax = max(c.DelayMax, c.DelayMin)
	c.ConcurrencyPerHost = orDefault(c.ConcurrencyPerHost, DefaultConcurrency)
	c.MaxBody = orDefault(c.MaxBody, DefaultMaxBody)
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)
	c.DialTimeout = min(orDefault(c.DialTimeout, 10*time.Second), c.Timeout)
	c.TLSTimeout = min(orDefault(c.TLSTimeout, 10*time.Second), c.Timeout)
	c.HeaderTimeout = min(orDefault(c.HeaderTimeout, 20*time.Second), c.Timeout)
	c.StallTimeout = min(orDefault(c.StallTimeout, 10*time.Second), c.Timeout)
	return c
}

func orDefault[T int | int64 | time.Duration](v, def T) T {
	if v > 0 {
		return v
	}
	return def
}

// Observation describes one HTTP request that was made: a row of the requests
// table, but for what only the parser knows.
type Observation struct {
	URL         string // user and password redacted
	Host        string // as in Waiting
	Robots      bool   // a request for robots.txt, not for a page
	Hop         int    // 0, or how many redirects led here
	Started     time.Time
	Latency     time.Duration // start to last byte
	Waited      time.Duration // before Started, for the host's turn
	WaitReason  string        // what stood in the way for the longest part of Waited; "" = it did not wait
	Status      int           // 0 when no answer came; a proxy's, with ProxyFailed
	Class       yp.ErrorClass // "" = a page, a redirect, a 404 or 410, or Cancelled
	ProxyFailed bool          // Error.Proxy: says nothing about the host
	Cancelled   bool          // the caller's context ended while it was under way
	WireBytes   int64         // body bytes received
	Bytes       int           // body bytes decoded
	Pace        time.Duration // the configured delay, or Crawl-delay, without jitter and whatever SetDelay said
	PaceReason  string        // which of them it is
	Gap         time.Duration // of a 429: the pace at which it came, one request in so long; 0 otherwise
	Proxy       string        // password redacted; "" = none
	Identity    string        // the identity's name
	UserAgent   string        // as it was sent
	Via         string        // ViaNone, ViaProxy or ViaBrowser
}

// Request is one page to fetch.
type Request struct {
	Method string      // GET or POST; default GET
	URL    string      // absolute, or relative to Base
	Header http.Header // beside that of the session, and before it; not changed
	Body   []byte      // nil = none; not changed

	// Secrets are those that the address, the headers and the body name; nil = they name none.
	Secrets *Secrets

	// Base is the source's base URL: redirects stay on its registered domain,
	// and private addresses are reached only if it names one. nil = URL itself.
	Base *url.URL

	// Stop, when set, bounds the waits before a request starts (the host's
	// turn, a Retry-After) besides ctx: when it ends they end at once with
	// context.Canceled, while a request that is under way goes on to its end.
	Stop context.Context //nolint:containedctx // a signal of the caller's, not a scope

	// Session says who asks and through which proxy, for robots.txt too: with a proxy,
	// nothing is asked directly, not even for a host's address. nil = the
	// client's own: honest, direct, without cookies but those of the page's own redirects.
	Session *Session

	// Fresh asks on a connection of its own, after an ErrStale. (Redirects may take
	// others.)
	Fresh bool

	// MaxHold, when set, is how long a hold of the host may last to be waited
	// for: while it is held back for longer (Retry-After, a penalty, a robots.txt
	// that can't be had) Get returns ErrHeld at once, also out of a wait in which
	// it finds itself. The pace and the in-flight cap are no holds.
	MaxHold time.Duration

	// Begin, when set, is called when the first request of the page begins: its turn has come.
	Begin func()

	// Leave, when set, is called with a page of status 2xx that leads elsewhere by itself. True = nothing of what
	// is asked for is on it: a refresh at once is followed as a redirect is, any other ends in an ErrRefresh.
	// The Response is not to be used after the call. nil = each page is one.
	Leave func(*Response, Refresh) bool

	// Observe, when set, is called beside Config.Observe for each HTTP request
	// made for this page, redirect hops included and robots.txt not.
	Observe func(Observation)
}

// Response is a page: a 2xx, a 404 or a 410.
type Response struct {
	Status    int
	URL       *url.URL // the final one, after redirects
	Header    http.Header
	Body      []byte // UTF-8; not to be used after Release
	Charset   string // of the page, in which its links write their queries, by its name in the Encoding Standard; "" = UTF-8
	WireBytes int64  // body bytes received, compressed as they were

	phrase   string // the status line after the version
	location string // of a redirect; "" otherwise
	size     int    // of the body, decoded but not yet in UTF-8
	buf      *buffer
	pools    *pools
}

// Release gives the body's memory back. Calling it again does nothing.
func (r *Response) Release() {
	if r == nil || r.buf == nil {
		return
	}
	r.pools.putBuffer(r.buf)
	r.buf, r.Body = nil, nil
}

// Get fetches one page: it checks robots.txt, waits for the host's turn, and
// follows redirects, each hop checked and in turn like a request of its own.
// 2xx, 404 and 410 are a Response. All else is an *Error, but for the end of
// ctx, which is returned as such, wrapped.
//
// A 429, or a 4xx or 5xx with Retry-After, holds the host back for everybody: call
// Get again and it waits, unless the hold is over Request.MaxHold. One that came by a
// proxy does not: how long that way is to be left alone, Error.RetryAfter says.
func (c *Client) Get(ctx context.Context, req Request) (*Response, error) {
	s := cmp.Or(req.Session, c.direct)
	u, f, err := resolve(req, s.proxy != "")
	if err != nil {
		return nil, &Error{URL: redact(req.URL), Class: yp.ClassUnknown, Err: err}
	}
	if s.closed.Load() {
		return nil, unasked(u, ErrClosed)
	}
	waits := ctx
	if req.Stop != nil {
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(req.Stop, cancel)()
		waits = both
	}
	j := job{
		session: s, jar: s.jar, ctx: ctx, waits: waits, maxHold: req.MaxHold, fresh: req.Fresh,
		lim: limit{max: c.cfg.MaxBody}, observe: req.Observe, begin: req.Begin, leave: req.Leave,
		ask: ask{method: cmp.Or(req.Method, http.MethodGet), header: req.Header, body: req.Body, secrets: req.Secrets},
	}
	r, err := c.follow(&j, f, u)
	return r, j.ask.withoutSecrets(err)
}

// follow makes the requests of a job, from u on to where redirects lead.
func (c *Client) follow(j *job, f fence, u *url.URL) (*Response, error) {
	way := chain{fence: f}
	for number := 0; ; number++ {
		at := c.hop(u, number)
		if !j.robots {
			if err := c.permitted(j, at); err != nil {
				return nil, inFetch(u, err)
			}
		}
		if j.robots && way.fence.admits(u) != nil {
			j.maxHold = robotsMaxHold
		}
		sent := j.cookies(u)
		r, err := c.turn(j, at)
		if err != nil {
			return nil, inFetch(u, err)
		}
		next, err := j.leads(&way, u, r, sent)
		if next == nil && err == nil {
			return r, nil
		}
		if err != nil {
			return nil, &Error{URL: u.Redacted(), Status: r.Status, Class: yp.ClassUnknown, Err: err}
		}
		u = next
	}
}

// resolve forms the request's URL (dot segments removed, so that robots.txt
// judges what the server will see) and its fence.
func resolve(req Request, proxied bool) (*url.URL, fence, error) {
	ref, err := url.Parse(req.URL)
	if err != nil {
		return nil, fence{}, fmt.Errorf("%w: %w", ErrBadURL, err)
	}
	base := req.Base
	if base == nil {
		base = ref
	}
	u := base.ResolveReference(ref)
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, fence{}, fmt.Errorf("%w: %q", ErrBadURL, u.Redacted())
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	f := newFence(base, proxied)
	return u, f, f.check(u)
}

// redact hides a password in a URL that may not even be one.
func redact(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	return "(not a URL)"
}

// inFetch gives an error its place, unless it has one already.
func inFetch(u *url.URL, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.URL == "" {
			e.URL = u.Redacted()
		}
		return err
	}
	return fmt.Errorf("fetch %s: %w", u.Redacted(), err)
}
