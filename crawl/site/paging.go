package site

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// Paging is what a page without a next link of the definition's says of the pages around it,
// in its pagination and in controls whose label says next or more.
type Paging struct {
	There bool // such a thing is on the page, with something in it
	Whole bool // all that is enabled in it is understood, and none of it leads to a later page
	Later bool // it names a later page
	// Unfollowed says what in it leads on and can't be followed, and why: `"Load more": a form`;
	// "" = nothing does.
	Unfollowed string
}

// maxLabel is the longest text of a control, in bytes, that is read as its label.
const maxLabel = 60

// pagingReader reads the pagination of a page in one walk of its tree.
type pagingReader struct {
	s     *Source
	where *pageLinks
	cards map[*html.Node]bool

	at       int // number of this page: see place
	controls []control
	numbers  []int // in the pagination, that are no links
}

// control is an element that a reader can use.
type control struct {
	n      *html.Node
	label  string // lower case, without arrows and numbers around it
	arrow  string // the arrows alone, where there is nothing else
	number int    // the label is the number of a page; 0 = it is not
	href   string
	inside bool // of a pagination
}

// readPaging reads the pagination of a page on which the definition's rules find no next link. Where it
// leads to the next page of the same list by an address of the definition's, that is the next link.
func (s *Source) readPaging(p *Page, doc *html.Node, at *pageLinks, cards []card) {
	if p.NextURL != "" || p.NextHost != "" || p.atEnd || len(p.Listings) == 0 {
		return
	}
	r := pagingReader{s: s, where: at}
	if len(cards) > 0 {
		r.cards = make(map[*html.Node]bool, len(cards))
		for i := range cards {
			r.cards[cards[i].n] = true
		}
	}
	r.walk(doc, false)
	here := r.place()
	p.Paging = Paging{}
	switch p.NextURL = r.sum(&p.Paging, here); {
	case p.NextURL != "":
		p.Paging = Paging{}
	case p.refused != "":
		p.Paging.There, p.Paging.Whole, p.Paging.Unfollowed = true, false, cmp.Or(p.Paging.Unfollowed, p.refused)
	}
}

// place finds out which page of its list this is: what its address says, else the number without a link beside
// those of its neighbours. It reports whether the pagination itself shows it.
func (r *pagingReader) place() (shown bool) {
	_, r.at = r.s.listPage(r.where.page)
	beside := map[int]bool{1: len(r.controls) == 0}
	for i := range r.controls {
		if n := r.controls[i].number; n > 0 {
			beside[n-1], beside[n+1] = true, true
		}
	}
	for _, n := range r.numbers {
		shown = shown || n == r.at || beside[n]
		if r.at == 1 && beside[n] {
			r.at = n
		}
	}
	return shown
}

// walk gathers the controls below n. inside tells that n is part of a pagination.
func (r *pagingReader) walk(n *html.Node, inside bool) {
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || unseen(c) || r.cards[c] || !inside && elsewhere(c) || region.Hidden(c) {
			continue
		}
		within := inside || isPagination(c)
		if within {
			r.number(c)
		}
		if isControl(c) {
			r.control(c, within)
			continue
		}
		r.walk(c, within)
	}
}

// unseen reports whether a reader sees nothing of an element; the links of a noscript are followed.
func unseen(n *html.Node) bool {
	return region.Unseen(n.Data) && (n.Data != "noscript" || !region.NoscriptLinks(n))
}

// isControl reports whether an element is one that leads somewhere. A link without an address
// is the place of one.
func isControl(n *html.Node) bool {
	switch n.Data {
	case "a":
		return has(n, "href") || has(n, "onclick") || region.Attr(n, "role") == "button"
	case "button", "select":
		return true
	case "input":
		kind := strings.ToLower(region.Attr(n, "type"))
		return kind == "submit" || kind == "button" || kind == "image"
	}
	role := region.Attr(n, "role")
	return role == "button" || role == "link" || has(n, "onclick")
}

func has(n *html.Node, key string) bool {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return true
		}
	}
	return false
}

// elsewhere reports whether what an element holds belongs to no list: galleries and dates have
// buttons for what is next, too.
func elsewhere(n *html.Node) bool {
	switch n.Data {
	case "header", "footer", "aside", "dialog":
		return true
	}
	if region.Attr(n, "role") == "dialog" {
		return true
	}
	class := strings.ToLower(region.Attr(n, "class") + " " + region.Attr(n, "id"))
	for _, word := range [...]string{"carousel", "slider", "slick", "swiper", "gallery", "lightbox", "modal", "calendar", "datepicker", "glide"} {
		if strings.Contains(class, word) {
			return true
		}
	}
	return false
}

// number takes in the number of a page that is no link: it is that of this page.
func (r *pagingReader) number(n *html.Node) {
	t := n.FirstChild
	if n.Data == "a" && has(n, "href") || t == nil || t.NextSibling != nil || t.Type != html.TextNode {
		return
	}
	if v, ok := pageNumber(strings.TrimSpace(t.Data)); ok && !r.within(n) {
		r.numbers = append(r.numbers, v)
	}
}

// within reports whether a number stands in a link, a button or a list of choices.
func (r *pagingReader) within(n *html.Node) bool {
	for ; n != nil && !isPagination(n); n = n.Parent {
		if n.Type == html.ElementNode && isControl(n) {
			return true
		}
	}
	return false
}

// control takes in a control: of those outside of a pagination the ones whose label says next or more.
func (r *pagingReader) control(n *html.Node, inside bool) {
	c := control{n: n, inside: inside, href: region.Attr(n, "href")}
	c.read(labelOf(n))
	if c.number > 0 && inside && (marked(n, "active", "selected") || switchedOff(n)) {
		r.numbers = append(r.numbers, c.number)
		return
	}
	if inside || c.leadsOn() {
		r.controls = append(r.controls, c)
	}
}

// labelOf returns what a control says: its text, or what stands for it.
func labelOf(n *html.Node) string {
	if n.Data != "input" && n.Data != "select" {
		if text := yp.Clean(structured.Text(n)); text != "" {
			return text
		}
	}
	for _, key := range [...]string{"aria-label", "title", "value", "alt"} {
		if text := yp.Clean(region.Attr(n, key)); text != "" {
			return text
		}
	}
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && (c.Data == "img" || c.Data == "svg" || c.Data == "i" || c.Data == "span") {
			for _, key := range [...]string{"alt", "aria-label", "title"} {
				if text := yp.Clean(region.Attr(c, key)); text != "" {
					return text
				}
			}
		}
	}
	return ""
}

// arrows stand around the words of a control, or alone.
const arrows = "›»>→⟩▶►❯⇒‹«<←⟨◀◄❮⇐…. \u00a0\ufe0f"

func (c *control) read(text string) {
	if len(text) > maxLabel {
		return
	}
	c.label = strings.ToLower(strings.Trim(text, arrows))
	if n, ok := pageNumber(c.label); ok {
		c.number = n
		return
	}
	c.label = withoutNumbers(c.label)
	if c.label == "" {
		c.arrow = strings.Map(func(r rune) rune {
			if strings.ContainsRune(". \u00a0\ufe0f…", r) {
				return -1
			}
			return r
		}, text)
	}
}

// pageNumber reads "3" and "page 3".
func pageNumber(s string) (n int, ok bool) {
	s = strings.ToLower(s)
	for _, word := range pageWords {
		if rest, found := strings.CutPrefix(s, word+" "); found {
			s = rest
			break
		}
	}
	if len(s) == 0 || len(s) > 6 || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// withoutNumbers takes the numbers out of a label: "show 20 more" is "show more".
func withoutNumbers(s string) string {
	if !strings.ContainsAny(s, "0123456789()") {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '(' || r == ')' || '0' <= r && r <= '9' }), " ")
}

// labelLeadsOn reports whether a label says next or more.
func labelLeadsOn(text string) bool {
	if len(text) > 2*maxLabel {
		return false
	}
	var c control
	c.read(yp.Clean(text))
	return saysNextOrMore(c.label)
}

// leadsOn reports whether a control says that it leads to what follows.
func (c *control) leadsOn() bool {
	switch {
	case saysNextOrMore(c.label), c.n.Data == "a" && region.HasClass(strings.ToLower(region.Attr(c.n, "rel")), "next"):
		return true
	case !c.inside:
		return false
	case c.label == "" && c.arrow != "":
		return isForward(c.arrow)
	}
	return c.label == "more" || region.HasClass(strings.ToLower(region.Attr(c.n, "class")), "next")
}

// leadsBack reports whether it leads to what is before this page.
func (c *control) leadsBack() bool {
	class := strings.ToLower(region.Attr(c.n, "class"))
	return backWords()[c.label] || c.label == "" && c.arrow != "" && isBackward(c.arrow) ||
		region.HasClass(class, "prev") || region.HasClass(class, "previous") || region.HasClass(strings.ToLower(region.Attr(c.n, "rel")), "prev")
}

func isForward(s string) bool  { return strings.Trim(s, "›»>→⟩▶►❯⇒") == "" }
func isBackward(s string) bool { return strings.Trim(s, "‹«<←⟨◀◄❮⇐") == "" }

// sum makes of the controls what they say together, and returns the address of the next page, if
// one of them leads there. here tells that the number of this page is shown.
func (r *pagingReader) sum(p *Paging, here bool) (next string) {
	odd, understood := false, here
	for i := range r.controls {
		c := &r.controls[i]
		if switchedOff(c.n) {
			understood = true
			continue
		}
		switch to, address, why := r.leads(c); to {
		case back:
			understood = true
		case onward:
			if address != "" {
				return address
			}
			p.Later = p.Later || c.number > 0
			if p.Unfollowed == "" {
				p.Unfollowed = unfollowed(c.n, why)
			}
		case astray:
			odd = true
		}
	}
	p.There = understood || odd || p.Unfollowed != ""
	p.Whole = understood && !odd && p.Unfollowed == ""
	return ""
}

// unfollowed names a control by what a reader sees of it, with why it can't be followed.
func unfollowed(n *html.Node, why string) string {
	text := yp.Clip(labelOf(n), maxLabel)
	if text == "" {
		text = "<" + n.Data + ">"
	}
	return fmt.Sprintf("%q: %s", yp.Printable(text), why)
}

// where is to what a control leads.
type where uint8

const (
	back   where = iota // a page up to this one
	onward              // a later page
	astray              // something else, or nobody knows
)

// leads tells to what a control leads. Of one that leads on, address is that of the next page of
// the same list, or why says what keeps it from being followed.
func (r *pagingReader) leads(c *control) (to where, address, why string) {
	address, why = r.target(c)
	page := 0 // of the list, by the address
	if address != "" {
		page = r.listed(address)
	}
	switch {
	case page > 0 && page <= r.at && !(c.number > r.at):
		return back, "", ""
	case page == r.at+1 && (c.number == 0 || c.number == page):
		return onward, address, ""
	case page > r.at:
		return onward, "", fmt.Sprintf("it leads to page %d, and this is page %d", page, r.at)
	case c.number > 0 && c.number <= r.at, c.leadsBack():
		return back, "", ""
	case c.number > 0, c.leadsOn(), lastWords()[c.label]:
		if why == samePageReason && c.number == 0 {
			return back, "", ""
		}
		return onward, "", cmp.Or(why, "its address is none of urls.target or urls.search: "+yp.Printable(yp.Clip(r.path(address), 200)))
	case why == samePageReason:
		return back, "", ""
	case c.n.Data == "select", c.href != "":
		return astray, "", ""
	}
	return r.button(c)
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
		if inForm(c.n) {
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
// address leads to; 0 = it leads elsewhere.
func (r *pagingReader) listed(address string) int {
	s := r.s
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	from, _ := s.listPage(r.where.page)
	list, page := s.listPage(u)
	if strings.EqualFold(list, from) || s.search != nil && s.search.matches(s.belowBase(u)) || r.where.page == s.base && s.target.matches(s.belowBase(u)) {
		return page
	}
	return 0
}

func inForm(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && n.Data == "form" {
			return true
		}
	}
	return false
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
		if region.HasClass(region.Attr(n, "class"), class) || n.Parent != nil && !isPagination(n.Parent) && region.HasClass(region.Attr(n.Parent, "class"), class) {
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
	class := strings.ToLower(region.Attr(n, "class"))
	return strings.Contains(class, "disabled") || region.HasClass(class, "inactive") || region.HasClass(class, "current")
}
