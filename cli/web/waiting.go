package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// Opened is a database that a page shows from now on.
type Opened struct {
	Reader *report.Reader
	Scope  store.Scope
	About  string                  // as in Config
	Plain  map[string]http.Handler // as in Config
	Close  func()                  // as in Config

	Showing func() // called once its page is served; nil = nothing is to be done then
}

// Shown is the Config of a page that shows the database.
func (o *Opened) Shown(cfg Config) Config {
	cfg.Reader, cfg.Scope, cfg.About, cfg.Plain, cfg.Close = o.Reader, o.Scope, o.About, o.Plain, o.Close
	return cfg
}

// Missing says for what a page waits that has no crawl to show.
type Missing struct {
	Path  string       // of the database
	Begin string       // the command that begins a crawl, without the program's name
	Of    string       // the source that has to be planned; "" = any
	Why   func() error // why what is there can't be shown; nil = nothing is there
}

// errSucceeded is why a server stops whose page another one shows from then on.
var errSucceeded = errors.New("the database was opened anew")

// shown is the server that answers now.
func (s *Server) shown() *Server {
	if next := s.successor.Load(); next != nil {
		return next
	}
	return s
}

// withoutCrawl has every view say that there is no crawl yet.
func (s *Server) withoutCrawl(views []View) []View {
	missing := Part{Name: "missing", Read: func(context.Context, *report.Reader, url.Values) (any, error) {
		return map[string]any{"Missing": s.cfg.Missing, "Why": s.cfg.Missing.Why()}, nil
	}}
	for i := range views {
		views[i].Nav, views[i].Title, views[i].Parts = "", "No crawl yet", []Part{missing}
	}
	return views
}

// keepUp opens the database as soon as there is one, and again when another one has its name, until ctx ends.
func (s *Server) keepUp(ctx context.Context) {
	if s.cfg.Open == nil {
		return
	}
	tick := time.NewTicker(s.cfg.Every)
	defer tick.Stop()
	var told *Server // that its file is gone
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at := s.shown()
		gone := at.gone()
		if gone == nil && at.cfg.Reader != nil {
			told = nil
			continue
		}
		if s.openAnew(ctx); gone != nil && s.shown() == at && told != at {
			told = at
			s.cfg.Logger.Warn().Str("component", "web").Msg(at.why(gone))
		}
	}
}

// gone says that another file, or none, has the name of the one that is read.
func (s *Server) gone() error {
	if s.cfg.Reader == nil {
		return nil
	}
	return s.cfg.Reader.InPlace()
}

// openAnew has another server answer with what is there now.
func (s *Server) openAnew(ctx context.Context) {
	opened := s.cfg.Open(ctx)
	if opened == nil {
		return
	}
	next, last := New(opened.Shown(s.cfg)), s.shown()
	next.conns, next.beatEvery, next.sendTime = s.conns, s.beatEvery, s.sendTime
	s.successor.Store(next)
	if opened.Showing != nil {
		opened.Showing()
	}
	last.stop(errSucceeded)
	last.release()
}

// release closes what a server that has stopped read, after the looks that are under way.
func (s *Server) release() {
	if s.cfg.Close == nil {
		return
	}
	for range readAtOnce {
		s.reading <- struct{}{}
	}
	s.cfg.Close()
	for range readAtOnce {
		<-s.reading
	}
}
