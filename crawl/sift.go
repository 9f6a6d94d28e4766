package crawl

import (
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// sifted is a page's listings by what becomes of them.
type sifted struct {
	kept     []yp.Listing   // to be promoted
	others   []string       // ids of those left out: ads, or what a filter does not want
	rejected []yp.Rejection // they break a rule of the source
	raw      int            // on the page, before the filters
}

// sift sorts the listings of a page, in place.
func (w *worker) sift(page *site.Page) (s sifted) {
	s.kept, s.raw = w.filter.accept(page.Listings)
	for _, l := range page.Listings[len(s.kept):] {
		s.others = append(s.others, l.ID)
	}
	s.kept, s.rejected = divide(s.kept, w.cfg.Source.Check)
	return s
}

// divide moves the listings that break no rule to the front, in their order, and the
// others behind them: the layout alarm looks at all of the page afterwards.
func divide(listings []yp.Listing, check func(*yp.Listing) []string) (good []yp.Listing, rejected []yp.Rejection) {
	n := 0
	for i := range listings {
		if reasons := check(&listings[i]); len(reasons) > 0 {
			rejected = append(rejected, yp.Rejection{Listing: listings[i], Reasons: reasons})
			continue
		}
		if n != i {
			listings[n], listings[i] = listings[i], listings[n]
		}
		n++
	}
	return listings[:n], rejected
}
