package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// closeWithin bounds how long Close waits for answers under way.
const closeWithin = 2 * time.Second

// Server serves a directory on a port of its own.
type Server struct {
	url   string
	close func() error
}

// Serve listens on addr and serves d until ctx ends or Close is called. An
// empty host or port means 127.0.0.1 and a free port. It refuses to be reached
// from other machines (ErrNotLoopback) unless addr names such an IP address.
func Serve(ctx context.Context, addr string, d *Directory) (*Server, error) {
	addr, err := loopback(addr)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve the demo directory: %w", err)
	}
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	server := &http.Server{
		Handler:           d,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      holdFor + d.cfg.Latency + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	s := &Server{url: "http://" + l.Addr().String()}
	s.close = sync.OnceValue(func() error {
		stop() // the requests that hold or wait
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		err := server.Shutdown(ctx)
		if err != nil {
			err = server.Close()
		}
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(end, err)
		}
		return err
	})
	unhook := context.AfterFunc(ctx, func() { _ = s.Close() })
	context.AfterFunc(base, func() { unhook() })
	return s, nil
}

// loopback completes addr and refuses what would listen to other machines without naming an
// address of this one.
func loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(cmp.Or(addr, ":"))
	if err != nil {
		return "", fmt.Errorf("demo address %q: %w", addr, err)
	}
	if host = cmp.Or(host, "127.0.0.1"); host != "localhost" {
		if _, err := netip.ParseAddr(host); err != nil {
			return "", fmt.Errorf("demo address %q: %w: write an IP address, or localhost", addr, ErrNotLoopback)
		}
	}
	return net.JoinHostPort(host, cmp.Or(port, "0")), nil
}

// URL is the base URL of the directory, without a trailing slash.
func (s *Server) URL() string { return s.url }

// Close stops listening, lets answers under way end for a short while, and
// cuts the rest. It may be called more than once and by several goroutines.
func (s *Server) Close() error { return s.close() }

// Stats is what the directory has been asked for since it started.
type Stats struct {
	Requests  int
	ByFailure map[string]int // injected failures
	URLs      map[string]int // path and query → requests, failed ones included
}

// counts gathers Stats.
type counts struct {
	mu sync.Mutex
	s  Stats
}

// request counts a request and returns how many there were for the URL before.
func (c *counts) request(url string) (before int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Requests++
	c.s.URLs[url]++
	return c.s.URLs[url] - 1
}

// answer counts how a request ended.
func (c *counts) answer(failure string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failure != "" {
		c.s.ByFailure[failure]++
	}
}

// Stats returns what the directory has been asked for.
func (d *Directory) Stats() Stats {
	c := &d.stats
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{c.s.Requests, maps.Clone(c.s.ByFailure), maps.Clone(c.s.URLs)}
}

// The kinds of failure that Config.Fail knows.
const (
	fail429       = "429"       // too many requests, with Retry-After: 1
	fail503       = "503"       // unavailable
	failChallenge = "challenge" // 403 with cf-mitigated and "Just a moment…"
	failTimeout   = "timeout"   // no answer until the client gives up, at most holdFor
	failTruncate  = "truncate"  // half of the body under the whole one's Content-Length
	failCut       = "cut"       // the first part of the page, ended by closing the connection: no length, no error
	failLayout    = "layout"    // a listing page with every class renamed
)

// holdFor bounds how long a timeout holds the connection.
const holdFor = 60 * time.Second

// FailKinds returns the kinds in the order in which they are drawn.
func FailKinds() []string {
	return []string{fail429, fail503, failChallenge, failTimeout, failTruncate, failCut, failLayout}
}

func checkFail(fail map[string]float64) error {
	for kind := range fail {
		if !slices.Contains(FailKinds(), kind) {
			return fmt.Errorf("%w: unknown kind %q: want one of %s", ErrFailSpec, kind, strings.Join(FailKinds(), ", "))
		}
	}
	return nil
}

// trouble draws the failure of the attempt-th request for a URL, "" for none.
// The next attempt draws anew, so a retry can succeed.
func (d *Directory) trouble(url string, attempt int) string {
	if len(d.cfg.Fail) == 0 {
		return ""
	}
	u := newDice(d.cfg.Seed, 0xfa11, hashText(url), uint64(attempt)).unit(0)
	for _, kind := range FailKinds() {
		if u -= d.cfg.Fail[kind]; u < 0 {
			return kind
		}
	}
	return ""
}

// hashText is the same in every process, unlike maphash.
func hashText(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash takes all
	return h.Sum64()
}

var classPattern = regexp.MustCompile(` class="[^"]*`)

// renameClasses returns the page with every class attribute renamed, as after a
// redesign: ids, links and texts stay, so it is plainly no empty result.
func renameClasses(html []byte) []byte {
	return classPattern.ReplaceAllFunc(html, func(attr []byte) []byte {
		classes := strings.Fields(strings.TrimPrefix(string(attr), ` class="`))
		for i, class := range classes {
			classes[i] = "css-" + strconv.FormatUint(hashText(class)>>36, 36)
		}
		return []byte(` class="` + strings.Join(classes, " "))
	})
}
