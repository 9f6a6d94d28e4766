package crawl

import (
	"context"
	"fmt"
	"net/url"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// Index says what a run is to do about its source's indexes of cities. They come before all
// results pages, and plan them.
type Index struct {
	Only          bool                 // and no results pages
	Gazetteer     *gazetteer.Gazetteer // that cities are matched to
	Plan          checkpoint.Plan      // categories and pages of the searches; source and cities are filled in
	MinPopulation int                  // of cities that get searches; one that the gazetteer does not know has 0
	Heard         func(StateIndex)     // called when a state begins, after every page, and when it has ended; may be nil
}

// IndexStatus is how the index of a state fared.
type IndexStatus string

// The statuses of a state's index in a run.
const (
	IndexReading IndexStatus = "walking"
	IndexDone    IndexStatus = "done"    // read to the end
	IndexFailed  IndexStatus = "failed"  // a page could not be had or read, or the whole is not believed
	IndexSkipped IndexStatus = "skipped" // another process reads it, or it was read not long ago
	IndexPaused  IndexStatus = "paused"  // handed back in the middle: the next run goes on there
)

// StateIndex is how the index of one state fares.
type StateIndex struct {
	State     string       `json:"state"`
	Status    IndexStatus  `json:"status"`
	Pages     int          `json:"pages"`
	PagesDone int          `json:"pages_done"` // by this crawl of it, over all its resumptions
	Fetched   int          `json:"pages_fetched"`
	Cities    int          `json:"cities"` // met by this crawl of it
	Added     int          `json:"new"`    // of them new to the source, or back
	Gone      int          `json:"gone"`
	Retired   int          `json:"targets_retired"`
	Planned   int          `json:"targets_planned"` // new ones
	Code      yp.ErrorCode `json:"error_code,omitempty"`
	Reason    string       `json:"reason,omitempty"`
}

// hear passes on how the index in hand fares.
func (w *worker) hear(c *checkpoint.Claim) {
	x := &w.index
	x.State, x.Pages, x.PagesDone, x.Cities, x.Added = c.Place.State, c.MaxPages, c.PageCurrent, c.Seen, c.Accepted
	if w.cfg.Index.Heard != nil {
		w.cfg.Index.Heard(*x)
	}
}

// maxStateCities bounds what an index may make of a state: Texas, with the most places
// of all, has some 1,900, and every city becomes ten targets.
const maxStateCities = 10_000

// indexPages reads the pages of a state's index from the one after the last committed, and
// plans the searches of its cities.
func (w *worker) indexPages(ctx context.Context, c *checkpoint.Claim, t *wal.Target) outcome {
	state := c.Place.State
	urls := w.cfg.Source.IndexPages(state)
	if len(urls) != c.MaxPages {
		return outcome{event: yp.EventFail, code: yp.CodeUnknown, reason: fmt.Sprintf("the index of %s has %d pages, and another process planned %d", state, len(urls), c.MaxPages)}
	}
	w.index = StateIndex{Status: IndexReading}
	if c.PageCurrent > 0 {
		w.logger.Info().Str("state", state).Int("pages_done", c.PageCurrent).Int("pages", c.MaxPages).Msg("going on where the last crawl of the index ended")
	}
	w.hear(c)
	m := discover.NewMatcher(w.cfg.Index.Gazetteer, state)
	for c.PageCurrent < c.MaxPages {
		if w.patience.Err() != nil || ctx.Err() != nil {
			return outcome{event: yp.EventRelease, reason: "the run stops"}
		}
		// An index has many pages: one whose source is closed meanwhile is handed back. (A host
		// that holds is waited for with the page.)
		if g, err := w.cfg.Keeper.Gate(ctx, c.SourceID); err != nil {
			return w.judge(ctx, err)
		} else if !g.Open() && g.State != store.GateHeld {
			return outcome{event: yp.EventRelease, reason: w.reasonOf(g)}
		}
		if err := w.indexPage(ctx, c, t, m, urls[c.PageCurrent]); err != nil {
			return w.judge(ctx, err)
		}
		w.hear(c)
	}
	end, set, err := w.cfg.Keeper.CompleteIndex(context.WithoutCancel(ctx), c, w.cfg.Index.Plan, w.cfg.Index.MinPopulation)
	if err != nil {
		return w.judge(ctx, err)
	}
	if end.Suspect != "" {
		w.logger.Warn().Str("state", state).Str("reason", end.Suspect).Msg("the index is not believed: no city is marked as gone")
		return outcome{event: set.Event, saved: true, code: yp.CodeHTMLChanged, reason: end.Suspect, wait: set.Wait}
	}
	w.index.Planned, w.index.Gone, w.index.Retired = end.Planned, end.Dropped, end.Retired
	return outcome{event: yp.EventLastPage, saved: true, end: true}
}

// indexPage brings one page of a state's index and checkpoints it.
func (w *worker) indexPage(ctx context.Context, c *checkpoint.Claim, t *wal.Target, m *discover.Matcher, address string) error {
	number := c.PageCurrent + 1
	index, err := w.persist(ctx, w.indexTask(c, yp.RequestStateIndex, address, number))
	if err != nil {
		return err
	}
	if number == 1 && index.NotFound {
		return &attemptError{cause: yp.CauseMissing, err: fmt.Errorf("the source has no index of %s: %s", c.Place.State, index.Reason)}
	}
	page := &index.Page
	page.Number, page.Last, page.Path, page.Cities = number, number == c.MaxPages, pathOf(address), matched(m, page.Cities)
	if page.Last {
		page.Plan = w.cfg.Index.Plan.Searches(w.cfg.Index.MinPopulation)
	}
	if n := c.Seen + len(page.Cities); n > maxStateCities {
		return &attemptError{cause: yp.CauseLayout, err: fmt.Errorf("the index of %s shows up to %d cities: no state has more than %d", c.Place.State, n, maxStateCities)}
	}
	if _, err := w.save(ctx, c, t, page); err != nil {
		return err
	}
	w.index.Fetched++
	w.count.indexPages.Add(1)
	w.logger.Debug().Str("state", c.Place.State).Int("page", number).Int("cities", len(page.Cities)).Str("reason", index.Reason).Msg("index page committed")
	return nil
}

// matched are the cities of an index with what the gazetteer knows of them.
func matched(m *discover.Matcher, shown []yp.FoundCity) []yp.FoundCity {
	cities := make([]yp.FoundCity, 0, len(shown))
	for _, s := range shown {
		if c, ok := m.Match(s.Address, s.Shown); ok {
			cities = append(cities, c)
		}
	}
	return cities
}

// pathOf is the address of a page without scheme and host.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.RequestURI()
}

// indexTask is the fetch of a page of a state's index.
func (w *worker) indexTask(c *checkpoint.Claim, kind yp.RequestType, address string, number int) *task {
	state, claim := c.Place.State, c
	if kind == yp.RequestProbe {
		claim = nil
	}
	t := w.task(claim, kind, address, number)
	t.read = func(body []byte, final *url.URL, status int) (*site.Page, error) {
		return w.cfg.Source.ParseIndex(body, final, status, state)
	}
	return t
}
