package fetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"net"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp"
)

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

	// Turns, when set, keeps delays of SharedDelay or more together with other processes.
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
	Proxy       string        // password redacted; "" = none
	Identity    string        // the identity's name
	Via         string        // ViaNone, ViaProxy or ViaBrowser
}
