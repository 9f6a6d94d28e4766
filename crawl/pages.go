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
	"ypcrawl/crawl/site"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// pages crawls the pages of a target from the one after the last committed.
func (w *worker) pages(ctx context.Context, c *checkpoint.Claim, t *wal.Target) outcome {
	w.echo.reset()
	for {
		if w.patience.Err() != nil || ctx.Err() != nil {
			return outcome{event: yp.EventRelease, reason: "the run stops"}
		}
		number := c.PageCurrent + 1
		if last := w.lastPage(c); last > 0 && number > last {
			return outcome{event: yp.EventLastPage}
		}
		page, err := w.read(ctx, c, number)
		if err != nil {
			return w.judge(ctx, err)
		}
		if page.Outcome == site.NoListings {
			if err := w.watchLayout(context.WithoutCancel(ctx), c.TargetID, c.CategoryID, nil); err != nil { // a page that is known, too
				return outcome{err: err}
			}
			return w.nothing(c, page)
		}
		done, err := w.commit(ctx, c, t, page, number)
		if err != nil {
			return w.judge(ctx, err)
		}
		if done {
			return outcome{event: yp.EventLastPage, saved: true}
		}
	}
}

// lastPage is the highest page this crawl may ask for; 0 = no limit.
func (w *worker) lastPage(c *checkpoint.Claim) int {
	limit := w.cfg.Source.PageCap()
	if c.MaxPages > 0 && (limit == 0 || c.MaxPages < limit) {
		limit = c.MaxPages
	}
	return limit
}

// endsEarly returns an error when a page leads no further although by the site's own
// count more follows: it was cut short, its next link is not where it was, or the site
// has nothing to say just now. Asked for again it may be whole; a target must not be DONE
// with a part of its listings. What is too little to fail for, but a page as full as
// those before it, is asked for again once.
func (w *worker) endsEarly(t *task, page *site.Page) error {
	c := t.claim
	if c == nil || page.NextURL != "" || t.number == w.lastPage(c) || w.capped(t.number) {
		return nil
	}
	total, seen := cmp.Or(page.SiteTotal, c.SiteTotal), c.Seen+page.Raw+page.LeftOut
	why, doubtful := "has no link to a next page", seen < total && !t.doubted && w.full(c, page)
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
		w.count.nextElsewhere.Add(1)
	}
	t.doubted = true
	return fmt.Errorf("%w: page %d %s, yet the site counts %d listings and %d were shown so far; if it never shows more, set page_cap in the source's definition, and if the count means something else, take total out of it",
		site.ErrCut, t.number, why, total, seen)
}

// full reports whether a page shows about as many cards as the pages before it, so that
// another one may well follow.
func (w *worker) full(c *checkpoint.Claim, page *site.Page) bool {
	return page.Raw*c.PageCurrent*10 >= c.Seen*9
}

// muchMissing reports whether a list that ends with seen of total listings did not
// come to its end. Sites count some listings twice and ads along, so a tenth may be
// missing, and a few of a short list.
func muchMissing(seen, total int) bool {
	missing := total - seen
	return missing > 5 && missing*10 > total
}

// incomplete reports whether a page shows far fewer cards than it counts: its markup is
// broken, or its layout is another one.
func incomplete(page *site.Page) bool { return muchMissing(page.Raw, page.Raw+page.Missing) }

// capped reports whether a list that ends on a page may have met the number of pages
// that the site shows at most: near what the definition says, or, when it says
// nothing, from the tenth on.
func (w *worker) capped(number int) bool {
	limit := w.cfg.Source.PageCap()
	if limit == 0 {
		return number >= 10
	}
	return number*10 >= limit*9
}

// read fetches and parses page number of the claim. On page 1, what looks empty
// or missing is asked for once more by search: a wrong slug is no empty result.
func (w *worker) read(ctx context.Context, c *checkpoint.Claim, number int) (*site.Page, error) {
	src := w.cfg.Source
	address := c.NextPageURL
	if address == "" || number == 1 {
		address = src.TargetURL(c.Place, number)
	}
	page, err := w.load(ctx, c, address, number)
	w.noPage = err == nil && page.NotFound
	if err != nil || number > 1 || page.Outcome != site.NoListings {
		return page, err
	}
	search, ok := src.SearchURL(c.Place, 1)
	if !ok || search == address {
		return page, nil
	}
	found, err := w.load(ctx, c, search, number)
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
func (w *worker) nothing(c *checkpoint.Claim, page *site.Page) outcome {
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

// commit filters a page, logs it, and checkpoints it.
func (w *worker) commit(ctx context.Context, c *checkpoint.Claim, t *wal.Target, page *site.Page, number int) (done bool, err error) {
	if w.echo.again(page.Listings, w.filter.sponsored) {
		page = &site.Page{} // nothing new to count, and the last one
	}
	w.tellLeftOut(c, page, number)
	all, p, unread := page.Listings, &page.Page, incomplete(page)
	w.sift(p)
	p.Number, p.Last = number, page.NextURL == "" || number == w.lastPage(c)
	p.End = page.NextURL == "" && page.NextHost == "" && page.LeftOut == 0
	p.NextURL = w.local(page.NextURL)
	res, err := w.save(ctx, c, t, p)
	if err != nil {
		return false, err
	}
	w.counted(c, p, res)
	if unread { // it is no page whose layout is known
		return res.Done, nil
	}
	return res.Done, w.watchLayout(context.WithoutCancel(ctx), c.TargetID, c.CategoryID, all)
}

// tellLeftOut says what of a page is not followed or kept, where people look: in the
// log, in the trace of the target and in the sums of the run.
func (w *worker) tellLeftOut(c *checkpoint.Claim, page *site.Page, number int) {
	tell := func(event, text string) {
		c.Attempt.Trace.Add(w.cfg.Keeper.DB().Now(), event, number, text)
		w.logger.Warn().Int64("target", c.TargetID).Int("page", number).Msg(text)
	}
	if page.LeftOut > 0 {
		w.count.leftOut.Add(int64(page.LeftOut))
		tell("left out", fmt.Sprintf("%d cards beyond the first 1,000 of the page", page.LeftOut))
	}
	if page.NextHost != "" {
		w.count.nextElsewhere.Add(1)
		tell("not followed", "the next link leads off the source and was not followed: "+yp.Printable(page.NextHost))
	}
	if seen, total := c.Seen+page.Raw+page.LeftOut, cmp.Or(page.SiteTotal, c.SiteTotal); page.NextURL == "" && seen < total {
		c.Attempt.Trace.Add(w.cfg.Keeper.DB().Now(), "ends", number, fmt.Sprintf("with %d of the %d listings that the site counts", seen, total))
	}
}

// local drops scheme and host from an address of the source: a source that moves
// (--base-url, another port) is resumed where it is now.
func (w *worker) local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != w.cfg.Source.BaseURL().Host {
		return next
	}
	if path := u.RequestURI(); !strings.HasPrefix(path, "//") { // that would be another host
		return path
	}
	return next
}

func (w *worker) counted(c *checkpoint.Claim, p *yp.Page, res checkpoint.Committed) {
	n := &w.count
	n.pages.Add(1)
	n.raw.Add(int64(p.Raw))
	n.accepted.Add(int64(p.Accepted))
	n.bad.Add(int64(p.Bad))
	n.newListings.Add(int64(res.New))
	n.changed.Add(int64(res.Changed))
	n.rejected.Add(int64(res.Rejected))
	n.restored.Add(int64(res.Restored))
	n.companies.Add(int64(res.Companies))
	w.logger.Debug().Int64("target", c.TargetID).Int("page", c.PageCurrent).Int("raw", p.Raw).Int("accepted", p.Accepted).
		Int("new", res.New).Int("bad", p.Bad).Int("rejected", res.Rejected).Bool("done", res.Done).Msg("page committed")
}

// judge turns an error on a page's way into the target's outcome.
func (w *worker) judge(ctx context.Context, err error) outcome {
	var attempt *attemptError
	var fatal fatalError
	switch {
	case errors.As(err, &fatal), errors.Is(err, checkpoint.ErrClaimLost):
		return outcome{err: err}
	case errors.As(err, &attempt):
		p := attempt.cause.Policy()
		if p.Final == yp.EventRelease {
			w.logger.Warn().Err(err).Msg("the proxy failed: what it was used for is handed back, and nobody else is blamed")
			return outcome{event: p.Final, reason: err.Error()}
		}
		return outcome{event: p.Final, code: p.Code, reason: err.Error()}
	case errors.Is(err, errHeld):
		return outcome{event: yp.EventRelease, reason: err.Error()}
	case errors.Is(err, errStopped), ctx.Err() != nil:
		return outcome{event: yp.EventRelease, reason: "the run stops"}
	}
	return w.judgeCommit(err)
}

// judgeCommit decides on a page that the database refused: a page of its own
// kind fails its target alone; a database that refuses everything ends the run.
func (w *worker) judgeCommit(err error) outcome {
	if refused(err) {
		return outcome{event: yp.EventFail, code: yp.CodeUnknown, reason: fmt.Sprintf("the page could not be saved: %v", err)}
	}
	return outcome{err: err}
}
