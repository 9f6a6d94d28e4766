package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"ypcrawl/store/report"
)

// View is a page: its path, and its parts from top to bottom.
type View struct {
	Path  string // as http.ServeMux wants it: "/", made "/{$}", or "/states/{state}"
	Nav   string // its word in the navigation; "" = it is not there
	Title string
	Parts []Part
}

// Part is a section of a page: a question, and the template that shows its answer.
type Part struct {
	Name string   // of its template, and the id of its element
	Of   string   // what it is about, where several views have one of that name
	Asks []string // the parameters of path and query on which the answer depends

	Every time.Duration // at least between two reads; 0 = as often as the page is read
	Read  func(ctx context.Context, k *report.Reader, q url.Values) (any, error)
}

// Shown is what the template of a part gets.
type Shown struct {
	Model any        // what Read returned
	Query url.Values // the parameters that the part asks for
	Now   time.Time  // when it was read
	Scope string     // what the figures are about, for people: "whole file"
	Slow  bool       // it takes so long that it is read less often: the page says how old it is
}

// How long a parameter may be: a longer one is cut, but an id, which is as long as its source wrote it. A place in a list has the
// values of a row.
const (
	maxValue = 200
	maxPlace = 4000
)

// parameters are those of path and query that a view knows; others are no part of its address.
func parameters(v View, r *http.Request) url.Values {
	q, given := url.Values{}, r.URL.Query()
	for _, p := range v.Parts {
		for _, name := range p.Asks {
			value := r.PathValue(name)
			if value == "" {
				value = given.Get(name)
			}
			most := maxValue
			if name == "after" {
				most = maxPlace
			}
			if len(value) > most && name != "id" {
				value = value[:most]
			}
			if value != "" {
				q.Set(name, strings.ToValidUTF8(value, "?"))
			}
		}
	}
	return q
}

// of keeps those parameters that the part asks for.
func (p Part) of(q url.Values) url.Values {
	own := url.Values{}
	for name, values := range q {
		if slices.Contains(p.Asks, name) {
			own[name] = values
		}
	}
	return own
}

// Refusal is an error of Part.Read that says that there is nothing to show, and what to do.
// A *report.NotFoundError is one with status 404.
type Refusal struct {
	Status int
	Text   string
	Next   string
}

func (e *Refusal) Error() string { return e.Text }

// refusal returns what a read says that can't be answered.
func refusal(err error) *Refusal {
	var refused *Refusal
	var unknown *report.NotFoundError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &unknown):
		return &Refusal{http.StatusNotFound, unknown.Error(), "Go back to the overview."}
	}
	return nil
}

// serveView answers with the page, or follows it where an event stream is asked for.
func (s *Server) serveView(v View) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := parameters(v, r)
		if r.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") {
			s.follow(w, r, v, q)
			return
		}
		if !s.conns.begin(r.Context()) {
			s.refuse(w, r, busy.Status, busy.Text, busy.Next)
			return
		}
		defer s.conns.end()
		if fragments, refused := s.lookTogether(r.Context(), v, q); refused != nil {
			s.refuse(w, r, refused.Status, refused.Text, refused.Next)
		} else {
			s.writePage(w, r, v, fragments)
		}
	})
}

var busy = &Refusal{http.StatusServiceUnavailable, "The page is busy.", "Load it again in a moment."}

// looking is a look that all share who ask for its address before it begins.
type looking struct {
	done      chan struct{} // closed when there is an answer
	fragments []fragment
	refused   *Refusal
}

// lookTogether is a look for whoever needs the whole view, read after it was asked for.
func (s *Server) lookTogether(ctx context.Context, v View, q url.Values) ([]fragment, *Refusal) {
	address := v.Path + "?" + q.Encode()
	s.mu.Lock()
	l := s.waiting[address]
	if l == nil {
		l = &looking{done: make(chan struct{})}
		s.waiting[address] = l
		go s.lookFor(l, address, v, q)
	}
	s.mu.Unlock()
	select {
	case <-l.done:
		return l.fragments, l.refused
	case <-ctx.Done():
		return nil, busy
	}
}

// lookFor answers those who share a look. It is nobody's own: whoever leaves takes nothing from the others.
func (s *Server) lookFor(l *looking, address string, v View, q url.Values) {
	defer close(l.done)
	begins := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, address)
	}
	l.fragments, l.refused = s.lookFrom(s.stopped, begins, v, q, map[string]*last{})
}

// last is how a part was read last by whoever looks again and again.
type last struct {
	read time.Time // well; zero = never
	due  time.Time // again
	hash string
}

// A part whose question takes long is read less often: it may take one part in so many of the time.
const (
	restOf = 20
	slow   = 2 * time.Second // between two reads, from which on the page says of when it is
)

// look reads the parts of a view that are due, all of one moment, and renders them. Where one can't be read, it says so.
func (s *Server) look(ctx context.Context, v View, q url.Values, seen map[string]*last) (all []fragment, refused *Refusal) {
	return s.lookFrom(ctx, func() {}, v, q, seen)
}

// snapshot hands do a reader of one moment, nil where there is no crawl yet.
func (s *Server) snapshot(ctx context.Context, do func(k *report.Reader) error) error {
	if s.cfg.Reader == nil {
		return do(nil)
	}
	return s.cfg.Reader.Snapshot(ctx, do)
}

// lookFrom is look; begins is called before anything is read.
func (s *Server) lookFrom(ctx context.Context, begins func(), v View, q url.Values,
	seen map[string]*last,
) (all []fragment, refused *Refusal) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
		begins()
	case <-ctx.Done():
		begins()
		return nil, busy
	}
	ctx = context.WithValue(ctx, onceKey{}, &once{})
	err := s.snapshot(ctx, func(k *report.Reader) error {
		for _, p := range v.Parts {
			if seen[p.Name] == nil {
				seen[p.Name] = &last{}
			}
			was, shown := seen[p.Name], Shown{Query: p.of(q), Now: s.now()}
			if shown.Now.Before(was.due) {
				continue
			}
			limited, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
			var err error
			shown.Model, err = s.read(limited, p, k, shown.Query)
			cancel()
			rest := max(s.cfg.Every, restOf*s.now().Sub(shown.Now))
			was.due, shown.Slow = shown.Now.Add(max(rest, p.Every)), rest > slow
			if refused = refusal(err); refused != nil {
				all = nil
				return nil
			}
			if err == nil {
				was.read = shown.Now
			}
			shown.Now = was.read
			all = append(all, s.render(v, p, shown, err))
		}
		return nil
	})
	if err != nil { // the file is gone, say
		for _, p := range v.Parts {
			seen[p.Name] = cmp.Or(seen[p.Name], &last{})
			all = append(all, s.render(v, p, Shown{Now: seen[p.Name].read}, err))
		}
	}
	return all, refused
}

// read asks the question of a part. A panic is an error of this part alone: a defect of the page must not end the crawl beside it.
func (s *Server) read(ctx context.Context, p Part, k *report.Reader, q url.Values) (model any, err error) {
	defer func() {
		if v := recover(); v != nil {
			if _, told := s.defects.LoadOrStore(p.Name, true); !told { // a page that is followed asks each second
				s.cfg.Logger.Error().Str("component", "web").Str("part", p.Name).Bytes("stack", debug.Stack()).Msgf("defect: %v", v)
			}
			model, err = nil, errors.New("this is a defect of ypcrawl, and the log has more")
		}
	}()
	return p.Read(ctx, k, q)
}
