package yp

import "slices"

// Ending says how the crawl of a search came to its end: a word of the site that proves
// that nothing follows, or why there is none. Only after one of the first may what the
// crawl did not show be missed.
type Ending string

// Words of the site that prove the end of a list.
const (
	EndTotal      Ending = "total"      // as many organic listings were seen as the site counts
	EndSaid       Ending = "said"       // the page says it: an empty page, a mark that the definition names, a range that ends at the total
	EndPagination Ending = "pagination" // a pagination that is understood whole names no later page
	EndShortPage  Ending = "short_page" // fewer cards than on each page of the pass that has a next link
	EndNextNone   Ending = "next_none"  // the definition says that lists have one page
)

// Why a crawl ended although no word of the site says that the list does.
const (
	EndLimit      Ending = "max_pages"  // our own limit of pages, or the source's page_cap
	EndNoWord     Ending = "no_word"    // no next link, and nothing says that none follows
	EndUnfollowed Ending = "unfollowed" // something leads on that can't be followed
	EndLaterPage  Ending = "later_page" // a later page is named
	EndTooFew     Ending = "too_few"    // fewer than 95 % of the site's total were seen
	EndUnreadable Ending = "unreadable" // cards could not be read, or are beyond what is read of a page
	EndOrder      Ending = "order"      // the order changed during the crawl: listings came again on later pages
	EndRepeats    Ending = "repeats"    // the page repeats an earlier one
	EndGone       Ending = "gone"       // the page is not there (404 or 410)
	EndShrunk     Ending = "shrunk"     // a short page, but the last complete crawl found listings behind it; believed the third time
	EndElsewhere  Ending = "other_list" // the address leads to the list of another place or category
	EndAlias      Ending = "other_name" // the address leads to another name, and few of this search's listings are there
	EndBoth       Ending = "says_both"  // the page says that nothing was found, and shows listings
)

var endings = []Ending{
	EndTotal, EndSaid, EndPagination, EndShortPage, EndNextNone,
	EndLimit, EndNoWord, EndUnfollowed, EndLaterPage, EndTooFew, EndUnreadable, EndOrder, EndRepeats, EndGone, EndShrunk,
	EndElsewhere, EndAlias, EndBoth,
}

// Endings lists every ending, those that the site confirms first.
func Endings() []Ending { return slices.Clone(endings) }

// Confirmed reports whether the site itself said that nothing follows.
func (e Ending) Confirmed() bool {
	switch e {
	case EndTotal, EndSaid, EndPagination, EndShortPage, EndNextNone:
		return true
	}
	return false
}
