package crawl

import (
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
)

// readable is the time after which a page may lead elsewhere, or load itself anew, and still is there to be read:
// sites do so on every page, after minutes, and interstitials after seconds.
const readable = 30 * time.Second

// Leaves reports whether a page is to be left for where it leads by itself: nothing of what was asked for is on it,
// and it is no block page. One of the site's own, which says that there is nothing or whose layout is not known, is
// left only if nobody could read it before.
func Leaves(page *site.Page, resp *fetch.Response, to fetch.Refresh) bool {
	switch {
	case page.Outcome == site.OK, len(page.Listings)+len(page.Cities)+page.Raw+page.Cards > 0:
		return false
	case page.Outcome == site.NoListings, page.Outcome == site.HTMLChanged:
		return to.After < readable
	}
	return !site.SaysBlocked(resp.Body)
}

// leaves says of the pages of a task which are to be left.
func (w *worker) leaves(t *task) func(*fetch.Response, fetch.Refresh) bool {
	return func(resp *fetch.Response, to fetch.Refresh) bool {
		page, err := w.parse(t, resp)
		if err != nil || !Leaves(page, resp, to) {
			return false
		}
		w.step(t, "refresh", "page %d leads to %s by itself, after %s", t.number, to.To.Redacted(), to.After)
		return true
	}
}

// parsed is what was read of an answer.
type parsed struct {
	of   *fetch.Response
	page *site.Page
	err  error
}

// parse reads an answer as the task wants it read, once.
func (w *worker) parse(t *task, resp *fetch.Response) (*site.Page, error) {
	if t.parsed.of == resp {
		return t.parsed.page, t.parsed.err
	}
	read := t.read
	if read == nil {
		read = (*site.Source).ParsePage
	}
	leave := w.shared.parsing.enter(len(resp.Body))
	defer leave()
	page, err := parse(w.cfg.Source.On(w.cfg.Keeper.DB().Now()), read, resp)
	t.parsed = parsed{resp, page, err}
	return page, err
}
