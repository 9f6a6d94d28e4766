package guess

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// What becomes of a guessed definition by its score.
const (
	// ScoreSandbox is the least score with which a new source may be crawled,
	// in a sandbox first.
	ScoreSandbox = 70
	// ScoreReview is the least score with which a new source is kept, switched
	// off until a person has looked at it. Below it, it is refused.
	ScoreReview = 60
)

// scorecard counts what a definition reads on the samples.
type scorecard struct {
	points  int
	reasons []string

	samples, pages           int // samples; those of them with listings
	cards, bad, listings     int
	repeated                 int // cards whose id another card of the page has
	reached                  int // listings with a phone or an address
	pagesOn                  int // pages with a next link or a total
	most                     int // listings of the fullest page
	same                     int // pages whose listings have what those of the fullest have
	positional, contradicted bool
	seen, kept               int // businesses seen on a page's second visit; those with an id of the first
	shape                    uint
	ids                      map[string]string // profile URL by id
	urls                     map[string]string // id by profile URL
}

// score reads the samples with a source and counts. ownURLs says to leave out those whose URLs are none of
// its results pages.
func (g *guesser) score(s *site.Source, ownURLs bool) *scorecard {
	c := &scorecard{ids: map[string]string{}, urls: map[string]string{}}
	var pages []*site.Page
	visited := map[string]*site.Page{}
	for i := range g.samples {
		sm := &g.samples[i]
		p, err := s.ParsePage(sm.Body, sm.URL, sm.Status)
		if err != nil || p.Outcome != site.OK {
			if ownURLs && err == nil && p.Outcome == site.Redirected {
				continue
			}
			p = nil
		}
		if before, again := visited[pageKey(sm.URL)]; again {
			c.revisit(before, p)
			continue
		}
		visited[pageKey(sm.URL)] = p
		if c.samples++; p != nil {
			pages = append(pages, p)
			c.count(p)
		}
	}
	for _, p := range pages {
		if bits.OnesCount(shapeOf(p)^c.shape) <= 1 { // they differ in one field at most
			c.same++
		}
	}
	c.sum()
	return c
}

func (c *scorecard) count(p *site.Page) {
	c.pages++
	c.cards += p.Raw
	c.bad += p.Bad
	c.listings += len(p.Listings)
	c.repeated += p.Raw - (p.Bad - p.Missing) - len(p.Listings)
	if p.NextURL != "" || p.SiteTotal > 0 {
		c.pagesOn++
	}
	if len(p.Listings) > c.most {
		c.most, c.shape = len(p.Listings), shapeOf(p)
	}
	c.positional = c.positional || positional(p.Listings)
	for i := range p.Listings {
		l := &p.Listings[i]
		if l.Phone != "" || l.Street != "" || l.City != "" || l.PostalCode != "" || l.ServiceArea != "" {
			c.reached++
		}
		if l.ProfileURL == "" {
			continue
		}
		if have, ok := c.urls[l.ProfileURL]; ok && have != l.ID {
			c.contradicted = true
		}
		if have, ok := c.ids[l.ID]; ok && have != l.ProfileURL {
			c.contradicted = true
		}
		c.urls[l.ProfileURL], c.ids[l.ID] = l.ID, l.ProfileURL
	}
}

// revisit compares the ids of a page with those of its visit before. A page
// changes between two visits; the ids of the businesses that both show don't.
func (c *scorecard) revisit(before, now *site.Page) {
	if before == nil || now == nil {
		return
	}
	had := map[string][]string{}
	for i := range before.Listings {
		l := &before.Listings[i]
		had[businessKey(l)] = append(had[businessKey(l)], l.ID)
	}
	for i := range now.Listings {
		l := &now.Listings[i]
		if ids, ok := had[businessKey(l)]; ok {
			c.seen++
			if slices.Contains(ids, l.ID) {
				c.kept++
			}
		}
	}
}

// businessKey tells the businesses of a page apart without their ids.
func businessKey(l *yp.Listing) string { return l.Name + "\x00" + l.Phone + "\x00" + l.Street }

// sum adds up the points, 100 in all. A page with complete structured data and a next link has 90; the
// last ten take a second sample.
func (c *scorecard) sum() {
	if c.listings == 0 {
		return
	}
	total := 0.0
	add := func(points, share float64, what, found string, args ...any) {
		total += points * share
		reason := fmt.Sprintf("%.0f of %.0f for %s: ", points*share, points, what) + fmt.Sprintf(found, args...)
		c.reasons = append(c.reasons, reason)
	}
	add(25, share(c.cards-c.bad, c.cards), "cards with a name and an id",
		"%d of %d cards have a name and an id", c.cards-c.bad, c.cards)
	add(25, share(c.reached, c.listings), "a phone or an address",
		"%d of %d listings have a phone or an address", c.reached, c.listings)
	// One page with a next link will do: the last of a target has none.
	add(15, share(min(c.pagesOn, 1), 1), "a next link or a total",
		"%d of %d pages have a next link or a total", c.pagesOn, c.pages)

	// Ids that are made up for each visit would fill every crawl with new businesses. One card in four may repeat
	// an id: an advertiser stands on the page twice.
	wandering := c.kept*2 < c.seen
	switch what := "stable ids"; {
	case wandering:
		add(15, 0, what, "%d of %d businesses had another id when their page was requested again", c.seen-c.kept, c.seen)
	case c.positional:
		add(15, 0, what, "the ids are the positions on the page")
	case c.contradicted:
		add(15, 0, what, "one business has two ids, or two businesses share one id")
	case c.repeated*3 <= c.listings:
		add(15, 1, what, "%d cards repeat an id of their page", c.repeated)
	default:
		add(15, share(c.listings, c.listings+c.repeated), what, "%d cards repeat an id of their page", c.repeated)
	}

	add(10, share(min(c.most, 5), 5), "at least 5 listings on a page", "the fullest page has %d listings", c.most)
	alike := 0
	if c.same >= 2 && c.same*2 >= c.pages {
		alike = 1
	}
	add(10, share(alike, 1), "two pages that parse alike",
		"%d of %d samples are pages of listings, %d of them alike", c.pages, c.samples, c.same)
	if c.points = int(math.Round(total)); wandering {
		c.points = min(c.points, ScoreSandbox-1)
		c.reasons = append(c.reasons, fmt.Sprintf("limited to %d: with ids that change, each crawl finds new businesses", c.points))
	}
}

func share(n, of int) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// positional reports whether the ids only count the listings of a page.
func positional(list []yp.Listing) bool {
	if len(list) < 3 {
		return false
	}
	first, ok := yp.FirstInt(list[0].ID)
	if !ok || first > 1 {
		return false
	}
	for i := range list {
		if list[i].ID != fmt.Sprint(first+i) {
			return false
		}
	}
	return true
}

// shapeOf says which fields at least half of a page's listings have.
func shapeOf(p *site.Page) uint {
	var counts [6]int
	for i := range p.Listings {
		l := &p.Listings[i]
		for j, has := range [...]bool{
			l.Phone != "", l.City != "", l.Street != "", l.ProfileURL != "", l.WebsiteURL != "", len(l.Categories) > 0,
		} {
			if has {
				counts[j]++
			}
		}
	}
	shape := uint(0)
	for j, n := range counts {
		if n*2 >= len(p.Listings) && n > 0 {
			shape |= 1 << j
		}
	}
	return shape
}
