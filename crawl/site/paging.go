package site

import (
	"cmp"
	"fmt"
	"slices"
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
	words    bool  // in the pagination, words that lead on and are no control
	looked   int   // controls so far, see maxControls
}

// maxControls bounds the controls that are looked at of a page.
const maxControls = 1000

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
	if p.NextURL != "" || p.NextHost != "" || len(p.Listings) == 0 || s.paging != nil { // what a control would do, requests do
		return
	}
	r := pagingReader{s: s, where: at}
	if len(cards) > 0 {
		r.cards = make(map[*html.Node]bool, len(cards))
		for i := range cards {
			r.cards[cards[i].n] = true
		}
	}
	r.walk(doc, false, false)
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

// walk gathers the controls below n. inside tells that n is part of a pagination, out that it is part of something
// whose controls lead elsewhere, unless they are a pagination's.
func (r *pagingReader) walk(n *html.Node, inside, out bool) {
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || unseen(c) || r.cards[c] || region.Hidden(c) {
			continue
		}
		within := inside || isPagination(c)
		if within {
			r.number(c)
		}
		if isControl(c) {
			r.control(c, within, out)
			continue
		}
		r.walk(c, within, out || elsewhere(c))
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
	case "body", "main":
		return false
	}
	return region.Attr(n, "role") == "dialog" || slices.ContainsFunc(namesOf(n), ofGallery)
}

// namesOf returns the classes and the id of an element, in lower case.
func namesOf(n *html.Node) []string {
	return strings.Fields(strings.ToLower(region.Attr(n, "class") + " " + region.Attr(n, "id")))
}

// ofGallery reports whether a class is that of something that people leaf through, and that is no list.
func ofGallery(class string) bool {
	first, _, _ := strings.Cut(class, "-")
	if first == "has" || first == "no" || first == "view" {
		return false
	}
	for word := range strings.FieldsFuncSeq(class, func(r rune) bool { return r == '-' || r == '_' }) {
		switch word {
		case "carousel", "slider", "slick", "swiper", "gallery", "lightbox", "modal", "calendar", "datepicker", "glide",
			"review", "reviews", "comment", "comments", "testimonial", "testimonials", "photos":
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
	if r.within(n) || switchedOff(n) {
		return
	}
	if v, ok := pageNumber(strings.TrimSpace(t.Data)); ok {
		r.numbers = append(r.numbers, v)
	} else if labelLeadsOn(t.Data) { // for a script, perhaps
		r.words = true
	}
}

// within reports whether a number is in a link, a button or a list of choices.
func (r *pagingReader) within(n *html.Node) bool {
	for ; n != nil && !isPagination(n); n = n.Parent {
		if n.Type == html.ElementNode && isControl(n) {
			return true
		}
	}
	return false
}

// control takes in a control: of those outside of a pagination the ones that say that they bring more of the list.
func (r *pagingReader) control(n *html.Node, inside, out bool) {
	c := control{n: n, inside: inside, href: region.Attr(n, "href")}
	if c.read(labelOf(n)); inside || c.leadsOn() {
		r.looked++
	}
	if r.looked > maxControls {
		return
	}
	if c.number > 0 && inside && (marked(n, "active", "selected") || switchedOff(n)) {
		r.numbers = append(r.numbers, c.number)
		return
	}
	if inside || !out && c.leadsOn() && r.ofList(&c) {
		r.controls = append(r.controls, c)
	}
}

// ofList reports whether a control outside of a pagination is one of the list: facets, guides and forms have "show
// more" and "next", too. What leads to another path of the site is none, nor is a button that is far from the cards.
func (r *pagingReader) ofList(c *control) bool {
	if c.n.Data == "a" && c.href != "" && !strings.HasPrefix(weburl.Tidy(c.href), "#") {
		if a, _, why := r.s.resolve(r.where, c.href); why == "" && a.EscapedPath() != r.where.self.EscapedPath() {
			return r.listed(a.Text) > 0
		}
	}
	form := formAround(c.n)
	switch {
	case form != nil && hasFields(form):
		return false
	case bringsMore(c.label):
		return true
	case form != nil:
		return strings.EqualFold(region.Attr(form, "method"), "post")
	case moreWords()[c.label]:
		return false
	}
	return c.n.Data == "a" || r.nearCards(c.n)
}

// nearCards reports whether the element around n, or the one around that, holds cards.
func (r *pagingReader) nearCards(n *html.Node) bool {
	for range 2 {
		if n = n.Parent; n == nil {
			return false
		}
		for c := range n.Descendants() {
			if r.cards[c] {
				return true
			}
		}
	}
	return false
}

// formAround returns the form that n is in, nil = none.
func formAround(n *html.Node) *html.Node {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && n.Data == "form" {
			return n
		}
	}
	return nil
}

// hasFields reports whether a form has fields that people fill in.
func hasFields(form *html.Node) bool {
	for c := range form.Descendants() {
		if c.Type != html.ElementNode {
			continue
		}
		switch c.Data {
		case "textarea", "select":
			return true
		case "input":
			switch strings.ToLower(region.Attr(c, "type")) {
			case "hidden", "submit", "button", "image":
			default:
				return true
			}
		}
	}
	return false
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

// arrows are around the words of a control, or alone.
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
	odd, understood := r.words, here
	for _, n := range r.numbers {
		odd = odd || n > r.at // a page, perhaps, that a script leads to
	}
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
