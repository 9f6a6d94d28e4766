package web

// panelViews are the views of what works and what went wrong.
func (s *Server) panelViews() []View {
	return append(
		s.queueViews(),
		s.view("/workers", "Workers", "Workers", s.workers()),
		s.view("/errors", "Errors", "Errors", s.causes()),
		s.view("/sources", "Sources", "Sources", s.sources()),
		s.view("/listings", "Listings", "Listings", s.listings()),
	)
}
