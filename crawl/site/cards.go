package site

import (
	"slices"
	"unsafe"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// card is a card on the page.
type card struct {
	n         *html.Node
	sel       int  // of the page's index: what found it
	sponsored bool // by its place
}

// cardsOf finds the cards of a tree, in its order, and how many more there are than
// are read. Only with nested it looks into cards, too.
func (s *Source) cardsOf(doc *html.Node, found region.Hits, nested bool) (cards []card, beyond int) {
	s.page.Find(doc, found, func(n *html.Node) bool {
		c, ok := s.cardAt(found, n)
		switch {
		case ok && len(cards) < region.MaxHits:
			cards = append(cards, c)
		case ok:
			beyond++
		}
		return !ok || nested
	})
	return cards, beyond
}

// cardAt reports whether n, just matched by a selector of the page, is a card. A card in
// two containers, since one of them lacks its end tag, belongs to the nearer one.
func (s *Source) cardAt(found region.Hits, n *html.Node) (card, bool) {
	organic, isOrganic := lastOf(found, s.organic, n)
	sponsored, isSponsored := lastOf(found, s.sponsored, n)
	switch {
	case !isSponsored:
		return card{n: n, sel: organic}, isOrganic
	case isOrganic && s.nearerOrganic(n):
		return card{n: n, sel: organic}, true
	}
	return card{n: n, sel: sponsored, sponsored: true}, true
}

// lastOf returns which of the selectors found n last.
func lastOf(found region.Hits, sels []int, n *html.Node) (sel int, ok bool) {
	for _, i := range sels {
		if f := found[i]; len(f) > 0 && f[len(f)-1] == n {
			return i, true
		}
	}
	return -1, false
}

// nearerOrganic reports whether the nearest container around n holds organic cards.
func (s *Source) nearerOrganic(n *html.Node) bool {
	for p := n.Parent; p != nil && p.Type == html.ElementNode; p = p.Parent {
		of := func(sel region.Selector) bool { return sel.Match(p) }
		if slices.ContainsFunc(s.sponsoredIn, of) {
			return false
		}
		if slices.ContainsFunc(s.organicIn, of) {
			return true
		}
	}
	return false
}

// readCards turns the cards of a tree into listings.
//
// Cards are side by side on a page in good order. Where an end tag is missing the
// first card holds those that follow it, as a browser's tree shows, and may hold the
// next link, too. So when anything of the page's own is met in a card, the tree is
// walked once more, through the cards, and they are taken apart. A page whose tags are
// not known to be in good order is walked so at once.
func (s *Source) readCards(p *Page, w *workspace, doc *html.Node, scripts []string, ordered bool) {
	var cards []card
	var list []yp.Listing
	beyond, torn := 0, !ordered
	if ordered {
		cards, beyond = s.cardsOf(doc, w.pageHits, false)
		list, torn = s.readListings(p, w, cards)
	}
	if torn {
		w.pageHits.Reset()
		cards, beyond = s.cardsOf(doc, w.pageHits, true)
		cards = w.card.takeApart(w.card.dropCopies(cards))
		dropClones(doc, cards)
		s.organicInAds(&w.card, cards)
		list, _ = s.readListings(p, w, cards)
	}
	p.Raw, p.Cards, p.LeftOut, w.cards = len(cards), len(cards), beyond, cards
	if beyond == 0 {
		p.lost = s.lostCards(p, &w.card, w.pageHits, cards, list)
	}
	for i := range cards {
		if !cards[i].sponsored {
			p.Organic++
		}
	}
	if len(list) > 0 {
		p.Listings = list
		s.fillFromJSONLD(list, scripts, w.card.at)
	}
}

// organicInAds makes organic what a container of ads holds only because its end tag is missing:
// cards without the mark of an ad, where others of its kind bear it.
func (s *Source) organicInAds(c *cardReader, cards []card) {
	kinds := map[int]bool{} // selectors of ads whose cards are marked
	var plain []*card
	for i := range cards {
		if one := &cards[i]; one.sponsored {
			if c.find(one.n); c.marked() {
				kinds[one.sel] = true
			} else {
				plain = append(plain, one)
			}
		}
	}
	for _, one := range plain {
		one.sponsored = !kinds[one.sel]
	}
}

// lostCards counts, and notes, the businesses to which links outside every card lead and of which no card
// is: the start tag of theirs is missing.
func (s *Source) lostCards(p *Page, c *cardReader, found region.Hits, cards []card, list []yp.Listing) (n int) {
	var known map[string]bool
	var isCard map[*html.Node]bool
	for i := range s.profile {
		r := &s.profile[i]
		if r.sel < 0 {
			continue
		}
		for _, link := range found[r.sel] {
			id, page := "", "" // an ad's link may be empty
			if ref := r.take(c, link); ref != "" {
				a, own, _ := s.resolve(c.at, ref)
				if own {
					id, page = s.detail.pathID(s.cutBase(a.Path())), c.profile(ref)
				}
				if id == "" {
					continue // it leads elsewhere
				}
			}
			if known == nil {
				known, isCard = map[string]bool{}, map[*html.Node]bool{}
				for i := range list {
					known[list[i].ID], known[list[i].ProfileURL] = true, list[i].ProfileURL != ""
				}
				for i := range cards {
					isCard[cards[i].n] = true
				}
			}
			if !known[id] && !known[page] && !inCard(link, isCard) {
				known[id] = id != ""
				p.unread(NoCard, 1, func() string { return excerpt(link) })
				n++
			}
		}
	}
	return n
}

func inCard(n *html.Node, isCard map[*html.Node]bool) bool {
	for ; n != nil; n = n.Parent {
		if isCard[n] {
			return true
		}
	}
	return false
}

// readListings reads the cards: an id that is in an ad and in an organic card is
// organic, and one that recurs counts once. torn reports whether a card holds what is
// the page's.
func (s *Source) readListings(p *Page, w *workspace, cards []card) (kept []yp.Listing, torn bool) {
	list := make([]yp.Listing, 0, len(cards))
	seen := make(map[string]int, len(cards))
	p.forgetUnread()
	s.trace.begin(s)
	for _, c := range cards {
		n := len(list)
		l := &list[:n+1][n]
		w.card.read(c, l)
		s.trace.card(&w.card, l)
		torn = torn || w.card.holds(s.inCards) // another card, or what is the page's
		if l.ID == "" || l.Name == "" {
			p.unread(lacks(l), 1, func() string { return excerpt(c.n) })
			continue
		}
		at, again := seen[l.ID]
		if again && (l.Sponsored || !list[at].Sponsored) {
			continue
		}
		if again {
			list[at].ID = "" // an ad that is organic too
		}
		seen[l.ID] = n
		list = list[:n+1]
	}
	kept = list[:0]
	for _, l := range list {
		if l.ID != "" {
			kept = append(kept, l)
		}
	}
	return kept, torn
}

// dropCopies leaves out the cards in noscript of which there is one outside, too, and, where the list is outside,
// those that can't be read: a list that scripts load is in noscript a second time.
func (c *cardReader) dropCopies(cards []card) []card {
	in := make([]bool, len(cards))
	for i := range cards {
		in[i] = region.WithinNoscript(cards[i].n)
	}
	if !slices.Contains(in, true) {
		return cards
	}
	c.work = 0
	known, organic := map[string]bool{}, false // known: whether a card outside, of the id, is organic
	for i, one := range cards {
		if !in[i] && c.work <= maxWork {
			id, _ := c.identity(one.n)
			known[id] = known[id] || !one.sponsored
			organic = organic || !one.sponsored
		}
	}
	kept := cards[:0]
	for i, one := range cards {
		if !in[i] || !c.isCopy(one, known, organic) {
			kept = append(kept, one)
		}
	}
	return kept
}

func (c *cardReader) isCopy(in card, known map[string]bool, organic bool) bool {
	if c.work > maxWork {
		return false
	}
	id, name := c.identity(in.n)
	if id == "" || name == "" {
		return organic
	}
	isOrganic, again := known[id]
	return again && (isOrganic || in.sponsored)
}

// lacks says what a listing that is none lacks.
func lacks(l *yp.Listing) Unread {
	if l.ID == "" {
		return NoID
	}
	return NoName
}

// maxWork bounds the nodes that are looked at to take the cards of a page apart: some
// ten times those of a large page.
const maxWork = 100_000

// takeApart moves each card that is in another one out of it and behind the
// outermost one, from the last on, so that each is read with nothing in it or around it
// that is another's. Where a card begins in a card of its own kind the outer one has
// ended: what follows goes out, too. (An ad in an organic card is an insertion: what
// follows it is the outer card's.)
func (c *cardReader) takeApart(cards []card) []card {
	outer := enclosing(cards)
	c.work = 0
	for i := len(cards) - 1; i > 0; i-- {
		in, at := &cards[i], outer[i]
		if at < 0 || in.n == nil {
			continue
		}
		switch c.relation(&cards[at], in, at == i-1) {
		case content:
			in.n = nil
			continue
		case wrapped:
			cards[at].n = nil
			if at = outer[at]; at < 0 {
				continue
			}
		}
		outermost := at
		for outer[outermost] >= 0 {
			outermost = outer[outermost]
		}
		moveOut(in.n, cards[at].n, cards[outermost].n, in.sponsored == cards[at].sponsored || !in.sponsored)
	}
	return slices.DeleteFunc(cards, func(one card) bool { return one.n == nil })
}

// enclosing returns for each card the nearest one around it, -1 = none.
func enclosing(cards []card) []int {
	outer := make([]int, len(cards))
	var open []int
	for i := range cards {
		for len(open) > 0 && !within(cards[i].n, cards[open[len(open)-1]].n) {
			open = open[:len(open)-1]
		}
		outer[i] = -1
		if len(open) > 0 {
			outer[i] = open[len(open)-1]
		}
		open = append(open, i)
	}
	return outer
}

func within(n, root *html.Node) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if n == root {
			return true
		}
	}
	return false
}

// relation is what an element that matches in a card is to it.
type relation uint8

const (
	another relation = iota // a card of its own
	content                 // part of the outer card
	wrapped                 // the card that the outer element merely wraps
)

// relation tells it. An element without an id and a name is no card. The first one in a
// card may be all there is of it: then the outer element has no name but this one's.
// On a page made to cost much, what is left to look at counts as cards, and so as bad.
func (c *cardReader) relation(out, in *card, first bool) relation {
	if c.work > maxWork {
		return another
	}
	id, name := c.identity(in.n)
	if id == "" && name == "" {
		return content
	}
	if !first && name != "" {
		return another
	}
	parent, next := in.n.Parent, in.n.NextSibling
	parent.RemoveChild(in.n)
	outID, outName := c.identity(out.n)
	parent.InsertBefore(in.n, next)
	switch {
	case name == "" && outID == id:
		return content // of the business whose card it is in
	case !first, outName != "":
		return another
	case outID == "":
		return wrapped
	case outID == id, id == "" && in.sel != out.sel:
		return content
	}
	return another
}

// dropClones takes out of each card the links that began before it. Where a link has no
// end tag, the parser opens it again in whatever follows, up to the next link: without
// its card, it would give that its address.
func dropClones(doc *html.Node, cards []card) {
	isCard := make(map[*html.Node]bool, len(cards))
	for i := range cards {
		isCard[cards[i].n] = true
	}
	began := map[*byte]*html.Node{} // links, to the cards in which they began
	var walk func(n, in *html.Node)
	walk = func(n, in *html.Node) {
		for c := n.FirstChild; c != nil; {
			next := c.NextSibling
			at := in
			if isCard[c] {
				at = c
			}
			walk(c, at)
			if key := written(c); key != nil {
				if first, again := began[key]; !again {
					began[key] = at
				} else if first != at {
					unwrap(c)
				}
			}
			c = next
		}
	}
	walk(doc, nil)
}

// written returns what tells one link of the page's text from another: the place of its
// first value in memory, which it shares with its clones alone.
func written(n *html.Node) *byte {
	if n.Type == html.ElementNode && n.Data == "a" {
		for i := range n.Attr {
			if v := n.Attr[i].Val; len(v) > 1 { // Go has all texts of one byte in one place
				return unsafe.StringData(v)
			}
		}
	}
	return nil
}

// unwrap puts what is in n into its place.
func unwrap(n *html.Node) {
	for n.FirstChild != nil {
		c := n.FirstChild
		n.RemoveChild(c)
		n.Parent.InsertBefore(c, n)
	}
	n.Parent.RemoveChild(n)
}

// identity reads the id and the name of a card.
func (c *cardReader) identity(n *html.Node) (id, name string) {
	for range n.Descendants() {
		c.work++
	}
	c.work++
	c.find(n)
	return c.src.fields.id.identifier(c), c.src.fields.name.first(c)
}

// moveOut moves n, which is in out, behind the element last; with rest also what
// follows it in out.
func moveOut(n, out, last *html.Node, rest bool) {
	to, before := last.Parent, last.NextSibling
	var all []*html.Node
	for at := n; rest && at != out; at = at.Parent {
		for next := at.NextSibling; next != nil; next = next.NextSibling {
			all = append(all, next)
		}
	}
	for _, one := range append([]*html.Node{n}, all...) {
		one.Parent.RemoveChild(one)
		to.InsertBefore(one, before)
	}
}
