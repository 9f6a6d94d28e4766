package crawl

import (
	"context"
	"errors"
	"net/url"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// Details says what a run is to do about the listings' own pages. They come after all
// results pages that can be claimed.
type Details struct {
	Wanted bool          // take those that are due, if the source describes such pages
	Only   bool          // and no results pages
	Every  time.Duration // how long one that was read stays good; default 30 days
}

// planDetails plans the details of the listings that were there before, if they are
// wanted.
func (e *Engine) planDetails(ctx context.Context) error {
	if !e.cfg.Details.Wanted || !e.cfg.Source.HasDetails() {
		return nil
	}
	s := e.cfg.Scope
	added, err := e.cfg.Keeper.WantDetails(ctx, s.SourceID, s.States, e.cfg.Details.Every)
	if err == nil && added > 0 {
		e.cfg.Logger.Info().Str("component", "crawl").Str("source", e.cfg.Source.Name()).Int("new", added).Msg("details planned")
	}
	return err
}

// wantsDetails reports whether this run takes details: not any more once the source's
// pages of listings are no longer what its definition says.
func (e *Engine) wantsDetails() bool {
	return e.cfg.Details.Wanted && e.cfg.Source.HasDetails() && e.unreadableDetails.Load() < health.MaxStrikes
}

// countUnreadable counts listings' own pages in a row whose layout is not known. They say
// nothing of the results pages, so they raise no alarm; but every page more would be one
// more that nobody can read, and no more are asked for in this run.
func (e *Engine) countUnreadable(err error) {
	var attempt *attemptError
	switch {
	case err == nil:
		e.unreadableDetails.Store(0)
	case errors.As(err, &attempt) && attempt.cause == yp.CauseLayout && e.unreadableDetails.Add(1) == health.MaxStrikes:
		e.cfg.Logger.Error().Str("component", "crawl").Str("source", e.cfg.Source.Name()).Err(err).
			Msg("the pages of listings are no longer what the definition says: no more details in this run")
	}
}

// detailTask is the fetch of a listing's own page. A probe takes the page of any listing;
// else a page of another one than was asked for says that this one has no page any more.
func (w *worker) detailTask(c *checkpoint.Claim, kind yp.RequestType) *task {
	claim, listing := c, c.ListingID
	if kind == yp.RequestProbe {
		claim, listing = nil, ""
	}
	t := w.task(claim, kind, w.rebased(c.NextPageURL), 1)
	t.read = func(body []byte, final *url.URL, status int) (*site.Page, error) {
		page, err := w.cfg.Source.ParseDetail(body, final, status)
		if err == nil && page.Outcome == site.OK && page.Detail.ID != listing && listing != "" {
			page = &site.Page{Outcome: site.NoListings, Reason: "the site shows listing " + page.Detail.ID + " in its place"}
		}
		if err == nil {
			page.NotFound = page.Outcome == site.NoListings
		}
		return page, err
	}
	return t
}

// rebased returns the address of a listing's page on the source as it is now: a source
// that moves (--base-url, another port) keeps its paths.
func (w *worker) rebased(address string) string {
	u, err := url.Parse(address)
	base := w.cfg.Source.BaseURL()
	if err != nil || u.Host == base.Host {
		return address
	}
	x, known := yp.CanonicalWebsite(u.String())
	y, baseKnown := yp.CanonicalWebsite(base.String())
	if known && baseKnown && x.Domain != "" && x.Domain == y.Domain {
		return address
	}
	u.Scheme, u.Host, u.User = base.Scheme, base.Host, nil
	return u.String()
}
