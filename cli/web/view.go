package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
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
	Name  string                                               // of its template, and the id of its element
	Of    string                                               // what it is about, where several views have one of that name
	Asks  []string                                             // the parameters of path and query on which the answer depends
	Read  func(ctx context.Context, q url.Values) (any, error) // nil = nothing is read
	Every time.Duration                                        // at least between two reads; default Config.Every
}

// Shown is what the template of a part gets.
type Shown struct {
	Model any        // what Read returned
	Query url.Values // the parameters that the part asks for
	Now   time.Time  // when it was read
	Scope string     // what the figures are about, for people: "the whole file"
	Slow  bool       // it takes so long that it is read less often: the page says how old it is
}

// maxValue bounds a parameter: a longer one is cut.
const maxValue = 200

// parameters are those of path and query that a view knows; others are no part of its address.
func parameters(v View, r *http.Request) url.Values {
	q, given := url.Values{}, r.URL.Query()
	for _, p := range v.Parts {
		for _, name := range p.Asks {
			value := r.PathValue(name)
			if value == "" {
				value = given.Get(name)
			}
			if len(value) > maxValue {
				value = value[:maxValue]
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
	case errors.Is(err, errCrowded):
		return &Refusal{http.StatusServiceUnavailable, "Too many different pages are requested at once.", "Load the page again in a moment."}
	}
	return nil
}

// serveView answers with the page, or follows it where an event stream is asked for.
func (s *Server) serveView(v View) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := parameters(v, r)
		fragments, refused := s.look(v, q)
		switch {
		case refused != nil:
			s.refuse(w, refused.Status, refused.Text, refused.Next)
		case r.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream"):
			s.follow(w, r, v, q)
		default:
			s.writePage(w, v, fragments)
		}
	})
}

// look returns the parts of a view as they stand.
func (s *Server) look(v View, q url.Values) ([]fragment, *Refusal) {
	all := make([]fragment, 0, len(v.Parts))
	for _, p := range v.Parts {
		f, err := s.cache.get(p, p.of(q))
		if refused := refusal(err); refused != nil {
			return nil, refused
		}
		all = append(all, f)
	}
	return all, nil
}
