package crawl

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/rs/zerolog"

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

// own is the visit of a listing's own page.
type own struct{ *visit }

func (d *own) begin(context.Context) error { return nil }

func (d *own) last() int { return 1 }

// next reads the page. One whose layout is not known says nothing of the results pages, so it raises no alarm;
// but after some in a row no more are asked for in this run: nobody could read them.
func (d *own) next(ctx context.Context, _ int) (*answer, error) {
	ask, ok := d.ask()
	if !ok {
		return nil, &attemptError{cause: yp.CauseMissing, err: ask.Err()}
	}
	t := d.task(yp.RequestDetail, ask, 1)
	t.read, t.keep = ownParser(d.claim.ListingID), true
	a, err := d.fetchPage(ctx, t)
	if err == nil {
		d.unreadableDetails.Store(0)
		return a, nil
	}
	attempt, ok := errors.AsType[*attemptError](err)
	if ok && attempt.cause == yp.CauseLayout && d.unreadableDetails.Add(1) == health.MaxStrikes {
		d.cfg.Logger.Error().Str("component", "crawl").Str("source", d.cfg.Source.Name()).Err(err).
			Msg("the layout of own pages has changed: this run reads no more of them")
	}
	return nil, err
}

// probeTask takes the page of any listing.
func (d *own) probeTask() *task {
	ask, _ := d.ask()
	t := d.worker.task(yp.RequestProbe, ask, 1)
	t.read = ownParser("")
	return t
}

// ask is the request for the page; false = there is none to ask for.
func (d *own) ask() (r site.Request, ok bool) {
	return d.cfg.Source.DetailRequest(d.claim.ListingID, d.address())
}

// address is where the page is. A source that moves (--base-url, another port) keeps its paths.
func (d *own) address() string {
	address, base := d.claim.NextPageURL, d.cfg.Source.BaseURL()
	u, err := url.Parse(address)
	if err != nil || address == "" || u.Host == base.Host {
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

// ownParser reads the own page of a listing; "" = of any. A page of another listing than was asked for says that this
// one has no page any more.
func ownParser(listing string) parser {
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

func (d *own) ends(_ context.Context, a *answer) (conclusion, bool) {
	if a.Outcome != site.NoListings {
		return conclusion{}, false
	}
	return notThere(a), true
}

func (d *own) prepare(_ context.Context, a *answer) error {
	a.Last, a.Raw, a.Accepted = true, 1, 1
	return nil
}

func (d *own) saved(context.Context, *answer, *checkpoint.Committed) error { return nil }

func (d *own) done(*checkpoint.Committed) conclusion {
	return conclusion{event: yp.EventLastPage, saved: true}
}

func (d *own) ended(_ context.Context, o *conclusion) error {
	if o.event == yp.EventRelease {
		return nil
	}
	done := o.event == yp.EventLastPage
	d.count.update(func(s *Stats) {
		switch {
		case done:
			s.Details++
		case o.code == yp.CodeNoListings:
			s.DetailsMissing++
		default:
			s.DetailsFailed++
			if o.event == yp.EventBackOff {
				s.DetailsWaiting++
			}
		}
	})
	if done {
		d.logger.Debug().Str("listing", d.claim.ListingID).Msg("own page saved")
	} else {
		d.logFailure(zerolog.InfoLevel, o).Str("listing", d.claim.ListingID).Msg("own page failed")
	}
	return nil
}
