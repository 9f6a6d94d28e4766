package crawl

import (
	"encoding/json"
	"errors"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// readingOf is how a run reads the pages of a source.
func readingOf(src *site.Source, f Filter) *kept.Reading {
	filter, err := json.Marshal(f)
	if err != nil { // it has texts and numbers alone
		panic(err)
	}
	return &kept.Reading{Source: src.Name(), BaseURL: src.BaseURL().String(), Definition: string(src.YAML()), Filter: filter}
}

// keep keeps an answer, if that is wanted and it is a page of results or of a listing. That
// comes before the page is logged, so that whatever is committed was kept.
func (w *worker) keep(t *task, resp *fetch.Response, page *site.Page, err error) {
	target := w.hand.Load()
	if w.reading == nil || t.claim == nil || target == nil || t.claim.Kind == yp.KindIndex {
		return
	}
	w.cfg.Pages.Keep(kept.Page{
		Target: *target, Number: t.number, URL: resp.URL.String(), FetchedAt: w.cfg.Keeper.DB().Now(), Status: resp.Status,
		ContentType: resp.Header.Get("Content-Type"), Outcome: outcomeText(page, err),
	}, w.reading, resp.Body)
}

// unreadable is the outcome of a page that the parser refuses.
const unreadable = "unreadable"

// outcomeText names what the parser made of a page.
func outcomeText(page *site.Page, err error) string {
	if pe, ok := errors.AsType[*pageError](err); ok {
		page = pe.page
	} else if err != nil {
		return unreadable
	}
	return page.Outcome.String()
}
