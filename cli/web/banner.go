package web

import (
	"context"
	"net/url"

	"ypcrawl/store/report"
)

const bannerDays = 7

// banner tells on every page what was dropped, restored and rejected in the last days.
func (s *Server) banner() Part {
	return Part{Name: "banner", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		return k.Closings(ctx, bannerDays)
	}}
}
