package crawl

import (
	"slices"

	"ypcrawl/yp"
)

// echo tells a page that shows what the page before it showed: past its end a
// site may serve a page again and again, each time with a next link. The
// checkpoint knows such a page by its stored listings, unless filters left none
// of them or its ads are others.
type echo struct {
	shown, before []string // ids on this page and the one before
	pages         int
}

// reset forgets the pages of another target.
func (e *echo) reset() { e.pages = 0 }

// again notes a page and reports whether it repeats the one before. Ads count
// only where they are wanted and nothing else is there.
func (e *echo) again(listings []yp.Listing, ads bool) bool {
	e.shown, e.before = e.before[:0], e.shown
	for _, sponsored := range [...]bool{false, true} {
		if sponsored && (!ads || len(e.shown) > 0) {
			break
		}
		for i := range listings {
			if listings[i].Sponsored == sponsored {
				e.shown = append(e.shown, listings[i].ID)
			}
		}
	}
	e.pages++
	return e.pages > 1 && slices.Equal(e.shown, e.before)
}
