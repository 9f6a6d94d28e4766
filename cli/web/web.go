package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/net/netutil"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// Config says what is shown, and to whom. Reader and Database are required; the other zero
// values have the defaults named.
type Config struct {
	Reader   *report.Reader
	Database string         // name of the file, for people
	Scope    store.Scope    // of it: source and states count
	About    string         // the scope for people; default "the whole file"
	Hosts    []string       // names under which the page may be asked for, beside its address
	Every    time.Duration  // at least between two reads of the same; default 1 s
	Timeout  time.Duration  // of one read; default 10 s
	Viewers  int            // at most so many follow at once; default 64
	Logger   zerolog.Logger // default none

	// MarkReviewed keeps that what became of listings was looked through up to an event, see
	// store.MarkReviewed. It is the one thing that the page may change; default: it may not.
	MarkReviewed func(ctx context.Context, event int64) error

	// Plain are served at these paths beside the page, to who passes its guard.
	Plain map[string]http.Handler
}

func (c Config) withDefaults() Config {
	c.About = cmp.Or(c.About, "the whole file")
	c.Every = cmp.Or(c.Every, time.Second)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Viewers = cmp.Or(c.Viewers, 64)
	return c
}

// Limits of what browsers may take.
const (
	maxConns    = 256
	maxHeader   = 16 << 10
	headerTime  = 5 * time.Second
	answerTime  = 30 * time.Second
	idleTime    = 2 * time.Minute
	stopTime    = time.Second // for answers under way when the server stops
	maxPostBody = 4 << 10
)

// Server serves the page.
type Server struct {
	cfg   Config
	token string // what a form must send back, random for each process
	mux   *http.ServeMux
	posts map[string]bool // the paths that take a POST
	views []View
	cache cache

	beatEvery time.Duration // a sign of life: a page that hears nothing says so
	sendTime  time.Duration // a viewer who does not take an event within it is dropped

	standing memo[*report.Standing]

	stop    context.CancelCauseFunc
	stopped context.Context //nolint:containedctx // it is the stop signal itself

	mu    sync.Mutex
	feeds map[string]*feed // by address
	count int              // viewers of all feeds
}

// Ended is the cause with which the context of Serve ends when there is something to tell
// those who look on: "the run has ended: done".
type Ended string

func (e Ended) Error() string { return string(e) }

// New returns a server. It panics when a template is wrong.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, token: rand.Text(), mux: http.NewServeMux(), posts: map[string]bool{}, feeds: map[string]*feed{}, beatEvery: 5 * time.Second, sendTime: 10 * time.Second}
	s.stopped, s.stop = context.WithCancelCause(context.Background())
	s.cache = cache{every: cfg.Every, timeout: cfg.Timeout, stopped: s.stopped, slots: map[string]*slot{}, busy: make(chan struct{}, readAtOnce), render: s.render}
	s.views = s.allViews()
	for _, v := range s.views {
		s.mux.Handle("GET "+v.Path, s.serveView(v)) // "/{$}" is the root alone
	}
	s.mux.Handle("GET /static/", serveStatic())
	s.plainHandlers()
	return s
}

// plainHandlers mounts what is no view. A path that takes a POST is mounted by s.post.
func (s *Server) plainHandlers() {
	s.mountReview()
	for path, handle := range s.cfg.Plain {
		s.mux.Handle("GET "+path, handle)
	}
	s.mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, http.StatusNotFound, "There is no page "+r.URL.Path+".", "Choose one below.")
	})
}

// post mounts a handler for forms, which gets none that did not come from our own page.
func (s *Server) post(path string, handle http.HandlerFunc) {
	s.posts[path] = true
	s.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxPostBody)
		if err := r.ParseForm(); err != nil || !s.ours(r.PostForm.Get("token")) {
			s.refuse(w, http.StatusForbidden, "This form is not from this page, or the program was restarted since.", "Load the page again and press the button once more.")
			return
		}
		handle(w, r)
	})
}

// Serve answers until ctx ends, and returns promptly then: those who look on are told why, if
// the cause is an Ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.guard(l.Addr()),
		ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(slog.NewTextHandler(s.cfg.Logger, nil), slog.LevelWarn), // never over a progress bar
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(netutil.LimitListener(l, maxConns)) }()
	select {
	case err := <-done:
		s.stop(err)
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
	}
	s.stop(context.Cause(ctx))
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
