package region

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"golang.org/x/net/html"
)

// Bounds on what a tree may be built from. The units are nodes and attributes: a page
// of 250 kB with 30 listings counts 13,000, an index of 5,000 cities 45,000.
const (
	maxUnits      = 250_000
	maxPageTokens = 750_000
	maxTag        = 1 << 20 // bytes of one tag, comment or stretch of text; scripts may be longer
)

// ErrTooDeep says that a page nests deeper than the 512 elements that the HTML
// parser takes: a nesting bomb. Fetching the page again does not help.
var ErrTooDeep = errors.New("page nests deeper than 512 elements")

// ErrTooBig says that the tree of a page would be larger than any page of listings
// needs: a page made to exhaust its reader. Fetching the page again does not help.
var ErrTooBig = errors.New("page has too many elements for a page of listings")

// End is how a page ends.
type End uint8

// The ends of a page.
const (
	EndUnknown End = iota
	EndClosed      // it has </body> or </html>
	EndBare        // it has no tag of html or body at all, and breaks off nowhere
	EndOpen        // it opens html or body and closes neither
	EndBroken      // it closes neither, and ends within a tag, a comment or a script
)

// Parse is the one way to the tree of a whole page: html.Parse, within bounds.
//
// html.Parse itself knows no bounds but that of 512 levels: a page of 100 kB whose
// formatting tags are never closed takes it a gigabyte, since every paragraph opens
// them all again. So a census of the tokens comes first. ErrTooDeep and ErrTooBig
// are the errors; neither changes when the page is asked for again.
func Parse(body []byte) (doc *html.Node, end End, err error) {
	c := census{body: body}
	if err := c.take(); err != nil {
		return nil, EndUnknown, err
	}
	if doc, err = html.Parse(bytes.NewReader(c.body)); err != nil {
		return nil, EndUnknown, ErrTooDeep
	}
	boundClasses(doc)
	switch {
	case c.closed:
		end = EndClosed
	case c.broken:
		end = EndBroken
	case c.rooted:
		end = EndOpen
	default:
		end = EndBare
	}
	return doc, end, nil
}

// maxClass bounds a class attribute: selectors look for words in those of an element and
// of all elements around it, for every element again. Pages have some hundred bytes.
const maxClass = 4 << 10

// boundClasses cuts the class attributes below n that are too long, and that of n.
func boundClasses(n *html.Node) {
	boundClass(n)
	for n := range n.Descendants() {
		boundClass(n)
	}
}

func boundClass(n *html.Node) {
	for i := range n.Attr {
		n.Attr[i].Val = bounded(n.Attr[i].Key, n.Attr[i].Val)
	}
}

// bounded cuts the value of a class attribute that is too long.
func bounded(key, value string) string {
	if key == "class" && len(value) > maxClass {
		return value[:maxClass]
	}
	return value
}

// A census reads the tokens of a page and adds up how many nodes and attributes html.Parse can make of them at
// most. Formatting elements that are open are in a list, and the parser opens all of them anew wherever their
// block was closed. The census takes one out of it only where tags nest as they should; whatever else an end tag
// may do, it stays. What has no end tag, as paragraphs may, stays open here to the end. Of elements that are equal the list
// holds three, of links one.
//
// The parser reads text of scripts, styles and titles as tags within svg and math, and the tokenizer alone does not
// know when it is there. Where it may be, "<" in such texts is blanked out: the parser then sees what was counted.
type census struct {
	body   []byte // the page; a copy, once something is blanked out
	copied bool

	rooted, closed bool // a start tag, an end tag of html or body was there
	broken         bool // the last tag, comment or raw text has no end

	units, tokens int
	rootAttrs     int // on tags of html and body, which the parser joins

	open   []openTag
	count  map[string]int // of formatting tags that may be in the list, as written
	weight int            // of all that may be in the list, but links
	links  int            // that may be in the list; the parser opens one of them anew at most
	link   int            // of the heaviest of them
	lost   bool           // svg or math may be open without standing in open

	around int  // noscripts that the body is the text of
	hidden bool // the raw text at hand is that of a noscript
}

// openTag is a tag that may be open. There may be fewer.
type openTag struct {
	name  string
	kind  kind
	tag   string // as written, of formatting and links
	units int
}

const (
	// maxEqual is how many equal elements the parser keeps in its list.
	maxEqual = 3
	// maxRounds is how often the parser tries to take an element out of its list that an end tag ends: once for each
	// block in it. It copies what is in between each time, and what is left after these rounds stays.
	maxRounds = 8
)

// take counts the page's tokens; its error is ErrTooBig.
func (c *census) take() error {
	c.count = map[string]int{}
	z := html.NewTokenizer(bytes.NewReader(c.body))
	at, raw := 0, false // raw: a start tag came last whose content is text
	for {
		if z.SetMaxBuf(maxTag); raw {
			z.SetMaxBuf(0)
		}
		kind := z.Next()
		token := z.Raw()
		if kind == html.ErrorToken {
			if !errors.Is(z.Err(), io.EOF) {
				return ErrTooBig
			}
			c.broken = c.broken || raw || len(token) > 0
			return nil
		}
		c.tokens++
		switch c.units++; kind {
		case html.TextToken:
			if raw {
				c.blank(at, len(token))
			}
			if raw && c.hidden && c.noscript(token) != nil {
				return ErrTooBig
			}
			c.broken = raw && at+len(token) == len(c.body)
			raw = false
			c.units += c.weight + c.link
		case html.StartTagToken, html.SelfClosingTagToken:
			raw = c.start(z, token, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			raw = false
			name, _ := z.TagName()
			c.end(string(name))
		default:
			c.broken = at+len(token) == len(c.body) && token[len(token)-1] != '>'
			if bytes.HasPrefix(token, []byte("<![CDATA[")) {
				c.blank(at, 1)
			}
		}
		if c.units > maxUnits || c.tokens > maxPageTokens {
			return ErrTooBig
		}
		at += len(token)
	}
}

// blank overwrites "<" in n bytes from at, if svg or math may be open.
func (c *census) blank(at, n int) {
	if !c.foreign() || bytes.IndexByte(c.body[at:at+n], '<') < 0 {
		return
	}
	if !c.copied {
		c.body, c.copied = bytes.Clone(c.body), true
	}
	for i := at; i < at+n; i++ {
		if c.body[i] == '<' {
			c.body[i] = ' '
		}
	}
}

// foreign reports whether svg or math may be open.
func (c *census) foreign() bool {
	return c.lost || slices.ContainsFunc(c.open, func(t openTag) bool { return t.name == "svg" || t.name == "math" })
}

// rawTags are those whose content the tokenizer takes for text.
var rawTags = wordSet("iframe noembed noframes noscript plaintext script style textarea title xmp")

// start counts a start tag, and reports whether the tokenizer takes what follows for raw text.
func (c *census) start(z *html.Tokenizer, token []byte, selfClosing bool) (raw bool) {
	word, more := z.TagName()
	attrs := 0
	for more {
		_, _, more = z.TagAttr()
		attrs++
	}
	t := openTag{name: string(word), units: 1 + attrs/2}
	el, _ := lookup(t.name)
	if t.kind = el.kind; t.name == "nobr" {
		t.kind = kindFormat
	}
	c.units += attrs + c.weight + c.link
	switch {
	case t.kind.void():
		return false
	case t.name == "html" || t.name == "body": // the parser joins the attributes of all of them
		c.rooted = true
		c.rootAttrs += attrs
		c.units += c.rootAttrs
	case t.name == "foreignobject": // the parser does not find its end tag
		c.lost = true
	case t.kind == kindRow || t.kind == kindCell:
		c.units += 2 // a cell may open a row and a body of its table
	case t.kind == kindFormat || t.kind == kindAnchor:
		t.tag = string(token)
		if i := c.find(t.name); i >= 0 && (t.kind == kindAnchor || t.name == "nobr") { // one ends the other
			c.units += maxRounds * (c.weight + c.link)
			c.leave(i)
		}
		if t.kind == kindFormat {
			c.add(&t)
		} else {
			c.links, c.link = c.links+1, max(c.link, t.units)
		}
	}
	if len(c.open) >= 2*maxOpen { // more than the parser takes, if they are open
		c.open, c.lost = c.open[:0], c.foreign()
	}
	c.hidden = t.name == "noscript"
	if raw = rawTags[t.name]; !selfClosing || t.kind != kindSVG && t.name != "math" {
		c.open = append(c.open, t)
	}
	return raw
}

// add puts a formatting tag into the list, remove takes it out.
func (c *census) add(t *openTag) {
	if c.count[t.tag]++; c.count[t.tag] <= maxEqual {
		c.weight += t.units
	}
}

func (c *census) remove(t *openTag) {
	if c.count[t.tag]--; c.count[t.tag] < maxEqual {
		c.weight -= t.units
	}
}

// find returns the place of the open tag of a name that came last, or -1.
func (c *census) find(name string) int {
	i := len(c.open) - 1
	for i >= 0 && c.open[i].name != name {
		i--
	}
	return i
}

// leave notes that a link ended, or nobr, which may stay in the list when there are many blocks in it.
func (c *census) leave(i int) {
	if t := &c.open[i]; t.kind == kindAnchor {
		if len(c.open)-i > maxRounds-2 {
			c.add(t)
		}
		t.name = ""
	}
}

// end counts an end tag. It closes what it certainly closes for the parser, too.
func (c *census) end(name string) {
	if name == "p" || name == "br" { // either may open one
		c.units += c.weight + c.link
	}
	c.closed = c.closed || name == "html" || name == "body"
	i := c.find(name)
	switch top := len(c.open) - 1; {
	case i == top && i >= 0:
		t := &c.open[i]
		switch t.kind {
		case kindFormat:
			c.remove(t)
		case kindAnchor:
			if c.links--; c.links == 0 {
				c.link = 0
			}
		}
		c.open = c.open[:top]
	case ends(name): // something is open in it, or it is not known to be open
		c.units += maxRounds * (c.weight + c.link)
		if i >= 0 {
			c.leave(i)
		}
	}
}

// ends reports whether an end tag is that of formatting, or of a link.
func ends(name string) bool {
	el, _ := lookup(name)
	return el.kind == kindFormat || el.kind == kindAnchor || name == "nobr"
}
