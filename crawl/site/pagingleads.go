package site

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// where is to what a control leads.
type where uint8

const (
	back   where = iota // a page up to this one
	onward              // a later page
	astray              // something else, or nobody knows
)

// leads tells to what a control leads. Of one that leads on, address is that of the next page of
// the same list, or why says what keeps it from being followed. Back needs a proof: the number of a page, or the
// address of the first one.
func (r *pagingReader) leads(c *control) (to where, address, why string) {
	address, why = r.target(c)
	page, plain := 0, false // of the list, by the address; and that it says nothing else
	if address != "" {
		page, plain = r.listed(address), r.plain(address)
	}
	onwards := c.leadsOn() || lastWords()[c.label]
	switch {
	case page > 0 && page <= r.at && c.number > r.at, hiddenByClass(c.n):
		return astray, "", ""
	case page > 0 && page <= r.at:
		return back, "", ""
	case page == r.at+1 && (c.number == page || c.number == 0 && (onwards || plain)):
		return onward, address, ""
	case page > r.at && (c.number > 0 || onwards || plain):
		return onward, "", fmt.Sprintf("it leads to page %d, but this is page %d", page, r.at)
	case c.number > 0 && c.number <= r.at, c.leadsBack():
		return back, "", ""
	case onwards && why == samePageReason, why == samePageReason && strings.TrimSpace(c.href) != "" && c.href[0] != '#':
		return back, "", ""
	case c.number > 0 && !r.follows(): // sizes of pages, years
		return astray, "", ""
	case c.number > 0, onwards:
		return onward, "", cmp.Or(why, "its address matches neither urls.target nor urls.search: "+yp.Printable(yp.Clip(r.path(address), 200)))
	case c.n.Data == "select", c.href != "":
		return astray, "", ""
	}
	return r.button(c)
}

// follows reports whether the number of the next page is among those of the controls.
func (r *pagingReader) follows() bool {
	return slices.ContainsFunc(r.controls, func(c control) bool { return c.number == r.at+1 })
}

// plain reports whether an address has no parameters but that of the page and those of this page's address, as there.
func (r *pagingReader) plain(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	here := r.where.page.Query()
	for name, values := range u.Query() {
		if name != r.s.target.pageParam && (r.s.search == nil || name != r.s.search.pageParam) && !slices.Equal(values, here[name]) {
			return false
		}
	}
	return true
}

// path is what of an address follows its host.
func (r *pagingReader) path(address string) string {
	a, _ := r.where.base.Resolve(address)
	return strings.TrimPrefix(address[min(len(address), strings.Index(address, "//")+2):], a.Host())
}

// button judges a control of a pagination that says nothing that is known.
func (r *pagingReader) button(c *control) (to where, address, why string) {
	if c.label == "" && c.arrow == "" {
		return onward, "", "a control without words or address"
	}
	return astray, "", ""
}

// target returns the address of a control that may be followed; else why says what there is instead.
func (r *pagingReader) target(c *control) (address, why string) {
	ref := weburl.Tidy(c.href)
	switch {
	case c.n.Data != "a", ref == "" && has(c.n, "onclick"):
		if formAround(c.n) != nil {
			return "", "a form"
		}
		return "", "a script"
	case ref == "", strings.HasPrefix(ref, "#"):
		if has(c.n, "onclick") || ref != "" && c.leadsOn() || c.number > r.at {
			return "", "a script"
		}
		return "", samePageReason
	}
	a, _, why := r.s.resolve(r.where, ref)
	address, _, _ = strings.Cut(a.Text, "#")
	switch {
	case why != "":
		return "", why
	case address == r.where.self.Text:
		return "", samePageReason
	}
	return strings.Clone(address), ""
}

// listed returns the number of the page of this list, or of the search for the same, that an
// address leads to; 0 = it leads elsewhere, or does not say to which page.
func (r *pagingReader) listed(address string) int {
	s := r.s
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	from, _ := s.listPage(r.where.page)
	list, page := s.listPage(u)
	if !strings.EqualFold(list, from) && (s.search == nil || !s.search.matches(s.belowBase(u))) &&
		(r.where.page != s.base || !s.target.matches(s.belowBase(u))) {
		return 0
	}
	if param := s.target.pageParam; page == 1 && !s.namesPage(u) && (!r.plain(address) || param != "" && u.Query().Has(param)) {
		return 0
	}
	return page
}

// switchedOff reports whether a control can't be used, or is that of this very page.
func switchedOff(n *html.Node) bool {
	if has(n, "disabled") || offByItself(n) {
		return true
	}
	return n.Parent != nil && n.Parent.Type == html.ElementNode && !isPagination(n.Parent) && offByItself(n.Parent)
}

// marked reports whether an element, or the one around it, is of one of the classes.
func marked(n *html.Node, classes ...string) bool {
	for _, class := range classes {
		if region.HasClass(region.Attr(n, "class"), class) ||
			n.Parent != nil && !isPagination(n.Parent) && region.HasClass(region.Attr(n.Parent, "class"), class) {
			return true
		}
	}
	return false
}

func offByItself(n *html.Node) bool {
	if v := strings.ToLower(region.Attr(n, "aria-current")); v != "" && v != "false" {
		return true
	}
	if region.Attr(n, "aria-disabled") == "true" {
		return true
	}
	for class := range strings.FieldsSeq(strings.ToLower(region.Attr(n, "class"))) {
		switch class {
		case "disabled", "inactive", "current", "off", "pointer-events-none":
			return true
		case "not-disabled", "non-disabled":
			continue
		}
		if rest, ok := strings.CutSuffix(class, "disabled"); ok && !strings.Contains(class, ":") &&
			strings.HasSuffix(strings.ReplaceAll(rest, "_", "-"), "-") {
			return true
		}
	}
	return false
}

// hiddenByClass reports whether the classes of an element say that it is hidden, as widely used style sheets have them.
func hiddenByClass(n *html.Node) bool {
	for class := range strings.FieldsSeq(region.Attr(n, "class")) {
		switch class {
		case "d-none":
			return !strings.Contains(region.Attr(n, "class"), "d-sm-") && !strings.Contains(region.Attr(n, "class"), "d-md-") &&
				!strings.Contains(region.Attr(n, "class"), "d-lg-")
		case "hidden", "hide", "is-hidden", "ng-hide", "invisible", "visually-hidden", "sr-only":
			return true
		}
	}
	return false
}
