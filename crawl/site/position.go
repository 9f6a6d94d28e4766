package site

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// maxCursor bounds a cursor, in bytes.
const maxCursor = 2 << 10

// String returns the position as it is kept in the place of an address: "@page=3", "@offset=40&short=1".
func (p Position) String() string {
	v := url.Values{}
	set := func(key, value string, is bool) {
		if is {
			v.Set(key, value)
		}
	}
	set("page", strconv.Itoa(p.Page), p.Page > 0)
	set("offset", strconv.Itoa(p.Offset), p.Offset > 0)
	set("cursor", p.Cursor, p.Cursor != "")
	set("short", "1", p.Short)
	set("window", strconv.Itoa(p.Window), p.Window > 0)
	return yp.PositionMark + v.Encode()
}

// ParsePosition reads what String has written; ok is false for an address.
func ParsePosition(s string) (p Position, ok bool) {
	text, ok := strings.CutPrefix(s, yp.PositionMark)
	v, err := url.ParseQuery(text)
	if !ok || err != nil {
		return p, false
	}
	p.Page, _ = strconv.Atoi(v.Get("page"))
	p.Offset, _ = strconv.Atoi(v.Get("offset"))
	p.Window, _ = strconv.Atoi(v.Get("window"))
	p.Cursor, p.Short = v.Get("cursor"), v.Has("short")
	return p, p.Page >= 0 && p.Offset >= 0 && p.Window >= 0
}

// paging is how the pages of lists without links are asked for.
type paging struct {
	first  int   // number or offset of the first page
	offset bool  // pages are told by {offset}
	step   int   // listings that a page is asked to give, of offset
	named  bool  // each page names the next one by a cursor
	cursor field // what names it
}

var (
	errPaging   = errors.New("want page, or offset with step, or cursor, such as `{offset: 0, step: 50}`")
	errPageStep = errors.New("want the number of listings requested per page, such as 50")
)

// compilePaging reads how the pages of lists without links are asked for.
func (c *compiled) compilePaging(f *faults) {
	d, given := &c.def.Paging, 0
	for _, is := range [...]bool{d.Page != nil, d.Offset != nil, len(d.Cursor) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given == 0 && d.Step == 0:
		return
	case given != 1 || d.Step != 0 && d.Offset == nil:
		f.add("paging", errPaging)
		return
	case c.def.Next != nil && !c.def.Next.isNone():
		f.add("paging", errors.New("is for lists without links to the next page: remove next or paging"))
	case d.Offset != nil && (d.Step < 1 || d.Step > maxStep):
		f.add("paging.step", errPageStep)
	}
	c.paging = &paging{offset: d.Offset != nil, step: d.Step, named: len(d.Cursor) > 0}
	switch {
	case d.Page != nil:
		c.paging.first = *d.Page
	case d.Offset != nil:
		c.paging.first = *d.Offset
	}
	if c.paging.first < 0 || c.paging.first > 1 {
		f.add("paging", fmt.Errorf("%d: want the number of the first page, 0 or 1", c.paging.first))
	}
}

// maxStep bounds how many listings a page is asked to give.
const maxStep = 10_000

// placeholder is what an address must hold for pages to differ.
func (g *paging) placeholder() string {
	switch {
	case g.named:
		return "cursor"
	case g.offset:
		return "offset"
	}
	return "page"
}

// HasPositions reports whether the pages of lists are asked for by position, since no link leads to them.
func (s *Source) HasPositions() bool { return s.paging != nil }

// Given is how many listings a page has of those that its list counts: ads are beside them.
func (p *Page) Given() int { return p.Organic + p.LeftOut }

// readPosition says what follows a page of a list without links: a position, unless the page has no listings, or says
// that it is the last, or the total is reached by then.
func (s *Source) readPosition(p *Page, c *cardReader) {
	if s.paging == nil || p.NextURL != "" {
		return
	}
	if len(p.Listings) == 0 && p.Given() == 0 {
		s.readBehindEmpty(p, c)
		return
	}
	next := s.at
	next.Page = max(s.at.Page, 1) + 1
	switch {
	case s.paging.named:
		if next.Cursor = s.paging.cursor.whole(c); len(next.Cursor) > maxCursor {
			p.Paging.Unfollowed = fmt.Sprintf("its cursor is longer than %s bytes", yp.Thousands(maxCursor))
			return
		}
		if next.Cursor == "" || next.Cursor == s.at.Cursor || noCursor[next.Cursor] {
			return
		}
	case s.paging.offset:
		next = s.paging.after(s.at, p.Given())
		if s.at.Window == 0 && p.SiteTotal > 0 && next.Offset >= p.SiteTotal {
			p.ByOffset, p.RangeEnd = p.RangeEnd != p.SiteTotal, p.SiteTotal
			return
		}
	}
	if p.LastMark == "" {
		p.NextURL = next.String()
	}
}

// readBehindEmpty notes the cursor that an empty page names all the same: a site that filters behind its paging may have
// listings there.
func (s *Source) readBehindEmpty(p *Page, c *cardReader) {
	if !s.paging.named {
		return
	}
	next := s.at
	next.Cursor = s.paging.cursor.whole(c)
	if next.Cursor != "" && next.Cursor != s.at.Cursor && !noCursor[next.Cursor] && len(next.Cursor) <= maxCursor && p.LastMark == "" {
		p.BehindEmpty = next.String()
	}
}

// noCursor are what there is in the place of a cursor, beside null and an empty text, where no page follows: false, and 0 where
// cursors are numbers.
var noCursor = map[string]bool{"false": true, "0": true}

// after is the position behind a page that gave so many listings. A page that gave fewer than a step is gone on from right
// behind them: a site may give fewer than it is asked for. Where the site filters behind its paging, see Overlaps, its window
// counts.
func (g *paging) after(at Position, given int) Position {
	behind := max(given, at.Window)
	return Position{Page: max(at.Page, 1) + 1, Offset: at.Offset + behind, Short: behind < g.step, Window: at.Window}
}

// Overlaps returns what follows a page that repeats so many listings with which the page before ended: the site filters behind
// its paging, so from now on its window counts, which it looks at for a page, whatever it shows of that. before is how far
// behind the page before this one begins, given how many listings it has. What is repeated was in the window of the page
// before, too, so that is no smaller than both together: mostly a whole step, but not where a site gives fewer at most.
func (s *Source) Overlaps(at Position, before, repeated, given int) Position {
	at.Window = max(at.Window, min(before+repeated, max(s.paging.step, before)))
	return s.paging.after(at, given)
}

// whole returns the first text that the rules find, with steps done and as it is written otherwise: nothing of it is cut.
func (f field) whole(c *cardReader) string {
	for i := range f {
		r := &f[i]
		for _, s := range r.raws(c) {
			if r.steps != nil {
				s = r.stepped(s)
			} else {
				s = r.pick(s)
			}
			if s != "" {
				return s
			}
		}
	}
	return ""
}

// firstOffset is what {offset} stands for on the first page.
func (c *compiled) firstOffset() int {
	if c.paging != nil && c.paging.offset {
		return c.paging.first
	}
	return 0
}
