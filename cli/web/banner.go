package web

import (
	"context"
	"net/url"
	"time"
)

// banner tells on every page what was dropped, restored and rejected in the last days.
func (s *Server) banner() Part {
	return Part{Name: "banner", Read: func(ctx context.Context, _ url.Values) (any, error) {
		return s.cfg.Reader.Closings(ctx, time.Now().AddDate(0, 0, -7))
	}}
}
