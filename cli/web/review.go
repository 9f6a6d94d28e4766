package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// reviewRows is how many changes a review shows at once.
const reviewRows = 200

// banner tells on every page what is to be reviewed.
func (s *Server) banner() Part {
	return Part{Name: "banner", Read: func(ctx context.Context, _ url.Values) (any, error) { return s.cfg.Reader.ToReview(ctx) }}
}

// reviewModel is a list to review. The list goes up to one event, which stands in its
// address: nothing that comes while somebody reads it is in it, and so nothing is marked that
// was not shown.
type reviewModel struct {
	*report.Review
	Rows    []reviewRow
	Allowed bool   // to mark it, from this page
	Again   string // the address of a list that has what came later
}

type reviewRow struct {
	At, Kind, Source, ListingID, Name, Place, Why string
}

// review is the list.
func (s *Server) review() Part {
	return Part{Name: "review", Asks: []string{"upto"}, Read: func(ctx context.Context, q url.Values) (any, error) {
		upto, err := strconv.ParseInt(q.Get("upto"), 10, 64)
		if err != nil || upto < 0 {
			return nil, &Refusal{http.StatusNotFound, fmt.Sprintf("There is no review up to %q.", q.Get("upto")), "Open /review."}
		}
		r := &report.Review{}
		if upto > 0 { // of a file without a single event there is nothing to review
			if r, err = s.cfg.Reader.Review(ctx, upto, reviewRows); err != nil {
				return nil, err
			}
		}
		m := reviewModel{Review: r, Allowed: s.cfg.MarkReviewed != nil, Again: "/review"}
		for i := range r.Changes {
			c := &r.Changes[i]
			m.Rows = append(m.Rows, reviewRow{
				At: c.At.UTC().Format("2006-01-02 15:04Z"), Kind: string(c.Kind), Source: c.Source, ListingID: c.ListingID, Name: c.Name,
				Place: strings.Trim(c.City+", "+c.State, ", "), Why: strings.Join(c.Reasons, "; "),
			})
		}
		return m, nil
	}}
}

// mountReview mounts where a review begins, and the form that ends one.
func (s *Server) mountReview() {
	s.mux.HandleFunc("GET /review", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
		defer cancel()
		last, err := s.cfg.Reader.LastEvent(ctx)
		if err != nil {
			s.refuse(w, http.StatusServiceUnavailable, "What is to be reviewed could not be read: "+why(err)+".", "Load the page again in a moment.")
			return
		}
		http.Redirect(w, r, "/review/"+strconv.FormatInt(last, 10), http.StatusSeeOther)
	})
	s.post("/review", func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.MarkReviewed == nil {
			s.refuse(w, http.StatusForbidden, "This page is read-only.", "Type `ypcrawl changes --mark-reviewed`, or start the page with --allow-actions.")
			return
		}
		event, err := strconv.ParseInt(r.PostForm.Get("event"), 10, 64)
		if err != nil {
			s.refuse(w, http.StatusBadRequest, "The form does not say until where the list was read.", "Load the list at /review again, and press its button.")
			return
		}
		err = s.cfg.MarkReviewed(r.Context(), event)
		var refused *store.RefusedError
		switch {
		case errors.As(err, &refused):
			s.refuse(w, http.StatusBadRequest, "The list can't be marked as reviewed: "+err.Error()+".", "Open /review again.")
		case err != nil:
			s.cfg.Logger.Warn().Str("component", "web").Err(err).Msg("a review could not be marked")
			s.refuse(w, http.StatusServiceUnavailable, "The mark could not be stored: "+err.Error()+".", "Nothing was marked. Press the button again in a moment, or type `ypcrawl changes --mark-reviewed`.")
		default:
			s.cache.forget("banner", "review")
			http.Redirect(w, r, "/review", http.StatusSeeOther)
		}
	})
}
