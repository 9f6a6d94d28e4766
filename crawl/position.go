package crawl

import (
	"errors"
	"fmt"
	"net/http"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// mendPosition corrects what follows a page of a list without links that begins with what the page before ended with,
// although it was asked for right behind it: the site filters behind its paging.
func (s *search) mendPosition(t *task, page *site.Page) {
	at := s.position(t.number)
	organic, _ := idsOf(page.Listings)
	repeated, given := s.shown.overlap(organic), page.Given()
	if !at.Short || repeated == 0 || !yp.IsPosition(page.NextURL) && !page.ByOffset {
		return
	}
	before := max(s.shown.cards, at.Window)
	if given == before && at.Window == 0 { // pages of one length are what a site gives at most, and a listing was added before them
		if !page.ByOffset {
			return
		}
		repeated = 0
	}
	if page.ByOffset { // some were counted twice, and by that the total was reached
		page.ByOffset, page.RangeEnd = false, 0
	}
	next := s.cfg.Source.Overlaps(at, before, repeated, given)
	page.NextURL = next.String()
	s.note("paging", t.number, fmt.Sprintf("it repeats the end of the page before: the site filters after paging, so pages are requested by %s from now on",
		yp.Plural(next.Window, "listing")))
}

// toldShort is what a source is told about once, see tellShort.
type toldShort struct{}

// tellShort says once that a source gives fewer listings than it is asked for.
func (s *search) tellShort(a *answer) {
	at, ok := site.ParsePosition(a.NextURL)
	if !ok || !at.Short || at.Window > 0 {
		return
	}
	text := fmt.Sprintf("the page has %s, fewer than a step: the crawl continues right after them", yp.Plural(a.Organic, "listing"))
	s.note("paging", a.Number, text)
	if _, told := s.told.LoadOrStore(toldShort{}, true); !told {
		s.logger.Info().Str("source", s.cfg.Source.Name()).Int64("target", s.claim.TargetID).Int("page", a.Number).Msg(text)
	}
}

// startOverError hands the target back, to be crawled from its first page on.
type startOverError struct{ reason string }

func (e *startOverError) Error() string { return e.reason }

// staleCursor says why the cursor with which an interrupted crawl goes on is good no more, "" = it is: the site refuses it,
// or answers with nothing or with the first page. A cursor may be good for minutes alone.
func (s *search) staleCursor(at site.Position, a *answer, err error) string {
	if at.Cursor == "" || at.Page != s.resumed {
		return ""
	}
	switch {
	case err != nil && refusesCursor(err):
		return fmt.Sprintf("the cursor of page %d is refused; the list is read again from its first page: %v", at.Page, err)
	case err != nil:
		return ""
	case a.Outcome == site.NoListings && s.empty == 0:
		return fmt.Sprintf("the cursor of page %d returns nothing; the list is read again from its first page", at.Page)
	case a.repeats == 1:
		return fmt.Sprintf("the cursor of page %d returns the first page; the list is read from there", at.Page)
	}
	return ""
}

// refusesCursor reports whether an answer may mean that a cursor is none: an error of the one who asks, or what the answer
// says itself.
func refusesCursor(err error) bool {
	if pe, ok := errors.AsType[*pageError](err); ok {
		return pe.page.Outcome == site.Failed || pe.page.Outcome == site.Missing
	}
	fe, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return false
	}
	switch fe.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return fe.Status >= 400 && fe.Status < 500 && !yp.Refusal(fe.Status)
}
