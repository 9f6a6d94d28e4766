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
		s.view("/{$}", "Overview", "Overview", s.bars(), s.stages(), s.figures(), s.overTime(), s.stateMap()),
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
		st, err := standingOf(ctx, k, s.cfg.Scope)
		if err != nil {
			return nil, err
		}
		return noticesOf(st), nil
	}}
}

// bar is one of the bars: of searches, and of pages while there is something to read. Where All is not known there is a number alone.
type bar struct {
	Name      string
	Done, All int64
	Troubled  int64 // of All, neither done nor to do
	Known     bool  // All is
	Left      string
	GivenUp   int64 // of Done
}

// Notes are what is said below the bar.
func (b bar) Notes() (all []string) {
	if b.Left != "" {
		all = append(all, b.Left)
	}
	if b.GivenUp > 0 {
		all = append(all, yp.Thousands(b.GivenUp)+" given up (counted as finished)")
	}
	return all
}

// bars are how far the crawl is.
func (s *Server) bars() Part {
	return Part{Name: "bars", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		st, err := standingOf(ctx, k, s.cfg.Scope)
		if err != nil {
			return nil, err
		}
		left := st.PagesLeft
		if asksForPages(st) && (st.Live == 0 || st.WaitingFor != "") {
			left, err = k.PagesLeft(ctx, s.cfg.Scope)
		}
		return barsOf(st, left), err
	}}
}

// stages are the counts of each kind of target, where there are others than searches.
func (s *Server) stages() Part {
	return Part{Name: "stages", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		st, err := standingOf(ctx, k, s.cfg.Scope)
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

// barsOf are the bars; left is how many pages of results are left.
func barsOf(st *report.Standing, left report.PagesLeft) []bar {
	if all := st.Stage(yp.KindIndex, "targets"); all > 0 && st.Stage(yp.KindIndex, "done") < all {
		index := indexBar(st, all)
		if st.Overall.Targets == 0 { // none is known before an index was read
			if more := timeLeft(st); more != "" {
				index.Left += " · " + more
			}
			return []bar{index}
		}
		return append([]bar{index}, searchBars(st, left)...)
	}
	return searchBars(st, left)
}

// indexBar is how far the indexes of states are.
func indexBar(st *report.Standing, all int64) bar {
	parked := st.Stage(yp.KindIndex, "parked")
	return bar{
		Name: "State indexes", Done: st.Stage(yp.KindIndex, "done") + parked, All: all, Known: true, GivenUp: parked,
		Troubled: st.Stage(yp.KindIndex, "failed") + st.Stage(yp.KindIndex, "stuck"),
		Left:     yp.Plural(st.Stage(yp.KindIndex, "pages"), "page") + " read",
	}
}

func searchBars(st *report.Standing, left report.PagesLeft) []bar {
	o := st.Overall
	searches := bar{
		Name: "Searches", Done: o.Done + o.Parked, All: o.Targets, Troubled: o.Failed + o.Stuck, Known: true,
		GivenUp: o.Parked, Left: timeLeft(st),
	}
	if d := st.Details; d != nil {
		return []bar{searches, { // its time is part of the one above
			Name: "Listings' own pages", Done: d.Later, All: d.Due + d.Later + d.Held, Known: true,
		}}
	}
	if !asksForPages(st) {
		return []bar{searches}
	}
	return []bar{searches, {
		Name: "Pages of results", Done: o.Pages,
		Left: left.Text(),
	}}
}

// asksForPages reports whether pages of results have a line: while some are to be read.
func asksForPages(st *report.Standing) bool {
	return st.Details == nil && st.Overall.Planned+st.Overall.InProgress > 0
}

// timeLeft is how long all that is due takes; "" where the sentence says why nothing goes on.
func timeLeft(st *report.Standing) string {
	switch {
	case st.Live == 0 && st.Unknown > 0:
		return "time left: unknown"
	case st.Live == 0, st.WaitingFor != "":
		return ""
	case st.Seconds == 0:
		return "nothing is due right now"
	}
	return "time left: " + st.Left.Text()
}

// figures are the four numbers.
func (s *Server) figures() Part {
	return Part{Name: "figures", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		return k.Overview(ctx, s.cfg.Scope)
	}}
}
