package crawl

import "ypcrawl/yp"

// sift leaves on a page the listings that are to be promoted, and notes the others by what
// becomes of them. It sorts them in place: those left out stand behind the others.
func (w *worker) sift(p *yp.Page) {
	all := p.Listings
	p.Listings, p.Raw = w.filter.accept(all)
	for _, l := range all[len(p.Listings):] {
		p.Others = append(p.Others, l.ID)
	}
	p.Listings, p.Rejected = divide(p.Listings, w.cfg.Source.Check)
	p.Accepted = len(p.Listings)
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
