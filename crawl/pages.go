package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// pages crawls the pages of a target, of whatever kind, from the one after the last
// committed.
func (w *worker) pages(ctx context.Context, c *checkpoint.Claim, t *wal.Target) outcome {
	w.repeated, w.resumed = 0, c.PageCurrent > 0
	clear(w.shown)
	switch {
	case c.Kind == yp.KindIndex:
		if o, ok := w.beginIndex(c); !ok {
			return o
		}
	case c.Kind == yp.KindSearch && w.resumed:
		if err := w.cfg.Keeper.Shown(ctx, c, w.shown); err != nil {
			return w.judge(ctx, err)
		}
	}
	for {
		number, last := c.PageCurrent+1, w.lastPage(c)
		if last > 0 && number > last {
			return outcome{event: yp.EventLastPage}
		}
		if w.stopCtx.Err() != nil || ctx.Err() != nil {
			return outcome{event: yp.EventRelease, reason: "the run stops"}
		}
		if c.Kind == yp.KindIndex {
			// An index has many pages: one whose source is closed meanwhile is handed back. (A host
			// that holds is waited for with the page.)
			if g, err := w.cfg.Keeper.Availability(ctx, c.SourceID); err != nil {
				return w.judge(ctx, err)
			} else if !g.Open() && g.State != store.SourceHeld {
				return outcome{event: yp.EventRelease, reason: w.unavailableText(g)}
			}
		}
		page, err := w.read(ctx, c, number)
		if err != nil {
			return w.judge(ctx, err)
		}
		if page.Outcome == site.NoListings && c.Kind != yp.KindIndex {
			return w.nothing(ctx, c, page)
		}
		if w.repeated > 0 {
			c.Attempt.Trace.Add(w.cfg.Keeper.DB().Now(), "ends", number, fmt.Sprintf("it repeats page %d, which ends the target and confirms nothing", w.repeated))
			return outcome{event: yp.EventLastPage}
		}
		res, err := w.commit(ctx, c, t, page, number)
		switch {
		case err != nil:
			return w.judge(ctx, err)
		case res.Done && c.Kind == yp.KindIndex:
			return w.endIndex(c, &res.Index)
		case res.Done:
			return outcome{event: yp.EventLastPage, saved: true}
		}
	}
}

// lastPage is the highest page this crawl may ask for; 0 = no limit.
func (w *worker) lastPage(c *checkpoint.Claim) int {
	switch limit := w.cfg.Source.PageCap(); {
	case c.Kind == yp.KindDetail:
		return 1
	case c.Kind == yp.KindIndex || limit == 0 || c.MaxPages > 0 && c.MaxPages < limit:
		return c.MaxPages
	default:
		return limit
	}
}

// read fetches and parses page number of the claim.
func (w *worker) read(ctx context.Context, c *checkpoint.Claim, number int) (*site.Page, error) {
	switch c.Kind {
	case yp.KindIndex:
		return w.fetchPage(ctx, w.indexTask(c, yp.RequestStateIndex, number))
	case yp.KindDetail:
		page, err := w.fetchPage(ctx, w.detailTask(c, yp.RequestDetail))
		// Pages whose layout is not known say nothing of the results pages, so they raise no alarm;
		// but after some in a row no more are asked for in this run: nobody could read them.
		var attempt *attemptError
		if err == nil {
			w.unreadableDetails.Store(0)
		} else if errors.As(err, &attempt) && attempt.cause == yp.CauseLayout && w.unreadableDetails.Add(1) == health.MaxStrikes {
			w.cfg.Logger.Error().Str("component", "crawl").Str("source", w.cfg.Source.Name()).Err(err).
				Msg("the layout of listings' own pages has changed: this run reads no more of them")
		}
		return page, err
	}
	return w.readResults(ctx, c, number)
}

// readResults reads a results page. On page 1, what looks empty or missing is asked for
// once more by search: a wrong slug is no empty result.
func (w *worker) readResults(ctx context.Context, c *checkpoint.Claim, number int) (*site.Page, error) {
	src := w.cfg.Source
	address := c.NextPageURL
	if address == "" || number == 1 {
		address = src.TargetURL(c.Place, number)
	}
	page, err := w.fetchPage(ctx, w.task(c, yp.RequestListing, address, number))
	w.noPage = err == nil && page.NotFound
	if err != nil || number > 1 || page.Outcome != site.NoListings {
		return page, err
	}
	search, ok := src.SearchURL(c.Place, 1)
	if !ok || search == address {
		return page, nil
	}
	found, err := w.fetchPage(ctx, w.task(c, yp.RequestListing, search, number))
	switch {
	case errors.Is(err, fetch.ErrDisallowed):
		return page, nil // robots.txt keeps us from asking: the first answer stands
	case err != nil:
		return nil, err
	case found.NotFound && !page.NotFound:
		return page, nil // the target's own page has already said it
	}
	return found, nil
}

// nothing ends a target whose page has no listings: past the last page, on a
// page that says so, or at an address that does not exist.
func (w *worker) nothing(ctx context.Context, c *checkpoint.Claim, page *site.Page) outcome {
	if c.Kind == yp.KindSearch {
		if err := w.watchLayout(ctx, c, nil); err != nil { // a page that is known, too
			return outcome{err: err}
		}
	}
	switch {
	case c.PageCurrent > 0:
		return outcome{event: yp.EventLastPage, end: true}
	case page.NotFound:
		return settled(yp.CauseMissing, "the source has no such page: "+page.Reason)
	}
	o := settled(yp.CauseEmpty, page.Reason)
	o.end = !w.noPage // that its page is gone says nothing of the businesses that were on it
	return o
}

func settled(cause yp.Cause, reason string) outcome {
	p := cause.Policy()
	return outcome{event: p.Final, code: p.Code, reason: reason}
}

// commit makes of a page what is to be stored, logs it, and checkpoints it.
func (w *worker) commit(ctx context.Context, c *checkpoint.Claim, t *wal.Target, page *site.Page, number int) (res checkpoint.Committed, err error) {
	var shown []yp.Listing
	known := false // the page's layout is what the definition says
	switch c.Kind {
	case yp.KindIndex:
		err = w.prepareIndexPage(ctx, c, page, number)
	case yp.KindDetail:
		page.Last, page.Raw, page.Accepted = true, 1, 1
	default:
		shown, known = w.prepareResults(c, page, number)
	}
	if err != nil {
		return res, err
	}
	page.Number = number
	if res, err = w.save(ctx, c, t, &page.Page); err != nil {
		return res, err
	}
	switch c.Kind {
	case yp.KindIndex:
		w.count.update(func(s *Stats) { s.IndexPages++ })
		w.logger.Debug().Str("state", c.Place.State).Int("page", number).Int("cities", len(page.Cities)).Str("reason", page.Reason).Msg("index page committed")
		w.steps.Info().Str("source", w.cfg.Source.Name()).Str("state", c.Place.State).Int("page", number).Int("pages", c.MaxPages).Int("cities", c.Seen).
			Msgf("page %d of the index of %s, %s so far", number, c.Place.State, yp.Plural(c.Seen, "city"))
	case yp.KindSearch:
		w.countResults(c, &page.Page, res)
		if known {
			err = w.watchLayout(ctx, c, shown)
		}
	}
	return res, err
}

// prepareResults filters a results page and says whether it is the last. It returns all
// listings that the page shows, and whether its layout is known.
func (w *worker) prepareResults(c *checkpoint.Claim, page *site.Page, number int) (shown []yp.Listing, known bool) {
	listings := w.filter.shown(page.Listings)
	for _, l := range listings {
		w.shown[l.ID] = number
	}
	if len(listings) == 0 {
		w.shown[noListing] = number
	}
	w.logLeftOut(c, page, number)
	shown, known = page.Listings, !incomplete(page)
	w.filter.apply(&page.Page, w.cfg.Source.Check)
	page.Last = page.NextURL == "" || number == w.lastPage(c)
	page.End = page.NextURL == "" && page.NextHost == "" && page.LeftOut == 0
	// The address without scheme and host, unless that would name another host: a source that
	// moves (--base-url, another port) is resumed where it is now.
	if u, err := url.Parse(page.NextURL); err == nil && u.Host == w.cfg.Source.BaseURL().Host {
		if path := u.RequestURI(); !strings.HasPrefix(path, "//") {
			page.NextURL = path
		}
	}
	return shown, known
}

// noListing stands in worker.shown for a page that shows ads alone, where they are not wanted.
const noListing = ""

// repeats returns the earlier page of its target's crawl that a page repeats, 0 = none: past
// their end sites serve their last page or their first again and again, each time with a next
// link, and a cache that drops the query serves the first one under every address. All listings
// of such a page were shown before; ads count only where they are wanted and nothing else is
// there. A last page that is shorter than the others is none, even if nothing on it is new.
func (w *worker) repeats(t *task, page *site.Page) (earlier int) {
	if t.number == 1 || page.Outcome != site.OK || page.NextURL == "" && !asFull(t.claim, page) {
		return 0
	}
	listings, unknown := w.filter.shown(page.Listings), 0
	if len(listings) == 0 {
		return w.shown[noListing]
	}
	for _, l := range listings {
		switch n := w.shown[l.ID]; {
		case n > 0:
			earlier = max(earlier, n)
		case w.resumed && (!w.filter.keeps(l) || len(w.cfg.Source.Check(l)) > 0):
			unknown++ // another attempt may have seen it, and did not store it
		default:
			return 0
		}
	}
	// Where filters let but a few listings through, those may be the ones that a site shows on
	// every page, and the others new.
	if 2*unknown > len(listings) {
		return 0
	}
	return earlier
}

// asFull reports whether a page has about as many listings as those before it.
func asFull(c *checkpoint.Claim, page *site.Page) bool { return page.Raw*c.PageCurrent*10 >= c.Seen*9 }

// checkEnd returns an error when a page leads no further although more follows by the site's
// own count or, where it repeats another page, by an earlier complete crawl: it was cut short,
// its next link is not where it was, or the site shows nothing or something else just now.
// Asked for again it may be whole; a target must not be DONE with a part of its listings.
// Where too few are missing to fail, but the page is as full as those before it, it is asked
// for again once. It notes which page the page repeats.
func (w *worker) checkEnd(ctx context.Context, t *task, page *site.Page) error {
	c := t.claim
	if c == nil {
		return nil
	}
	w.repeated = w.repeats(t, page)
	why, seen := "has no link to a next page", c.Seen+page.Raw+page.LeftOut
	switch {
	case w.repeated > 0:
		why, seen = fmt.Sprintf("repeats page %d", w.repeated), c.Seen
		if more, err := w.cfg.Keeper.ShowedMore(ctx, c, t.number); err != nil {
			return fatalError{err}
		} else if more {
			return fmt.Errorf("page %d %s, but the last complete crawl found other listings on it", t.number, why)
		}
	case page.NextURL != "" || t.number == w.lastPage(c):
		return nil
	}
	// Nor when the list may have reached the number of pages that the site shows at most: near
	// what the definition says, or, when it says nothing, from the tenth on; there sites show their
	// last page again, but not an earlier one.
	limit := w.cfg.Source.PageCap()
	if limit == 0 && t.number >= 10 && (w.repeated == 0 || w.repeated == t.number-1) || limit > 0 && t.number*10 >= limit*9 {
		return nil
	}
	total := cmp.Or(page.SiteTotal, c.SiteTotal)
	doubtful := seen < total && !t.doubted && (w.repeated > 0 || asFull(c, page))
	switch {
	case page.Outcome == site.NoListings:
		if c.PageCurrent == 0 {
			return nil
		}
		why, doubtful = "shows nothing", false
	case page.NextHost != "":
		why = "links to its next page on " + yp.Printable(page.NextHost) + ", which is not the source's"
	}
	if !doubtful && !muchMissing(seen, total) {
		return nil
	}
	if page.NextHost != "" && !t.doubted {
		w.count.update(func(s *Stats) { s.Elsewhere++ })
	}
	t.doubted = true
	err := fmt.Errorf("page %d %s, but the site counts %d listings and has shown %d; if it never shows more, set page_cap in the source's definition; if the count means something else, remove total from it",
		t.number, why, total, seen)
	if w.repeated == 0 {
		err = fmt.Errorf("%w: %w", site.ErrCut, err)
	}
	return err
}

// muchMissing reports whether a list that ends with seen of total listings did not
// come to its end. Sites count some listings twice and ads along, so a tenth may be
// missing, and a few of a short list.
func muchMissing(seen, total int) bool {
	missing := total - seen
	return missing > 5 && missing*10 > total
}

// incomplete reports whether fewer than half of the cards that a page announces could be read:
// its layout is another one.
func incomplete(page *site.Page) bool { return 2*page.Raw < page.Announced }

// logLeftOut says what of a page is not followed or kept, where people look: in the
// log, in the trace of the target and in the sums of the run.
func (w *worker) logLeftOut(c *checkpoint.Claim, page *site.Page, number int) {
	tell := func(event, text string) {
		c.Attempt.Trace.Add(w.cfg.Keeper.DB().Now(), event, number, text)
		w.logger.Warn().Int64("target", c.TargetID).Int("page", number).Msg(text)
	}
	if page.LeftOut > 0 {
		w.count.update(func(s *Stats) { s.LeftOut += int64(page.LeftOut) })
		tell("left out", fmt.Sprintf("%d cards beyond the first 1,000 of the page", page.LeftOut))
	}
	if page.NextHost != "" {
		w.count.update(func(s *Stats) { s.Elsewhere++ })
		tell("not followed", "the next link leads to another site and was not followed: "+yp.Printable(page.NextHost))
	}
	if seen, total := c.Seen+page.Raw+page.LeftOut, cmp.Or(page.SiteTotal, c.SiteTotal); page.NextURL == "" && seen < total {
		c.Attempt.Trace.Add(w.cfg.Keeper.DB().Now(), "ends", number, fmt.Sprintf("with %d of the %d listings that the site counts", seen, total))
	}
}

func (w *worker) countResults(c *checkpoint.Claim, p *yp.Page, res checkpoint.Committed) {
	w.count.update(func(s *Stats) {
		s.Pages++
		s.Raw += int64(p.Raw)
		s.Accepted += int64(p.Accepted)
		s.Bad += int64(p.Bad)
		s.New += int64(res.New)
		s.Changed += int64(res.Changed)
		s.Rejected += int64(res.Rejected)
		s.Restored += int64(res.Restored)
		s.Companies += int64(res.Companies)
	})
	w.logger.Debug().Int64("target", c.TargetID).Int("page", c.PageCurrent).Int("raw", p.Raw).Int("accepted", p.Accepted).
		Int("new", res.New).Int("bad", p.Bad).Int("rejected", res.Rejected).Bool("done", res.Done).Msg("page committed")
}

// judge turns an error into the target's outcome.
func (w *worker) judge(ctx context.Context, err error) outcome {
	var attempt *attemptError
	var fatal fatalError
	switch {
	case errors.As(err, &fatal), errors.Is(err, checkpoint.ErrClaimLost):
		return outcome{err: err}
	case errors.As(err, &attempt):
		p := attempt.cause.Policy()
		if p.Final == yp.EventRelease {
			w.logger.Warn().Err(err).Msg("the proxy failed: its targets are released, and no source is blamed")
			return outcome{event: p.Final, reason: err.Error()}
		}
		return outcome{event: p.Final, code: p.Code, reason: err.Error()}
	case errors.Is(err, errHeld):
		return outcome{event: yp.EventRelease, reason: err.Error()}
	case errors.Is(err, errStopped), ctx.Err() != nil:
		return outcome{event: yp.EventRelease, reason: "the run stops"}
	}
	// A page that the database refuses fails its target alone; a database that refuses
	// everything ends the run.
	if store.Fatal(err) || errors.Is(err, store.ErrBusy) || errors.Is(err, context.Canceled) {
		return outcome{err: err}
	}
	return outcome{event: yp.EventFail, code: yp.CodeUnknown, reason: fmt.Sprintf("the page could not be saved: %v", err)}
}
