package crawl

import (
	"net/url"
	"time"

	"ypcrawl/checkpoint"
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
