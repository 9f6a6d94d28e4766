package site

import (
	"fmt"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// Unread is why a card, or an entry of structured data, is no listing.
type Unread uint8

// The reasons. A site may count its ads along: where they account for what it announces and does not
// show, it is PerhapsAds.
const (
	NoID Unread = iota
	NoName
	NotShown
	PerhapsAds
	NoCard
	Alike
	InPart
)

// UnreadReasons is how many there are.
const UnreadReasons = int(InPart) + 1

// String returns the reason for people: "no id".
func (u Unread) String() string {
	return [UnreadReasons]string{
		"no id", "no name", "announced but not shown", "announced, perhaps an ad", "a link outside of any card", "same id as another",
		"errors in the answer",
	}[u]
}

// UnreadCounts is how many cards are unread for each reason.
type UnreadCounts [UnreadReasons]int

// Text returns "2 no id, 1 no name", and is empty when all could be read.
func (c *UnreadCounts) Text() string {
	var parts []string
	for i, n := range c {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, Unread(i)))
		}
	}
	return strings.Join(parts, ", ")
}

// Sum returns how many cards are unread.
func (c *UnreadCounts) Sum() (n int) {
	for _, of := range c {
		n += of
	}
	return n
}

// Most returns the reason of most of them, the first of equals.
func (c *UnreadCounts) Most() Unread {
	most := 0
	for i := range c {
		if c[i] > c[most] {
			most = i
		}
	}
	return Unread(most)
}

// UnreadCard is a card that could not be read.
type UnreadCard struct {
	Why     Unread
	Excerpt string // how its text begins, or what else shows which one it is; "" = there is nothing
}

// Bounds of what is said of unread cards: cards of a page, bytes of each.
const (
	maxUnread  = 20
	maxExcerpt = 120
)

// unread counts cards that could not be read. excerpt is asked for only where it is kept.
func (p *Page) unread(why Unread, n int, excerpt func() string) {
	if n <= 0 {
		return
	}
	p.Bad += n
	p.Unread[why] += n
	if excerpt != nil && len(p.UnreadCards) < maxUnread {
		p.UnreadCards = append(p.UnreadCards, UnreadCard{why, keep(yp.Clean(yp.Clip(excerpt(), maxText)), maxExcerpt)})
	}
}

// forgetUnread forgets them: the cards are read once more.
func (p *Page) forgetUnread() { p.Bad, p.Unread, p.UnreadCards = 0, UnreadCounts{}, nil }

// cardsUnread counts the unreadable cards that are on the page, and all cards that are; of what it announces and does
// not show nobody knows what it looks like.
func (p *Page) cardsUnread() (bad UnreadCounts, cards int) {
	bad = p.Unread
	bad[NotShown], bad[PerhapsAds], bad[InPart] = 0, 0, 0
	return bad, p.Cards + bad[NoCard]
}

// Readable counts the cards that could be read, ads and repeated ones among them.
func (p *Page) Readable() int {
	bad, cards := p.cardsUnread()
	return cards - bad.Sum()
}

// mostlyUnread reports whether more than half of the cards could not be read (docs/health.md, section 4): the layout
// is another one, or something took from the page what it says.
func (p *Page) mostlyUnread() bool {
	bad, cards := p.cardsUnread()
	return 2*bad.Sum() > cards
}

// unreadReason says how many of the cards could not be read, why most of them, and what shows it.
func (p *Page) unreadReason() string {
	bad, cards := p.cardsUnread()
	text := fmt.Sprintf("%d of %s could not be read: %s", bad.Sum(), yp.Plural(cards, "card"), bad.Text())
	if example := p.Example(bad.Most()); example != "" {
		text += fmt.Sprintf(", such as %q", example)
	}
	return text
}

// Example returns how a card begins that could not be read for a reason, "" = none that says anything.
func (p *Page) Example(why Unread) string {
	for _, card := range p.UnreadCards {
		if card.Why == why && card.Excerpt != "" {
			return card.Excerpt
		}
	}
	return ""
}

// excerpt returns how the text of an element begins.
func excerpt(n *html.Node) string { return string(region.AppendText(nil, n, maxExcerpt)) }
