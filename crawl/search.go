package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/rs/zerolog"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// search is the visit of a search: pages of results, whose end the site must confirm.
type search struct {
	*visit
	shown   *seen // so far
	resumed int   // the page with which an interrupted crawl goes on, 0 = it begins anew

	empty int           // pages without listings in a row that name another cursor
	jump  site.Position // where the page of its number begins, behind such pages
}

func newSearch(v *visit) *search { return &search{visit: v, shown: newSeen()} }

func (s *search) begin(ctx context.Context) error {
	c := s.claim
	s.steps.Info().Str("source", s.cfg.Source.Name()).Int64("target", c.TargetID).Str("state", c.Place.State).
		Msgf("crawling %s in %s", yp.Printable(c.Place.Category), yp.Printable(c.Place.City))
	if c.PageCurrent == 0 {
		return nil
	}
	s.resumed = c.PageCurrent + 1
	pages, err := s.cfg.Keeper.SeenPages(ctx, c)
	if err == nil {
		s.shown.resume(pages, s.cfg.Source.HasPositions())
	}
	return err
}

// mostPages bounds the pages of one list: a site may have a next link on every page, for ever. A definition that
// says more in page_cap has more.
const mostPages = 1000

func (s *search) last() int {
	limit := cmp.Or(s.cfg.Source.PageCap(), mostPages)
	if most := s.claim.MaxPages; most > 0 && most < limit {
		return most
	}
	return limit
}

// next reads a results page. On page 1, what looks empty or missing is asked for
// once more by search: a wrong slug is no empty result.
func (s *search) next(ctx context.Context, number int) (*answer, error) {
	ask := s.askFor(number)
	a, err := s.fetchPage(ctx, s.task(ask, number))
	for s.empty = 0; err == nil && s.passesOver(a); {
		s.jump, _ = site.ParsePosition(a.BehindEmpty)
		s.jump.Page = number
		s.empty++
		s.note("paging", number, "a page without listings has another cursor, which is followed")
		a, err = s.fetchPage(ctx, s.task(s.askFor(number), number))
	}
	if why := s.staleCursor(s.position(number), a, err); why != "" {
		return nil, &startOverError{why}
	}
	if err != nil || number > 1 || a.Outcome != site.NoListings || a.foreign {
		return a, err
	}
	a.addressGone = a.NotFound
	other, ok := s.cfg.Source.SearchRequest(s.claim.Place, site.Position{Page: 1})
	if !ok || other.Label() == ask.Label() {
		return a, nil
	}
	found, err := s.fetchPage(ctx, s.task(other, number))
	switch {
	case errors.Is(err, fetch.ErrDisallowed):
		return a, nil // robots.txt keeps us from asking: the first answer counts
	case err != nil:
		return nil, err
	case found.NotFound && !a.NotFound:
		return a, nil // the target's own page has already said it
	}
	found.addressGone = a.addressGone
	return found, nil
}

// mostEmpty is how many pages without listings in a row a crawl passes over that name another cursor: a site that filters
// behind its paging has such, and another names a cursor on every page, for ever.
const mostEmpty = 3

// passesOver reports whether an empty page is passed over, since it names another cursor.
func (s *search) passesOver(a *answer) bool {
	return a.Outcome == site.NoListings && a.BehindEmpty != "" && s.empty < mostEmpty
}

// position is where in its list a page begins.
func (s *search) position(number int) site.Position {
	if s.jump.Page == number && s.jump.Cursor != "" {
		return s.jump
	}
	if at, ok := site.ParsePosition(s.claim.NextPageURL); ok && number > 1 {
		return at
	}
	return site.Position{Page: number}
}

// askFor is the request for a page: by the link of the page before, where that had one.
func (s *search) askFor(number int) site.Request {
	next := s.claim.NextPageURL
	if next == "" || number == 1 || yp.IsPosition(next) {
		return s.cfg.Source.TargetRequest(s.claim.Place, s.position(number))
	}
	return s.cfg.Source.LinkRequest(next)
}

// task is the fetch of a results page.
func (s *search) task(ask site.Request, number int) *task {
	t := s.visit.task(yp.RequestListing, ask, number)
	t.read, t.results, t.keep, t.check = pageParser(s.position(number)), true, true, s.check
	return t
}

// pageParser reads the page of results that begins at a position of its list.
func pageParser(at site.Position) parser {
	return func(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error) {
		return src.At(at).ParsePage(body, final, status)
	}
}

func (s *search) probeTask() *task {
	t := s.worker.task(yp.RequestProbe, s.askFor(1), 1)
	t.read, t.results = pageParser(site.Position{Page: 1}), true
	return t
}

// check says what a results page means for the crawl: that it is not the search's, that it leads on, or how the list
// ends with it. Its error is why the page is asked for again, or why the attempt fails.
func (s *search) check(ctx context.Context, t *task, a *answer) error {
	if t.number > 1 && a.Outcome == site.Missing {
		a.Outcome, a.NotFound = site.NoListings, true // behind a page of the list, whatever the server says of it
	}
	if a.Outcome != site.OK && a.Outcome != site.NoListings {
		s.countUnread(t.number, a.Page)
		return nil
	}
	if s.passesOver(a) {
		return nil
	}
	err := s.distrustWords(ctx, a.Page)
	if err != nil {
		return err
	}
	if a.end, a.alias, err = s.setAside(ctx, a.Page, a.resp.URL); err != nil {
		return err
	}
	if a.foreign = a.end.step == end; a.foreign {
		return nil
	}
	a.end, a.repeats, err = s.judgePage(ctx, t, a.Page, a.alias)
	return err
}

// errAskAgain is what is odd about a page that is asked for once more, and taken as it is then.
type errAskAgain struct{ why string }

func (e *errAskAgain) Error() string { return e.why }

// judgePage decides what follows a results page: see judgeEnd. Its error says why the page is asked for once more,
// or why the attempt fails. alias says that the search has another name where it leads.
func (s *search) judgePage(ctx context.Context, t *task, page *site.Page, alias string) (v verdict, repeats int, err error) {
	repeats = s.shown.repeats(t.number, page, s.filter.sponsored)
	s.mendPosition(t, page)
	p := s.says(t, page, repeats)
	if p.number == 1 && page.Outcome == site.NoListings || repeats == 0 && p.next && !p.limit && !p.linkless {
		return verdict{step: goOn}, 0, nil
	}
	known, err := s.cfg.Keeper.PassShown(ctx, s.claim, t.number)
	if err != nil {
		return v, 0, fatalError{err}
	}
	organic, ads := idsOf(page.Listings)
	so := s.shown.sum()
	if repeats == 0 && len(page.Listings) > 0 {
		so = s.shown.with(t.number, p.cards, s.position(t.number).Short, organic, ads)
	}
	so.bad, so.shrunk, so.more = s.claim.Bad+page.Bad, s.claim.Shrunk, s.showedMore(ctx, t.number, organic)
	if p.linkless && p.next && repeats == 0 && !page.Partial {
		s.shown.behind(&known)
		last, err := lastOfPositions(p, so, passShown(known))
		if err != nil {
			return v, 0, err
		}
		if p.next = !last; last {
			page.NextURL = ""
		}
	}
	if v, err = judgeEnd(p, so, passShown(known)); err != nil {
		return v, 0, err
	}
	if v.how.Confirmed() && alias != "" {
		if most, err := s.cfg.Keeper.MostlyMet(ctx, s.claim, organic); err != nil {
			return v, 0, fatalError{err}
		} else if !most {
			v = ended(yp.EndAlias, alias+", and most of what this search showed before is missing")
		}
	}
	switch v.step {
	case askAgain:
		t.doubted = true
		return v, 0, &errAskAgain{v.text}
	case cutShort:
		return v, 0, errors.New(v.text)
	}
	return v, repeats, nil
}

// showedMore tells, for judgeEnd, whether earlier crawls of the target found more from a page on: see crawlSeen.more.
func (s *search) showedMore(ctx context.Context, number int, organic []string) func(behind bool) (bool, error) {
	return func(behind bool) (bool, error) {
		from := number
		if behind {
			from++
		}
		more, err := s.cfg.Keeper.ShowedMore(ctx, s.claim, from, organic, behind)
		if err != nil {
			err = fatalError{err}
		}
		return more, err
	}
}

// says is what a results page says of its place in its list.
func (s *search) says(t *task, page *site.Page, repeats int) pageSays {
	c, src := s.claim, s.cfg.Source
	limit := src.PageCap()
	p := pageSays{
		number: t.number, next: page.NextURL != "", linkless: yp.IsPosition(page.NextURL), limit: t.number == s.last(), atCap: limit > 0 && t.number >= limit,
		empty: page.Outcome == site.NoListings && !page.NotFound, gone: page.NotFound, repeats: repeats,
		bound: limit == 0 && t.number >= mostPages, cards: page.Organic, leftOut: page.LeftOut,
		total: s.total(page), rangeEnd: page.RangeEnd, last: page.LastMark,
		nextHost: page.NextHost, paging: page.Paging, onePage: src.OnePage(),
	}
	// A list may have reached the number of pages that the site shows at most: near what the definition says, or, when it
	// says nothing, from the tenth on. Nor is a page asked for again of a target that is to be asked for once.
	nearCap := limit == 0 && t.number >= 10 && (repeats == 0 || repeats == t.number-1) || limit > 0 && t.number*10 >= limit*9
	p.asked = t.doubted || nearCap || c.MaxRetries == 0
	return p
}

// total is how many listings the site counts. A list without links ends where its total is reached: of one that suddenly is much
// smaller than on the page before, that is not known.
func (s *search) total(page *site.Page) int {
	before := s.claim.SiteTotal
	if s.cfg.Source.HasPositions() && 100*page.SiteTotal < seenShare*before {
		return before
	}
	return cmp.Or(page.SiteTotal, before)
}

// ends ends the crawl with a page that is another search's, repeats an earlier one, or has no listings.
func (s *search) ends(ctx context.Context, a *answer) (conclusion, bool) {
	switch {
	case a.foreign, a.repeats > 0:
		return s.endWithout(a), true
	case a.Outcome != site.NoListings:
		return conclusion{}, false
	}
	if err := s.watchLayout(ctx, nil); err != nil { // a page that is known, too
		return conclusion{err: err}, true
	}
	switch {
	case s.claim.PageCurrent > 0:
		return s.endWithout(a), true
	case a.NotFound:
		return notThere(a), true
	}
	o := settled(yp.CauseEmpty, a.Reason)
	switch o.how = yp.EndSaid; {
	case a.addressGone: // its businesses may be listed elsewhere
		o.how = yp.EndGone
	case a.alias != "":
		o.how, o.why = yp.EndAlias, a.alias
	}
	return o, true
}

// notThere is the conclusion of a target whose first page does not exist.
func notThere(a *answer) conclusion {
	return settled(yp.CauseMissing, "the source has no such page: "+a.Reason)
}

// endWithout ends the crawl with a page that is not stored.
func (s *search) endWithout(a *answer) conclusion {
	s.tellEnd(a.end, s.claim.PageCurrent+1)
	return conclusion{event: yp.EventLastPage, how: a.end.how, why: a.end.text}
}

// tellEnd says in the trace of the target why its crawl came to an end that the site does not confirm.
func (s *search) tellEnd(v verdict, number int) {
	if v.how == yp.EndNoWord || v.how == yp.EndLimit || v.how.Confirmed() {
		return // as lists end: the target's row tells it
	}
	s.note("ends", number, "without a confirmed end: "+v.text)
	level := zerolog.DebugLevel
	switch v.how {
	case yp.EndUnfollowed, yp.EndElsewhere, yp.EndAlias, yp.EndBoth: // of each the first of a source
		if _, told := s.told.LoadOrStore(v.how, true); !told {
			level = zerolog.WarnLevel
		}
	}
	s.logger.WithLevel(level).Str("source", s.cfg.Source.Name()).Int64("target", s.claim.TargetID).Int("page", number).
		Str("ending", string(v.how)).
		Msg("the list ends without a confirmed end: " + v.text)
}

// prepare filters a results page and says whether it is the last.
func (s *search) prepare(_ context.Context, a *answer) error {
	organic, ads := idsOf(a.Listings)
	s.shown.page(a.Number, a.Organic, s.position(a.Number).Short, orOnlyAds(organic), ads)
	a.Ads, a.Seen = ads, s.shown.sum().organic
	s.tellLeftOut(a.Page)
	s.logUnread(a.Number, a.Page)
	a.all, a.known = a.Listings, !incomplete(a.Page)
	s.filter.apply(&a.Page.Page, s.cfg.Source.Check)
	if a.Accepted < len(a.all)-len(ads) {
		a.Shown = organic
	}
	if a.end.step == end {
		a.Last, a.Ending, a.EndText = true, a.end.how, a.end.text
		if a.end.bound {
			a.NextURL = "" // no crawl goes deeper
		}
		s.tellEnd(a.end, a.Number)
	}
	s.tellShort(a)
	a.NextURL = s.relative(a.NextURL)
	return nil
}

// relative is an address without scheme and host, unless that would name another host: a source that
// moves (--base-url, another port) is resumed where it is now.
func (s *search) relative(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host != s.cfg.Source.BaseURL().Host {
		return address
	}
	if path := u.RequestURI(); !strings.HasPrefix(path, "//") {
		return path
	}
	return address
}

// incomplete reports whether fewer than half of the cards that a page announces could be read:
// its layout is another one.
func incomplete(page *site.Page) bool { return 2*page.Readable() < page.Announced }

// tellLeftOut says what of a page is not followed or kept, where people look: in the
// log, in the trace of the target and in the sums of the run.
func (s *search) tellLeftOut(page *site.Page) {
	tell := func(event, text string) {
		s.note(event, page.Number, text)
		s.logger.Warn().Int64("target", s.claim.TargetID).Int("page", page.Number).Msg(text)
	}
	if page.LeftOut > 0 {
		s.count.update(func(stats *Stats) { stats.LeftOut += int64(page.LeftOut) })
		tell("left out", fmt.Sprintf("%d cards beyond the first 1,000 of the page", page.LeftOut))
	}
	if page.NextHost != "" {
		s.count.update(func(stats *Stats) { stats.Elsewhere++ })
		tell("not followed", "the next link leads to another site and was not followed: "+yp.Printable(page.NextHost))
	}
}

// saved counts a page of results, and shows it to the layout alarm.
func (s *search) saved(ctx context.Context, a *answer, res *checkpoint.Committed) error {
	s.led.read()
	s.countPage(&a.Page.Page, res)
	s.count.update(func(stats *Stats) { stats.addCards(a.Page) })
	s.watchFields(a)
	if a.known {
		if err := s.watchLayout(ctx, a.all); err != nil {
			return err
		}
	}
	return s.watchEnd(ctx, a)
}

func (s *search) countPage(p *yp.Page, res *checkpoint.Committed) {
	s.count.update(func(stats *Stats) {
		stats.Pages++
		stats.Raw += int64(p.Raw)
		stats.Accepted += int64(p.Accepted)
		stats.New += int64(res.New)
		stats.Changed += int64(res.Changed)
		stats.Rejected += int64(res.Rejected)
		stats.Restored += int64(res.Restored)
		stats.Companies += int64(res.Companies)
	})
	s.logger.Debug().Int64("target", s.claim.TargetID).Int("page", s.claim.PageCurrent).Int("raw", p.Raw).Int("accepted", p.Accepted).
		Int("new", res.New).Int("bad", p.Bad).Int("rejected", res.Rejected).Bool("done", res.Done).Msg("page committed")
}

// watchLayout shows a page that was committed to the layout alarm.
func (s *search) watchLayout(ctx context.Context, listings []yp.Listing) error {
	return s.stopOnAlarm(s.layout.Page(context.WithoutCancel(ctx), s.claim.TargetID, s.claim.CategoryID, listings))
}

// watchEnd shows the end of a target's list to the layout alarm, or a page that leads on.
func (s *search) watchEnd(ctx context.Context, a *answer) error {
	detached := context.WithoutCancel(ctx)
	if v := a.end; v.step != end || v.how != yp.EndUnfollowed || !a.Whole {
		return fatalOrNil(s.layout.Ended(detached, v.step == goOn && a.NextURL != ""))
	}
	return s.stopOnAlarm(s.layout.Unfollowed(detached, s.claim.TargetID, a.end.text))
}

func (s *search) done(*checkpoint.Committed) conclusion {
	return conclusion{event: yp.EventLastPage, saved: true}
}

// ended counts and logs how the search ended, and notes what it says of the source's addresses.
func (s *search) ended(ctx context.Context, o *conclusion) error {
	if o.event == yp.EventRelease {
		return nil
	}
	s.tally(o)
	var err error
	if o.how == yp.EndElsewhere && s.claim.PageCurrent == 0 {
		err = s.ledElsewhere(ctx, o.why)
	}
	return cmp.Or(err, s.countMissing(ctx, o))
}

func (s *search) tally(o *conclusion) {
	level, what := zerolog.WarnLevel, "target failed"
	s.count.update(func(stats *Stats) {
		stats.Targets++
		switch o.event {
		case yp.EventLastPage:
			level, what = zerolog.DebugLevel, "target done"
			stats.Done++
			stats.Dropped += int64(s.claim.Dropped)
			if o.code == yp.CodeNoListings {
				stats.Empty++
			}
		case yp.EventPark:
			what = "target given up"
			stats.Parked++
		case yp.EventBackOff:
			level, what = zerolog.InfoLevel, "target will be retried"
			stats.Waiting++
		default:
			stats.Failed++
		}
	})
	if level == zerolog.WarnLevel && s.cfg.Tolerant {
		level = zerolog.InfoLevel
	}
	place := s.claim.Place
	s.logFailure(level, o).Int64("target", s.claim.TargetID).Str("city", place.City).Str("state", place.State).
		Str("category", place.Category).Int("pages", s.claim.PageCurrent).Msg(what)
}
