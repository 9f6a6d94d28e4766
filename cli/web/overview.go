package web

import (
	"context"
	"net/url"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// allViews are the views in the order of the navigation.
func (s *Server) allViews() []View {
	return append([]View{
		s.view("/{$}", "Overview", "Overview", s.bars(), s.stages(), s.figures(), s.stateMap()),
		s.view("/states", "States", "States", s.pick(), s.statesTable()),
		s.view("/states/{state}", "", "State", s.statesTable()),
		s.view("/targets/{id}", "", "Target", s.trace()),
		s.view("/listings/{source}/{id}", "", "Listing", s.listing()),
		s.view("/listings/{source}", "", "Listing", s.listing()), // with ?id=, see listingPath
		s.view("/companies/{id}", "", "Company", s.company()),
	}, s.listViews()...)
}

// view is a view with the parts that are on top of every page.
func (s *Server) view(path, nav, title string, parts ...Part) View {
	return View{Path: path, Nav: nav, Title: title, Parts: append([]Part{s.sentence(), s.banner()}, parts...)}
}

// sentence says what is going on.
func (s *Server) sentence() Part {
	return Part{Name: "sentence", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		return k.Standing(ctx, s.cfg.Scope)
	}}
}

// bar is one of the bars: of targets, and of pages while there is something to read.
type bar struct {
	Name      string
	Done, All int64
	Troubled  int64 // of All, neither done nor to do
	Known     bool  // All is
	Left      string
	Dead      int64 // of Done, dead letters
}

// bars are how far the crawl is.
func (s *Server) bars() Part {
	return Part{Name: "bars", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		st, err := k.Standing(ctx, s.cfg.Scope)
		if err != nil {
			return nil, err
		}
		return barsOf(st), nil
	}}
}

// stages are the counts of each kind of target, where there are others than searches.
func (s *Server) stages() Part {
	return Part{Name: "stages", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		st, err := k.Standing(ctx, s.cfg.Scope)
		if err != nil || !st.Staged() {
			return (*table)(nil), err
		}
		return stagesOf(st), nil
	}}
}

// stagesOf are the counts of each kind of target, as `progress` has them.
func stagesOf(st *report.Standing) *table {
	t, shown := &table{now: st.Now.Time}, st.Stages.Shown()
	_ = t.Head(shown.Columns)
	for _, row := range shown.Rows {
		_ = t.Row(row)
	}
	return t
}

func barsOf(st *report.Standing) []bar {
	if all := st.Stage(yp.KindIndex, "targets"); all > 0 && st.Stage(yp.KindIndex, "done") < all {
		index := indexBar(st, all)
		if st.Overall.Targets == 0 { // none is known before an index was read
			index.Left += " · " + timeLeft(st)
			return []bar{index}
		}
		return append([]bar{index}, searchBars(st)...)
	}
	return searchBars(st)
}

// indexBar is how far the indexes of states are.
func indexBar(st *report.Standing, all int64) bar {
	parked := st.Stage(yp.KindIndex, "parked")
	return bar{
		Name: "Indexes of states", Done: st.Stage(yp.KindIndex, "done") + parked, All: all, Known: true, Dead: parked,
		Troubled: st.Stage(yp.KindIndex, "failed") + st.Stage(yp.KindIndex, "stuck"),
		Left:     yp.Plural(st.Stage(yp.KindIndex, "pages"), "page") + " read",
	}
}

func searchBars(st *report.Standing) []bar {
	o := st.Overall
	targets := bar{
		Name: "Targets", Done: o.Done + o.Parked, All: o.Targets, Troubled: o.Failed + o.Stuck, Known: true,
		Dead: o.Parked, Left: timeLeft(st),
	}
	if d := st.Details; d != nil {
		return []bar{targets, { // its time is part of the one above
			Name: "Listings' own pages", Done: d.Later, All: d.Due + d.Later + d.Held, Known: true,
		}}
	}
	if o.Planned+o.InProgress == 0 {
		return []bar{targets}
	}
	return []bar{targets, {
		Name: "Pages of results", Done: o.Pages,
		Left: "how many are left is not known: the site does not say how many pages it has",
	}}
}

// timeLeft is how long all that is due takes, or why nobody knows.
func timeLeft(st *report.Standing) string {
	switch {
	case st.Live == 0 && st.Unknown > 0:
		return "unknown, as whether a run is under way"
	case st.Live == 0:
		return "no run is under way"
	case st.WaitingFor != "":
		return "no page is read while everything waits"
	case st.Seconds == 0:
		return "nothing is left to do now"
	}
	return "time left for all that is due: " + st.Left.Text()
}

// figures are the four numbers.
func (s *Server) figures() Part {
	return Part{Name: "figures", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		return k.Overview(ctx, s.cfg.Scope)
	}}
}
