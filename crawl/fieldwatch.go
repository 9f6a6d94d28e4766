package crawl

import (
	"slices"
	"strings"
	"sync"

	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// watchedPages is after how many pages with listings a field that none of them has is told.
const watchedPages = 10

// fieldWatch notes which fields of the definition no listing has, on the first pages of results of a run.
type fieldWatch struct {
	mu    sync.Mutex
	pages int
	never []string // so far
}

// page notes a page with listings, and returns with the last of the first pages the fields that none had.
func (f *fieldWatch) page(src *site.Source, listings []yp.Listing) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(listings) == 0 || f.pages == watchedPages {
		return nil
	}
	if f.pages == 0 {
		f.never = src.WrittenFields()
	}
	f.pages++
	f.never = slices.DeleteFunc(f.never, func(field string) bool {
		return slices.ContainsFunc(listings, func(l yp.Listing) bool { return site.Found(field, &l) })
	})
	if f.pages < watchedPages {
		return nil
	}
	return f.never
}

// watchFields says once that some fields of the definition are never found.
func (s *search) watchFields(a *answer) {
	if never := s.fields.page(s.cfg.Source, a.all); len(never) > 0 {
		s.logger.Warn().Str("source", s.cfg.Source.Name()).Strs("fields", never).Str("url", a.resp.URL.Redacted()).
			Msgf("no listing of the first %d pages has %s: `ypcrawl sources try FILE.yaml` shows what each rule finds",
				watchedPages, strings.Join(never, ", "))
	}
}

// toldNoChrome is what a source is told about once, see tellNoChrome.
type toldNoChrome struct{}

// tellNoChrome says once that the site's own page of a 404 has nothing of chrome.
func (w *worker) tellNoChrome(t *task) {
	if _, told := w.told.LoadOrStore(toldNoChrome{}, true); !told {
		w.cfg.Logger.Warn().Str("component", "crawl").Str("source", w.cfg.Source.Name()).Str("url", t.ask.Label()).
			Msg(site.NoChrome + "; add a sign to chrome that this page has, too")
	}
}
