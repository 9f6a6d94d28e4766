package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// closeWithin bounds how long Close waits for answers under way.
const closeWithin = 2 * time.Second

// Server serves a directory on a port of its own.
type Server struct {
	url    string
	http   *http.Server
	stop   context.CancelFunc // ends the requests that hold or wait
	unhook func() bool
	done   chan struct{}
	once   sync.Once
	err    error
}

// Serve listens on addr and serves d until ctx ends or Close is called. An
// empty host or port means 127.0.0.1 and a free port. It refuses to be reached
// from other machines (ErrNotLoopback) unless addr names such an IP address.
func Serve(ctx context.Context, addr string, d *Directory) (*Server, error) {
	addr, err := loopback(ctx, addr)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve the demo directory: %w", err)
	}
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{url: "http://" + l.Addr().String(), stop: stop, done: make(chan struct{})}
	s.http = &http.Server{
		Handler:           d,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      holdFor + d.cfg.Latency + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
	s.unhook = context.AfterFunc(ctx, func() { _ = s.Close() })
	return s, nil
}

// loopback completes addr and refuses what would listen to other machines
// without naming an address of this one.
func loopback(ctx context.Context, addr string) (string, error) {
	host, port := "", ""
	if addr != "" {
		var err error
		if host, port, err = net.SplitHostPort(addr); err != nil {
			return "", fmt.Errorf("demo address %q: %w", addr, err)
		}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = "0"
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return net.JoinHostPort(host, port), nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", fmt.Errorf("demo address %q: %w", addr, err)
	}
	if err := allLoopback(ips); err != nil {
		return "", fmt.Errorf("demo address %q: %w", addr, err)
	}
	return net.JoinHostPort(host, port), nil
}

func allLoopback(ips []netip.Addr) error {
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return fmt.Errorf("%w: the name stands for %s; write that address to mean it", ErrNotLoopback, ip)
		}
	}
	return nil
}

// URL is the base URL of the directory, without a trailing slash.
func (s *Server) URL() string { return s.url }

// Close stops listening, lets answers under way end for a short while, and
// cuts the rest. It may be called more than once and by several goroutines.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.unhook()
		s.stop()
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		err := s.http.Shutdown(ctx)
		if err != nil {
			err = s.http.Close()
		}
		<-s.done
		s.err = errors.Join(s.err, err)
	})
	return s.err
}
