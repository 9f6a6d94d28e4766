package web

import (
	"context"
	"net/url"
)

// allViews are the views in the order of the navigation.
func (s *Server) allViews() []View {
	return []View{
		{Path: "/{$}", Nav: "Overview", Title: "Overview", Parts: []Part{s.sentence(), s.bars()}},
	}
}

// sentence says what is going on; it stands on top of every page.
func (s *Server) sentence() Part {
	return Part{Name: "sentence", Read: func(ctx context.Context, _ url.Values) (any, error) {
		return s.cfg.Reader.Progress(ctx, s.cfg.Scope)
	}}
}

// bars are how far the crawl is.
func (s *Server) bars() Part {
	return Part{Name: "bars", Read: func(ctx context.Context, _ url.Values) (any, error) {
		return s.cfg.Reader.Progress(ctx, s.cfg.Scope)
	}}
}
