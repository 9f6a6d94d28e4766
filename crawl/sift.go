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
	good := s.kept[:0]
	for i := range s.kept {
		l := s.kept[i]
		if reasons := w.cfg.Source.Check(&l); len(reasons) > 0 {
			s.rejected = append(s.rejected, yp.Rejection{Listing: l, Reasons: reasons})
			continue
		}
		good = append(good, l)
	}
	s.kept = good
	return s
}
