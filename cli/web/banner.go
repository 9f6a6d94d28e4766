package web

import (
	"context"
	"net/url"
	"time"

	"ypcrawl/store/report"
)

// banner tells on every page what was dropped, restored and rejected in the last days.
func (s *Server) banner() Part {
	return Part{Name: "banner", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		return k.Closings(ctx, time.Now().AddDate(0, 0, -7))
	}}
}
