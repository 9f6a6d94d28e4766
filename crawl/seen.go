package crawl

import (
	"cmp"
	"slices"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// seen is what the crawl of a search has shown so far.
type seen struct {
	ids     map[string]sighting
	pages   int  // with listings
	fullest int  // most organic cards on one of them
	idle    bool // the last one brought no organic listing that was new

	before []string // organic ids of the last page, in its order
	cards  int      // organic cards on it
}

// sighting says where an id was shown.
type sighting struct {
	page    int // the last one
	organic int // the last one that showed it as an organic listing, 0 = none
	times   int // on how many it was organic
	place   int // among the organic ones of a page, from 1; 0 = it has changed
	ad      bool
}

// onlyAds stands among the ids for a page that shows ads alone, where they are not wanted.
const onlyAds = ""

func newSeen() *seen { return &seen{ids: map[string]sighting{}} }

// page takes in the ids of a page: those of organic listings, and those that it shows as ads alone. short tells that it was asked
// for right behind a page that gave fewer than a step: with what that ended with, it may begin, and that came but once.
func (s *seen) page(number, cards int, short bool, organic, ads []string) {
	repeated := 0
	if short {
		repeated = s.overlap(organic)
	}
	s.before, s.cards = organic, cards
	s.pages++
	s.fullest, s.idle = max(s.fullest, cards), true
	for i, list := range [...][]string{organic, ads} {
		for n, id := range list {
			at := s.ids[id]
			switch at.page = number; {
			case i > 0:
				at.ad = true
			case n < repeated:
				at.organic = number
			case at.organic != number:
				s.idle = s.idle && at.organic > 0
				if at.times == 0 {
					at.place = n + 1
				} else if at.place != n+1 {
					at.place = 0
				}
				at.organic = number
				at.times++
			}
			s.ids[id] = at
		}
	}
}

// behind adds to what the source has shown of lists without links that a page with listings follows the last one: with its
// commit the next page notes it.
func (s *seen) behind(of *checkpoint.PassShown) {
	if s.cards == 0 {
		return
	}
	if of.NextPages == 0 {
		of.Fewest = s.cards
	}
	of.NextPages++
	of.Fewest, of.Most = min(of.Fewest, s.cards), max(of.Most, s.cards)
}

// overlap returns how many ids a page begins with that the page before ended with, in the same order.
func (s *seen) overlap(organic []string) int {
	for n := min(len(organic), len(s.before)); n > 0; n-- {
		if slices.Equal(s.before[len(s.before)-n:], organic[:n]) {
			return n
		}
	}
	return 0
}

// resume takes in the pages that earlier attempts of the crawl have committed. linkless tells that they are of a list without links, of
// which nobody knows any more behind which page they were asked for.
func (s *seen) resume(pages []checkpoint.SeenPage, linkless bool) {
	for i := range pages {
		p := &pages[i]
		s.page(p.Page, len(p.Organic), linkless, orOnlyAds(p.Organic), p.Ads)
	}
}

func orOnlyAds(organic []string) []string {
	if len(organic) == 0 {
		return []string{onlyAds}
	}
	return organic
}

// with sums up the crawl with one page more.
func (s *seen) with(number, cards int, short bool, organic, ads []string) crawlSeen {
	sum := newSeen()
	for id, at := range s.ids {
		sum.ids[id] = at
	}
	sum.pages, sum.fullest, sum.before = s.pages, s.fullest, s.before
	sum.page(number, cards, short, organic, ads)
	return sum.sum()
}

// sum counts the ids. An organic one that is on each of three pages or more, in the same place, is a promotion, and
// does not count as one that came again: in an order that changes, too, some are met on every page.
func (s *seen) sum() (c crawlSeen) {
	for id, at := range s.ids {
		if id == onlyAds {
			continue
		}
		if c.all++; at.ad {
			c.ads++
		}
		if at.organic == 0 {
			continue
		}
		c.organic++
		if at.times > 1 && (s.pages < 3 || at.times < s.pages || at.place == 0) {
			c.again++
		}
	}
	return c
}

// idsOf returns the ids of a page: of organic listings, and of those that it shows as ads alone.
func idsOf(listings []yp.Listing) (organic, ads []string) {
	organic = make([]string, 0, len(listings))
	for i := range listings {
		if l := &listings[i]; l.Sponsored {
			ads = append(ads, l.ID)
		} else {
			organic = append(organic, l.ID)
		}
	}
	return organic, ads
}

// repeats returns the earlier page of its target's crawl that a page repeats, 0 = none: past
// their end sites serve their last page or their first again and again, each time with a next
// link, and a cache that drops the query serves the first one under every address. All listings
// of such a page were shown before; ads count only where they are wanted and nothing else is
// there. A last page that is shorter than the others is none, even if nothing on it is new, nor is one that shows
// nothing but what is on every page.
func (s *seen) repeats(number int, page *site.Page, wantAds bool) (earlier int) {
	if number == 1 || page.Outcome != site.OK || page.NextURL == "" && 10*page.Organic < 9*s.fullest {
		return 0
	}
	ids, ads := idsOf(page.Listings)
	if len(ids) == 0 && wantAds {
		ids = ads
	}
	if len(ids) == 0 {
		return s.ids[onlyAds].page
	}
	promoted := s.pages > 1 && !s.idle
	for _, id := range ids {
		at := s.ids[id]
		if at.organic == 0 && !wantAds || at.page == 0 {
			return 0
		}
		promoted = promoted && at.times == s.pages
		earlier = max(earlier, cmp.Or(at.organic, at.page))
	}
	if promoted {
		return 0
	}
	return earlier
}
