package crawl

import (
	"cmp"
	"fmt"

	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// pageSays is what a results page says of its place in its list.
type pageSays struct {
	number   int  // of the page, from 1
	next     bool // it has a next link that can be followed, or a position to go on from
	linkless bool // no link leads on in its list: what follows is a position, where perhaps nothing is
	limit    bool // our own limit: no page behind this one is asked for
	atCap    bool // the definition's page_cap is reached
	bound    bool // as many pages were read as are read of any list
	empty    bool // it says that there is nothing; behind page 1
	gone     bool // it is not there: 404 or 410; behind page 1

	repeats  int // the earlier page of this crawl that it repeats, 0 = none
	cards    int // organic ones, the unreadable among them
	leftOut  int // cards more than are read of a page
	total    int // the site's count of listings, 0 = it gives none
	rangeEnd int // number of the last listing on the page, as it says; 0 = it does not say
	last     string
	nextHost string // of a next link to another host
	paging   site.Paging
	onePage  bool // the definition says that lists have one page (next: none)
	asked    bool // the page was asked for once more already
}

// crawlSeen is what the crawl of a target has seen, this page included.
type crawlSeen struct {
	all     int // distinct ids, ads among them
	organic int // distinct ids of organic listings
	ads     int // distinct ids of listings that were ads, also of those that are organic
	again   int // of them, those that came again on a later page, but for those that are on every page
	bad     int // cards that could not be read

	more   func(behind bool) (bool, error) // whether the last complete crawl showed listings on this page and behind it, or behind it alone, that were not seen now
	shrunk int                             // crawls in a row that ended on a short page although more answers yes
}

// passShown is what a source has shown in this pass.
type passShown struct {
	NextPages int  // pages with a next link that could be followed
	Fewest    int  // fewest organic cards on one of these
	Most      int  // most organic cards on one of these
	Deeper    bool // a page of a higher number, of another target
}

// step is what follows a page.
type step uint8

const (
	goOn     step = iota // the next page is asked for
	askAgain             // this page is asked for once more
	end                  // the crawl has come to its end, see yp.Ending
	cutShort             // the attempt fails: more is known to be there
)

// verdict is what a page means for the crawl of its target.
type verdict struct {
	step  step
	how   yp.Ending // of an end
	bound bool      // at the bound of all lists
	text  string    // why, for people
}

const (
	seenShare  = 95 // percent of the site's total that must be seen: sites count ads along, and some listings twice
	againShare = 5  // percent of the organic ids that may come again on a later page
	shortPages = 3  // pages with a next link by which a short page is known
	timesShort = 3  // crawls in a row that must end on a short page before it is believed, where the last complete one went further
)

// judgeEnd decides what follows a page: whether the crawl goes on, or has come to an end that
// the site confirms. Nothing is inferred from the absence of a next link: one word of the site
// must prove the end, and nothing may forbid it (docs/decisions/0058).
func judgeEnd(p pageSays, c crawlSeen, s passShown) (verdict, error) {
	switch {
	case p.repeats > 0, p.gone:
		return judgeNothingNew(p, c)
	case p.next && !p.limit:
		return verdict{step: goOn}, nil
	case p.next && p.bound:
		v := ended(yp.EndLimit, fmt.Sprintf("at most %s pages are read of a list; page_cap in the definition allows more",
			yp.Thousands(int64(p.number))))
		v.bound = true
		return v, nil
	case p.next:
		return ended(yp.EndLimit, "the limit of pages"), nil
	}
	reached := p.total > 0 && c.organic >= p.total
	if text := p.unfollowed(); text != "" && !reached && !p.empty {
		return again(p.asked, yp.EndUnfollowed, text), nil
	}
	short := s.NextPages > 0 && p.cards < s.Fewest
	if v, forbidden := forbids(p, c, reached, short, max(p.cards, s.Fewest)); forbidden {
		return v, nil
	}
	return proof(p, c, s, reached, short)
}

// judgeNothingNew judges a page that repeats an earlier one, or is not there. Only the total
// confirms such an end.
func judgeNothingNew(p pageSays, c crawlSeen) (verdict, error) {
	how, text := yp.EndGone, fmt.Sprintf("page %d does not exist", p.number)
	if p.repeats > 0 {
		how, text = yp.EndRepeats, fmt.Sprintf("page %d repeats page %d", p.number, p.repeats)
	}
	if p.total > 0 && c.organic >= p.total {
		if v, forbidden := forbids(p, c, true, true, p.cards); forbidden {
			return v, nil
		}
		return ended(yp.EndTotal, ""), nil
	}
	more, err := c.more(false)
	switch {
	case err != nil:
		return verdict{}, err
	case more:
		return verdict{step: cutShort, text: text + ", but the last complete crawl found other listings on it"}, nil
	case p.total > 0:
		text += fmt.Sprintf(", and the site counts %s more than it has shown", yp.Plural(p.total-c.organic, "listing"))
	}
	return again(p.asked || p.repeats > 0 && p.total == 0, how, text), nil
}

// lastOfPositions reports whether a page of a list without links is its last, though a position follows it: the total is reached,
// or the page is a short one. Where an earlier crawl went further than a short page, the next one is asked for; so it is where
// the pages with listings behind them have not one length: the site filters them, and one of a few is the shortest by chance.
func lastOfPositions(p pageSays, c crawlSeen, s passShown) (bool, error) {
	if p.total > 0 {
		return c.organic >= p.total, nil
	}
	if s.NextPages < shortPages || p.cards >= s.Fewest || s.Fewest != s.Most {
		return false, nil
	}
	more, err := c.more(true)
	return !more, err
}

// unfollowed says what leads on from the page and can't be followed, "" = nothing.
func (p *pageSays) unfollowed() string {
	if p.nextHost != "" {
		return "its next link leads to another site, " + yp.Printable(p.nextHost)
	}
	return p.paging.Unfollowed
}

// forbids says why a crawl that ends here can't be complete, whatever else the page says. reached
// tells that as many organic listings were seen as the site counts, short that the page has fewer cards than those with a next link, full how many
// cards a full page has.
func forbids(p pageSays, c crawlSeen, reached, short bool, full int) (verdict, bool) {
	switch {
	case p.total > 0 && 100*c.all < seenShare*p.total:
		few := short && !muchMissing(c.all, p.total)
		return again(p.asked || p.limit || few, yp.EndTooFew, fmt.Sprintf("with %d of the %d listings that the site counts", c.all,
			p.total)), true
	case p.atCap && !reached:
		return ended(yp.EndLimit, "page_cap of the definition"), true
	case p.paging.Later && !p.empty:
		how := yp.EndLaterPage
		if p.limit {
			how = yp.EndLimit
		}
		return again(p.asked || p.limit, how, "a later page is mentioned that no link leads to"), true
	case p.rangeEnd > 0 && !p.empty && 2*(p.total-max(p.rangeEnd+c.ads, c.all)) >= full && p.total > p.rangeEnd: // half a page or more: not only ads
		return again(p.asked, yp.EndLaterPage, fmt.Sprintf("the page ends with listing %d of %d", p.rangeEnd, p.total)), true
	case c.bad > 0:
		return ended(yp.EndUnreadable, yp.Plural(c.bad, "card")+" could not be read"), true
	case p.leftOut > 0:
		return ended(yp.EndUnreadable, yp.Plural(p.leftOut, "card")+" more than are read of a page"), true
	case 100*c.again > againShare*c.organic:
		return ended(yp.EndOrder, fmt.Sprintf("%d of %s appeared again on a later page: the order changed", c.again,
			yp.Plural(c.organic, "listing"))), true
	}
	return verdict{}, false
}

// proof looks for a word of the site that proves the end.
func proof(p pageSays, c crawlSeen, s passShown, reached, short bool) (verdict, error) {
	switch {
	case reached:
		return ended(yp.EndTotal, ""), nil
	case p.empty, p.last != "", p.total > 0 && p.rangeEnd == p.total:
		return ended(yp.EndSaid, p.last), nil
	case p.paging.Whole && (short || s.Deeper):
		return ended(yp.EndPagination, ""), nil
	case p.total > 0 && !short && !p.asked: // full, and a few are missing: one look more
		return verdict{step: askAgain, text: fmt.Sprintf("it is full, and the site counts %s more", yp.Plural(p.total-c.organic, "listing"))}, nil
	case s.NextPages >= shortPages && p.cards < s.Fewest:
		return judgeShort(c)
	case p.onePage && p.total == 0 && !p.paging.There:
		return ended(yp.EndNextNone, ""), nil
	}
	return ended(yp.EndNoWord, "no next link, and nothing says that the list ends here"), nil
}

// muchMissing reports whether a list that ends with seen of total listings is worth a second look, though the page is
// a short one: a tenth is missing, and more than a few.
func muchMissing(seen, total int) bool {
	missing := total - seen
	return missing > 5 && missing*10 > total
}

// judgeShort judges a page that is shorter than each page with a next link.
func judgeShort(c crawlSeen) (verdict, error) {
	more, err := c.more(true)
	if err != nil {
		return verdict{}, err
	}
	if more && c.shrunk+1 < timesShort {
		return ended(yp.EndShrunk, fmt.Sprintf("a short page, but the last complete crawl went further; believed the %s time",
			ordinal(timesShort))), nil
	}
	return ended(yp.EndShortPage, ""), nil
}

func ordinal(n int) string {
	return cmp.Or(map[int]string{1: "first", 2: "second", 3: "third"}[n], fmt.Sprintf("%dth", n))
}

func ended(how yp.Ending, text string) verdict { return verdict{step: end, how: how, text: text} }

// again ends the crawl with a page that was asked for once more already, else asks for it.
func again(asked bool, how yp.Ending, text string) verdict {
	v := verdict{step: askAgain, how: how, text: text}
	if asked {
		v.step = end
	}
	return v
}
