package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/rs/zerolog"

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
	shown := newSeen()
	switch {
	case c.Kind == yp.KindIndex:
		if o, ok := w.beginIndex(c); !ok {
			return o
		}
		shown.again = c.PageCurrent > 0
	case c.Kind == yp.KindSearch && c.PageCurrent > 0:
		pages, err := w.cfg.Keeper.SeenPages(ctx, c)
		if err != nil {
			return w.judge(ctx, err)
		}
		shown.resume(pages)
	}
	for {
		number, last := c.PageCurrent+1, w.lastPage(c)
		if last > 0 && number > last {
			return outcome{event: yp.EventLastPage, how: yp.EndLimit, why: "the limit of pages"}
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
		page, err := w.read(ctx, c, number, shown)
		if err != nil {
			return w.judge(ctx, err)
		}
		switch {
		case page.unstored, page.repeats > 0:
			return w.endWithout(c, page, number)
		case page.Outcome == site.NoListings && c.Kind != yp.KindIndex:
			return w.nothing(ctx, c, page)
		}
		res, err := w.commit(ctx, c, t, page, number, shown)
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

// mostPages bounds the pages of one list: a site may have a next link on every page, for ever. A definition that
// says more in page_cap has more.
const mostPages = 1000

// lastPage is the highest page this crawl may ask for; 0 = no limit, of indexes alone.
func (w *worker) lastPage(c *checkpoint.Claim) int {
	switch limit := cmp.Or(w.cfg.Source.PageCap(), mostPages); {
	case c.Kind == yp.KindDetail:
		return 1
	case c.Kind == yp.KindIndex || c.MaxPages > 0 && c.MaxPages < limit:
		return c.MaxPages
	default:
		return limit
	}
}

// read fetches and parses page number of the claim.
func (w *worker) read(ctx context.Context, c *checkpoint.Claim, number int, shown *seen) (*loaded, error) {
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
	return w.readResults(ctx, c, number, shown)
}

// readResults reads a results page. On page 1, what looks empty or missing is asked for
// once more by search: a wrong slug is no empty result.
func (w *worker) readResults(ctx context.Context, c *checkpoint.Claim, number int, shown *seen) (*loaded, error) {
	src := w.cfg.Source
	address := c.NextPageURL
	if address == "" || number == 1 {
		address = src.TargetURL(c.Place, number)
	}
	page, err := w.fetchPage(ctx, w.resultsTask(c, address, number, shown))
	if err != nil || number > 1 || page.Outcome != site.NoListings || page.unstored {
		return page, err
	}
	page.ownGone = page.NotFound
	search, ok := src.SearchURL(c.Place, 1)
	if !ok || search == address {
		return page, nil
	}
	found, err := w.fetchPage(ctx, w.resultsTask(c, search, number, shown))
	switch {
	case errors.Is(err, fetch.ErrDisallowed):
		return page, nil // robots.txt keeps us from asking: the first answer stands
	case err != nil:
		return nil, err
	case found.NotFound && !page.NotFound:
		return page, nil // the target's own page has already said it
	}
	found.ownGone = page.ownGone
	return found, nil
}

// nothing ends a target whose page has no listings: past the last page, on a
// page that says so, or at an address that does not exist.
func (w *worker) nothing(ctx context.Context, c *checkpoint.Claim, page *loaded) outcome {
	if c.Kind == yp.KindSearch {
		if err := w.watchLayout(ctx, c, nil); err != nil { // a page that is known, too
			return outcome{err: err}
		}
	}
	switch {
	case c.PageCurrent > 0:
		return w.endWithout(c, page, c.PageCurrent+1)
	case page.NotFound:
		return settled(yp.CauseMissing, "the source has no such page: "+page.Reason)
	}
	o := settled(yp.CauseEmpty, page.Reason)
	switch o.how = yp.EndSaid; {
	case page.ownGone: // that says nothing of the businesses that were on it
		o.how = yp.EndGone
	case page.alias != "":
		o.how, o.why = yp.EndAlias, page.alias
	}
	return o
}

// endWithout ends a target by a page that is not stored: it says that nothing follows, is not there, or repeats
// an earlier one.
func (w *worker) endWithout(c *checkpoint.Claim, page *loaded, number int) outcome {
	w.tellEnd(c, page.end, number)
	return outcome{event: yp.EventLastPage, how: page.end.how, why: page.end.text}
}

// tellEnd says in the trace of the target why its crawl came to an end that the site does not confirm.
func (w *worker) tellEnd(c *checkpoint.Claim, v verdict, number int) {
	switch v.how {
	case yp.EndNoWord, yp.EndLimit: // as lists end: the target's row tells it
	default:
		if v.how.Confirmed() {
			return
		}
		c.Attempt.Trace.Add(w.cfg.Keeper.DB().Now(), "ends", number, "without a confirmed end: "+v.text)
		level := zerolog.DebugLevel
		switch v.how {
		case yp.EndUnfollowed, yp.EndElsewhere, yp.EndAlias, yp.EndBoth: // of each the first of a source
			if _, told := w.told.LoadOrStore(v.how, true); !told {
				level = zerolog.WarnLevel
			}
		}
		w.logger.WithLevel(level).Str("source", w.cfg.Source.Name()).Int64("target", c.TargetID).Int("page", number).Str("ending", string(v.how)).
			Msg("the list ends without a confirmed end: " + v.text)
	}
}

func settled(cause yp.Cause, reason string) outcome {
	p := cause.Policy()
	return outcome{event: p.Final, code: p.Code, reason: reason}
}

// commit makes of a page what is to be stored, logs it, and checkpoints it.
func (w *worker) commit(ctx context.Context, c *checkpoint.Claim, t *wal.Target, page *loaded, number int, shown *seen) (res checkpoint.Committed, err error) {
	var all []yp.Listing
	known := false // the page's layout is what the definition says
	switch c.Kind {
	case yp.KindIndex:
		err = w.prepareIndexPage(ctx, c, page.Page, number, shown)
	case yp.KindDetail:
		page.Last, page.Raw, page.Accepted = true, 1, 1
	default:
		all, known = w.prepareResults(c, page, number, shown)
	}
	if err != nil {
		return res, err
	}
	page.Number = number
	if res, err = w.save(ctx, c, t, &page.Page.Page); err != nil {
		return res, err
	}
	switch c.Kind {
	case yp.KindIndex:
		w.count.update(func(s *Stats) { s.IndexPages++ })
		w.logger.Debug().Str("state", c.Place.State).Int("page", number).Int("cities", len(page.Cities)).Str("reason", page.Reason).Msg("index page committed")
		w.steps.Info().Str("source", w.cfg.Source.Name()).Str("state", c.Place.State).Int("page", number).Int("pages", c.MaxPages).Int("cities", c.Seen).
			Msgf("page %d of the index of %s, %s so far", number, c.Place.State, yp.Plural(c.Seen, "city"))
	case yp.KindSearch:
		w.led.read()
		w.countResults(c, &page.Page.Page, res)
		w.count.update(func(s *Stats) { s.addCards(page.Page) })
		if known {
			err = w.watchLayout(ctx, c, all)
		}
		if err == nil {
			err = w.watchEnd(ctx, c, page)
		}
	}
	return res, err
}

// prepareResults filters a results page and says whether it is the last. It returns all
// listings that the page shows, and whether its layout is known.
func (w *worker) prepareResults(c *checkpoint.Claim, page *loaded, number int, shown *seen) (all []yp.Listing, known bool) {
	organic, ads := idsOf(page.Listings)
	shown.page(number, page.Organic, orOnlyAds(organic), ads)
	page.Ads, page.Seen = ads, shown.sum().organic
	w.logLeftOut(c, page.Page, number)
	w.logUnread(c, page.Page, number)
	all, known = page.Listings, !incomplete(page.Page)
	w.filter.apply(&page.Page.Page, w.cfg.Source.Check)
	if page.Accepted < len(all)-len(ads) {
		page.Shown = organic
	}
	if page.end.step == end {
		page.Last, page.Ending, page.EndText = true, page.end.how, page.end.text
		if page.end.bound {
			page.NextURL = "" // no crawl goes deeper
		}
		w.tellEnd(c, page.end, number)
	}
	// The address without scheme and host, unless that would name another host: a source that
	// moves (--base-url, another port) is resumed where it is now.
	if u, err := url.Parse(page.NextURL); err == nil && u.Host == w.cfg.Source.BaseURL().Host {
		if path := u.RequestURI(); !strings.HasPrefix(path, "//") {
			page.NextURL = path
		}
	}
	return all, known
}

// errAgain is what is odd about a page that is asked for once more, and taken as it is then.
type errAgain struct{ why string }

func (e *errAgain) Error() string { return e.why }

// judgePage decides what follows a results page: see judgeEnd. Its error says why the page is asked for once more,
// or why the attempt fails. alias says that the search has another name where it leads.
func (w *worker) judgePage(ctx context.Context, t *task, page *site.Page, alias string) (v verdict, repeats int, err error) {
	c := t.claim
	repeats = t.shown.repeats(t.number, page, w.filter.sponsored)
	p := w.says(t, page, repeats)
	if p.number == 1 && page.Outcome == site.NoListings || repeats == 0 && p.next && !p.limit {
		return verdict{step: goOn}, 0, nil
	}
	known, err := w.cfg.Keeper.PassShown(ctx, c, t.number)
	if err != nil {
		return v, 0, fatalError{err}
	}
	organic, ads := idsOf(page.Listings)
	so := t.shown.sum()
	if repeats == 0 && len(page.Listings) > 0 {
		so = t.shown.with(t.number, p.cards, organic, ads)
	}
	so.bad, so.shrunk = c.Bad+page.Bad, c.Shrunk
	so.more = func(behind bool) (bool, error) {
		from := t.number
		if behind {
			from++
		}
		more, err := w.cfg.Keeper.ShowedMore(ctx, c, from, organic, behind)
		if err != nil {
			err = fatalError{err}
		}
		return more, err
	}
	if v, err = judgeEnd(p, so, passShown(known)); err != nil {
		return v, 0, err
	}
	if v.how.Confirmed() && alias != "" {
		if most, err := w.cfg.Keeper.MostlyMet(ctx, c, organic); err != nil {
			return v, 0, fatalError{err}
		} else if !most {
			v = ended(yp.EndAlias, alias+", and most of what this search showed before is not there")
		}
	}
	switch v.step {
	case askAgain:
		t.doubted = true
		return v, 0, &errAgain{v.text}
	case cutShort:
		return v, 0, errors.New(v.text)
	}
	return v, repeats, nil
}

// says is what a results page says of its place in its list.
func (w *worker) says(t *task, page *site.Page, repeats int) pageSays {
	c, src := t.claim, w.cfg.Source
	limit := src.PageCap()
	p := pageSays{
		number: t.number, next: page.NextURL != "", limit: t.number == w.lastPage(c), atCap: limit > 0 && t.number >= limit,
		empty: page.Outcome == site.NoListings && !page.NotFound, gone: page.NotFound, repeats: repeats,
		bound: limit == 0 && t.number >= mostPages, cards: page.Organic, leftOut: page.LeftOut, total: cmp.Or(page.SiteTotal, c.SiteTotal), rangeEnd: page.RangeEnd, last: page.LastMark,
		nextHost: page.NextHost, paging: page.Paging, onePage: src.OnePage(),
	}
	// A list may have reached the number of pages that the site shows at most: near what the definition says, or, when it
	// says nothing, from the tenth on. Nor is a page asked for again of a target that is to be asked for once.
	nearCap := limit == 0 && t.number >= 10 && (repeats == 0 || repeats == t.number-1) || limit > 0 && t.number*10 >= limit*9
	p.asked = t.doubted || nearCap || c.MaxRetries == 0
	return p
}

// incomplete reports whether fewer than half of the cards that a page announces could be read:
// its layout is another one.
func incomplete(page *site.Page) bool { return 2*page.Readable() < page.Announced }

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
}

func (w *worker) countResults(c *checkpoint.Claim, p *yp.Page, res checkpoint.Committed) {
	w.count.update(func(s *Stats) {
		s.Pages++
		s.Raw += int64(p.Raw)
		s.Accepted += int64(p.Accepted)
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
			w.logger.Debug().Err(err).Msg("the proxy failed: its targets are released, and no source is blamed") // the pool warns, once
			return outcome{event: p.Final, reason: err.Error()}
		}
		o := outcome{event: p.Final, code: p.Code, reason: err.Error()}
		if page, ok := errors.AsType[*pageError](err); ok && page.missing() {
			o.missing = page.url
		}
		return o
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
