package crawl

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// Index says what a run is to do about its source's indexes of cities. They come before all
// results pages, and plan them.
type Index struct {
	Only          bool                 // and no results pages
	Gazetteer     *gazetteer.Gazetteer // that cities are matched to
	Plan          checkpoint.Plan      // categories and pages of the searches; source and cities are set later
	MinPopulation int                  // of cities that get searches; one that the gazetteer does not know has 0
}

// maxStateCities bounds what an index may make of a state: Texas, with the most places
// of all, has some 1,900, and every city becomes ten targets.
const maxStateCities = 10_000

// index is the visit of a state's index of cities. Only one that was read whole says which cities were removed.
type index struct {
	*visit
	matcher *discover.Matcher // nil = the source has places of its own
	slugs   map[string]int    // all slugs that a page showed, and which page; those of an earlier attempt are not known
	resumed bool              // an earlier attempt began it
}

func newIndex(v *visit) *index { return &index{visit: v, slugs: map[string]int{}} }

func (x *index) begin(context.Context) error {
	c, state := x.claim, x.claim.Place.State
	if pages := len(x.cfg.Source.IndexRequests(state)); pages != c.MaxPages {
		return &attemptError{cause: yp.CauseOther, err: fmt.Errorf("the index of %s now has %d pages, and another process planned %d",
			ofStates(state), pages, c.MaxPages)}
	}
	if !x.cfg.Index.Gazetteer.Own() {
		x.matcher = discover.NewMatcher(x.cfg.Index.Gazetteer, state)
	}
	if x.resumed = c.PageCurrent > 0; x.resumed {
		x.logger.Info().Str("state", state).Int("pages_done", c.PageCurrent).Int("pages", c.MaxPages).Msg("resuming the last crawl of the index")
	}
	return nil
}

func (x *index) last() int { return x.claim.MaxPages }

// next reads a page. An index has many: one whose source is closed meanwhile is handed back. (A host
// that holds is waited for with the page.)
func (x *index) next(ctx context.Context, number int) (*answer, error) {
	g, err := x.cfg.Keeper.Availability(ctx, x.claim.SourceID)
	if err != nil {
		return nil, err
	}
	if !g.Open() && g.State != store.SourceHeld {
		return nil, &releaseError{x.unavailableText(g)}
	}
	t := x.task(yp.RequestStateIndex, x.ask(number), number)
	t.read = x.parse
	return x.fetchPage(ctx, t)
}

func (x *index) probeTask() *task {
	t := x.worker.task(yp.RequestProbe, x.ask(1), 1)
	t.read = x.parse
	return t
}

func (x *index) ask(number int) site.Request {
	return x.cfg.Source.IndexRequests(x.claim.Place.State)[number-1]
}

func (x *index) parse(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error) {
	return src.ParseIndex(body, final, status, x.claim.Place.State)
}

// ends ends no crawl of an index: a page without cities is one of its pages.
func (x *index) ends(context.Context, *answer) (conclusion, bool) { return conclusion{}, false }

// prepare matches the cities of a page to the gazetteer; the last page says what
// is to be planned.
func (x *index) prepare(ctx context.Context, a *answer) error {
	c, state := x.claim, x.claim.Place.State
	if a.Number == 1 && a.NotFound {
		return &attemptError{cause: yp.CauseMissing, err: fmt.Errorf("the source has no index of %s: %s", ofStates(state), a.Reason)}
	}
	cities := make([]yp.FoundCity, 0, len(a.Cities))
	for _, shown := range a.Cities {
		if x.matcher == nil {
			cities = append(cities, discover.MatchOwn(x.cfg.Index.Gazetteer, abroad(x.cfg.Source), shown))
			continue
		}
		if city, ok := x.matcher.Match(shown.Address, shown.Shown); ok {
			cities = append(cities, city)
		}
	}
	if n := c.Seen + len(cities); n > maxStateCities && state != "" || n > 10*maxStateCities {
		return &attemptError{cause: yp.CauseLayout, err: fmt.Errorf("the index of %s shows up to %d cities, more than there are",
			ofStates(state), n)}
	}
	a.Cities, a.Path, a.Last = cities, x.ask(a.Number).Within(), a.Number == c.MaxPages
	if err := x.checkRepeated(ctx, a.Page); err != nil {
		return err
	}
	if a.Last {
		a.Plan = x.cfg.Index.Plan.Searches(x.cfg.Index.MinPopulation)
	}
	return nil
}

// ofStates names the states of an index.
func ofStates(state string) string { return cmp.Or(state, "all states") }

// abroad is the country of a source, "" for the USA.
func abroad(src *site.Source) string {
	if src.Country() == yp.DefaultCountry {
		return ""
	}
	return src.Country()
}

// checkRepeated returns an error when a page of an index shows the cities of another page, and the last
// read of the index found others on it: a cache that drops the query serves one page under every address,
// and the cities of the others have not left the index. Of the pages that an earlier attempt read, only
// the cities are known.
func (x *index) checkRepeated(ctx context.Context, page *site.Page) error {
	if len(page.Cities) == 0 {
		return nil
	}
	slugs := make([]string, len(page.Cities))
	for i := range page.Cities {
		slugs[i] = page.Cities[i].Slug
	}
	slices.Sort(slugs)
	all := strings.Join(slugs, " ")
	earlier := x.slugs[all]
	x.slugs[all] = page.Number
	what := fmt.Sprintf("repeats page %d", earlier)
	if earlier == 0 {
		if what = "shows only cities of other pages"; !x.resumed || len(slugs) < 2 {
			return nil
		}
	}
	repeats, err := x.cfg.Keeper.IndexRepeats(ctx, x.claim, page.Path, page.Cities)
	if err != nil || !repeats {
		return err
	}
	return &attemptError{cause: yp.CauseBroken, err: fmt.Errorf("page %d of the index %s, but other cities were on it at the last read", page.Number, what)}
}

func (x *index) saved(_ context.Context, a *answer, _ *checkpoint.Committed) error {
	c, state := x.claim, x.claim.Place.State
	x.count.update(func(s *Stats) { s.IndexPages++ })
	x.logger.Debug().Str("state", state).Int("page", a.Number).Int("cities", len(a.Cities)).Str("reason", a.Reason).Msg("index page committed")
	x.steps.Info().Str("source", x.cfg.Source.Name()).Str("state", state).Int("page", a.Number).Int("pages", c.MaxPages).Int("cities", c.Seen).
		Msgf("page %d of the index of %s, %s so far", a.Number, ofStates(state), yp.Plural(c.Seen, "city"))
	return nil
}

// done is the conclusion of an index whose last page is committed: see checkpoint.IndexEnd.
func (x *index) done(res *checkpoint.Committed) conclusion {
	end := &res.Index
	x.count.update(func(s *Stats) { s.Dropped += int64(end.Dropped) })
	if end.Suspect != "" {
		return conclusion{
			event: end.Setback.Event, saved: true, code: yp.CodeHTMLChanged, reason: end.Suspect,
			wait: end.Setback.Wait, index: *end,
		}
	}
	if end.Warning != "" {
		x.logger.Warn().Str("state", x.claim.Place.State).Str("reason", end.Warning).Msg("the index lacks many cities")
	}
	return conclusion{event: yp.EventLastPage, saved: true, index: *end}
}

func (x *index) ended(_ context.Context, o *conclusion) error {
	c := x.claim
	switch o.event {
	case yp.EventRelease:
	case yp.EventLastPage:
		x.count.update(func(s *Stats) { s.Indexes++ })
		x.logger.Info().Str("state", c.Place.State).Int("cities", c.Seen).Int("new", c.Accepted).Int("removed", o.index.Removed).
			Int("targets_planned", o.index.Planned).Int("targets_retired", o.index.Retired).Msg("index of a state read")
	default:
		x.count.update(func(s *Stats) { s.IndexesFailed++ })
		x.logFailure(zerolog.WarnLevel, o).Str("state", c.Place.State).Int("page", c.PageCurrent+1).Int("pages", c.MaxPages).
			Msg("the index of a state failed, so no city is marked as removed")
	}
	return nil
}
