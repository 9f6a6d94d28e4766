package crawl

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
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

// beginIndex begins or resumes the crawl of a state's index; false when it can't be read.
func (w *worker) beginIndex(c *checkpoint.Claim) (outcome, bool) {
	state := c.Place.State
	if pages := len(w.cfg.Source.IndexPages(state)); pages != c.MaxPages {
		return outcome{event: yp.EventFail, code: yp.CodeUnknown, reason: fmt.Sprintf("the index of %s now has %d pages, and another process planned %d", state, pages, c.MaxPages)}, false
	}
	w.matcher = discover.NewMatcher(w.cfg.Index.Gazetteer, state)
	if c.PageCurrent > 0 {
		w.logger.Info().Str("state", state).Int("pages_done", c.PageCurrent).Int("pages", c.MaxPages).Msg("resuming the last crawl of the index")
	}
	return outcome{}, true
}

// indexTask is the fetch of a page of a state's index.
func (w *worker) indexTask(c *checkpoint.Claim, kind yp.RequestType, number int) *task {
	state, claim := c.Place.State, c
	if kind == yp.RequestProbe {
		claim = nil
	}
	t := w.task(claim, kind, w.cfg.Source.IndexPages(state)[number-1], number)
	t.read = func(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error) {
		return src.ParseIndex(body, final, status, state)
	}
	return t
}

// prepareIndexPage matches the cities of a page to the gazetteer; the last page says what
// is to be planned.
func (w *worker) prepareIndexPage(ctx context.Context, c *checkpoint.Claim, page *site.Page, number int, shown *seen) error {
	state := c.Place.State
	if number == 1 && page.NotFound {
		return &attemptError{cause: yp.CauseMissing, err: fmt.Errorf("the source has no index of %s: %s", state, page.Reason)}
	}
	cities := make([]yp.FoundCity, 0, len(page.Cities))
	for _, shown := range page.Cities {
		if city, ok := w.matcher.Match(shown.Address, shown.Shown); ok {
			cities = append(cities, city)
		}
	}
	if n := c.Seen + len(cities); n > maxStateCities {
		return &attemptError{cause: yp.CauseLayout, err: fmt.Errorf("the index of %s shows up to %d cities: no state has more than %d", state, n, maxStateCities)}
	}
	page.Cities, page.Path, page.Last = cities, w.cfg.Source.IndexPages(state)[number-1], number == c.MaxPages
	if u, err := url.Parse(page.Path); err == nil {
		page.Path = u.RequestURI()
	}
	if err := w.checkRepeatedIndex(ctx, c, page, number, shown); err != nil {
		return err
	}
	if page.Last {
		page.Plan = w.cfg.Index.Plan.Searches(w.cfg.Index.MinPopulation)
	}
	return nil
}

// checkRepeatedIndex returns an error when a page of an index shows the cities of another page, and the last
// read of the index found others on it: a cache that drops the query serves one page under every address,
// and the cities of the others have not left the index. Of the pages that an earlier attempt read, only
// the cities are known.
func (w *worker) checkRepeatedIndex(ctx context.Context, c *checkpoint.Claim, page *site.Page, number int, shown *seen) error {
	if len(page.Cities) == 0 {
		return nil
	}
	slugs := make([]string, len(page.Cities))
	for i := range page.Cities {
		slugs[i] = page.Cities[i].Slug
	}
	slices.Sort(slugs)
	all := strings.Join(slugs, " ")
	earlier := shown.slugs[all]
	shown.slugs[all] = number
	what := fmt.Sprintf("repeats page %d", earlier)
	if earlier == 0 {
		if what = "shows only cities of other pages"; !shown.again || len(slugs) < 2 {
			return nil
		}
	}
	repeats, err := w.cfg.Keeper.IndexRepeats(ctx, c, page.Path, page.Cities)
	if err != nil || !repeats {
		return err
	}
	return &attemptError{cause: yp.CauseBroken, err: fmt.Errorf("page %d of the index %s, but the last read found other cities on it", number, what)}
}

// endIndex is the outcome of an index whose last page is committed: see checkpoint.IndexEnd.
func (w *worker) endIndex(c *checkpoint.Claim, end *checkpoint.IndexEnd) outcome {
	w.count.update(func(s *Stats) { s.Dropped += int64(end.Dropped) })
	if end.Suspect != "" {
		return outcome{event: end.Setback.Event, saved: true, code: yp.CodeHTMLChanged, reason: end.Suspect, wait: end.Setback.Wait, index: *end}
	}
	if end.Warning != "" {
		w.logger.Warn().Str("state", c.Place.State).Str("reason", end.Warning).Msg("the index lacks many cities")
	}
	return outcome{event: yp.EventLastPage, saved: true, index: *end}
}

// Details says what a run is to do about the listings' own pages. They come after all
// results pages that can be claimed.
type Details struct {
	Wanted bool          // take those that are due, if the source describes such pages
	Only   bool          // and no results pages
	Every  time.Duration // how long one that was read stays good; default 30 days
}

// detailTask is the fetch of a listing's own page. A probe takes the page of any listing;
// else a page of another one than was asked for says that this one has no page any more.
func (w *worker) detailTask(c *checkpoint.Claim, kind yp.RequestType) *task {
	claim, listing := c, c.ListingID
	if kind == yp.RequestProbe {
		claim, listing = nil, ""
	}
	// A source that moves (--base-url, another port) keeps its paths.
	address, base := c.NextPageURL, w.cfg.Source.BaseURL()
	if u, err := url.Parse(address); err == nil && u.Host != base.Host {
		x, known := yp.CanonicalWebsite(u.String())
		y, baseKnown := yp.CanonicalWebsite(base.String())
		if !known || !baseKnown || x.Domain == "" || x.Domain != y.Domain {
			u.Scheme, u.Host, u.User = base.Scheme, base.Host, nil
			address = u.String()
		}
	}
	t := w.task(claim, kind, address, 1)
	t.read = detailParser(listing)
	return t
}

// detailParser reads the own page of a listing; "" = of any.
func detailParser(listing string) parser {
	return func(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error) {
		page, err := src.ParseDetail(body, final, status)
		if err == nil && page.Outcome == site.OK && page.Listings[0].ID != listing && listing != "" {
			page = &site.Page{Outcome: site.NoListings, Reason: "the site shows listing " + page.Listings[0].ID + " in its place"}
		}
		if err == nil {
			page.NotFound = page.Outcome == site.NoListings
		}
		return page, err
	}
}
