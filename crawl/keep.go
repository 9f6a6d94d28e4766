package crawl

import (
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/kept"
	"ypcrawl/yp"
)

// keep keeps an answer, if that is wanted and it is a page of results or of a listing, or one
// whose layout is not known, and returns its id. That comes before the page is logged, so that
// whatever is committed was kept.
func (w *worker) keep(t *task, resp *fetch.Response, unknown string) (id int64) {
	target := w.hand.Load()
	if w.cfg.Pages == nil || t.claim == nil || target == nil || t.claim.Kind == yp.KindIndex && unknown == "" {
		return 0
	}
	return w.cfg.Pages.Keep(kept.Page{
		Target: *target, Number: t.number, URL: resp.URL.String(), FetchedAt: w.cfg.Keeper.DB().Now(), Status: resp.Status,
		ContentType: resp.Header.Get("Content-Type"), BaseURL: w.cfg.Source.BaseURL().String(), Filter: w.filterText,
		Unknown: unknown,
	}, resp.Body)
}
