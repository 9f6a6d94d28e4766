package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// Config says what is shown, and to whom. Database and one of Reader and Open are required; the
// other zero values have the defaults named.
type Config struct {
	Reader   *report.Reader // nil = there is no crawl yet
	Database string         // name of the file, for people
	Command  string         // how this program is called for it; default ypcrawl
	Scope    store.Scope    // of it: source and states count
	About    string         // the scope for people; default "whole file"
	Hosts    []string       // names under which the page may be asked for, beside its address
	Every    time.Duration  // at least between two reads of the same; default 1 s
	Timeout  time.Duration  // of one read; default 10 s
	Viewers  int            // at most so many follow at once; default 64
	Logger   zerolog.Logger // default none

	// Open opens the database anew; nil = it can't yet. It is asked while there is no Reader, and once another file, or none, has the
	// name of the one that is read. Default: what is shown stays as it is.
	Open    func(ctx context.Context) *Opened
	Missing Missing // for what the page waits while there is no Reader
	Close   func()  // called when Reader is no longer read; default nothing

	// Plain are served at these paths beside the page, to who passes its guard.
	Plain map[string]http.Handler
	// Health is the one of those that is also served to who names no host, as load balancers do by HTTP/1.0; "" = none.
	Health string
}

func (c Config) withDefaults() Config {
	c.Command = cmp.Or(c.Command, "ypcrawl")
	c.About = cmp.Or(c.About, "whole file")
	c.Every = cmp.Or(c.Every, time.Second)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Viewers = cmp.Or(c.Viewers, 64)
	return c
}

// Limits of what browsers may take.
const (
	maxHeader  = 16 << 10
	readAtOnce = 2 // looks under way
	headTime   = 5 * time.Second
	answerTime = 30 * time.Second
	idleTime   = 30 * time.Second
	stopTime   = time.Second // for answers under way when the server stops
)

// Server serves the page.
type Server struct {
	cfg     Config
	mux     *http.ServeMux
	views   []View
	conns   *conns
	reading chan struct{} // a place for each look under way: the readers of a database are few

	downloads chan struct{} // a place for each that is under way

	now  func() time.Time                                                       // when a view is looked at
	tick func(every time.Duration) (again func() <-chan time.Time, stop func()) // when a feed looks again; it asks each time it waits

	headTime  time.Duration // for a client to send the head of a request
	takeTime  time.Duration // for a client to take a batch of a download
	sortTime  time.Duration // for the rows of a list in another order than its own
	beatEvery time.Duration // a sign of life: a page that hears nothing says so
	sendTime  time.Duration // a viewer who does not take an event within it is dropped

	stop    context.CancelCauseFunc
	stopped context.Context //nolint:containedctx // it is the stop signal itself

	defects sync.Map // names of parts whose defect was logged

	successor atomic.Pointer[Server] // that answers instead; nil = none

	mu      sync.Mutex
	feeds   map[string]*feed    // by address
	count   int                 // viewers of all feeds
	waiting map[string]*looking // that have not begun, by address
}

// Ended is the cause with which the context of Serve ends when there is something to tell
// those who look on: "the run has ended: done".
type Ended string

func (e Ended) Error() string { return string(e) }

// New returns a server. It panics when a template is wrong.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := &Server{
		cfg: cfg, mux: http.NewServeMux(), feeds: map[string]*feed{}, waiting: map[string]*looking{},
		conns: &conns{open: map[net.Conn]standing{}, views: make(chan struct{}, maxAnswers), room: roomTime},
		now:   time.Now, tick: ticker,
		reading: make(chan struct{}, readAtOnce), downloads: make(chan struct{}, downloadsAtOnce),
		headTime: headTime, sortTime: sortTime, takeTime: takeTime, beatEvery: 5 * time.Second, sendTime: 10 * time.Second,
	}
	s.stopped, s.stop = context.WithCancelCause(context.Background())
	s.views = s.allViews()
	if cfg.Reader == nil {
		s.views = s.withoutCrawl(s.views)
	}
	for _, v := range s.views {
		s.mux.Handle("GET "+v.Path, s.serveView(v)) // "/{$}" is the root alone
	}
	s.mux.Handle("GET /static/{file}", serveStatic())
	s.mux.Handle("GET /listings/{source}/{id...}", s.slashes())
	s.plainHandlers()
	return s
}

// ticker ticks by the clock.
func ticker(every time.Duration) (again func() <-chan time.Time, stop func()) {
	t := time.NewTicker(every)
	return func() <-chan time.Time { return t.C }, t.Stop
}

// plainHandlers mounts what is no view.
func (s *Server) plainHandlers() {
	for path, handle := range s.cfg.Plain {
		s.mux.Handle("GET "+path, handle)
	}
	s.mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, "There is no page "+r.URL.Path+".", "Go to the overview.")
	})
}

// Serve answers until ctx ends, and returns promptly then: those who look on are told why, if
// the cause is an Ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.bound(s.guard(l.Addr())), ConnState: s.conns.changed, ConnContext: counted,
		ReadHeaderTimeout: s.headTime, ReadTimeout: s.headTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(slog.NewTextHandler(s.cfg.Logger, nil), slog.LevelWarn), // never over a progress bar
	}
	keeping, leave := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.keepUp(keeping)
	}()
	end := func(cause error) {
		leave()
		<-kept
		s.stop(cause)
		s.shown().stop(cause)
	}
	defer func() { s.shown().release() }()
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		end(err)
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
	}
	end(context.Cause(ctx))
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if srv.Shutdown(last) != nil {
		_ = srv.Close() // somebody takes too long
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}
