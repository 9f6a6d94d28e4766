package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"ypcrawl/crawl/site"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// Pages that are not those of the search that was asked for: the site leads to the list of another place or
// category, or says that nothing was found and shows something else. What they show is not stored under the search.

// ErrElsewhere is the cause of a stop because the source leads target after target to the lists of others.
var ErrElsewhere = errors.New("the source redirects searches to other lists")

// mostLed is how many different targets in a row may be led elsewhere until the source rests.
const mostLed = 3

// led are the targets in a row, each once, that were led elsewhere, with no page read since.
type led struct {
	mu      sync.Mutex
	targets []int64
}

// add notes a target, and returns all of them when they are too many.
func (l *led) add(target int64) (all []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.targets, target) {
		l.targets = append(l.targets, target)
	}
	if len(l.targets) < mostLed {
		return nil
	}
	all, l.targets = l.targets, nil
	return all
}

func (l *led) read() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.targets = nil
}

// judgeAddress compares the address that answered with the search that was asked for. unstored says that the page is
// that of another list, alias that the search has another name there, and text where it leads.
func (s *search) judgeAddress(ctx context.Context, final *url.URL) (unstored, alias bool, text string, err error) {
	differences := s.cfg.Source.Differences(final, s.claim.Place)
	if len(differences) == 0 {
		return false, false, "", nil
	}
	address := yp.Clip(final.EscapedPath()+query(final), 500)
	other, err := s.cfg.Keeper.Led(ctx, s.claim, address)
	for _, d := range differences {
		if err == nil && !other {
			other, err = s.known(ctx, d)
		}
	}
	return other, !other, "the address leads to " + yp.Printable(yp.Clip(address, 200)), err
}

func query(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// known reports whether a value is that of a place or category that the plan, the source's index or the gazetteer has.
func (s *search) known(ctx context.Context, d site.Difference) (bool, error) {
	switch kind, _, _ := strings.Cut(d.Name, "_"); kind {
	case "state":
		_, known := s.cfg.Source.States().Lookup(strings.ReplaceAll(d.Value, "-", " "))
		return known, nil
	case "category":
		return s.cfg.Keeper.KnowsCategory(ctx, d.Value)
	}
	slug := d.Value
	if d.Name != "city_slug" && !s.cfg.Source.OwnPlaces() {
		slug = yp.CitySlug(d.Value, s.claim.Place.State)
	}
	known, err := s.cfg.Keeper.KnowsCity(ctx, s.claim.SourceID, slug)
	if err != nil || known || s.cfg.Source.OwnPlaces() || len(slug) < 4 || slug[len(slug)-3] != '-' {
		return known, err
	}
	g, err := gazetteer.Load(strings.ToUpper(slug[len(slug)-2:]))
	if err != nil {
		return false, nil //nolint:nilerr // no state of the gazetteer's
	}
	return slices.ContainsFunc(g.All(), func(p gazetteer.Place) bool { return p.Slug == slug }), nil
}

// judgeBoth reports whether a page says that nothing was found, and why what it shows is not stored: its words are no
// furniture, which pages of other targets have beside their total or next link, and most of what it shows was not met
// by this search before.
func (s *search) judgeBoth(ctx context.Context, page *site.Page) (text string, err error) {
	if len(page.Nothing) == 0 || page.Outcome != site.OK {
		return "", nil
	}
	said, err := s.cfg.Keeper.Said(ctx, s.claim, page.Nothing, page.SiteTotal > 0 || page.NextURL != "")
	if err != nil || !page.SaysBoth() || len(said) == 0 {
		return "", err
	}
	organic, _ := idsOf(page.Listings)
	met, err := s.cfg.Keeper.Met(ctx, s.claim, organic)
	if err != nil || 2*met > len(organic) {
		return "", err
	}
	return fmt.Sprintf("the page %s, and shows %s", said[0], yp.Plural(len(organic), "listing")), nil
}

// distrustWords returns an error when a page without listings says that there is nothing in words that pages of two
// targets have beside their listings, too: nobody knows why it shows none. (One page with suggestions is no proof.)
func (s *search) distrustWords(ctx context.Context, page *site.Page) error {
	words, ok := strings.CutPrefix(page.Reason, "the page ")
	if !ok || page.Outcome != site.NoListings || page.NotFound || !strings.HasPrefix(words, "says ") {
		return nil
	}
	furniture, err := s.cfg.Keeper.Furniture(ctx, s.claim, words)
	if err != nil {
		return fatalError{err}
	}
	if !furniture {
		return nil
	}
	page.Outcome, page.Reason = site.HTMLChanged, "no listing could be read, and the page "+words+", as pages with listings do"
	return &pageError{page: page}
}

// setAside is the verdict on a results page that is not stored; zero = it is that of the search. alias says where a
// search with another name leads.
func (s *search) setAside(ctx context.Context, page *site.Page, final *url.URL) (v verdict, alias string, err error) {
	unstored, other, text, err := s.judgeAddress(ctx, final)
	switch {
	case err != nil:
	case unstored:
		return ended(yp.EndElsewhere, text), "", nil
	case other:
		alias = text
	}
	if err == nil {
		text, err = s.judgeBoth(ctx, page)
	}
	if err != nil {
		return v, "", fatalError{err}
	}
	if text != "" {
		return ended(yp.EndBoth, text), "", nil
	}
	return v, alias, nil
}

// ledElsewhere notes a target that was led elsewhere, and DONE so. After some in a row without a page read since, the
// source rests for this run, and they are planned again.
func (s *search) ledElsewhere(ctx context.Context, why string) error {
	all := s.led.add(s.claim.TargetID)
	if all == nil {
		return nil
	}
	s.count.update(func(stats *Stats) {
		n := int64(len(all))
		stats.Targets, stats.Done, stats.Released = stats.Targets-n, stats.Done-n, stats.Released+n
	})
	s.stop(fmt.Errorf("%w: %d in a row, the last: %s. Open it in a browser: the site may do so only for a while, or urls.target of the definition is wrong", ErrElsewhere, len(all), why))
	return s.cfg.Keeper.PlanLed(context.WithoutCancel(ctx), all) // after the stop: nobody is to claim them
}
