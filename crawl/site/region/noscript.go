package region

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Whoever runs scripts takes what is in a noscript for text, and so do html.Parse and a Parser: the element
// has one child, a text. Sites put there what a reader without scripts needs: the list, or the links to its pages.
// Selectors find what they are told to find there (InNoscript), in a tree that OpenNoscript adds to the element.

const (
	maxNoscript     = 2         // how deep one noscript may be in another
	maxNoscriptText = 512 << 10 // bytes: a list has a tenth of it
)

// InNoscript has Find look into noscript for the selectors of these numbers, and for no others. Every selector must
// have been added before.
func (x *Selectors) InNoscript(ids ...int) {
	in := &Selectors{}
	for i := range x.alternatives {
		if alt := &x.alternatives[i]; slices.Contains(ids, alt.id) {
			in.put(*alt)
			in.words = append(in.words, alt.words())
		}
	}
	in.noscript = in
	x.noscript = in
}

// AllInNoscript returns the same selectors under the same numbers, all of which are found in noscript, too.
func (x *Selectors) AllInNoscript() *Selectors {
	all := *x
	ids := make([]int, len(x.ids))
	for i := range ids {
		ids[i] = i
	}
	all.InNoscript(ids...)
	return &all
}

// enterNoscript finds what the selectors match in a noscript.
func (x *Selectors) enterNoscript(n *html.Node, out Hits, enter func(*html.Node) bool) {
	if opened(n) || x.namedIn(n.FirstChild.Data) && OpenNoscript(n) {
		x.Find(n, out, enter)
	}
}

// namedIn reports whether elements written in text may be what a selector finds: all that one asks of the element
// itself is there. What it asks of those around it may be outside.
func (x *Selectors) namedIn(text string) bool {
	if !holdsElements(text) {
		return false
	}
	if strings.Contains(text, "&#") {
		return true // a letter of a class may be written so
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(x.words, func(words []string) bool { return hasAll(text, words) })
}

func hasAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// words returns what is written, in lower case, where there is an element that the selector matches.
func (s *Selector) words() []string {
	if s.css == nil {
		return s.chain[len(s.chain)-1].words()
	}
	all := strings.Fields(plainText(s.css))
	part := compoundText.FindStringSubmatch(all[len(all)-1])
	if part == nil {
		return nil
	}
	c, _ := parseCompound(part[1] + part[2])
	words := c.words()
	if part[3] != "" {
		words = append(words, strings.ToLower(part[3]), strings.ToLower(part[4]))
	}
	return words
}

func (c *compound) words() (words []string) {
	if c.tag != "" {
		words = append(words, "<"+c.tag)
	}
	for _, word := range append([]string{c.id}, c.classes...) {
		words = append(words, strings.ToLower(word))
	}
	return words
}

// NoscriptLinks opens a noscript that holds links, and reports whether it is open.
func NoscriptLinks(n *html.Node) bool {
	return opened(n) || n.FirstChild != nil && containsFold(n.FirstChild.Data, "href") && OpenNoscript(n)
}

// OpenNoscript adds to a noscript, behind its text, the elements that a reader without scripts sees, once, and
// reports whether they are there. One that holds images and the like alone stays as it is: it is beside what a
// script loads, in every card of many sites. So does one whose elements are too many or nest too deep; of a page's
// together Parse has counted them.
func OpenNoscript(n *html.Node) bool {
	if opened(n) {
		return true
	}
	if n.Namespace != "" || n.FirstChild == nil || !holdsElements(n.FirstChild.Data) || noscriptsAround(n) >= maxNoscript {
		return false
	}
	c := census{body: []byte(n.FirstChild.Data), around: maxNoscript}
	if c.take() != nil {
		return false
	}
	nodes, err := html.ParseFragment(bytes.NewReader(c.body), &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body})
	if err != nil {
		return false
	}
	for _, child := range nodes {
		n.AppendChild(child)
		boundClasses(child)
	}
	return opened(n)
}

// opened reports whether a noscript holds elements.
func opened(n *html.Node) bool { return n.FirstChild != n.LastChild }

// noscriptsAround counts the noscripts around n.
func noscriptsAround(n *html.Node) (count int) {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && n.Data == "noscript" {
			count++
		}
	}
	return count
}

// WithinNoscript reports whether n is in a noscript.
func WithinNoscript(n *html.Node) bool { return noscriptsAround(n) > 0 }

// HoldsNoscript reports whether there is a noscript below n that OpenNoscript may open.
func HoldsNoscript(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || c.FirstChild == nil || c.Data == "template" {
			continue
		}
		if c.Data == "noscript" && (opened(c) || holdsElements(c.FirstChild.Data)) || HoldsNoscript(c) {
			return true
		}
	}
	return false
}

// showsOnly are elements that noscripts hold beside what scripts load, and that are no cards.
var showsOnly = wordSet("img iframe picture source style video br")

// holdsElements reports whether a text holds the start tag of an element with attributes that is more than an image
// or the like: a link or a card has some. One that is too long holds none.
func holdsElements(text string) bool {
	for len(text) <= maxNoscriptText {
		j := strings.IndexByte(text, '<')
		if j < 0 {
			return false
		}
		text = text[j+1:]
		end := 0
		for end < len(text) && !space(text[end]) && text[end] != '>' && text[end] != '/' {
			end++
		}
		if end > 0 && letter(text[0]) && end < len(text) && text[end] != '>' && !showsOnly[strings.ToLower(text[:end])] {
			return true
		}
		text = text[end:]
	}
	return false
}

// containsFold reports whether s contains a word of lower-case letters in any letter case.
func containsFold(s, word string) bool { return strings.Contains(strings.ToLower(s), word) }

// noscript counts what OpenNoscript may make of the text of a noscript.
func (c *census) noscript(text []byte) error {
	if c.around >= maxNoscript || len(text) > maxNoscriptText || !holdsElements(string(text)) {
		return nil
	}
	in := census{body: text, around: c.around + 1}
	err := in.take()
	c.units, c.tokens = c.units+in.units, c.tokens+in.tokens
	return err
}
